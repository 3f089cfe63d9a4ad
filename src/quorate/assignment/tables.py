"""Tasks and workers to choose from: names, or a table of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from quorate.errors import DataError, UsageError
from quorate.votes import Reading, columns_of, read_table, retyped, shown
from quorate.votes.sources import Table, format_of, other_columns

WORKER = ("worker", "cost", "capacity")  # the columns of a table of workers
Numbers = float | Mapping[Any, float] | None


def read_tasks(source: Any, reading: Reading) -> pl.Series:
    """The tasks that a table has a column of, or that are named: one, several or none."""
    rows = _rows(source, ("task",))
    if isinstance(rows, list) and not rows:
        return pl.Series("task", [], dtype=pl.Null)
    return _names(read_table(rows, ("task",), columns=columns_of(reading), strict=False), "task")


def read_workers(source: Any, cost: Numbers, capacity: Numbers, reading: Reading) -> dict[str, Any]:
    """Those who can be asked (`available`), with the `cost` and `capacity` of each where the table
    has them, else the given ones."""
    rows, columns = _rows(source, WORKER), columns_of(reading)
    if isinstance(rows, list) and not rows:
        raise UsageError("There is nobody to ask: available is empty.")
    present = other_columns(rows, WORKER[:1], columns=columns)
    extra = [name for name in WORKER[1:] if name in present]
    table = read_table(rows, (WORKER[0], *extra), columns=columns, strict=False)
    workers = _names(table, "worker")
    frame = table.frame.drop_nulls("worker")
    found: dict[str, Any] = {"available": workers}
    for name, given in (("cost", cost), ("capacity", capacity)):
        if name in extra:
            cells = zip(workers, frame[name], strict=True)
            numbers = {worker: _number(name, cell, worker, given) for worker, cell in cells}
            found[name] = {worker: n for worker, n in numbers.items() if n is not None}
        elif given is not None:
            found[name] = given
    return found


def _rows(source: Any, roles: Sequence[str]) -> Any:
    """What `read_table` reads: a table or a file as it is, names as rows of one cell.

    A text is a name, unless it is that of a file of a format that is known.
    """
    if isinstance(source, str) and source != "-" and format_of(source) is None:
        return [(source,)]
    if isinstance(source, (str, Path)) or _is_table(source):
        return source
    if isinstance(source, Mapping):
        if roles[0] not in source:
            raise UsageError(f"A mapping of {roles[0]}s has columns, such as {roles[0]}: [...].")
        return pl.DataFrame(dict(source))
    rows = list(source) if isinstance(source, Iterable) else [source]
    if not any(_is_row(row) for row in rows):
        return [(name,) for name in rows]
    if isinstance(rows[0], Mapping):
        return pl.DataFrame(rows)
    n_cells = len(rows[0]) if _is_row(rows[0]) else 1
    return read_table(rows, roles[:n_cells]).frame


def _is_table(source: Any) -> bool:
    """Whether it has columns; a series has none, and is a list of names."""
    return hasattr(source, "columns") or hasattr(source, "column_names")


def _is_row(row: Any) -> bool:
    return isinstance(row, (Mapping, Sequence)) and not isinstance(row, (str, bytes))


def _names(table: Table, role: str) -> pl.Series:
    """Numbers where a text file has only numbers, as in the votes."""
    names = table.frame[role].drop_nulls()
    if not len(names):
        raise DataError(f"{table.origin} names no {role}.")
    return retyped(names) if table.text else names


def _number(name: str, cell: Any, worker: Any, given: Numbers) -> float | None:
    """What a cell says; if it is empty, what is given for the worker or for all."""
    if cell is None or cell != cell:
        return given.get(worker) if isinstance(given, Mapping) else given
    try:
        return float(cell)
    except ValueError:
        raise DataError(f"A {name} is a number, not {shown(cell)}.") from None
