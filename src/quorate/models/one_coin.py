"""One-coin Dawid-Skene: each worker is right with one probability, whatever the truth.

The binary case, the beta prior and the shifted and rescaled beta prior are those of P. Maginnis and
T. Gupta, "Adaptive Crowdsourcing via EM with Prior" (2015), section 1. With more classes a wrong
label is any of the others, evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from quorate import kernels
from quorate.errors import UsageError, require_number
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import EM, Params, Stats, dense


@dataclass(frozen=True, eq=False)
class OneCoin(EM):
    """One accuracy per worker, with an optional prior: accuracy = low + (high - low) * Beta(a, b).

    Options:
        beta: (a, b) of the prior on accuracy; None for no prior.
        low: the least accuracy the prior allows.
        high: the greatest accuracy the prior allows.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.OneCoin(beta=(4, 2)), labels)
        >>> result.params.skill.round(2)
        array([0.81, 0.81, 0.69])
    """

    beta: tuple[float, float] | None = None
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.low < self.high <= 1:
            raise UsageError(
                f"low and high must be 0 <= low < high <= 1, not {self.low} and {self.high}."
            )
        if self.beta is not None and len(self.beta) != 2:
            raise UsageError(f"beta is the two numbers a and b, not {self.beta!r}.")
        for parameter in self.beta or ():
            require_number("beta", parameter, at_least=np.nextafter(0, 1))

    def log_joint(self, block: Labels, params: Params) -> Floats:
        right = params.skill
        wrong = (1 - right) / max(block.n_classes - 1, 1)
        log_joint = _evidence(block, kernels.log_or(right, 0.0), kernels.log_or(wrong, 0.0))
        impossible = (right == 0) | (wrong == 0)
        if (
            self.zeros == "exclude" and impossible.any()
        ):  # counted apart, so as not to swamp the rest
            log_joint += kernels.LOG_ZERO * _evidence(block, 1.0 * (right == 0), 1.0 * (wrong == 0))
        log_joint += self._evidence(params.log_prior)
        return log_joint

    def count(self, block: Labels, posterior: Floats) -> Floats | Rows:
        return block.weighed_agreement(posterior)

    def learn(self, counts: Floats, worker_prior: Floats | None) -> Floats:
        counts = counts + self.smoothing
        if worker_prior is not None:
            counts += _right_and_wrong(worker_prior)
        a, b = self.beta or (1.0, 1.0)
        if a == b == 1:
            silent = counts.sum(axis=1) == 0
            counts[silent] = counts.sum(axis=0)  # of whom nothing is known: the crowd's average
        return best_accuracy(counts[:, 0], counts[:, 1], a, b, self.low, self.high)

    def skill_from(self, confusion: Floats) -> Floats:
        accuracy: Floats = np.trace(confusion, axis1=1, axis2=2) / confusion.shape[1]
        return accuracy

    def pool(self, counts: Floats) -> Floats:
        pooled: Floats = counts.sum(axis=0, keepdims=True)
        return pooled

    def log_skill_prior(self, params: Params) -> float:
        p = params.skill
        right: Floats | float = self.smoothing
        wrong: Floats | float = self.smoothing
        if self.worker_prior is not None:
            known = _right_and_wrong(self.worker_prior)
            right, wrong = right + known[:, 0], wrong + known[:, 1]
        a, b = self.beta or (1.0, 1.0)
        return (
            kernels.weighted_log(right, p)
            + kernels.weighted_log(wrong, 1 - p)
            + kernels.weighted_log(a - 1, p - self.low)
            + kernels.weighted_log(b - 1, self.high - p)
        )

    def confusion(self, params: Params) -> Floats:
        return one_coin_confusion(params.skill, len(params.log_prior))

    def history(self, stats: Stats, params: Params) -> Floats:
        """Right and wrong labels, spread over the classes by their shares."""
        n_classes = len(params.log_prior)
        right, wrong = dense(stats.counts).T[:, :, None, None] * params.prior[:, None]
        elsewhere = wrong / max(n_classes - 1, 1)
        counts: Floats = np.where(np.eye(n_classes, dtype=bool), right, elsewhere)
        return counts


def one_coin_confusion(accuracy: Floats, n_classes: int) -> Floats:
    """``[worker, truth, label]`` of workers right with one probability, else wrong evenly."""
    right = accuracy[:, None, None]
    wrong = (1 - right) / max(n_classes - 1, 1)
    return np.where(np.eye(n_classes, dtype=bool), right, wrong)


def _evidence(block: Labels, right: Floats, wrong: Floats) -> Floats:
    """Per task and class, ``right[worker]`` of those who named the class, ``wrong`` of the rest."""
    return block.weighted_votes(right - wrong) + block.task_sums(wrong)[:, None]


def _right_and_wrong(counts: Floats) -> Floats:
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
