"""A directory of votes in blocks, with what belongs to them beside."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import polars as pl

from quorate.errors import DataError
from quorate.io import ReadReport, retyped
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.store.shuffle import block_place, load, write

FORMAT = 2
MANIFEST = "votes.json"


@dataclass(frozen=True)
class Manifest:
    """What the directory holds; written last, so that what has one is whole. `origin` tells these
    votes from others."""

    origin: dict[str, Any]
    rows: int
    missing: int
    repeated: int
    repeats_kept: bool
    n_tasks: int
    n_votes: int
    starts: list[int]
    task_type: str
    text: bool
    format: int = FORMAT


@dataclass(frozen=True)
class Store:
    """Votes in a directory, in blocks of whole tasks."""

    root: Path
    manifest: Manifest

    @classmethod
    def open(cls, root: Path) -> Store | None:
        """What was put there, or None if nothing was, or not all."""
        try:
            found = json.loads((root / MANIFEST).read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise DataError(f"{root} holds votes that cannot be read: remove it.") from None
        if found.get("format") != FORMAT:
            raise DataError(f"{root} holds votes of another version of Quorate: remove it.")
        return cls(root, Manifest(**found))

    @classmethod
    def finish(cls, root: Path, manifest: Manifest, workers: pl.Series, labels: pl.Series) -> Store:
        """Say that all is there, and clear away what was needed on the way."""
        write(workers.alias("name").to_frame(), root / "workers.arrow")
        write(labels.alias("name").to_frame(), root / "labels.arrow")
        for name in ("scattered", "gathered"):
            shutil.rmtree(root / name, ignore_errors=True)
        beside = root / f"{MANIFEST}.part"
        beside.write_text(json.dumps(asdict(manifest)))
        beside.replace(root / MANIFEST)
        return cls(root, manifest)

    @property
    def workers(self) -> pl.Series:
        names = pl.read_ipc(self.root / "workers.arrow")["name"].alias("worker")
        return retyped(names) if self.manifest.text else names

    @property
    def labels(self) -> pl.Series:
        """In the order of their codes on disk."""
        names = pl.read_ipc(self.root / "labels.arrow")["name"].alias("label")
        return retyped(names) if self.manifest.text else names

    @property
    def report(self) -> ReadReport:
        m = self.manifest
        return ReadReport(m.rows, m.missing, m.repeated, m.repeats_kept)

    def tasks(self, start: int) -> pl.Series:
        """The names of the tasks of the block that starts with this one."""
        names = pl.read_ipc(block_place(self.root, start) / "tasks.arrow")["task"]
        if not self.manifest.text or self.manifest.task_type == "String":
            return names
        return names == "true" if self.manifest.task_type == "Boolean" else names.cast(pl.Int64)


@dataclass(frozen=True, eq=False)
class StoredBlocks(Sequence[Labels]):
    """The blocks of a store as labels, each mapped into memory when it is asked for.

    `class_codes` are the codes of the classes by the codes on disk. With `gold` the known answers
    are beside the blocks. `weigh` says what each vote of a block counts.
    """

    root: Path
    starts: Sequence[int]
    n_workers: int
    n_classes: int
    class_codes: Codes
    gold: bool = False
    weigh: Callable[[Labels], Floats | None] | None = None

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Labels: ...
    @overload
    def __getitem__(self, index: slice) -> StoredBlocks: ...
    def __getitem__(self, index: int | slice) -> Labels | StoredBlocks:
        if isinstance(index, slice):
            return replace(self, starts=self.starts[index])
        start = self.starts[index]
        place = block_place(self.root, start)
        said, worker, label = load(place, "said", "worker", "label")
        block = Labels(
            np.concatenate([[0], said.cumsum()]).astype(np.int32),
            np.asarray(worker),
            self.class_codes[label],
            self.n_workers,
            self.n_classes,
            gold=np.load(place / "gold.npy") if self.gold else None,
            first_task=start,
        )
        return block if self.weigh is None else replace(block, weight=self.weigh(block))

    def fetch_after(self, block: Labels, ahead: int) -> None:
        """Ask for a block that will soon be needed, so that it need not be waited for."""
        index = bisect_left(self.starts, block.first_task) + ahead
        if index >= len(self.starts) or not hasattr(os, "posix_fadvise"):
            return
        place = block_place(self.root, self.starts[index])
        for name in ("said", "worker", "label"):
            with (place / f"{name}.npy").open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)

    @property
    def shape(self) -> Labels:
        """Labels without tasks, of so many workers and classes."""
        none = np.zeros(0, dtype=np.int32)
        return Labels(np.zeros(1, np.int32), none, none, self.n_workers, self.n_classes)


class StoredStates:
    """The local state of each block, beside it: the last sweep's is read, and the next one's put
    elsewhere, so that a sweep that was cut short can be done again."""

    def __init__(self, root: Path, starts: Sequence[int], sweeps: int = 0) -> None:
        self._root = root
        self._starts = starts
        self.sweeps = sweeps  # how many there have been

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> Any:
        with self._place(index, self.sweeps).open("rb") as file:
            return pickle.load(file)

    def __setitem__(self, index: int, state: Any) -> None:
        place = self._place(index, self.sweeps + 1)
        beside = place.with_suffix(".part")
        with beside.open("wb") as file:
            pickle.dump(state, file, protocol=5)
        beside.replace(place)

    def _place(self, index: int, sweeps: int) -> Path:
        return block_place(self._root, self._starts[index]) / f"state-{sweeps % 2}"
