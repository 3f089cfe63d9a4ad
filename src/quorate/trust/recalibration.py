"""How far confidences are off: one number for all of them, with what is known of it.

The error that a posterior expects of an answer is p = 1 - confidence. How far this is off is one
number b for all answers,

    log-odds of an error = log-odds of p + b,

of which a method's calibration on public data is the prior, a normal distribution. There the error
is that of all answers together, and p its mean; those of single answers are in proportion to their
p. Known answers say more, of single answers too: each is compared with the answer that was found
while it was hidden (see `crossfit`), and the posterior of b is the prior times the likelihood of
which answers are wrong. As known answers are a random sample, what it says of all answers together
holds whatever the shape of confidences.

Expected errors and class shares are integrals over b, by strata of confidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from quorate.answers import Overview
from quorate.kernels import Floats
from quorate.model import Calibration

GRID = np.linspace(-8.0, 8.0, 321)  # of b
LEAST_ERROR = 1e-7
ONE_NUMBER = 0.8  # what a known answer counts for, as confidences are not off by one number alone
WEAK = 1.5  # spread of the prior where answers are known, so that these decide
LEVEL = 0.9  # of intervals
QUANTILES = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
HALVINGS = 40  # of the interval that a quantile lies in
FEW = 6_000  # values of the normal distribution function at once
FAR_OUT = 9.0  # standard deviations, beyond which next to nothing is left


class Check(NamedTuple):
    """Known answers against those that were found while they were hidden: the ``confidence`` of
    each, and whether it was ``right`` (1, or a share of it where answers are tied)."""

    confidence: Floats
    right: Floats

    def above(self, confidence: float) -> Check:
        """Those with at least this confidence."""
        enough = self.confidence >= confidence
        return Check(self.confidence[enough], self.right[enough])


class Shift(NamedTuple):
    """The probability of each b of the grid; and whether it is that of single answers, or of their
    mean."""

    probability: Floats
    of_answers: bool

    @classmethod
    def of(cls, calibration: Calibration, check: Check | None = None) -> Shift:
        """From the prior, and known answers where there are any."""
        spread = calibration.spread if check is None else max(calibration.spread, WEAK)
        log_density = -((GRID - calibration.bias) ** 2) / (2 * spread**2)
        if check is not None:
            log_odds = _log_odds(1 - check.confidence)[:, None] + GRID
            log_wrong, log_right = -np.logaddexp(0, -log_odds), -np.logaddexp(0, log_odds)
            evidence = check.right @ log_right + (1 - check.right) @ log_wrong
            log_density = log_density + ONE_NUMBER * evidence
        density = np.exp(log_density - log_density.max())
        return cls(density / density.sum(), check is not None)

    def expected(self, p: Floats) -> Floats:
        """The probability of an error for each p of an answer, over all b."""
        return _shifted(p) @ self.probability

    def mean_error(self, p: Floats, tasks: Floats) -> Floats:
        """The mean error by b over strata of so many tasks with a mean error p."""
        n = max(float(tasks.sum()), 1.0)
        if self.of_answers:
            return np.asarray(tasks @ _shifted(p) / n)
        return np.asarray(_shifted(np.array([tasks @ p / n]))[0])

    def errors(self, p: Floats, tasks: Floats) -> Floats:
        """The probability of an error in each of these strata, by b."""
        if self.of_answers:
            return _shifted(p)
        mean = tasks @ p / max(float(tasks.sum()), 1.0)
        ratio = self.mean_error(p, tasks) / max(float(mean), LEAST_ERROR)
        errors: Floats = np.minimum(p[:, None] * ratio, 1.0)
        return errors


def _shifted(p: Floats) -> Floats:
    """The probability of an error for each p and b."""
    shifted: Floats = 1 / (1 + np.exp(-(_log_odds(p)[:, None] + GRID)))
    return shifted


def _log_odds(p: Floats) -> Floats:
    p = np.clip(p, LEAST_ERROR, 1 - LEAST_ERROR)
    log_odds: Floats = np.log(p / (1 - p))
    return log_odds


class Share(NamedTuple):
    """A share, and its 90 % interval."""

    share: float
    low: float
    high: float


class ExpectedError(NamedTuple):
    """The expected share of wrong answers, and its 90 % interval."""

    error: float
    low: float
    high: float

    @classmethod
    def of(cls, overview: Overview, shift: Shift) -> ExpectedError:
        """Of the answers that are not known.

        Examples:
            >>> posterior = np.full((1000, 2), [0.9, 0.1])
            >>> overview = Overview.of(posterior, np.zeros(1000, dtype=np.int32))
            >>> shift = Shift.of(Calibration(0.0, 0.5))
            >>> [round(share, 2) for share in ExpectedError.of(overview, shift)]
            [0.11, 0.04, 0.2]
            >>> fifty = Check(np.full(50, 0.9), np.arange(50) >= 2)  # 2 of 50 are wrong
            >>> shift = Shift.of(Calibration(0.0, 0.5), fifty)
            >>> [round(share, 2) for share in ExpectedError.of(overview, shift)]
            [0.05, 0.01, 0.11]
        """
        tasks = tasks_by_stratum(overview)
        if not tasks.sum():
            return cls(0.0, 0.0, 0.0)
        errors = shift.mean_error(mean_error(overview), tasks)
        (found,) = _shares(errors[None], shift, float(tasks.sum()))
        return cls(*found)


def class_share_intervals(overview: Overview, shift: Shift) -> list[Share]:
    """The share of each class in all tasks, known ones among them: the answers, less the errors
    among them, and with errors elsewhere as the posterior would have it."""
    chosen, left = np.split(overview.strata[:, 1:], 2, axis=1)
    errors = shift.errors(mean_error(overview), tasks_by_stratum(overview))
    known = overview.answered - chosen.sum(axis=0)
    unknown = chosen.T @ (1 - errors) + left.T @ errors  # [class, b]
    n = max(overview.tasks, 1)
    shares = (unknown + known[:, None]) / n
    return [Share(*found) for found in _shares(shares, shift, n)]


def tasks_by_stratum(overview: Overview) -> Floats:
    """The number of tasks in each stratum."""
    n_classes = (overview.strata.shape[1] - 1) // 2
    tasks: Floats = overview.strata[:, 1 : 1 + n_classes].sum(axis=1)
    return tasks


def mean_error(overview: Overview) -> Floats:
    """The mean error probability of each stratum."""
    tasks = tasks_by_stratum(overview)
    mean: Floats = overview.strata[:, 0] / np.where(tasks > 0, tasks, 1.0)
    return mean


def _shares(by_shift: Floats, shift: Shift, n: float) -> Iterator[tuple[float, float, float]]:
    """The mean of each of the shares ``[share, b]`` that b tells, and its interval, with the chance
    of n draws."""
    means = by_shift @ shift.probability
    spread = np.sqrt(np.maximum(by_shift * (1 - by_shift), 0.25 / n) / n)
    ends = _quantiles(by_shift, spread, shift.probability)
    for mean, (low, high) in zip(means.tolist(), ends.tolist(), strict=True):
        yield mean, min(low, mean), max(high, mean)


def _quantiles(means: Floats, spreads: Floats, weights: Floats) -> Floats:
    """The ends, within 0 and 1, of the intervals of mixtures of normal distributions, each with its
    ``means`` and ``spreads`` in a row."""
    low, high = np.zeros((len(means), 2)), np.ones((len(means), 2))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        scores = (middle[:, :, None] - means[:, None]) / spreads[:, None]
        too_low = _normal_cdf(scores) @ weights < QUANTILES
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return np.stack([low[:, 0], high[:, 1]], axis=1)


def _normal_cdf(scores: Floats) -> Floats:
    """The standard normal distribution function. SciPy's takes longer to load than a few values
    take here."""
    if scores.size > FEW:
        from quorate.special import ndtr  # slow to import

        many: Floats = ndtr(scores)
        return many
    below = (scores > 0).astype(np.float64)
    near = np.abs(scores) < FAR_OUT
    below[near] = [math.erfc(score) / 2 for score in (scores[near] / -math.sqrt(2)).tolist()]
    return below
