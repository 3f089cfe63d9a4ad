"""Votes in blocks of whole tasks, which engines sweep: in memory here, in files in `store`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate import sparse
from quorate.labels import Labels, joined

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Change = Callable[[Labels], Labels]


class Blocks(Sequence[Labels], ABC):
    """Blocks of whole tasks in task order, and the names of their tasks.

    Names are looked up, and values attached to their tasks, segment by segment: a segment is all
    tasks where they are in memory, and a block where they are in files.
    """

    @property
    @abstractmethod
    def n_tasks(self) -> int: ...

    @property
    @abstractmethod
    def n_labels(self) -> int: ...

    @property
    @abstractmethod
    def shape(self) -> Labels:
        """Labels without tasks, of the same workers, classes and features."""

    @abstractmethod
    def segments(self) -> Sequence[pl.Series]:
        """The names of the tasks, segment by segment."""

    @abstractmethod
    def change(self, change: Change) -> Blocks:
        """The blocks with the same change made to each."""

    @abstractmethod
    def attach(self, field: str, values: Sequence[Any]) -> Blocks:
        """The blocks with values of a field, ``gold`` or ``features``, given for each segment."""

    @abstractmethod
    def with_more_tasks(self, names: pl.Series) -> Blocks:
        """The blocks, followed by tasks that nobody labelled."""

    def rows_in(self, names: pl.Series) -> list[pl.Series]:
        """Index of each segment's tasks among these names; null for a task that is not there."""
        from quorate.votes.naming import find

        return [find(tasks, names) for tasks in self.segments()]


@dataclass(frozen=True, eq=False)
class MemoryBlocks(Blocks):
    """Labels in memory, cut into blocks when they are asked for."""

    labels: Labels
    tasks: pl.Series = field(default_factory=lambda: pl.Series("task", [], dtype=pl.Int64))
    size: int | None = None

    @property
    def n_tasks(self) -> int:
        return self.labels.n_tasks

    @property
    def n_labels(self) -> int:
        return self.labels.n_labels

    @property
    def shape(self) -> Labels:
        return self.labels[:0]

    @cached_property
    def _edges(self) -> list[tuple[int, int]]:
        return list(pairwise(self.labels.cuts(self.size)))

    def __len__(self) -> int:
        return len(self._edges)

    @overload
    def __getitem__(self, index: int) -> Labels: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Labels]: ...
    def __getitem__(self, index: int | slice) -> Labels | Sequence[Labels]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        start, stop = self._edges[index]
        return self.labels[start:stop]

    def segments(self) -> Sequence[pl.Series]:
        return [self.tasks]

    def change(self, change: Change) -> MemoryBlocks:
        return replace(self, labels=change(self.labels))

    def attach(self, field: str, values: Sequence[Any]) -> MemoryBlocks:
        (value,) = values
        return replace(self, labels=replace(self.labels, **{field: value}))

    def with_more_tasks(self, names: pl.Series) -> MemoryBlocks:
        from quorate.votes.naming import keys

        labels, tasks = self.labels, self.tasks
        if tasks.dtype != names.dtype:
            whole = tasks.dtype.is_integer() and names.dtype.is_integer()
            dtype = pl.Int64 if whole else pl.String
            tasks, names = tasks.cast(dtype), names.cast(dtype)
        return replace(
            self,
            labels=replace(
                labels,
                indptr=longer(labels.indptr, len(names)),
                task_key=np.concatenate([labels.task_keys(), keys(names)]),
            ),
            tasks=pl.concat([tasks, names.alias(tasks.name)]),
        )


def longer(indptr: NDArray[np.integer], more: int) -> NDArray[np.integer]:
    """The index pointers extended by tasks without labels."""
    return np.concatenate([indptr, np.full(more, indptr[-1], dtype=indptr.dtype)])


def all_labels(blocks: Blocks) -> Labels:
    """Labels of all blocks as one, in memory."""
    if isinstance(blocks, MemoryBlocks):
        return blocks.labels
    return joined(list(blocks))


@dataclass(frozen=True)
class ClassRecoding:
    """Change of a block that gives other codes to its classes."""

    code: tuple[int, ...]
    n_classes: int

    def __call__(self, block: Labels) -> Labels:
        return block.with_classes(np.array(self.code, dtype=np.int32), self.n_classes)


def no_features(n_features: int) -> csr_array:
    """Feature matrix without tasks."""
    return sparse.csr_array((0, n_features), dtype=np.int8)
