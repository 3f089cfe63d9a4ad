"""DuckDB files, by DuckDB itself: rows come and go as Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import polars as pl

from quorate.errors import UsageError
from quorate.votes.databases.address import Address
from quorate.votes.databases.database import Database, Relation, exact, quoted, selected

try:
    import duckdb
    import pyarrow as pa
except ImportError:
    raise UsageError(
        "duckdb:/// needs DuckDB and pyarrow: pip install 'quorate[duckdb]'."
    ) from None

# Types that polars has, or that are refused; decimals are floats, and all others are text.
PLAIN = re.compile(
    r"BOOLEAN|U?(TINY|SMALL)INT|U?INTEGER|BIGINT|FLOAT|DOUBLE|VARCHAR|DATE|TIMESTAMP.*"
    r"|.*\[\d*\]|BLOB|(STRUCT|MAP|UNION)\(.*"
)
DECIMAL = re.compile(r"DECIMAL\(.*|U?HUGEINT|UBIGINT")


class DuckDB(Database):
    """A connection to a DuckDB file."""

    def __init__(self, address: Address, writing: bool) -> None:
        super().__init__(address, writing)
        self._connection = duckdb.connect(address.database, read_only=not writing)
        self.run("SET python_enable_replacements = false")  # a variable here is not a table there
        self.run("BEGIN TRANSACTION")

    def tables(self) -> list[Relation]:
        rows = self._connection.execute(
            "SELECT CASE WHEN table_schema = current_schema() THEN '' ELSE table_schema END,"
            " table_name FROM information_schema.tables"
            " WHERE table_catalog = current_database() ORDER BY ALL"
        ).fetchall()
        return [Relation(*row) for row in rows]

    def schemas(self) -> list[str]:
        found = "SELECT schema_name FROM information_schema.schemata"
        return [name for (name,) in self._connection.execute(found).fetchall()]

    def columns(self, query: str) -> list[str]:
        return list(self._types(query))

    def frames(self, query: str, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        types = self._types(query)
        casts = {name: _cast(types[name]) for name in columns}
        wanted = ", ".join(selected(name, cast) for name, cast in casts.items())
        decimals = [name for name, cast in casts.items() if cast == "DOUBLE"]
        asked = self._connection.sql(f"SELECT {wanted} FROM (\n{query}\n)")
        reader = asked.to_arrow_reader(rows)
        yield pl.DataFrame(reader.schema.empty_table())
        for batch in reader:
            frame = pl.DataFrame(pa.Table.from_batches([batch]))
            yield exact(frame, decimals, self.address.origin)

    def _types(self, query: str) -> dict[str, str]:
        described = f"DESCRIBE SELECT * FROM (\n{query}\n)"
        return {row[0]: row[1] for row in self._connection.execute(described).fetchall()}

    def run(self, statement: str) -> None:
        self._connection.execute(statement)

    def insert(self, table: Relation, frame: pl.DataFrame) -> None:
        names = ", ".join(map(quoted, frame.columns))
        self._connection.register("quorate_rows", frame.to_arrow())
        self.run(f"INSERT INTO {table.quoted} ({names}) SELECT {names} FROM quorate_rows")
        self._connection.unregister("quorate_rows")

    def commit(self) -> None:
        self.run("COMMIT")

    def close(self) -> None:
        self._connection.close()

    @staticmethod
    def says(error: Exception) -> str | None:
        if not isinstance(error, (duckdb.Error, pa.ArrowException)):
            return None
        return str(error).split("\n", 1)[0]


def _cast(type: str) -> str | None:
    """The type in which a column is asked for; None for its own."""
    if PLAIN.fullmatch(type):
        return None
    return "DOUBLE" if DECIMAL.fullmatch(type) else "VARCHAR"
