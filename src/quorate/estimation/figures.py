"""From the distribution of the unknown answers' mean to an interval of all tasks.

With theta the mean over the N - n tasks whose answers are unknown, the mean over all N is

    mean = (sum of the known values + (N - n) theta) / N                                     (1)

and its bounds are as far from it as those of theta are from the median, whose distribution has the
variance T of (1) already (`calibration`). Where these tasks are themselves a sample, and it is the
mean over all others like them that is asked for, the chance of which tasks these are is added: with
V the variance of a value, distances are multiplied by sqrt(1 + V / (N T)), which is PPI++'s
variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.estimation.calibration import (
    Answers,
    Evidence,
    mean_variance,
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

    def no_wider_than(self, other: Interval) -> Interval:
        """This interval; the bounds of the other where those are nearer to each other."""
        if self.width <= other.width:
            return self
        estimate = min(max(self.estimate, other.low), other.high)
        return Interval(estimate, other.low, other.high)

    def scaled(self, low: float, high: float) -> Interval:
        """The interval in units in which 0 is `low` and 1 is `high`."""
        return Interval(*(low + (high - low) * value for value in self))


class Tasks(NamedTuple):
    """How many tasks there are, whether what is asked for is these tasks or all others like them,
    and whether values are yes or no."""

    n_tasks: int
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
    wider = 1.0
    if not tasks.these:
        chance = _variance(answers, tasks, estimate) / n_tasks
        wider = float(np.sqrt(1 + chance / max(mean_variance(found, log_weight), 1e-12)))
    low, high = estimate + (low - theta) * wider, estimate + (high - theta) * wider
    if not tasks.these:
        return Interval(estimate, max(low, 0.0), min(high, 1.0))
    low, high = max(low, total / n_tasks), min(high, (total + n_tasks - n) / n_tasks)
    if tasks.whole:  # so many tasks, and no half of one
        low, high = (round(bound * n_tasks) / n_tasks for bound in (low, high))
    return Interval(estimate, min(low, estimate), max(high, estimate))


def _variance(answers: Answers, tasks: Tasks, estimate: float) -> float:
    """The variance of a value."""
    n = len(answers.value)
    if tasks.whole or n < 2:
        return estimate * (1 - estimate)
    squares = (answers.value - answers.mean) ** 2
    return float(answers.weight @ squares / answers.weight.sum()) * n / (n - 1)
