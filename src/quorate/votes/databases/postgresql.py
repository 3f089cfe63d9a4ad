"""PostgreSQL servers, by ADBC: rows come and go as Arrow batches, by the server's binary COPY."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import polars as pl

from quorate.errors import UsageError
from quorate.votes.databases.address import Address
from quorate.votes.databases.database import SECONDS, Database, Relation, exact, quoted, selected
from quorate.votes.faults import shown

try:
    import adbc_driver_manager
    import pyarrow as pa
    from adbc_driver_postgresql import dbapi
except ImportError:
    raise UsageError(
        "postgresql:// needs its driver and pyarrow: pip install 'quorate[postgres]'."
    ) from None

# Types that Arrow has; those below are refused, decimals are floats, and all others are text.
PLAIN = re.compile(r"boolean|smallint|integer|bigint|real|double precision|date|timestamp.*")
REFUSED = re.compile(r".*\[\]|bytea|record")
DECIMAL = "numeric"

READING = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    # Without parallel workers and shared scans rows come in the same order every time.
    "SET LOCAL max_parallel_workers_per_gather = 0",
    "SET LOCAL synchronize_seqscans = off",
)
SERVER_SAYS = re.compile(r"(?:ERROR|FATAL|PANIC):\s+(.*)")
TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE n.nspname::text END, c.relname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_' ORDER BY 1, 2
"""


class PostgreSQL(Database):
    """A connection to a PostgreSQL server."""

    def __init__(self, address: Address, writing: bool) -> None:
        super().__init__(address, writing)
        self._connection = dbapi.connect(_patient(address.database))
        self._cursor = self._connection.cursor()
        try:
            for setting in () if writing else READING:
                self.run(setting)
        except BaseException:
            self.close()
            raise

    def tables(self) -> list[Relation]:
        return [Relation(*row) for row in self._rows(TABLES)]

    def schemas(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT nspname::text FROM pg_namespace")]

    def columns(self, query: str) -> list[str]:
        names: list[str] = self._cursor.adbc_execute_schema(f"{query}\n").names
        for name in names:
            if names.count(name) > 1:
                raise UsageError(
                    f"{self.address.origin} has two columns {shown(name)}: name them apart with AS."
                )
        return names

    def frames(self, query: str, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        types = self._types(query, columns)
        casts = {name: _cast(types[name]) for name in columns}
        wanted = ", ".join(selected(name, cast) for name, cast in casts.items())
        self._cursor.execute(f"SELECT {wanted} FROM (\n{query}\n) AS asked")
        decimals = [name for name in columns if types[name] == DECIMAL]
        reader = self._cursor.fetch_record_batch()
        yield _frame(reader.schema.empty_table())
        for batch in reader:
            frame = _frame(pa.Table.from_batches([batch]))
            yield exact(frame, decimals, self.address.origin)

    def _types(self, query: str, columns: Sequence[str]) -> dict[str, str]:
        """The server's names of the types of columns, which it tells without any row."""
        asked = ", ".join(f"pg_typeof(asked.{quoted(name)})::text" for name in columns)
        ((*types,),) = self._rows(
            f"SELECT {asked} FROM (VALUES (1)) AS one"
            f" LEFT JOIN (SELECT * FROM (\n{query}\n) AS inner_asked LIMIT 0) AS asked ON true"
        )
        return dict(zip(columns, types, strict=True))

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        self._cursor.execute(query)
        rows: list[tuple[Any, ...]] = self._cursor.fetchall()
        return rows

    def run(self, statement: str) -> None:
        self._cursor.execute(statement)

    def insert(self, table: Relation, frame: pl.DataFrame) -> None:
        """By way of a table of this session, so that the server casts to the types there are."""
        passing = f"quorate_{uuid4().hex}"
        names = ", ".join(map(quoted, frame.columns))
        rows = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        self._cursor.adbc_ingest(passing, rows, mode="create", temporary=True)
        self.run(f"INSERT INTO {table.quoted} ({names}) SELECT {names} FROM {quoted(passing)}")
        self.run(f"DROP TABLE {quoted(passing)}")

    def commit(self) -> None:
        self._connection.commit()

    def close(self) -> None:
        self._cursor.close()
        self._connection.close()

    @staticmethod
    def says(error: Exception) -> str | None:
        if not isinstance(error, (adbc_driver_manager.Error, pa.ArrowException, OSError)):
            return None
        return what_it_says(str(error))


def what_it_says(text: str) -> str:
    """What the server, or the way to it, says, without what the driver puts before it.

    Examples:
        >>> what_it_says("IO: [libpq] Failed to connect: connection to server failed: timeout\\n")
        'connection to server failed: timeout'
        >>> what_it_says('X: [libpq] Failed: ERROR:  no column "x"\\nLINE 1: select x. SQLSTATE: 4')
        'no column "x"'
    """
    server = SERVER_SAYS.search(text)
    if server:
        return server[1].strip()
    first = next(line for line in text.splitlines() or [text])
    return re.sub(r"^.*?\[libpq\] (?:Failed to connect: )?", "", first).strip()


def _cast(type: str) -> str | None:
    """The type in which a column is asked for; None for its own."""
    if PLAIN.fullmatch(type) or REFUSED.fullmatch(type):
        return None
    return "double precision" if type == DECIMAL else "text"


def _frame(table: Any) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _patient(database: str) -> str:
    """The address of the server, with a limit to how long its answer is waited for."""
    if "connect_timeout=" in database or "PGCONNECT_TIMEOUT" in os.environ:
        return database
    return f"{database}{'&' if '?' in database else '?'}connect_timeout={SECONDS}"
