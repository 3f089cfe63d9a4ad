"""Tasks and workers from files, for the command line."""

from __future__ import annotations

from typing import Any

from quorate.io import complete_rows, read_table
from quorate.io.encode import retyped
from quorate.io.sources import Table, other_columns


def read_tasks(path: str) -> list[Any]:
    """The tasks of a table that has a column of them."""
    return _column(read_table(path, ("task",)), "task")


def read_workers(path: str, cost: float | None, capacity: float | None) -> dict[str, Any]:
    """Who is there, with the cost and capacity of each where the table has such columns, else the
    given ones."""
    columns = other_columns(path, ("worker",))
    extra = [name for name in ("cost", "capacity") if name in columns]
    table = read_table(path, ("worker", *extra))
    workers = _column(table, "worker")
    found: dict[str, Any] = {"available": workers}
    for name, given in (("cost", cost), ("capacity", capacity)):
        if name in extra:
            found[name] = dict(zip(workers, _column(table, name), strict=True))
        elif given is not None:
            found[name] = given
    return found


def _column(table: Table, name: str) -> list[Any]:
    """Numbers where a text file has only numbers, as in the votes."""
    column = complete_rows(table)[name]
    values: list[Any] = (retyped(column) if table.text else column).to_list()
    return values
