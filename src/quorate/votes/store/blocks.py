"""Blocks of votes in files, each mapped into memory when it is read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate import sparse
from quorate.kernels import Codes, Keys
from quorate.labels import Labels
from quorate.votes.blocks import Blocks, Change, no_features
from quorate.votes.naming import keys
from quorate.votes.store.seals import Seal, damaged, read_names, reading, writing
from quorate.votes.store.shuffle import PARSING, block_place, load, save, write

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WORKER_KEYS = "workers"  # file of a run


class TaskNames(Sequence[pl.Series]):
    """Names of the tasks of each block, read when they are asked for."""

    def __init__(self, blocks: StoredBlocks) -> None:
        self._blocks = blocks

    def __len__(self) -> int:
        return len(self._blocks)

    @overload
    def __getitem__(self, index: int) -> pl.Series: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[pl.Series]: ...
    def __getitem__(self, index: int | slice) -> pl.Series | Sequence[pl.Series]:
        if isinstance(index, slice):
            return TaskNames(self._blocks[index])
        names, dtype = self._blocks.task_names(index), self._blocks.task_type
        if self._blocks.text and names.dtype == pl.String and dtype == pl.Boolean:
            return names == "true"
        return names.cast(dtype)


class Checked(set[Path]):
    """Blocks that were checked in this process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Checked, ()


@dataclass(frozen=True)
class StoredBlocks(Blocks):
    """Blocks of a store. `places` are their directories, and `run` is the directory of the workers'
    keys and of values that are attached to them for this run. `changes` are made, in order, to each
    block that is read. A block is checked by its seal when it is first read; one that this run
    wrote has none."""

    places: tuple[Path, ...]
    starts: tuple[int, ...]
    seals: tuple[Seal | None, ...]
    tasks: int
    votes: int
    n_workers: int
    n_classes: int
    run: Path
    task_type: pl.DataType
    text: bool = False
    changes: tuple[Change, ...] = ()
    checked: Checked = field(default_factory=Checked, compare=False)

    @property
    def n_tasks(self) -> int:
        return self.tasks

    @property
    def n_labels(self) -> int:
        return self.votes

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Labels: ...
    @overload
    def __getitem__(self, index: slice) -> StoredBlocks: ...
    def __getitem__(self, index: int | slice) -> Labels | StoredBlocks:
        if isinstance(index, slice):
            places, starts, seals = self.places[index], self.starts[index], self.seals[index]
            return replace(self, places=places, starts=starts, seals=seals)
        said, worker, label, key = self._arrays(index)
        indptr = np.zeros(len(said) + 1, dtype=np.int32)
        np.cumsum(said, dtype=np.int32, out=indptr[1:])
        return self._changed(
            Labels(
                indptr,
                np.asarray(worker),
                label.astype(np.int32),
                self.n_workers,
                self.n_classes,
                first_task=self.starts[index],
                task_key=key,
                worker_key=self._worker_keys(),
            )
        )

    def _arrays(self, index: int) -> list[NDArray[Any]]:
        """The arrays of a block, checked if this is the first time that it is read."""
        place, seal = self.places[index], self.seals[index]
        checks = seal is not None and place not in self.checked
        if seal is not None and checks:
            seal.check_votes(place)
        with reading(place):
            arrays = load(place, "said", "worker", "label", "key")
        if seal is not None and checks:
            seal.check_codes(place, arrays, self.n_workers, self.n_classes)
            self.checked.add(place)
        return arrays

    def _worker_keys(self) -> Keys:
        with reading(self.run):
            (keys,) = load(self.run, WORKER_KEYS)
        return keys

    def task_names(self, index: int) -> pl.Series:
        """Names of the tasks of a block, as they are in its file."""
        path, seal = self.places[index] / "tasks.arrow", self.seals[index]
        names = read_names(path, None if seal is None else seal.names, "task")
        if seal is not None and len(names) != seal.tasks:
            raise damaged(path, "it has another number of tasks")
        return names

    def _changed(self, block: Labels) -> Labels:
        for change in self.changes:
            block = change(block)
        return block

    @property
    def shape(self) -> Labels:
        none = np.zeros(0, dtype=np.int32)
        empty = Labels(np.zeros(1, np.int32), none, none, self.n_workers, self.n_classes)
        keyed = replace(empty, task_key=np.zeros(0, np.uint64), worker_key=self._worker_keys())
        return self._changed(keyed)

    def segments(self) -> Sequence[pl.Series]:
        return TaskNames(self)

    def change(self, change: Change) -> StoredBlocks:
        return replace(self, changes=(*self.changes, change))

    def attach(self, field: str, values: Sequence[Any]) -> StoredBlocks:
        place = self.run / f"{field}-{uuid4().hex}"
        digest = hashlib.sha256()
        width = 0
        with writing(self.run):
            place.mkdir(parents=True)
            for start, value in zip(self.starts, values, strict=True):
                digest.update(_bytes_of(value))
                if isinstance(value, sparse.csr_array):
                    sparse.save_npz(place / f"{start:015d}.npz", value)
                    width = value.shape[1]
                else:
                    np.save(place / f"{start:015d}.npy", value)
        return self.change(AttachedField(field, place, digest.hexdigest(), width))

    def with_more_tasks(self, names: pl.Series) -> StoredBlocks:
        dtype = self.task_type
        if names.dtype != dtype:
            whole = names.dtype.is_integer() and dtype.is_integer()
            dtype = pl.Int64() if whole else pl.String()
        place = block_place(self.run, self.tasks)
        nothing: Codes = np.zeros(0, dtype=np.int32)
        said = np.zeros(len(names), dtype=np.uint32)
        with writing(self.run):
            place.mkdir(parents=True)
            save(place, said=said, worker=nothing, label=nothing, key=keys(names))
            write(names.cast(dtype).alias("task").to_frame(), place / "tasks.arrow")
        return replace(
            self,
            places=(*self.places, place),
            starts=(*self.starts, self.tasks),
            seals=(*self.seals, None),
            tasks=self.tasks + len(names),
            task_type=dtype,
        )

    def fetch_after(self, index: int, ahead: int) -> None:
        """Prefetch the block `ahead` places after this one."""
        if index + ahead >= len(self.starts) or not hasattr(os, "posix_fadvise"):
            return
        for name in ("said", "worker", "label"):
            path = self.places[index + ahead] / f"{name}.npy"
            with suppress(FileNotFoundError), path.open("rb") as file:  # reading it will say so
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Identity of these blocks with the values attached to them, among others of the store."""
        changes = [c.identity if isinstance(c, AttachedField) else c for c in self.changes]
        shape = (self.tasks, self.votes, self.n_workers, self.n_classes)
        return (self.starts, self.seals, *shape, *changes)


@dataclass(frozen=True)
class AttachedField:
    """Change of a block that reads the values that were attached to it."""

    field: str
    place: Path
    digest: str
    width: int

    def __call__(self, block: Labels) -> Labels:
        value: Any
        if self.field == "features":
            value = self._features(block)
        elif block.n_tasks:
            with PARSING:
                value = np.load(self.place / f"{block.first_task:015d}.npy")
        else:
            value = np.zeros(0, dtype=np.float64 if self.field == "weight" else np.int32)
        return replace(block, **{self.field: value})

    @property
    def identity(self) -> tuple[str, str]:
        """Identity of the values, wherever they are."""
        return self.field, self.digest

    def _features(self, block: Labels) -> csr_array:
        if not block.n_tasks:
            return no_features(self.width)
        return sparse.csr_array(sparse.load_npz(self.place / f"{block.first_task:015d}.npz"))


def _bytes_of(value: Any) -> bytes:
    if isinstance(value, sparse.csr_array):
        return bytes(value.indptr.tobytes() + value.indices.tobytes())
    return np.ascontiguousarray(value).tobytes()


def spill(blocks: Blocks, root: Path) -> StoredBlocks:
    """Spill blocks of memory to a directory; the names of their tasks stay in memory."""
    places, starts = [], []
    fields: dict[str, list[Any]] = {"gold": [], "weight": [], "features": []}
    for block in blocks:
        place = block_place(root, block.first_task)
        place.mkdir(parents=True)
        save(place, said=np.diff(block.indptr), worker=block.worker, label=block.label)
        save(place, key=block.task_keys())
        places.append(place)
        starts.append(block.first_task)
        for name, values in fields.items():
            values.append(getattr(block, name))
    shape = blocks.shape
    save(root, **{WORKER_KEYS: shape.worker_keys()})
    stored = StoredBlocks(
        tuple(places),
        tuple(starts),
        (None,) * len(starts),
        blocks.n_tasks,
        blocks.n_labels,
        shape.n_workers,
        shape.n_classes,
        root,
        pl.Int64(),
    )
    for name, values in fields.items():
        if getattr(shape, name) is not None:
            stored = stored.attach(name, values)
    return stored
