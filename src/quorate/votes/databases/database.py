"""What Quorate asks of a database, whichever it is: one connection, and one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from quorate.errors import DataError, UsageError
from quorate.votes.databases.address import Address
from quorate.votes.faults import listed, shown

LARGEST_EXACT = 2**53  # above which not every whole number is a float
SECONDS = 5  # to wait for a server's answer, or for another program to be done with a file

TYPES = {  # of columns by kind, in words that all databases know
    "integer": "BIGINT",
    "number": "DOUBLE PRECISION",
    "truth": "BOOLEAN",
    "date": "DATE",
    "time": "TIMESTAMP",
    "text": "TEXT",
}


class Relation(NamedTuple):
    """A table or a view; `schema` is empty where the name alone finds it."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name

    @property
    def quoted(self) -> str:
        """The name as SQL takes it, whatever characters are in it."""
        return ".".join(quoted(part) for part in self if part)


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever characters are in it.

    Examples:
        >>> quoted('a "b" c')
        '"a ""b"" c"'
    """
    return '"' + name.replace('"', '""') + '"'


def selected(name: str, cast: str | None) -> str:
    """A column as it is selected, cast to a type or as it is."""
    return f"CAST({quoted(name)} AS {cast}) AS {quoted(name)}" if cast else quoted(name)


class Database(ABC):
    """A connection to a database, in one transaction: what is read is as it was when that began,
    and what is written is there once it is committed."""

    @abstractmethod
    def __init__(self, address: Address, writing: bool) -> None:
        self.address = address

    @abstractmethod
    def tables(self) -> list[Relation]:
        """All tables and views that are not the database's own."""

    @abstractmethod
    def columns(self, query: str) -> list[str]:
        """Names of the columns of a query."""

    @abstractmethod
    def frames(self, query: str, columns: Sequence[str], rows: int) -> Iterator[pl.DataFrame]:
        """Yield these columns of a query, about so many rows at a time; at least one frame, which
        may be empty."""

    @abstractmethod
    def run(self, statement: str) -> None:
        """Run a statement without a result."""

    @abstractmethod
    def insert(self, table: Relation, frame: pl.DataFrame) -> None:
        """Append rows to a table by the names of their columns."""

    @abstractmethod
    def commit(self) -> None:
        """Make what was written stay."""

    @abstractmethod
    def close(self) -> None:
        """End the connection; what was not committed is gone."""

    @staticmethod
    @abstractmethod
    def says(error: Exception) -> str | None:
        """What the database says of an error, in a sentence; None of one that is not its own."""

    def schemas(self) -> list[str]:
        """Names of the schemas that a table's name may begin with."""
        return []

    def found(self, name: str) -> Relation | None:
        """The table of this name, which may have its schema before a dot."""
        tables = {str(table): table for table in self.tables()}
        plain = {table.name: table for table in tables.values() if not table.schema}
        return plain.get(name) or tables.get(name)

    def query(self) -> str:
        """The query of the address, or that of all rows of its table: the one that it names, or
        that is there alone."""
        if self.address.query is not None:
            return self.address.query.strip().rstrip(";").rstrip()
        return f"SELECT * FROM {self._named_table().quoted}"

    def _named_table(self) -> Relation:
        name, where = self.address.table, self.address.shown
        tables = self.tables()
        if name is None and len(tables) == 1:
            return tables[0]
        if not tables:
            raise DataError(f"There are no tables in {where}.")
        if name is None:
            raise UsageError(
                f"{where} has the tables {listed(tables)}: say which with table (--table), or ask"
                " with query (--query)."
            )
        found = self.found(name)
        if found is None:
            near = listed(_nearest_first(name, [str(table) for table in tables]))
            raise DataError(f"There is no table {shown(name)} in {where}: its tables are {near}.")
        return found

    def place_for(self, name: str) -> Relation:
        """Where a table of this name is, or would be made."""
        schema, dot, rest = name.partition(".")
        inside = dot and rest and schema in self.schemas()
        return self.found(name) or (Relation(schema, rest) if inside else Relation("", name))

    def create(self, table: Relation, schema: Mapping[str, pl.DataType]) -> None:
        """Make a table for rows of these types."""
        columns = ", ".join(
            f"{quoted(name)} {TYPES[kind_of(dtype)]}" for name, dtype in schema.items()
        )
        self.run(f"CREATE TABLE {table.quoted} ({columns})")


def _nearest_first(name: str, names: Sequence[str]) -> list[str]:
    from difflib import SequenceMatcher  # slow to import

    def distance(other: str) -> float:
        return -SequenceMatcher(None, name.lower(), other.lower()).ratio()

    return sorted(names, key=distance)


def kind_of(dtype: pl.DataType) -> str:
    """Kind of the values of a column that is written."""
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    plain = {pl.Boolean: "truth", pl.Date: "date", pl.Datetime: "time"}
    return plain.get(type(dtype), "text")


def storable(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with a column of the widest type for each kind."""
    widest: dict[str, Any] = {"integer": pl.Int64, "number": pl.Float64, "text": pl.String}
    kinds = {name: kind_of(dtype) for name, dtype in frame.schema.items()}
    return frame.cast({name: widest[kind] for name, kind in kinds.items() if kind in widest})


def exact(frame: pl.DataFrame, decimals: Sequence[str], origin: str) -> pl.DataFrame:
    """The frame, refused where a column of decimal numbers, read as floats, has whole numbers so
    large that two of them may have become one."""
    for name in decimals:
        largest = frame[name].abs().max()
        if isinstance(largest, float) and largest >= LARGEST_EXACT:
            raise DataError(
                f"{origin} has decimal numbers of more than 15 digits in its column {shown(name)},"
                " which cannot be told apart then: cast it to text in a query (--query)."
            )
    return frame
