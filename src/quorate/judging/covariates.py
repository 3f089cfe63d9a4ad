"""Bias of judges by a column: length, position, or whose answer it is.

The residual of a vote is 1 if it names the last class and 0 if not, less the probability that the
task is of that class. A judge is biased by a column if residuals go with it: by the slope on a
number, in units of its standard deviation, or by how far the mean of a value of a category is from
that of all others. Standard errors are robust to unequal variances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from quorate.kernels import Floats
from quorate.special import ndtr

LEAST_VOTES = 10
MOST_VALUES = 12
EVERYBODY = "all judges"


@dataclass(frozen=True)
class Bias:
    """How much more often a judge names the last class than it should, for a column that is one
    standard deviation higher, or that has this value; with a 95 % interval and p-value."""

    judge: str
    column: str
    value: str | None
    effect: float
    low: float
    high: float
    p_value: float
    votes: int


def biases(rows: pl.DataFrame, column: str) -> list[Bias]:
    """The bias of each judge and of all together, of rows with judge, residual and the column."""
    rows = rows.drop_nulls()
    number = rows[column].cast(pl.Float64, strict=False)
    numeric = number.null_count() == 0 and number.n_unique() > 2
    found = []
    groups = [
        (EVERYBODY, rows),
        *((str(n[0]), g) for n, g in rows.group_by("judge", maintain_order=True)),
    ]
    for judge, of in groups:
        if len(of) < LEAST_VOTES:
            continue
        residual = of["residual"].to_numpy()
        if numeric:
            x = of[column].cast(pl.Float64).to_numpy()
            found += _one(judge, column, None, residual, x, float(number.std() or 0.0))  # type: ignore[arg-type]
            continue
        for value in rows[column].unique().sort().to_list()[:MOST_VALUES]:
            x = (of[column] == value).to_numpy().astype(np.float64)
            found += _one(judge, column, str(value), residual, x, 1.0)
    return found


def _one(
    judge: str, column: str, value: str | None, residual: Floats, x: Floats, unit: float
) -> list[Bias]:
    """The slope of residuals on x, for `unit` of it; none where x is always the same."""
    centred = x - x.mean()
    total = float((centred**2).sum())
    if total <= 1e-12 or not unit:
        return []
    slope = float(centred @ residual) / total
    error = residual - residual.mean() - slope * centred
    spread = float(np.sqrt(((centred * error) ** 2).sum())) / total * np.sqrt(len(x) / (len(x) - 2))
    effect, half = slope * unit, 1.96 * spread * unit
    p_value = float(2 * ndtr(-abs(slope) / max(spread, 1e-12)))
    return [Bias(judge, column, value, effect, effect - half, effect + half, p_value, len(x))]
