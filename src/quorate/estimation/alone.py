"""The interval of a share from known answers alone: exact, by the mid-p value.

Of N tasks n were drawn at random, without replacement, and x of them are of the class: x is
hypergeometric in the number K of tasks that are. The interval holds every K for which

    P(X < x) + P(X = x) / 2   and   P(X > x) + P(X = x) / 2

are both above half of what may be missed (Lancaster 1961). It covers about as often as it says,
where Clopper and Pearson's covers too often. Of tasks that are themselves a sample, or of weighted
answers, it is the binomial's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quorate.estimation.figures import Interval
from quorate.kernels import Floats
from quorate.special import betainc, gammaln, stdtrit

STEPS = 60  # of bisection


def share_of_these(n_right: int, n_known: int, n_tasks: int, level: float) -> tuple[float, float]:
    """The mid-p interval of the share of these tasks.

    Examples:
        >>> share_of_these(0, 20, 1000, 0.95)
        (0.0, 0.137)
        >>> share_of_these(3, 3, 3, 0.95)
        (1.0, 1.0)
    """
    least, most = n_right, n_tasks - n_known + n_right
    outside = (1 - level) / 2

    def at_most(of_class: int) -> float:  # mid-p of x or fewer, which falls as K rises
        terms = np.exp(_log_probabilities(n_right, of_class, n_known, n_tasks))
        return float(terms[:-1].sum() + terms[-1] / 2)

    low = _first(least, most, lambda of_class: at_most(of_class) < 1 - outside)
    high = _first(least, most, lambda of_class: at_most(of_class) <= outside) - 1
    high = most if at_most(most) > outside else max(high, low)
    return low / n_tasks, high / n_tasks


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from which on something holds; the last if it never does."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _log_probabilities(n_right: int, of_class: int, n: int, n_tasks: int) -> Floats:
    """Log-probabilities of 0 to x of the class among n drawn, where `of_class` of all tasks are."""
    x, others = np.arange(n_right + 1), n_tasks - of_class
    possible = (x <= of_class) & (n - x <= others)
    x = np.where(possible, x, n_right)
    found = _choose(of_class, x) + _choose(others, n - x) - _choose(n_tasks, n)
    return np.where(possible, found, -np.inf)


def _choose(n: int, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


def share_of_more(n_right: float, n_known: float, level: float) -> tuple[float, float]:
    """The mid-p interval of a binomial share, of any number of answers.

    Examples:
        >>> [round(bound, 3) for bound in share_of_more(5, 10, 0.95)]
        [0.212, 0.788]
    """
    outside = (1 - level) / 2

    def at_least(x: float, share: float) -> float:  # mid-p of x or more
        more = betainc(x + 1, n_known - x, share) if x < n_known else 0.0
        some = betainc(x, n_known - x + 1, share) if x > 0 else 1.0
        return float(more + some) / 2

    low = 0.0 if n_right <= 0 else _bisect(lambda s: at_least(n_right, s) - outside)
    high = 1.0 if n_right >= n_known else _bisect(lambda s: at_least(n_right, s) - 1 + outside)
    return low, high


def _bisect(rising: Callable[[float], float]) -> float:
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2


def mean_of(value: Floats, weight: Floats, n_tasks: int | None, level: float) -> Interval:
    """The mean of values, with Student's interval; of tasks without end if their number is None."""
    n = len(value)
    weight = weight / weight.sum()
    mean = float(weight @ value)
    if n < 2:
        return Interval(mean, 0.0, 1.0)
    variance = float((weight**2 * (value - mean) ** 2).sum()) * n / (n - 1)
    left = 1.0 if n_tasks is None else 1 - n / n_tasks
    half = float(stdtrit(n - 1, 0.5 + level / 2)) * np.sqrt(variance * left)
    return Interval(mean, max(mean - half, 0.0), min(mean + half, 1.0))
