"""The intraclass correlation: how far ratings of a task are alike, beyond how far tasks differ.

P. Shrout and J. Fleiss, "Intraclass Correlations: Uses in Assessing Rater Reliability"
(Psychological Bulletin, 1979), with the intervals given there, and those of K. McGraw and S. Wong,
"Forming Inferences about Some Intraclass Correlation Coefficients" (Psychological Methods, 1996).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from quorate.errors import DataError, UsageError, require_choice
from quorate.kernels import Floats

Form = Literal["1", "2", "3"]


class ICC(NamedTuple):
    """An intraclass correlation with its interval, and the numbers of tasks and raters."""

    value: float
    low: float
    high: float
    tasks: int
    raters: float


class Squares(NamedTuple):
    """Mean squares between tasks, within tasks, between raters, and what is left."""

    tasks: float
    within: float
    raters: float
    rest: float


def icc(
    ratings: Any, form: int | Form = 2, *, average: bool = False, level: float = 0.95
) -> ICC | None:
    """The intraclass correlation of ``ratings[task, rater]``, NaN where there is none; None where
    it is not defined: fewer than two tasks or raters, or ratings that are all the same.

    Form 1: each task is rated by others, who are alike. Form 2: the same raters, drawn from many,
    rate all tasks, and have to agree in height (absolute agreement). Form 3: these very raters, who
    have to agree up to an offset (consistency). With `average` it is of the mean of a task's
    ratings, else of a single one. Forms 2 and 3 need all ratings; form 1 takes those that there
    are.

    Examples:
        >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9],
        ...            [6, 2, 4, 7]]
        >>> [round(icc(ratings, form).value, 2) for form in (1, 2, 3)]
        [0.17, 0.29, 0.71]
    """
    require_choice("form", str(form), ("1", "2", "3"))
    if not 0 < level < 1:
        raise UsageError(f"level is a probability such as 0.95, not {level!r}.")
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise UsageError("ratings are a table of tasks by raters, with NaN where there is none.")
    table = table[np.isfinite(table).any(axis=1)]
    if str(form) == "1":
        return _one_way(table, average, level)
    if np.isnan(table).any():
        missing = np.isnan(table).any(axis=1)
        raise DataError(
            f"{int(missing.sum())} of {len(table)} tasks lack a rating: forms 2 and 3 of the"
            " intraclass correlation need the same raters on all tasks; form 1 does not."
        )
    if len(table) < 2 or table.shape[1] < 2:
        return None
    return _two_way(table, str(form) == "2", average, level)


def _one_way(table: Floats, average: bool, level: float) -> ICC | None:
    """Form 1, by the analysis of variance of unequal numbers of ratings: a task counts as if it had
    ``k`` of them."""
    given = np.isfinite(table)
    said = given.sum(axis=1)
    n, total = len(table), int(said.sum())
    if n < 2 or total <= n:
        return None
    means = np.where(given, table, 0.0).sum(axis=1) / said
    grand = np.where(given, table, 0.0).sum() / total
    between = float(said @ (means - grand) ** 2) / (n - 1)
    within = float((np.where(given, table - means[:, None], 0.0) ** 2).sum()) / (total - n)
    k = (total - float(said @ said) / total) / (n - 1)
    if between <= 0 and within <= 0:
        return None
    ratio = between / within if within > 0 else np.inf
    upper, lower = _f_bounds(level, n - 1, total - n)
    value, low, high = (_of_ratio(f, k, average) for f in (ratio, ratio / upper, ratio * lower))
    return ICC(value, low, high, n, k)


def _of_ratio(ratio: float, k: float, average: bool) -> float:
    """The correlation at a ratio of mean squares."""
    if np.isinf(ratio):
        return 1.0
    if average:
        return 1 - 1 / ratio if ratio > 0 else -np.inf
    return (ratio - 1) / (ratio + k - 1)


def _two_way(table: Floats, absolute: bool, average: bool, level: float) -> ICC | None:
    n, k = table.shape
    squares = _squares(table)
    if squares.tasks <= 0 and squares.rest <= 0:
        return None
    if not absolute:
        ratio = squares.tasks / squares.rest if squares.rest > 0 else np.inf
        upper, lower = _f_bounds(level, n - 1, (n - 1) * (k - 1))
        ratios = (ratio, ratio / upper, ratio * lower)
        value, low, high = (_of_ratio(f, k, average) for f in ratios)
        return ICC(value, low, high, n, k)
    excess = k * (squares.raters - squares.rest) / n
    single = (squares.tasks - squares.rest) / (squares.tasks + (k - 1) * squares.rest + excess)
    low, high = _absolute_bounds(squares, single, n, k, level)
    if average:
        single, low, high = (k * r / (1 + (k - 1) * r) for r in (single, low, high))
    return ICC(single, low, high, n, k)


def _squares(table: Floats) -> Squares:
    n, k = table.shape
    grand, by_task, by_rater = table.mean(), table.mean(axis=1), table.mean(axis=0)
    rest = table - by_task[:, None] - by_rater + grand
    return Squares(
        k * float(((by_task - grand) ** 2).sum()) / (n - 1),
        float(((table - by_task[:, None]) ** 2).sum()) / (n * (k - 1)),
        n * float(((by_rater - grand) ** 2).sum()) / (k - 1),
        float((rest**2).sum()) / ((n - 1) * (k - 1)),
    )


def _absolute_bounds(
    squares: Squares, single: float, n: int, k: int, level: float
) -> tuple[float, float]:
    """Bounds of form 2, whose degrees of freedom depend on the correlation (Satterthwaite)."""
    if squares.rest <= 0:
        return single, single
    a = k * single / (n * (1 - single))
    b = 1 + k * single * (n - 1) / (n * (1 - single))
    both = a * squares.raters + b * squares.rest
    freedom = both**2 / (
        (a * squares.raters) ** 2 / (k - 1) + (b * squares.rest) ** 2 / ((n - 1) * (k - 1))
    )
    upper, lower = _f_bounds(level, n - 1, freedom)
    mixed = k * squares.raters + (k * n - k - n) * squares.rest
    low = n * (squares.tasks - upper * squares.rest) / (upper * mixed + n * squares.tasks)
    high = n * (lower * squares.tasks - squares.rest) / (mixed + n * lower * squares.tasks)
    return low, high


def _f_bounds(level: float, first: float, second: float) -> tuple[float, float]:
    """What the ratio of mean squares is divided by for the lower bound, and multiplied with for
    the upper: quantiles of the F distribution with these degrees of freedom, or exchanged ones."""
    from quorate.special import fdtri  # slow to import

    p = (1 + level) / 2
    return float(fdtri(first, second, p)), float(fdtri(second, first, p))
