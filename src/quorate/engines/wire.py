"""Parameters and statistics with the rows of some workers only: what has to travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Floats

Workers = NDArray[np.intp]


class Cut(NamedTuple):
    """Some rows of a table of so many."""

    rows: NDArray[np.intp]
    values: Floats
    height: int

    def dense(self) -> Floats:
        table = np.zeros((self.height, *self.values.shape[1:]))
        table[self.rows] = self.values
        return table


def only(value: Any, workers: Workers, n_workers: int) -> Any:
    """The parameters or statistics with the rows of these workers, as `Cut`."""

    def take(table: Floats) -> Cut:
        rows = _rows(workers, len(table) // n_workers)
        return Cut(rows, table[rows], len(table))

    return _of_workers(value, take, n_workers)


def whole(value: Any) -> Any:
    """The same with every row, those of other workers being zero."""
    if isinstance(value, Cut):
        return value.dense()
    return _each(whole, value) if isinstance(value, tuple) else value


def together(one: Any, other: Any) -> Any:
    """The sum of two statistics, neither of which is changed."""
    if isinstance(one, Cut):
        rows = np.union1d(one.rows, other.rows)
        values = np.zeros((len(rows), *one.values.shape[1:]))
        values[np.searchsorted(rows, one.rows)] = one.values
        values[np.searchsorted(rows, other.rows)] += other.values
        return Cut(rows, values, one.height)
    return _each(together, one, other) if isinstance(one, tuple) else one + other


def _rows(workers: Workers, each: int) -> Workers:
    """The rows of a table that has so many for each worker."""
    return (workers[:, None] * each + np.arange(each)).ravel()


def _of_workers(value: Any, take: Callable[[Floats], Cut], n_workers: int) -> Any:
    if not isinstance(value, tuple) or isinstance(value, Cut):
        return value
    names = getattr(value, "_fields", [""] * len(value))
    by_worker = getattr(value, "by_worker", ())
    fields = [
        take(field)
        if name in by_worker and isinstance(field, np.ndarray) and len(field)
        else _of_workers(field, take, n_workers)
        for name, field in zip(names, value, strict=True)
    ]
    return type(value)(*fields) if hasattr(value, "_fields") else tuple(fields)


def _each(function: Callable[..., Any], *tuples: Any) -> Any:
    kind = type(tuples[0])
    fields = map(function, *tuples)
    return kind(*fields) if hasattr(kind, "_fields") else tuple(fields)
