"""One-coin Dawid-Skene: each worker is right with one probability, whatever the truth.

The binary case, the beta prior and the shifted and rescaled beta prior are those of P. Maginnis and
T. Gupta, "Adaptive Crowdsourcing via EM with Prior" (2015), section 1. With more classes a wrong
label is any of the others, evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from quorate import kernels
from quorate.errors import UsageError
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Method, by_worker, dense
from quorate.models.em import (
    EM,
    INIT,
    SMOOTHING,
    ZEROS,
    EMState,
    Evidence,
    Stats,
    without_zeros,
)
from quorate.options import option


@by_worker("accuracy")
class Params(NamedTuple):
    """``accuracy[worker]``."""

    accuracy: Floats
    state: EMState

    @property
    def prior(self) -> Floats:
        return self.state.prior


@dataclass(frozen=True, eq=False)
class OneCoin(EM[Params, Stats]):
    """One accuracy per worker, with an optional prior: accuracy = low + (high - low) * Beta(a, b).

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.OneCoin(beta=(4, 2)), labels)
        >>> result.params.accuracy.round(2)
        array([0.81, 0.81, 0.69])
    """

    beta: tuple[float, float] | None = option(
        None,
        "The numbers a and b of the beta prior on accuracy; none for no prior.",
        above=0,
        parts=("a", "b"),
    )
    low: float = option(0.0, "The least accuracy that the prior allows.")
    high: float = option(1.0, "The greatest accuracy that the prior allows.")
    smoothing: float = option(0.0, SMOOTHING, at_least=0)
    zeros: Literal["exclude", "skip"] = option("exclude", ZEROS)
    init: Any = option("vote", INIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.low < self.high <= 1:
            raise UsageError(
                f"low and high must be 0 <= low < high <= 1, not {self.low} and {self.high}."
            )

    def log_joint(self, block: Labels, params: Params) -> Floats:
        log_prior = params.state.log_prior
        log_joint = _log_evidence(block, params.accuracy, self.zeros == "skip")
        log_joint += without_zeros(log_prior) if self.zeros == "skip" else log_prior
        return log_joint

    def count(self, block: Labels, posterior: Floats, evidence: Evidence) -> Stats:
        """The expected number of right and of wrong labels of each worker."""
        return Stats(block.weighted_agreement(posterior), evidence)

    def m_step(self, stats: Stats, state: EMState) -> Params:
        counts = dense(stats.counts) + self.smoothing
        if self.worker_prior is not None:
            counts += right_and_wrong(self.worker_prior)
        return Params(self.learn(counts), state)

    def learn(self, counts: Floats) -> Floats:
        """The likeliest accuracies from the numbers of right and wrong labels (section 1)."""
        a, b = self.beta or (1.0, 1.0)
        if a == b == 1:
            silent = counts.sum(axis=1) == 0
            counts[silent] = counts.sum(axis=0)  # of whom nothing is known: the crowd's average
        return best_accuracy(counts[:, 0], counts[:, 1], a, b, self.low, self.high)

    def from_confusion(self, confusion: Floats) -> Params:
        n_classes = confusion.shape[1]
        accuracy: Floats = np.trace(confusion, axis1=1, axis2=2) / n_classes
        return Params(accuracy, self.even_state(n_classes))

    def log_density(self, params: Params) -> float:
        p = params.accuracy
        pseudo = np.full((len(p), 2), self.smoothing)
        if self.worker_prior is not None:
            pseudo += right_and_wrong(self.worker_prior)
        right, wrong = pseudo.T
        a, b = self.beta or (1.0, 1.0)
        return (
            kernels.weighted_log(right, p)
            + kernels.weighted_log(wrong, 1 - p)
            + kernels.weighted_log(a - 1, p - self.low)
            + kernels.weighted_log(b - 1, self.high - p)
        )

    def newcomer(self, stats: Stats, params: Params) -> Params:
        pooled = dense(stats.counts).sum(axis=0, keepdims=True) + self.smoothing
        return params._replace(accuracy=np.concatenate([params.accuracy, self.learn(pooled)]))

    def confusion(self, params: Params) -> Floats:
        return one_coin_confusion(params.accuracy, len(params.state.log_prior))

    def history(self, stats: Stats, params: Params) -> Floats:
        return over_classes(dense(stats.counts), params.prior)


def one_coin_confusion(accuracy: Floats, n_classes: int) -> Floats:
    """``[worker, truth, label]`` of workers right with one probability, else wrong evenly."""
    right = accuracy[:, None, None]
    wrong = (1 - right) / max(n_classes - 1, 1)
    return np.where(np.eye(n_classes, dtype=bool), right, wrong)


def over_classes(counts: Floats, shares: Floats) -> Floats:
    """Counts ``[worker, truth, label]`` from those of right and wrong labels, which are spread over
    the classes by their shares."""
    n_classes = len(shares)
    right, wrong = counts.T[:, :, None, None] * shares[:, None]
    elsewhere = wrong / max(n_classes - 1, 1)
    spread: Floats = np.where(np.eye(n_classes, dtype=bool), right, elsewhere)
    return spread


def _log_evidence(block: Labels, accuracy: Floats, skip_zeros: bool) -> Floats:
    """``log p(labels | truth)`` for each task and class; factors of zero are counted apart, so as
    not to swamp the rest."""
    right, wrong = accuracy, (1 - accuracy) / max(block.n_classes - 1, 1)
    evidence = named_or_not(block, kernels.log_or(right, 0.0), kernels.log_or(wrong, 0.0))
    impossible = (right == 0) | (wrong == 0)
    if impossible.any() and not skip_zeros:
        zeros = named_or_not(block, 1.0 * (right == 0), 1.0 * (wrong == 0))
        evidence += kernels.LOG_ZERO * zeros
    return evidence


def named_or_not(block: Labels, right: Floats, wrong: Floats) -> Floats:
    """Per task and class, ``right[worker]`` of those who named the class, ``wrong`` of the rest."""
    return block.weighted_votes(right - wrong) + block.task_sums(wrong)[:, None]


def right_and_wrong(counts: Floats) -> Floats:
    """``[worker, (right, wrong)]`` from counts ``[worker, truth, label]``."""
    right = np.trace(counts, axis1=1, axis2=2)
    return np.stack([right, counts.sum(axis=(1, 2)) - right], axis=1)


def best_accuracy(
    right: Floats, wrong: Floats, a: float, b: float, low: float, high: float
) -> Floats:
    """The accuracy ``p`` that maximises ``right log p + wrong log(1 - p) + (a - 1) log(p - low) +
    (b - 1) log(high - p)``: the one local maximum between low and high, else a bound.

    The derivative is zero where a polynomial is: the paper's quadratic, whose larger root is the
    maximum, when the prior reaches up to 1 (or down to 0), and a cubic when it does neither.
    """
    if low == 0:
        right, a = right + (a - 1), 1.0
    if high == 1:
        wrong, b = wrong + (b - 1), 1.0
    if b == 1:
        return _root_of_quadratic(right, wrong, a, low, high)
    if a == 1:  # seen from the other end: wrong labels are right ones
        return 1 - _root_of_quadratic(wrong, right, b, 1 - high, 1 - low)
    return _root_of_cubic(right, wrong, a, b, low, high)


def _root_of_quadratic(right: Floats, wrong: Floats, a: float, low: float, high: float) -> Floats:
    """Where ``right (1 - p)(p - low) - wrong p (p - low) + (a - 1) p (1 - p)`` falls through 0."""
    if a == 1:
        share = np.clip(right / np.where(right + wrong > 0, right + wrong, 1), low, high)
        return np.where(wrong < 0, high, np.where(right < 0, low, share))
    square = right + wrong + a - 1
    linear = right * (1 + low) + wrong * low + a - 1
    constant = right * low
    discriminant = linear**2 - 4 * square * constant
    with np.errstate(divide="ignore", invalid="ignore"):
        falls_at = np.where(
            square == 0,
            np.where(linear < 0, constant / linear, np.nan),
            (linear + np.sqrt(np.maximum(discriminant, 0))) / (2 * square),
        )
    inside = (discriminant >= 0) & (low < falls_at) & (falls_at < high)
    at_high = (right * (1 - high) - wrong * high) * (high - low) + (a - 1) * high * (1 - high)
    rises_to_high = (at_high > 0) | ((at_high == 0) & (linear < 2 * square * high))
    return np.where(inside, falls_at, np.where(rises_to_high, high, low))


def _root_of_cubic(
    right: Floats, wrong: Floats, a: float, b: float, low: float, high: float
) -> Floats:
    """Bisect the run between two turns of the cubic in which it falls through zero."""
    coefficients = (
        right + wrong + a + b - 2,
        -right * (1 + high + low)
        - wrong * (high + low)
        - (a - 1) * (1 + high)
        - (b - 1) * (1 + low),
        right * (high + low + high * low) + wrong * high * low + (a - 1) * high + (b - 1) * low,
        -right * high * low,
    )
    c3, c2, c1, c0 = coefficients

    def slope(p: Floats) -> Floats:
        return ((c3 * p + c2) * p + c1) * p + c0

    half = np.sqrt(np.maximum(c2**2 - 3 * c3 * c1, 0))
    thrice = 3 * np.where(c3 == 0, 1e-9, c3)
    turns = np.clip(np.sort([(-c2 - half) / thrice, (-c2 + half) / thrice], axis=0), low, high)
    ends = [np.full_like(c3, low), *turns, np.full_like(c3, high)]
    slopes = [np.full_like(c3, a - 1), *map(slope, turns), np.full_like(c3, 1 - b)]
    below = np.full_like(c3, low if a < 1 else high)
    above = below
    for (left, falls_from), (right_end, falls_to) in pairwise(zip(ends, slopes, strict=True)):
        falls = (falls_from > 0) & (falls_to < 0)
        below, above = np.where(falls, left, below), np.where(falls, right_end, above)
    for _ in range(60):
        middle = (below + above) / 2
        rising = slope(middle) > 0
        below, above = np.where(rising, middle, below), np.where(rising, above, middle)
    return (below + above) / 2


METHODS = (
    Method(
        "one-coin",
        OneCoin,
        "One accuracy for each worker, with an optional (shifted) beta prior.",
        "Maginnis and Gupta, Adaptive Crowdsourcing via EM with Prior (2015)",
    ),
)
