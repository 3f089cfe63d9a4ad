"""Correlation of judges' errors, and the number of independent judges that a panel is worth.

With z the error of a judge on a task (1 where the vote is not the answer, 0 where it is), less the
judge's error rate and divided by its standard deviation, the mean correlation over all pairs of
judges is a ratio of sums over tasks,

    rho = sum over tasks of ((sum of z)² - sum of z²) / sum over tasks of m (m - 1)            (1)

with m the number of judges of a task, and J judges are worth

    J / (1 + (J - 1) rho)                                                                    (2)

independent ones: as many as would have a mean of errors that varies as little (Kish's design
effect), but never more than J: errors that correlate negatively, which those against a consensus
do by themselves, are no further judges. Agreement that comes of being right is no correlation of
errors. Intervals are of the bootstrap over tasks, and end at J too: one that reaches it does not
rule out that all judges err independently.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from quorate.kernels import Floats
from quorate.labels import Labels

RESAMPLES = 500
LEAST_SHARED = 10  # tasks of a pair, below which its correlation says little


class Errors(NamedTuple):
    """Standardised errors ``[task, judge]``, where there is a vote, and the error rate of each."""

    z: csr_array
    rate: Floats
    votes: Floats

    @property
    def seen(self) -> csr_array:
        ones: csr_array = self.z.copy()
        ones.data = np.ones_like(ones.data)
        return ones


class Worth(NamedTuple):
    """The mean correlation of errors, and the number of independent judges, with intervals."""

    judges: int
    correlation: float
    effective: float
    low: float
    high: float


def errors_of(labels: Labels, truth: Floats) -> Errors:
    """Errors against the probability ``truth[task, class]`` of each answer: 0 or 1 where it is
    known."""
    task = labels.task_of_label()
    wrong = 1 - truth[task, labels.label]
    shape = (labels.n_tasks, labels.n_workers)
    total = csr_array((wrong, (task, labels.worker)), shape=shape)
    count = csr_array((np.ones(len(wrong)), (task, labels.worker)), shape=shape)
    total.sum_duplicates()
    count.sum_duplicates()
    error = total.data / count.data  # of repeated votes the mean
    judge = count.indices
    votes = np.bincount(judge, minlength=labels.n_workers).astype(np.float64)
    rate = np.bincount(judge, error, minlength=labels.n_workers) / np.maximum(votes, 1)
    squared = np.bincount(judge, (error - rate[judge]) ** 2, minlength=labels.n_workers)
    spread = np.sqrt(squared / np.maximum(votes, 1))
    z = np.where(spread[judge] > 0, (error - rate[judge]) / np.maximum(spread[judge], 1e-12), 0.0)
    return Errors(csr_array((z, judge, count.indptr), shape=shape), rate, votes)


def worth(errors: Errors, random: np.random.Generator, level: float = 0.95) -> Worth:
    """How many independent judges the panel is worth."""
    together, pairs = _sums(errors)
    n_judges = int((errors.votes > 0).sum())
    rho = _mean_correlation(together.sum(), pairs.sum())
    drawn = random.multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), RESAMPLES)
    again = [_mean_correlation(*sums) for sums in zip(drawn @ together, drawn @ pairs, strict=True)]
    outside = (1 - level) / 2
    low, high = np.quantile([effective(n_judges, r) for r in again], [outside, 1 - outside])
    return Worth(n_judges, rho, effective(n_judges, rho), float(low), float(high))


def without_each(errors: Errors) -> Floats:
    """The number of independent judges without each of them."""
    total, n = errors.z.sum(axis=1), errors.seen.sum(axis=1)
    together, pairs = _sums(errors)
    # Without judge j a task has lost 2 z_j (sum of z - z_j) of (1), and 2 (m - 1) pairs.
    by_judge = errors.z.T @ total - (errors.z.multiply(errors.z)).sum(axis=0)
    lost = errors.seen.T @ (n - 1)
    n_judges = int((errors.votes > 0).sum())
    rho = [
        _mean_correlation(together.sum() - 2 * b, pairs.sum() - 2 * p)
        for b, p in zip(by_judge, lost, strict=True)
    ]
    return np.array([effective(n_judges - 1, r) for r in rho])


def effective(n_judges: int, correlation: float) -> float:
    """The number of independent judges (2); never more than there are.

    Examples:
        >>> effective(10, 0.0), effective(10, 1.0), effective(10, -0.05)
        (10.0, 1.0, 10.0)
    """
    return n_judges / (1 + (n_judges - 1) * max(correlation, 0.0))


def correlations(errors: Errors) -> Floats:
    """Correlation of the errors of every two judges; NaN where they share too few tasks."""
    shared = np.asarray((errors.seen.T @ errors.seen).todense())
    product = np.asarray((errors.z.T @ errors.z).todense())
    found = np.where(shared >= LEAST_SHARED, product / np.maximum(shared, 1), np.nan)
    np.fill_diagonal(found, np.nan)
    return np.clip(found, -1, 1)


def _sums(errors: Errors) -> tuple[Floats, Floats]:
    """Numerator and denominator of (1) for each task."""
    total, n = np.asarray(errors.z.sum(axis=1)), np.asarray(errors.seen.sum(axis=1))
    squares = np.asarray(errors.z.multiply(errors.z).sum(axis=1))
    return total**2 - squares, n * (n - 1)


def _mean_correlation(together: float, pairs: float) -> float:
    return float(np.clip(together / pairs, -1.0, 1.0)) if pairs > 0 else 0.0
