"""Parameters and statistics with the rows of some workers only, as they travel on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Floats

Workers = NDArray[np.intp]


class SomeRows(NamedTuple):
    """Some rows of a table with `height` rows."""

    rows: NDArray[np.intp]
    values: Floats
    height: int

    def dense(self) -> Floats:
        table = np.zeros((self.height, *self.values.shape[1:]))
        table[self.rows] = self.values
        return table


def only(value: Any, workers: Workers, n_workers: int) -> Any:
    """The parameters or statistics with the rows of these workers only, as `SomeRows`."""

    def take(table: Floats) -> SomeRows:
        rows = _rows(workers, len(table) // n_workers)
        return SomeRows(rows, table[rows], len(table))

    return _cut_fields(value, take, n_workers)


def whole(value: Any) -> Any:
    """The parameters or statistics with all rows, zero for other workers."""
    if isinstance(value, SomeRows):
        return value.dense()
    return _map_fields(whole, value) if isinstance(value, tuple) else value


def sum_of(one: Any, other: Any) -> Any:
    """Sum of two statistics, neither of which is changed."""
    if isinstance(one, SomeRows):
        return _sum_of_rows(one, other)
    return _map_fields(sum_of, one, other) if isinstance(one, tuple) else one + other


def _sum_of_rows(one: SomeRows, other: SomeRows) -> SomeRows:
    if np.array_equal(one.rows, other.rows):  # as where everybody is in every part
        return SomeRows(one.rows, one.values + other.values, one.height)
    present = np.zeros(one.height, dtype=bool)
    present[one.rows] = present[other.rows] = True
    total = one.dense()
    total[other.rows] += other.values
    rows = np.flatnonzero(present)
    return SomeRows(rows, total[rows], one.height)


def _rows(workers: Workers, each: int) -> Workers:
    """Rows of the workers in a table with `each` rows for a worker."""
    return (workers[:, None] * each + np.arange(each)).ravel()


def _cut_fields(value: Any, take: Callable[[Floats], SomeRows], n_workers: int) -> Any:
    if not isinstance(value, tuple) or isinstance(value, SomeRows):
        return value
    names = getattr(value, "_fields", [""] * len(value))
    by_worker = getattr(value, "by_worker", ())
    fields = [
        take(field)
        if name in by_worker and isinstance(field, np.ndarray) and len(field)
        else _cut_fields(field, take, n_workers)
        for name, field in zip(names, value, strict=True)
    ]
    return type(value)(*fields) if hasattr(value, "_fields") else tuple(fields)


def _map_fields(function: Callable[..., Any], *tuples: Any) -> Any:
    kind = type(tuples[0])
    fields = map(function, *tuples)
    return kind(*fields) if hasattr(kind, "_fields") else tuple(fields)
