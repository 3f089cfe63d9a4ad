"""Votes in codes, kept in columns that grow as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Codes, Floats, by_code, equals_before
from quorate.labels import Labels

Places = NDArray[np.int64]


class Column:
    """Rows of a fixed width that grow at the end: `rows` and `values` are arrays of them, `cells`
    reads and writes single numbers, which a memoryview does several times faster."""

    def __init__(self, kind: type[np.generic], width: int = 1) -> None:
        self._array = np.zeros(64 * max(width, 1), dtype=kind)
        self._room = len(self._array)
        self.width = width
        self.height = 0
        self.cells: Any = self._array.data

    @property
    def values(self) -> NDArray[Any]:
        return self._array[: self.height * self.width]

    @property
    def rows(self) -> NDArray[Any]:
        return self.values.reshape(self.height, self.width)

    def grow(self, height: int) -> None:
        """New rows are zero."""
        if height * self.width > self._room:
            self._reserve(height)
        self.height = height

    def _reserve(self, height: int) -> None:
        larger = np.zeros(max(height * self.width, 2 * self._room), self._array.dtype)
        larger[: self.height * self.width] = self.values
        self._array = larger
        self.cells = larger.data
        self._room = len(larger)

    def cut(self, height: int) -> None:
        """Take the rows after so many away again."""
        self._array[height * self.width : self.height * self.width] = 0
        self.height = height

    def append(self, value: float) -> None:
        """One row of one number, which is there when it is written."""
        end = self.height
        if end == self._room:
            self._reserve(end + 1)
        self.cells[end] = value
        self.height = end + 1

    def extend(self, values: NDArray[Any]) -> None:
        before = self.height * self.width
        self.grow(self.height + len(values))
        self.values[before:] = values.reshape(-1)


class Ballots:
    """Every vote in the order they came, each with a link to its task's vote before.

    With a half-life, in votes of a worker, a vote weighs less the more votes its worker has cast
    since: half after so many. Without one, ages are not kept.
    """

    def __init__(self, half_life: float | None = None) -> None:
        self.half_life = half_life
        self.task, self.worker, self.label = Column(np.int32), Column(np.int32), Column(np.int32)
        self._earlier, self._latest = Column(np.int64), Column(np.int64)
        self._age, self._cast = Column(np.int64), Column(np.int64)

    @property
    def n_votes(self) -> int:
        return self.task.height

    @property
    def n_tasks(self) -> int:
        return self._latest.height

    @property
    def n_workers(self) -> int:
        return self._cast.height

    def grow(self, n_tasks: int, n_workers: int) -> None:
        before = self.n_tasks
        if n_tasks == before + 1:
            self._latest.append(-1)
        elif n_tasks > before:
            self._latest.grow(n_tasks)
            self._latest.values[before:] = -1
        if n_workers > self.n_workers:
            self._cast.grow(n_workers)

    def append(self, task: int, worker: int, label: int) -> int:
        """Where the vote stands."""
        latest, cast, place = self._latest.cells, self._cast.cells, self.task.height
        self.task.append(task)
        self.worker.append(worker)
        self.label.append(label)
        self._earlier.append(latest[task])
        if self.half_life is not None:
            self._age.append(cast[worker])
        latest[task] = place
        cast[worker] += 1
        return place

    def extend(self, task: Codes, worker: Codes, label: Codes) -> None:
        """The same for many votes."""
        places = np.arange(self.n_votes, self.n_votes + len(task))
        for column, values in ((self.task, task), (self.worker, worker), (self.label, label)):
            column.extend(values)
        earlier = self._latest.values[task]
        self._latest.values[task] = places  # of several votes on a task the last one stays
        order = self._together(task, places)
        same = np.flatnonzero(task[order][1:] == task[order][:-1])
        earlier[order[same + 1]] = places[order[same]]
        self._earlier.extend(earlier)
        if self.half_life is not None:
            self._age.extend(self._cast.values[worker] + equals_before(worker, self.n_workers))
        self._cast.values[:] += np.bincount(worker, minlength=self.n_workers)

    def _together(self, task: Codes, places: Places) -> NDArray[np.intp]:
        """Which of the votes that came last are on a task with several of them, task by task."""
        last, first_place = self._latest.values[task], self.n_votes - len(task)
        several = last != places
        several[last[several] - first_place] = True
        chosen = np.flatnonzero(several)
        if len(chosen) < self.n_tasks:
            order = np.argsort(task[chosen], kind="stable")
        else:  # then counting is cheaper than comparing
            order = by_code(task[chosen], self.n_tasks, np.zeros(len(chosen), np.int8)).indices
        together: NDArray[np.intp] = chosen[order]
        return together

    def undo(self, n_votes: int, n_tasks: int, n_workers: int) -> None:
        """Take the votes, tasks and workers after the first so many away again."""
        came = slice(n_votes, self.n_votes)
        self._latest.values[self.task.values[came][::-1]] = self._earlier.values[came][::-1]
        self._cast.values[:] -= np.bincount(self.worker.values[came], minlength=self.n_workers)
        for column in (self.task, self.worker, self.label, self._earlier):
            column.cut(n_votes)
        if self.half_life is not None:
            self._age.cut(n_votes)
        self._latest.cut(n_tasks)
        self._cast.cut(n_workers)

    def of(self, task: int) -> list[int]:
        """Where a task's votes stand, the last one first."""
        earlier = self._earlier.cells
        places, place = [], self._latest.cells[task]
        while place >= 0:
            places.append(place)
            place = earlier[place]
        return places

    def of_tasks(self, tasks: Codes) -> tuple[Places, NDArray[np.integer]]:
        """Where the votes of some tasks stand, task by task, and where each task's begin."""
        place, owner = self._latest.values[tasks], np.arange(len(tasks))
        places, owners = [], []
        while len(place):
            voted = place >= 0
            place, owner = place[voted], owner[voted]
            places.append(place)
            owners.append(owner)
            place = self._earlier.values[place]
        counts = np.zeros(len(tasks), dtype=np.int64)
        for owner in owners:
            counts[owner] += 1
        indptr = np.concatenate([[0], counts.cumsum()])
        found = np.empty(indptr[-1], dtype=np.int64)
        for back, (place, owner) in enumerate(zip(places, owners, strict=True), start=1):
            found[indptr[owner + 1] - back] = place
        return found, indptr

    def first_pairs(self) -> tuple[int, int]:
        """Of how many tasks the first two votes say the same, and how many have two: later votes
        may have been asked for because the first ones differ."""
        earlier = self._earlier.values
        second = np.flatnonzero(earlier >= 0)
        second = second[earlier[earlier[second]] < 0]
        said = self.label.values
        return int(np.count_nonzero(said[second] == said[earlier[second]])), len(second)

    @property
    def voted(self) -> NDArray[np.bool_]:
        """Which tasks have votes."""
        return self._latest.values >= 0

    def weight(self, place: int) -> float:
        """How much a vote counts now."""
        if self.half_life is None:
            return 1.0
        since = self._cast.cells[self.worker.cells[place]] - 1 - self._age.cells[place]
        return float(2.0 ** (-since / self.half_life))

    def weights(self, places: Places) -> Floats:
        if self.half_life is None:
            return np.ones(len(places))
        since = self._cast.values[self.worker.values[places]] - 1 - self._age.values[places]
        weights: Floats = 2.0 ** (-since / self.half_life)
        return weights

    def labels(self, n_classes: int) -> Labels:
        """All votes."""
        return Labels.from_codes(
            self.task.values,
            self.worker.values,
            self.label.values,
            n_tasks=self.n_tasks,
            n_workers=self.n_workers,
            n_classes=n_classes,
        )
