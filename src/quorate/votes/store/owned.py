"""Locks, and directories that belong to one process: removed with it, or by the next that finds it
gone."""

from __future__ import annotations

import os
import re
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

LOCK = "lock"
RUN = re.compile(r"run-[0-9a-f]{32}")
TEMPORARY = re.compile(r"quorate-[0-9a-f]{32}")

# Names that Quorate gives: only what is called so, in directories that are called so, is deleted.
OWN_DIRECTORY = re.compile(
    r"blocks|scattered|gathered|states|copied|\d{5}|\d{15}|run-[0-9a-f]{32}|unfinished-[0-9a-f]{16}"
    r"|(gold|weight|features|answers)-[0-9a-f]{32}"
)
OWN_FILE = re.compile(
    r"(votes\.json|checkpoint|\d{15}(-\d)?|\d{5}-[0-9a-f]{32}-\d{6}|said|worker|label|key|first"
    r"|end|tasks|workers|labels)(-[0-9a-f]{32}\.part)?(\.npy|\.npz|\.arrow|\.state)?(\.part)?"
    r"|\d{6}\.parquet"
)


class Lock:
    """Lock on a file, which goes with the process however that ends, or with this object."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._closing = weakref.finalize(self, os.close, self.file)

    def take(self, *, shared: bool = False) -> bool:
        """Take the lock, shared or alone, in place of what is held of it; False if others have
        it."""
        try:
            import fcntl
        except ImportError:  # Windows, which has no shared locks
            return shared or _lock_on_windows(self.file)
        try:
            fcntl.flock(self.file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def wait(self, *, shared: bool = False) -> None:
        """Take the lock as soon as the others have let it go."""
        while not self.take(shared=shared):
            time.sleep(0.05)

    def close(self) -> None:
        self._closing()


def _lock_on_windows(file: int) -> bool:
    import msvcrt

    try:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True


class OwnedDirectory:
    """Directory that one process uses at a time, which its lock shows to be alive; removed with
    this object unless it is released before."""

    def __init__(self, path: Path, lock: Lock) -> None:
        self.path, self._lock = path, lock
        self._removing = weakref.finalize(self, _remove, path, lock, os.getpid())

    @classmethod
    def claim(cls, path: Path) -> OwnedDirectory | None:
        """The directory, made if need be; None if another process has it, or is removing it."""
        path.mkdir(mode=0o700, exist_ok=True)
        try:
            lock = Lock(path / LOCK)
        except FileNotFoundError:
            return None
        if lock.take() and _is_at(lock, path / LOCK):
            return cls(path, lock)
        lock.close()
        return None

    @classmethod
    def new(cls, parent: Path, prefix: str) -> OwnedDirectory:
        """A new directory."""
        while True:
            path = parent / f"{prefix}-{uuid4().hex}"
            try:
                owned = cls.claim(path)
            except BaseException:  # an interrupt before there is anything to remove it with
                clear(path)
                raise
            if owned is not None:
                return owned

    def remove(self) -> None:
        self._removing()

    def release(self) -> None:
        """Leave the directory to whoever claims it next."""
        self._removing.detach()
        self._lock.close()


def temporary_directory() -> OwnedDirectory:
    """A new temporary directory; those that killed processes have left are removed first."""
    place = Path(tempfile.gettempdir())
    remove_left(place, TEMPORARY)
    return OwnedDirectory.new(place, "quorate")


def remove_left(parent: Path, names: re.Pattern[str]) -> None:
    """Remove the directories of these names whose processes are gone."""
    for entry in list(os.scandir(parent)):
        if names.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
            with suppress(OSError):  # another user's, or removed meanwhile
                left = OwnedDirectory.claim(Path(entry))
                if left is not None:
                    left.remove()


def clear(place: Path) -> None:
    """Remove what Quorate wrote to a directory, with the directory if nothing else is in it."""
    with suppress(FileNotFoundError):
        for entry in list(os.scandir(place)):
            if not entry.is_dir(follow_symlinks=False):
                if OWN_FILE.fullmatch(entry.name):
                    Path(entry).unlink(missing_ok=True)
            elif OWN_DIRECTORY.fullmatch(entry.name):
                clear(Path(entry))
        (place / LOCK).unlink(missing_ok=True)  # last, so that nobody claims what is going
    with suppress(OSError):  # something else is in it
        place.rmdir()


def _remove(path: Path, lock: Lock, owner: int) -> None:
    """An interrupt could be caught by nobody, coming from here: what it stopped is done again."""
    for _ in range(3):
        try:
            if os.getpid() == owner:  # and not a process that was forked from it
                with suppress(OSError):
                    clear(path)
            lock.close()
            return
        except (KeyboardInterrupt, SystemExit):
            continue


def _is_at(lock: Lock, path: Path) -> bool:
    """Whether the file that is locked is still there, and not removed by who had it before."""
    try:
        return os.path.samestat(os.fstat(lock.file), path.stat())
    except FileNotFoundError:
        return False
