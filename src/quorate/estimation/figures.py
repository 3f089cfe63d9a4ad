"""From the distribution of the unknown answers' mean to an interval of all tasks.

With theta the mean over the N - n tasks whose answers are unknown, the mean over all N is

    mean = (sum of the known values + (N - n) theta) / N                                     (1)

and its bounds are as far from it as those of theta are from the median, whose distribution has the
variance T of (1) already (`calibration`).

These bounds allow for errors of the score of which few or none are among the known answers. With a
good score they allow for many more than there are, and the interval holds more often than it is to.
So, with D the variance that it stands for, S the one that answers show, and c a caution, because S
is too small now and then,

    U = max(D - c S, 0)   is allowed for and not shown; the interval stands for D - 2/5 U    (2)

instead of D. And it goes a share k of the way to the mean of the answers alone, whose variance is
A, by which that of its place is e U more:

    k = sqrt(e U / (A - S)),   e = n / (n + 60) / 3                                          (3)

That mean has no error of the score in it. Without (3) an interval as narrow as (2) would hold too
seldom just where as many errors are possible as remain unseen by chance: they would all be on the
same side of it. Neither is done where fewer than five of n answers would be of either kind (of a
plan, whose answers count unevenly, ten). As level and slope are learned from n answers, D is 2 / n
more to begin with.

Where these tasks are themselves a sample, and it is the mean over all others like them that is
asked for, the chance of which tasks these are is added: with V the variance of a value, distances
are multiplied by sqrt(1 + V / (N T)), which is PPI++'s variance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.estimation.calibration import (
    Answers,
    Evidence,
    mean_of_rows,
    quantiles,
)
from quorate.kernels import Floats
from quorate.special import ndtri

NOT_KEPT = 0.4  # of the variance that is allowed for and not shown
LEANING, HALF_OF_IT = 1 / 3, 60.0  # of it, as variance of the place; half with so many answers
LEAST = 1e-12


class Doubt(NamedTuple):
    """From how many answers of either kind on the interval goes by what is shown, and how many
    times the variance that is shown counts, which by chance may be too small."""

    enough: float
    caution: float


EVEN, PLANNED = Doubt(5, 2.5), Doubt(10, 1.75)


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
    mean = (total + (n_tasks - n) * theta) / n_tasks
    learned = float(np.sqrt(1 + 2 / max(n, 1)))
    allowed = Interval(mean, mean + (low - theta) * learned, mean + (high - theta) * learned)
    estimate, low, high = by_what_is_shown(allowed, found, log_weight, answers, level)
    if not tasks.these:
        kept = (high - low) / max(allowed.width, LEAST)
        variance = mean_of_rows(found.variance, log_weight) * kept**2
        chance = _variance(answers, tasks, estimate) / n_tasks
        wider = float(np.sqrt(1 + chance / max(variance, LEAST)))
        low, high = estimate + (low - estimate) * wider, estimate + (high - estimate) * wider
        return Interval(estimate, max(low, 0.0), min(high, 1.0))
    low, high = max(low, total / n_tasks), min(high, (total + n_tasks - n) / n_tasks)
    if tasks.whole:  # so many tasks, and no half of one
        low, high = (round(bound * n_tasks) / n_tasks for bound in (low, high))
    return Interval(estimate, min(low, estimate), max(high, estimate))


def by_what_is_shown(
    allowed: Interval, found: Evidence, log_weight: Floats, answers: Answers, level: float
) -> Interval:
    """The interval without part of what it allows for and the answers do not show (2), and nearer
    to what they say alone (3)."""
    doubt, n = PLANNED if answers.by_plan else EVEN, len(answers.value)
    alone, of_alone = answers.alone() if n else (0.0, 0.0)
    if round(n * min(alone, 1 - alone), 9) < doubt.enough or not allowed.width:
        return allowed
    shown = mean_of_rows(found.shown, log_weight)
    variance = (allowed.width / 2 / float(ndtri(0.5 + level / 2))) ** 2
    unseen = max(variance - doubt.caution * shown, 0.0)
    narrower = np.sqrt(1 - NOT_KEPT * unseen / variance)
    leaning = LEANING * n / (n + HALF_OF_IT)
    towards = np.sqrt(min(leaning * unseen / max(of_alone - shown, LEAST), 1.0))
    estimate = allowed.estimate + towards * (alone - allowed.estimate)
    low, high = (estimate + narrower * (end - allowed.estimate) for end in allowed[1:])
    return Interval(float(estimate), float(low), float(high))


def _variance(answers: Answers, tasks: Tasks, estimate: float) -> float:
    """The variance of a value."""
    n = len(answers.value)
    if tasks.whole or n < 2:
        return estimate * (1 - estimate)
    squares = (answers.value - answers.mean) ** 2
    return float(answers.weight @ squares / answers.weight.sum()) * n / (n - 1)
