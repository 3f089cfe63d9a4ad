"""Checksums of the files of a store, and what is checked before anything in them is believed."""

from __future__ import annotations

import errno
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError

CHUNK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class Seal(NamedTuple):
    """A block as it was written: its first task, its numbers of tasks and votes, and the checksums
    of its files."""

    start: int
    tasks: int
    votes: int
    said: int
    worker: int
    label: int
    key: int
    names: int

    @classmethod
    def of(cls, place: Path, start: int, tasks: int, votes: int) -> Seal:
        files = ("said.npy", "worker.npy", "label.npy", "key.npy", "tasks.arrow")
        return cls(start, tasks, votes, *(checksum(place / file) for file in files))

    def check_votes(self, place: Path) -> None:
        """Refuse a block whose files are not those that were written."""
        for name in ("said", "worker", "label", "key"):
            require_sum(place / f"{name}.npy", getattr(self, name))

    def check_codes(
        self,
        place: Path,
        arrays: Sequence[NDArray[Any]],
        n_workers: int,
        n_classes: int,
    ) -> None:
        """Refuse lengths and codes that would lead outside of the block or of a table."""
        said, worker, label, key = arrays
        right = (
            all(array.ndim == 1 and array.dtype.kind in "iu" for array in arrays)
            and (len(said), len(worker), len(label)) == (self.tasks, self.votes, self.votes)
            and len(key) == self.tasks
            and key.dtype == np.uint64
            and said.min(initial=0) >= 0
            and said.sum(dtype=np.int64) == self.votes
            and worker.dtype == np.int32
            and _are_codes(worker, n_workers)
            and _are_codes(label, n_classes)
        )
        if not right:
            raise damaged(place, "its votes do not fit together")


def _are_codes(codes: NDArray[Any], n: int) -> bool:
    return not len(codes) or bool(codes.min() >= 0 and codes.max() < n)


def checksum(path: Path) -> int:
    """Checksum of a file."""
    found = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found = zlib.crc32(chunk, found)
    return found


def require_sum(path: Path, expected: int) -> None:
    with reading(path):
        found = checksum(path)
    if found != expected:
        raise damaged(path, "its checksum is not that of what was written")


def read_names(path: Path, expected: int | None, column: str) -> pl.Series:
    """Names of a file whose checksum is as expected, where one is."""
    with reading(path):
        content = path.read_bytes()
        if expected is not None and zlib.crc32(content) != expected:
            raise damaged(path, "its checksum is not that of what was written")
        return pl.read_ipc(io.BytesIO(content), columns=[column])[column]


def damaged(path: Path, why: str) -> DataError:
    return DataError(f"{path} is damaged ({why}): remove the store, and let it be filled again.")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Context in which a file of a store that cannot be read is one sentence."""
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError:
        raise damaged(path, "it is gone") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except (Exception, pl.exceptions.PanicException):  # whatever is in a file that is not ours
        raise damaged(path, "it is not what Quorate writes") from None


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Context in which a disk that is full, or may not be written to, is one sentence."""
    try:
        yield
    except OSError as error:
        told = re.search(r"os error (\d+)", str(error))  # by polars
        number = int(told[1]) if told else error.errno
        if number in FULL or re.search(r"requested and \d+ written", str(error)):  # by NumPy
            why = "the disk is full"
        elif number in FORBIDDEN:
            why = "it may not be written to"
        else:
            raise
        raise DataError(
            f"{place} cannot hold the votes ({why}): name another place with store (--store)."
        ) from None
