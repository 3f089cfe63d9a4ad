"""Tasks and workers from files, for the command line."""

from __future__ import annotations

from typing import Any

import polars as pl

from quorate.errors import DataError
from quorate.votes import read_table, shown
from quorate.votes.reading import retyped
from quorate.votes.sources import Table, other_columns


def read_tasks(path: str) -> list[Any]:
    """The tasks of a table that has a column of them."""
    return _names(read_table(path, ("task",)), "task").to_list()


def read_workers(path: str, cost: float | None, capacity: float | None) -> dict[str, Any]:
    """Who is there, with the cost and capacity of each where the table has them, else the given
    ones."""
    columns = other_columns(path, ("worker",))
    extra = [name for name in ("cost", "capacity") if name in columns]
    table = read_table(path, ("worker", *extra))
    workers = _names(table, "worker").to_list()
    frame = table.frame.drop_nulls("worker")
    found: dict[str, Any] = {"available": workers}
    for name, given in (("cost", cost), ("capacity", capacity)):
        if name in extra:
            numbers = [_number(name, cell, given) for cell in frame[name].to_list()]
            of_each = zip(workers, numbers, strict=True)
            found[name] = {worker: number for worker, number in of_each if number is not None}
        elif given is not None:
            found[name] = given
    return found


def _names(table: Table, role: str) -> pl.Series:
    """Numbers where a text file has only numbers, as in the votes."""
    names = table.frame[role].drop_nulls()
    if not len(names):
        raise DataError(f"{table.origin} names no {role}.")
    return retyped(names) if table.text else names


def _number(name: str, cell: Any, given: float | None) -> float | None:
    """What a cell says, or if it is empty what is given for all."""
    if cell is None:
        return given
    try:
        return float(cell)
    except ValueError:
        raise DataError(f"A {name} is a number, not {shown(cell)}.") from None
