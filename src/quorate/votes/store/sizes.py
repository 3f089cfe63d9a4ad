"""Sizes of batches, parts and blocks within a memory limit; and room on disk."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError, UsageError
from quorate.votes.faults import shown

BASE = 260e6  # bytes of the program itself, with its libraries
BATCH_ROW = 260  # bytes in memory for each row of a batch that is read and scattered
PART_ROW = 230  # for each row of a part that is put task by task
BLOCK_ROW = 200  # for each row of the blocks that are arranged together
DISK_ROW = 60  # bytes on disk for each row beside the names of its task, at the worst moment
LEAST = 400e6
THREAD = 500e6  # bytes for each of the threads that fill a store at the same time
WORKER = 200  # bytes for the name of a worker, and for finding it
CONTAINER = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


@dataclass(frozen=True)
class Limits:
    """What is refused as soon as it is seen, because it would not fit in memory later."""

    memory: float = np.inf
    fits: Callable[[int, int], None] | None = None  # a model of so many workers and classes

    def require_room(self, n_workers: int, n_classes: int) -> None:
        """Refuse more workers than there is room for, for their names or for a model."""
        require_memory(self.memory, 2 * WORKER * n_workers, f"More than {n_workers - 1:,} workers")
        if self.fits is not None:
            self.fits(n_workers, n_classes)

    def require_light(self, tasks: pl.Series, of_part: NDArray[np.int64]) -> None:
        """Refuse a task with more votes than can be put together, by the rows of each part so far
        and the tasks of the latest rows."""
        votes = int(of_part.max())
        if BASE + PART_ROW * votes <= self.memory:
            return
        heaviest = tasks.value_counts().sort("count").row(-1)
        if heaviest[1] * of_part.sum() > votes * len(tasks) / 2:
            why = f"The votes of task {shown(heaviest[0])}, at least about {votes:,},"
            require_memory(self.memory, PART_ROW * votes, why)


@dataclass(frozen=True)
class Sizes:
    """Number of rows in a batch and in a part, and of blocks that are arranged at a time."""

    batch_rows: int
    part_rows: int
    blocks: int
    limits: Limits = Limits()

    @classmethod
    def within(
        cls,
        memory: float,
        block_size: int,
        fits: Callable[[int, int], None] | None = None,
        n_threads: int = 1,
    ) -> Sizes:
        """Sizes with which so many threads stay within the memory."""
        if memory < LEAST:
            raise UsageError(
                f"memory of {in_words(memory)} is too little: Quorate needs {in_words(LEAST)}"
                " and more with many workers."
            )
        room = (memory - BASE) / n_threads
        return cls(
            batch_rows=int(min(4e6, room / 2 / BATCH_ROW)),
            part_rows=int(min(5e6, room / PART_ROW)),
            blocks=max(1, int(room / BLOCK_ROW / block_size) - 2),
            limits=Limits(memory, fits),
        )


def filling_threads(memory: float, n_threads: int) -> int:
    """Number of threads, of those there are, that can fill a store within the memory.

    Examples:
        >>> filling_threads(4e9, 2), filling_threads(1e9, 2)
        (2, 1)
    """
    return max(1, min(n_threads, int((memory - BASE) / THREAD)))


def available_memory() -> float:
    """Bytes of memory that are free, or can be freed at once because they only cache files; in a
    container no more than it may use."""
    try:
        about = Path("/proc/meminfo").read_text()
        free = int(about.split("MemAvailable:")[1].split()[0]) * 1024.0
    except (OSError, IndexError):
        free = float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        most, used = (int(file.read_text()) for file in CONTAINER)
    except (OSError, ValueError):  # there is no limit
        return free
    return min(free, float(most - used))


def require_memory(memory: float, needed: float, why: str) -> None:
    if BASE + needed > memory:
        raise DataError(
            f"{why} need about {in_words(BASE + needed)} of memory, and {in_words(memory)} is"
            " what memory (--memory) allows."
        )


def require_disk(place: Path, needed: float) -> None:
    free = shutil.disk_usage(place).free
    if needed > free:
        raise DataError(
            f"About {in_words(needed)} of disk are needed beside the votes, and where they would go"
            f" there are {in_words(free)}: name another place with store (--store)."
        )


def in_bytes(text: str | float) -> float:
    """Number of bytes of a size such as 2GB or 500 MB.

    Examples:
        >>> in_bytes("2GB"), in_bytes("1.5 GiB"), in_bytes(4096)
        (2000000000.0, 1610612736.0, 4096.0)
    """
    if not isinstance(text, str):
        return float(text)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if not found:
        raise UsageError(f"memory is a size such as 2GB or 500MB, not {text!r}.")
    number, unit, binary = found.groups()
    power = list(UNITS).index(unit.upper())
    return float(number) * (1024.0**power if binary else 1000.0**power)


def in_words(size: float) -> str:
    """Number of bytes in units that people use.

    Examples:
        >>> in_words(2e9), in_words(340e6), in_words(12)
        ('2 GB', '340 MB', '12 bytes')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        power = 1000.0 ** ("KB", "MB", "GB", "TB").index(unit) * 1000
        if size >= power:
            return f"{size / power:.3g} {unit}"
    return f"{size:.0f} bytes"
