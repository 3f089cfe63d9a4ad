"""Tables in files, read a batch of rows at a time, for those that do not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import NamedTuple

import polars as pl

from quorate.errors import DataError, UsageError
from quorate.votes.sources import (
    MISSING,
    File,
    SourceTable,
    columns_for,
    open_source,
    require_plain,
)

CHUNK_SIZES = ("POLARS_CSV_CHUNK_SIZE", "POLARS_NDJSON_CHUNK_SIZE")
CHUNK = 2_000_000  # bytes


class Piece(NamedTuple):
    """A range of rows of one of the files of a table; all rows where `rows` is None."""

    file: int
    first: int = 0
    rows: int | None = None


@dataclass(frozen=True)
class Batches:
    """A table in files, any piece of which is read a batch of rows at a time."""

    origin: str
    text: bool
    columns: Mapping[str, str]
    types: Mapping[str, pl.DataType]
    files: Sequence[File]
    notes: tuple[str, ...] = ()
    silent: Callable[[], int] | None = None

    def pieces(self, n: int) -> list[Piece]:
        """Cut the table into at least about `n` pieces, in row order; a file in a format that
        cannot be cut is one piece."""
        pieces = []
        for i, file in enumerate(self.files):
            if not file.any_row:
                pieces.append(Piece(i))
                continue
            rows = self._rows_of(file)
            size = max(1, -(-rows * len(self.files) // n))
            pieces += [Piece(i, at, size) for at in range(0, rows, size)]
        return pieces

    def rows(self) -> int | None:
        """Number of rows, if the files say so."""
        if all(file.any_row for file in self.files):
            return sum(map(self._rows_of, self.files))
        return None

    def _rows_of(self, file: File) -> int:
        query = file.select(list(self.columns.values())).select(pl.len())
        rows: int = file.ask(query.collect).item()
        return rows

    def read(self, piece: Piece, size: int) -> Iterator[pl.DataFrame]:
        """Yield frames of at most about `size` rows, with the roles as column names."""
        file = self.files[piece.file]
        query = file.select(list(self.columns.values()))
        if piece.rows is not None:
            query = query.slice(piece.first, piece.rows)
        query = file.long(query)
        with SMALL_CHUNKS:
            frames = file.ask(lambda: iter(query.collect_batches(chunk_size=size)))
            frame = file.ask(lambda: next(frames, None))
        while frame is not None:
            yield pl.DataFrame(
                [
                    frame[name].alias(role).cast(self.types[role])
                    for role, name in self.columns.items()
                ]
            )
            frame = file.ask(lambda: next(frames, None))

    def query(self, missing: Sequence[str] = MISSING) -> pl.LazyFrame:
        """All rows as a query, with the roles as column names, and what is missing as null."""
        whole = self.whole_numbers()
        columns = [self._present(role, missing, role in whole) for role in self.columns]
        names = list(self.columns.values())
        return pl.concat([file.select(names).select(columns) for file in self.files])

    def _present(self, role: str, missing: Sequence[str], whole: bool) -> pl.Expr:
        dtype = self.types[role]
        column = pl.col(self.columns[role]).cast(dtype)
        if dtype == pl.String and not self.text:
            column = pl.when(~column.is_in(list(missing))).then(column)
        if dtype.is_float():
            column = column.fill_nan(None)
        return (column.cast(pl.Int64) if whole else column).alias(role)

    def whole_numbers(self) -> list[str]:
        """Roles of the columns of floats that are all whole numbers."""
        roles = [role for role, dtype in self.types.items() if dtype.is_float()]
        return [role for role in roles if all(self._is_whole(f, role) for f in self.files)]

    def _is_whole(self, file: File, role: str) -> bool:
        number = pl.col(self.columns[role]).fill_nan(None)
        same = number.cast(pl.Int64, strict=False).eq_missing(number).all()
        query = file.long(file.select([self.columns[role]])).select(same)
        whole: bool = file.ask(lambda: query.collect(engine="streaming").item())
        return whole


class _SmallChunks:
    """Context in which polars begins to read text in small chunks; its own, of which it reads
    several ahead, take hundreds of megabytes. Several threads may be in it."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = {name: os.environ.get(name) for name in CHUNK_SIZES}
                os.environ.update(dict.fromkeys(CHUNK_SIZES, str(CHUNK)))
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside:
                return
            for name, value in self._before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


SMALL_CHUNKS = _SmallChunks()


def open_batches(
    source: str | Sequence[str],
    roles: Sequence[str],
    columns: Mapping[str, str | None],
    format: str | None,
    missing: Sequence[str],
) -> Batches:
    """Open files as a table with a column for each role, without reading them yet."""
    opened = open_source(source, roles, format, missing)
    return batches_of(replace(opened, roles=columns_for(opened, roles, columns)))


def batches_of(opened: SourceTable) -> Batches:
    """An opened table whose roles are known, to be read in batches."""
    if opened.whole:
        raise UsageError(
            f"{opened.origin} has to be read as a whole: leave out memory, store and engine, or"
            " save it as CSV, JSON lines or Parquet."
        )
    types = _types(opened.origin, opened.files, opened.roles)
    for role, dtype in types.items():
        require_plain(opened.origin, dtype, opened.roles[role])
    return Batches(
        opened.origin, opened.text, opened.roles, types, opened.files, opened.notes, opened.silent
    )


def _types(
    origin: str, files: Sequence[File], columns: Mapping[str, str]
) -> dict[str, pl.DataType]:
    """Common column types across files."""
    names = list(columns.values())
    schemas = [file.ask(file.long(file.select(names)).collect_schema) for file in files]
    empty = [
        pl.DataFrame(schema={n: schema[n] for n in dict.fromkeys(names)}) for schema in schemas
    ]
    try:
        together = pl.concat(empty, how="vertical_relaxed").schema
    except pl.exceptions.SchemaError:
        raise DataError(f"The files of {origin} have columns of different types.") from None
    return {role: together[name] for role, name in columns.items()}
