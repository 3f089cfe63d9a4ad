"""What the votes add up to, worker by worker, under what is believed of their tasks: the counts of
Dawid-Skene, and the right and wrong labels of one-coin.

Everything here is done twice: for the votes of one task in plain Python, which is what it takes to
answer in microseconds, and for a block of tasks in arrays, by the model's own steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from quorate import kernels
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.models import DawidSkene, OneCoin
from quorate.models.em import EMState, Evidence
from quorate.models.one_coin import best_accuracy
from quorate.online.ballots import Column

# A worker, a label, and how much the vote counts.
Said = tuple[int, int, float]


class Sums(ABC):
    """Of each worker; `fade` makes all of a worker's sums smaller."""

    counts: Column

    def __init__(self, model: DawidSkene | OneCoin, n_classes: int) -> None:
        self.model = model
        self.n_classes = n_classes

    @abstractmethod
    def grow(self, n_workers: int) -> None: ...

    @abstractmethod
    def add(self, votes: Sequence[Said], belief: Sequence[float]) -> None:
        """Add (or with a difference of two beliefs, move) a task's votes."""

    @abstractmethod
    def evidence(self, votes: Sequence[Said], log_prior: Sequence[float]) -> list[float]:
        """The log joint probability of each class and the votes."""

    @abstractmethod
    def add_block(self, block: Labels, workers: Codes, weight: Floats, belief: Floats) -> None:
        """`add` for a block whose workers are numbered within it: they are `workers` here."""

    @abstractmethod
    def of(self, workers: Codes | slice) -> Floats:
        """The sums of some workers, as the model counts them."""

    @abstractmethod
    def fade(self, worker: int | Codes, factor: Any) -> None: ...

    @abstractmethod
    def tally(self, workers: Codes) -> Floats:
        """The expected right and wrong labels of some workers."""

    @abstractmethod
    def take_over(self, counts: Floats) -> None:
        """The counts of a fit."""

    @abstractmethod
    def widen(self, n_classes: int) -> None: ...


class ConfusionSums(Sums):
    """``counts[worker, label, truth]``, and ``met[worker, truth]``, their sum over labels."""

    model: DawidSkene

    def __init__(self, model: DawidSkene, n_classes: int) -> None:
        super().__init__(model, n_classes)
        self.counts = Column(np.float64, n_classes**2)
        self.met = Column(np.float64, n_classes)

    def grow(self, n_workers: int) -> None:
        self.counts.grow(n_workers)
        self.met.grow(n_workers)

    def add(self, votes: Sequence[Said], belief: Sequence[float]) -> None:
        k, counts, met = self.n_classes, self.counts.cells, self.met.cells
        for truth, share in enumerate(belief):
            if share:
                for worker, label, weight in votes:
                    at = worker * k
                    counts[(at + label) * k + truth] += weight * share
                    met[at + truth] += weight * share

    def evidence(self, votes: Sequence[Said], log_prior: Sequence[float]) -> list[float]:
        k, counts, met = self.n_classes, self.counts.cells, self.met.cells
        smoothing = self.model.smoothing
        at_zero = 0.0 if self.model.zeros == "skip" else kernels.LOG_ZERO
        found = []
        for truth, total in enumerate(log_prior):
            for worker, label, _ in votes:
                at = worker * k
                said = counts[(at + label) * k + truth] + smoothing
                if said > 0:
                    total += log(said / (met[at + truth] + k * smoothing))
                else:
                    total += at_zero
            found.append(total)
        return found

    def add_block(self, block: Labels, workers: Codes, weight: Floats, belief: Floats) -> None:
        k = self.n_classes
        pair = block.worker * np.int32(k) + block.label
        shape = (block.n_tasks, len(workers) * k)
        product: Floats = csr_array((weight, pair, block.indptr), shape=shape).T @ belief
        values = product.reshape(len(workers), k, k)
        self.counts.rows[workers] += values.reshape(len(workers), k * k)
        self.met.rows[workers] += values.sum(axis=1)

    def of(self, workers: Codes | slice) -> Floats:
        chosen: Floats = self.counts.rows[workers]
        return chosen.reshape(len(chosen) * self.n_classes, self.n_classes)

    def fade(self, worker: int | Codes, factor: Any) -> None:
        self.counts.rows[worker] *= factor
        self.met.rows[worker] *= factor

    def tally(self, workers: Codes) -> Floats:
        k = self.n_classes
        counts = self.counts.rows.reshape(-1, k, k)[workers]
        right = np.trace(counts, axis1=1, axis2=2)
        return np.stack([right, counts.sum(axis=(1, 2)) - right], axis=1)

    def take_over(self, counts: Floats) -> None:
        by_label = counts.reshape(self.counts.height, self.n_classes, self.n_classes)
        self.counts.rows.reshape(by_label.shape)[:] = by_label
        self.met.rows[:] = by_label.sum(axis=1)

    def widen(self, n_classes: int) -> None:
        height, k = self.counts.height, self.n_classes
        wider = np.zeros((height, n_classes, n_classes))
        wider[:, :k, :k] = self.counts.rows.reshape(height, k, k)
        self.n_classes = n_classes
        self.counts = Column(np.float64, n_classes**2)
        self.met = Column(np.float64, n_classes)
        self.grow(height)
        self.take_over(wider)


class AccuracySums(Sums):
    """The expected right and wrong labels of each worker."""

    model: OneCoin

    def __init__(self, model: OneCoin, n_classes: int) -> None:
        super().__init__(model, n_classes)
        self.counts = Column(np.float64, 2)

    def grow(self, n_workers: int) -> None:
        self.counts.grow(n_workers)

    def add(self, votes: Sequence[Said], belief: Sequence[float]) -> None:
        counts, all_of_it = self.counts.cells, sum(belief)
        for worker, label, weight in votes:
            right = belief[label]
            counts[2 * worker] += weight * right
            counts[2 * worker + 1] += weight * (all_of_it - right)

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

    def add_block(self, block: Labels, workers: Codes, weight: Floats, belief: Floats) -> None:
        right = kernels.probability_correct(block.indptr, block.label, belief)
        said = np.repeat(belief.sum(axis=1), np.diff(block.indptr))
        for column, share in enumerate((right, said - right)):
            sums = np.bincount(block.worker, weight * share, minlength=len(workers))
            self.counts.rows[workers, column] += sums

    def of(self, workers: Codes | slice) -> Floats:
        chosen: Floats = self.counts.rows[workers]
        return chosen

    def fade(self, worker: int | Codes, factor: Any) -> None:
        self.counts.rows[worker] *= factor

    def tally(self, workers: Codes) -> Floats:
        return self.of(workers)

    def take_over(self, counts: Floats) -> None:
        self.counts.rows[:] = counts

    def widen(self, n_classes: int) -> None:
        self.n_classes = n_classes


def sums_for(model: DawidSkene | OneCoin, n_classes: int) -> Sums:
    if isinstance(model, DawidSkene):
        return ConfusionSums(model, n_classes)
    return AccuracySums(model, n_classes)


def learned(sums: Sums, workers: Codes | slice, log_prior: Floats, marginals: Floats) -> Any:
    """The model's parameters with those of some workers."""
    stats = sums.model.stats_type(sums.of(workers).copy(), Evidence(marginals))
    return sums.model.m_step(stats, EMState(log_prior, marginals))
