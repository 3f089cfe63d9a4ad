"""From the posterior of the unknown answers to an interval of all tasks.

With theta the mean over the N - n tasks whose answers are unknown, the mean over all N is

    mean = (sum of the known values + (N - n) theta) / N                                     (1)

and the distance of either bound of theta from its median is multiplied by the square root of

    R = (1 - n / N)² (sum over the known of v (1 - pi) / pi²) / sum of v (1 - pi)² / pi²      (2)

with pi the probability with which a task was drawn and v the chance that is left in its answer: R
is 1 - n / N where all were drawn alike, as in sampling without replacement. Where these tasks are
themselves a sample, and it is the mean over all others like them that is asked for, the chance of
which tasks these are is added: R + n / N V / s, with V the variance of a value and s that which the
score leaves (PPI++'s variance).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.estimation.calibration import (
    Answers,
    Evidence,
    mean_spread,
    quantiles,
)
from quorate.kernels import Floats


class Interval(NamedTuple):
    """An estimate, with the bounds of its interval."""

    estimate: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def scaled(self, low: float, high: float) -> Interval:
        """The interval in units in which 0 is `low` and 1 is `high`."""
        return Interval(*(low + (high - low) * value for value in self))


class Tasks(NamedTuple):
    """How many tasks there are, the factor R of (2), whether what is asked for is these tasks or
    all others like them, and whether values are yes or no."""

    n_tasks: int
    left: float
    these: bool = True
    whole: bool = True


def figure(
    found: Evidence, log_weight: Floats, answers: Answers, tasks: Tasks, level: float
) -> Interval:
    """The mean over all tasks, and its interval, by the rows' weights."""
    n, n_tasks = len(answers.value), tasks.n_tasks
    total = float(answers.value.sum())
    if n == n_tasks and tasks.these:
        return Interval(*[total / n_tasks] * 3)
    theta, low, high = quantiles(found, log_weight, level)
    estimate = (total + (n_tasks - n) * theta) / n_tasks
    shrink = np.sqrt(_factor(n, tasks, mean_spread(found, log_weight), estimate))
    low, high = estimate + (low - theta) * shrink, estimate + (high - theta) * shrink
    if not tasks.these:
        return Interval(estimate, max(low, 0.0), min(high, 1.0))
    low, high = max(low, total / n_tasks), min(high, (total + n_tasks - n) / n_tasks)
    if tasks.whole:  # so many tasks, and no half of one
        low, high = (round(bound * n_tasks) / n_tasks for bound in (low, high))
    return Interval(estimate, min(low, estimate), max(high, estimate))


def _factor(n_known: int, tasks: Tasks, spread: float, estimate: float) -> float:
    """What the variance of theta is multiplied by."""
    if tasks.these:
        return tasks.left
    variance = max(estimate * (1 - estimate), spread)
    return tasks.left + n_known / tasks.n_tasks * variance / max(spread, 1e-9)
