"""SQLite files, by Python's own module: nothing to install, and values of any type in a column."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from quorate.errors import DataError
from quorate.votes.databases.address import Address
from quorate.votes.databases.database import SECONDS, Database, Relation, exact, quoted, selected
from quorate.votes.faults import shown

MOST_ROWS = 50_000  # that are Python's objects at a time
COLUMNS_AT_A_TIME = 3  # whose types are asked for together: few combinations, and few passes


class SQLite(Database):
    """A connection to a SQLite file."""

    def __init__(self, address: Address, writing: bool) -> None:
        super().__init__(address, writing)
        path = quote(str(Path(address.database).absolute()))
        self._connection = sqlite3.connect(
            f"file:{path}?mode={'rwc' if writing else 'ro'}",
            uri=True,
            timeout=SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self.run("BEGIN IMMEDIATE" if writing else "BEGIN")
        except BaseException:
            self._connection.close()
            raise

    def tables(self) -> list[Relation]:
        names = self._rows(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        )
        return [Relation("", name) for (name,) in names]

    def found(self, name: str) -> Relation | None:
        names = {table.name.lower(): table for table in self.tables()}
        return super().found(name) or names.get(name.lower())

    def columns(self, query: str) -> list[str]:
        found = self._connection.execute(f"SELECT * FROM (\n{query}\n) LIMIT 0")
        return [column[0] for column in found.description]

    def frames(self, query: str, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        kinds = dict(self._kinds(query, columns))
        types = {name: self._type(name, kinds[name]) for name in columns}
        wanted = ", ".join(selected(name, cast) for name, (cast, _) in types.items())
        schema = {name: dtype for name, (_, dtype) in types.items()}
        mixed = [name for name in columns if kinds[name] >= {"integer", "real"}]
        floats = [name for name in mixed if schema[name] == pl.Float64]
        found = self._connection.execute(f"SELECT {wanted} FROM (\n{query}\n)")
        yield pl.DataFrame(schema=schema)
        while some := found.fetchmany(min(rows, MOST_ROWS)):
            cells = dict(zip(columns, zip(*some, strict=True), strict=True))
            yield exact(pl.DataFrame(cells, schema=schema), floats, self.address.origin)

    def _kinds(self, query: str, columns: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
        """Yield each column with the types of its values, which in SQLite have their own, whatever
        the column says: all rows are asked, for a few columns at a time."""
        for at in range(0, len(columns), COLUMNS_AT_A_TIME):
            some = columns[at : at + COLUMNS_AT_A_TIME]
            asked = ", ".join(f"typeof({quoted(name)})" for name in some)
            found = self._rows(f"SELECT DISTINCT {asked} FROM (\n{query}\n)")
            for index, name in enumerate(some):
                yield name, {row[index] for row in found}

    def _type(self, column: str, kinds: set[str]) -> tuple[str, pl.DataType]:
        """Type of a column with values of these types, in SQL and here."""
        if "blob" in kinds:
            raise DataError(
                f"{self.address.origin} has bytes in its column {shown(column)}: Quorate takes"
                " numbers and text."
            )
        if "text" in kinds or not kinds & {"integer", "real"}:
            return "TEXT", pl.String()
        return ("REAL", pl.Float64()) if "real" in kinds else ("INTEGER", pl.Int64())

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def insert(self, table: Relation, frame: pl.DataFrame) -> None:
        times = [name for name, dtype in frame.schema.items() if dtype.is_temporal()]
        names = ", ".join(map(quoted, frame.columns))
        marks = ", ".join("?" * frame.width)
        self._connection.executemany(
            f"INSERT INTO {table.quoted} ({names}) VALUES ({marks})",
            frame.with_columns(pl.col(times).cast(pl.String)).iter_rows(),
        )

    def commit(self) -> None:
        self.run("COMMIT")

    def close(self) -> None:
        self._connection.close()

    @staticmethod
    def says(error: Exception) -> str | None:
        if not isinstance(error, (sqlite3.Error, OverflowError, UnicodeError)):
            return None
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            return "another program is writing it: try again when that is done"
        return str(error)
