"""A disk that is full: a step that returns is there, one that is refused has changed nothing."""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos.attack import Attack, FailureError, Outcomes
from chaos.online.script import Script, Step, checkpoint_often, make_script, require_same
from quorate import Online
from quorate.errors import QuorateError

CLONE_NEWNS, MS_PRIVATE_AND_BELOW, MS_REMOUNT = 1 << 17, (1 << 18) | (1 << 14), 32


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    checkpoint_often()
    script = make_script(seed, length=150)
    kept = place / "kept"
    size = int(2 ** chance.choice([chance.uniform(11, 15), chance.uniform(16, 18.5)]))
    small_disk = chance.random() < 0.5 and mounted(place, size + 2**15)
    online = _opened(script, kept)
    if online is None:
        yield None
        return
    done: list[Step] = []
    with file_size(None if small_disk else size):
        for step in script.steps:
            if _done(step, online, done):
                done.append(step)
        require_same(script, online, done)
        online.close()
    if small_disk:
        enlarge(place)
    with script.open(kept) as again:
        require_same(script, again, done)
        again.add(("one more", "w0", "a"))
    yield None


def _opened(script: Script, kept: Path) -> Online | None:
    """None if the disk is too small to begin with."""
    try:
        return script.open(kept)
    except QuorateError:
        return None


def _done(step: Step, online: Online, done: list[Step]) -> bool:
    """Whether a step was done; what cannot be done any other way than by an error of ours fails."""
    try:
        step.do(online)
    except QuorateError:
        return False
    except Exception as error:
        raise FailureError(f"{step.kind} after {len(done)} steps: {error!r}") from error
    return True


@contextmanager
def file_size(limit: int | None) -> Iterator[None]:
    """No file may become larger."""
    if limit is None:
        yield
        return
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def mounted(place: Path, size: int) -> bool:
    """Make it a small disk that only this process and what it starts can see; False where that is
    not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        return False
    libc.mount(b"none", b"/", None, MS_PRIVATE_AND_BELOW, None)
    return not libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, b"size=%d" % size)


def enlarge(place: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", MS_REMOUNT, b"size=100000000")


ATTACK = Attack("online-full-disk", "a full disk, or a limit of file sizes", trial, often=100)
