"""What the votes add up to, worker by worker, under what is believed of their tasks: the counts of
Dawid-Skene, and the right and wrong labels of one-coin.

Everything here is done twice: for the votes of one task in plain Python, which is what it takes to
answer in microseconds, and for a block of tasks in arrays, by the model's own steps.

Sums of votes that count fully are exact. With a half-life they are not, and what is added and taken
away again would leave a rest: so it is counted for each sum how many votes are in it (`support`),
and a sum without any is zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from math import log
from operator import sub
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate import kernels
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.models import DawidSkene, OneCoin
from quorate.models.em import EMState, Evidence
from quorate.models.one_coin import best_accuracy, one_coin_confusion
from quorate.online.ballots import Column

# A worker, a label, and how much the vote counts.
Said = tuple[int, int, float]
# What a sum of votes is at least, when rounding has taken more away than was in it.
LEAST = 2.0**-53
LITTLE = 1e-3  # of a vote, where there is none


class Sums(ABC):
    """Of each worker; `fade` makes all of a worker's sums smaller."""

    counts: Column
    support: Column | None

    def __init__(self, model: DawidSkene | OneCoin, n_classes: int, fading: bool) -> None:
        self.model = model
        self.n_classes = n_classes
        self.fading = fading
        self.columns = self._columns()

    @abstractmethod
    def _columns(self) -> tuple[Column, ...]: ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """Everything that is counted."""
        return self._all

    @columns.setter
    def columns(self, columns: tuple[Column, ...]) -> None:
        self._all = columns
        self.counts = columns[0]
        self.support = columns[-1] if self.fading else None

    def grow(self, n_workers: int) -> None:
        for column in self.columns:
            column.grow(n_workers)

    def cut(self, n_workers: int) -> None:
        for column in self.columns:
            column.cut(n_workers)

    def move(self, votes: Sequence[Said], before: Sequence[float], after: Sequence[float]) -> None:
        """Count a task's votes under another belief than before; new ones were under none, zero."""
        self._add(votes, list(map(sub, after, before)))
        if self.support is None:
            return
        came = [(now != 0) - (then != 0) for then, now in zip(before, after, strict=True)]
        self._add_support(votes, came)
        for worker in {worker for worker, _, _ in votes}:
            self._mend(slice(worker, worker + 1))
            self._sum_up(slice(worker, worker + 1))

    @abstractmethod
    def _add(self, votes: Sequence[Said], change: Sequence[float]) -> None:
        """Add a change of belief to the sums of a task's votes."""

    @abstractmethod
    def _add_support(self, votes: Sequence[Said], came: Sequence[int]) -> None:
        """Count for each sum in how many more votes it is, by the classes that came or went."""

    @abstractmethod
    def evidence(self, votes: Sequence[Said], log_prior: Sequence[float]) -> list[float]:
        """The log joint probability of each class and the votes."""

    def move_block(
        self,
        block: Labels,
        workers: Codes,
        weight: Floats,
        after: Floats,
        before: Floats | None = None,
        known: NDArray[np.bool_] | None = None,
    ) -> None:
        """`move` for a block whose workers are numbered within it: they are `workers` here. Of
        the votes only the `known` ones were counted before, or all."""
        n = len(workers)
        one = np.ones(len(weight))
        present = (after != 0).astype(np.float64)
        if before is not None and known is None:
            after, present = after - before, present - (before != 0)
        self.counts.rows[workers] += self._summed(block, n, weight, after)
        if before is not None and known is not None:
            self.counts.rows[workers] -= self._summed(block, n, weight * known, before)
        if self.support is not None:
            came = self._summed(block, n, one, present)
            if before is not None and known is not None:
                came -= self._summed(block, n, one * known, (before != 0).astype(np.float64))
            self.support.rows[workers] += came.astype(np.int32)
            self._mend(workers)
        self._sum_up(workers)

    @abstractmethod
    def _summed(self, block: Labels, n_workers: int, weight: Floats, belief: Floats) -> Floats:
        """The sums of a block's votes, a row for each of its workers."""

    def _mend(self, workers: Codes | slice) -> None:
        """What rounding has left where there is no vote, or taken where there is one."""
        assert self.support is not None
        counts, support = self.counts.rows[workers], self.support.rows[workers]
        counts[support == 0] = 0.0
        counts[counts < 0] = LEAST
        self.counts.rows[workers] = counts

    @abstractmethod
    def _sum_up(self, workers: NDArray[np.integer] | slice) -> None:
        """Bring what depends on the counts up to date."""

    @abstractmethod
    def of(self, workers: Codes | slice) -> Floats:
        """The sums of some workers, as the model counts them."""

    def fade(self, worker: int | Codes, factor: Any) -> None:
        self.counts.rows[worker] *= factor

    @abstractmethod
    def tally(self, workers: Codes) -> Floats:
        """The expected right and wrong labels of some workers."""

    @abstractmethod
    def average(self) -> Floats:
        """The confusion matrix ``[truth, label]`` of all workers' votes together."""

    def take_over(self, counts: Floats) -> None:
        """The counts of a fit, which stay."""
        self.counts.rows[:] = counts.reshape(self.counts.rows.shape)
        if self.support is not None:
            self.support.rows[:] += self.counts.rows != 0

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        counts = {"counts": self.counts.rows}
        return counts if self.support is None else {**counts, "support": self.support.rows}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """What `as_arrays` gave, with room for it."""
        for name, rows in self.as_arrays().items():
            rows[:] = arrays[name]
        self._sum_up(slice(None))

    @abstractmethod
    def widen(self, n_classes: int) -> None: ...


class ConfusionSums(Sums):
    """``counts[worker, label, truth]``, and ``met[worker, truth]``, their sum over labels."""

    model: DawidSkene

    def _columns(self) -> tuple[Column, ...]:
        k = self.n_classes
        columns = (Column(np.float64, k**2), Column(np.float64, k))
        return (*columns, Column(np.int32, k**2)) if self.fading else columns

    @property
    def met(self) -> Column:
        return self._all[1]

    def _add(self, votes: Sequence[Said], change: Sequence[float]) -> None:
        k, counts, met = self.n_classes, self.counts.cells, self.met.cells
        for truth, share in enumerate(change):
            if share:
                for worker, label, weight in votes:
                    at = worker * k
                    counts[(at + label) * k + truth] += weight * share
                    met[at + truth] += weight * share

    def _add_support(self, votes: Sequence[Said], came: Sequence[int]) -> None:
        k, support = self.n_classes, self.columns[-1].cells
        for truth, more in enumerate(came):
            for worker, label, _ in votes:
                support[(worker * k + label) * k + truth] += more

    def evidence(self, votes: Sequence[Said], log_prior: Sequence[float]) -> list[float]:
        k, counts, met = self.n_classes, self.counts.cells, self.met.cells
        smoothing = self.model.smoothing
        at_zero = 0.0 if self.model.zeros == "skip" else kernels.LOG_ZERO
        found, more = list(log_prior), k * smoothing
        for worker, label, _ in votes:
            at = worker * k
            said = counts[(at + label) * k : (at + label + 1) * k].tolist()
            of = met[at : at + k].tolist()
            for truth in range(k):
                count = said[truth] + smoothing
                found[truth] += log(count / (of[truth] + more)) if count > 0 else at_zero
        return found

    def _summed(self, block: Labels, n_workers: int, weight: Floats, belief: Floats) -> Floats:
        k = self.n_classes
        pair = block.worker * np.int32(k) + block.label
        shape = (block.n_tasks, n_workers * k)
        product: Floats = csr_array((weight, pair, block.indptr), shape=shape).T @ belief
        return product.reshape(n_workers, k * k)

    def _sum_up(self, workers: NDArray[np.integer] | slice) -> None:
        k, counts = self.n_classes, self.counts.rows[workers]
        self.met.rows[workers] = counts.reshape(len(counts), k, k).sum(axis=1)

    def of(self, workers: Codes | slice) -> Floats:
        chosen: Floats = self.counts.rows[workers]
        return chosen.reshape(len(chosen) * self.n_classes, self.n_classes)

    def fade(self, worker: int | Codes, factor: Any) -> None:
        super().fade(worker, factor)
        self.met.rows[worker] *= factor

    def tally(self, workers: Codes) -> Floats:
        k, counts = self.n_classes, self.counts.rows[workers]
        counts = counts.reshape(len(counts), k, k)
        right = np.trace(counts, axis1=1, axis2=2)
        wrong = np.maximum(counts.sum(axis=(1, 2)) - right, 0.0)  # rounding may take too much
        return np.stack([right, wrong], axis=1)

    def average(self) -> Floats:
        k = self.n_classes
        counts = self.counts.rows.sum(axis=0).reshape(k, k).T + LITTLE
        matrix: Floats = counts / counts.sum(axis=1, keepdims=True)
        return matrix

    def take_over(self, counts: Floats) -> None:
        super().take_over(counts)
        self._sum_up(slice(None))

    def widen(self, n_classes: int) -> None:
        k, height, narrow = self.n_classes, self.counts.height, (self.counts, self.support)
        self.n_classes = n_classes
        self.columns = self._columns()
        self.grow(height)
        for few, many in zip(narrow, (self.counts, self.support), strict=True):
            if few is not None and many is not None:
                cells = many.rows.reshape(height, n_classes, n_classes)
                cells[:, :k, :k] = few.rows.reshape(height, k, k)
        self._sum_up(slice(None))


class AccuracySums(Sums):
    """The expected right and wrong labels of each worker."""

    model: OneCoin

    def _columns(self) -> tuple[Column, ...]:
        counts = Column(np.float64, 2)
        return (counts, Column(np.int32, 2)) if self.fading else (counts,)

    def _add(self, votes: Sequence[Said], change: Sequence[float]) -> None:
        counts, all_of_it = self.counts.cells, sum(change)
        for worker, label, weight in votes:
            right = change[label]
            counts[2 * worker] += weight * right
            counts[2 * worker + 1] += weight * (all_of_it - right)

    def _add_support(self, votes: Sequence[Said], came: Sequence[int]) -> None:
        support, all_of_it = self.columns[-1].cells, sum(came)
        for worker, label, _ in votes:
            support[2 * worker] += came[label]
            support[2 * worker + 1] += all_of_it - came[label]

    def evidence(self, votes: Sequence[Said], log_prior: Sequence[float]) -> list[float]:
        found = list(log_prior)
        others = max(self.n_classes - 1, 1)
        at_zero = 0.0 if self.model.zeros == "skip" else kernels.LOG_ZERO
        for (_, label, _), accuracy in zip(votes, self._accuracies(votes), strict=True):
            right = log(accuracy) if accuracy > 0 else at_zero
            wrong = log((1 - accuracy) / others) if accuracy < 1 else at_zero
            for truth in range(self.n_classes):
                found[truth] += right if truth == label else wrong
        return found

    def _accuracies(self, votes: Sequence[Said]) -> list[float]:
        model, counts = self.model, self.counts.cells
        right = [counts[2 * worker] + model.smoothing for worker, _, _ in votes]
        wrong = [counts[2 * worker + 1] + model.smoothing for worker, _, _ in votes]
        if model.beta is None and model.low == 0 and model.high == 1:
            return [r / (r + w) for r, w in zip(right, wrong, strict=True)]
        a, b = model.beta or (1.0, 1.0)
        best = best_accuracy(np.array(right), np.array(wrong), a, b, model.low, model.high)
        found: list[float] = best.tolist()
        return found

    def _summed(self, block: Labels, n_workers: int, weight: Floats, belief: Floats) -> Floats:
        right = kernels.probability_correct(block.indptr, block.label, belief)
        said = np.repeat(belief.sum(axis=1), np.diff(block.indptr))
        sums = (np.bincount(block.worker, weight * s, n_workers) for s in (right, said - right))
        return np.stack([*sums], axis=1)

    def _sum_up(self, workers: NDArray[np.integer] | slice) -> None:
        """Nothing does."""

    def of(self, workers: Codes | slice) -> Floats:
        chosen: Floats = self.counts.rows[workers]
        return chosen

    def tally(self, workers: Codes) -> Floats:
        return self.of(workers)

    def average(self) -> Floats:
        right, wrong = self.counts.rows.sum(axis=0) + LITTLE
        accuracy = right / (right + wrong)
        matrix: Floats = one_coin_confusion(np.array([accuracy]), self.n_classes)[0]
        return matrix

    def widen(self, n_classes: int) -> None:
        self.n_classes = n_classes


def sums_for(model: DawidSkene | OneCoin, n_classes: int, fading: bool) -> Sums:
    if isinstance(model, DawidSkene):
        return ConfusionSums(model, n_classes, fading)
    return AccuracySums(model, n_classes, fading)


def learned(sums: Sums, workers: Codes | slice, log_prior: Floats, marginals: Floats) -> Any:
    """The model's parameters with those of some workers."""
    stats = sums.model.stats_type(sums.of(workers).copy(), Evidence(marginals))
    return sums.model.m_step(stats, EMState(log_prior, marginals))
