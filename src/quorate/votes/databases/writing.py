"""Tables written to databases, those of one database in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import polars as pl

from quorate.errors import DataError, UsageError
from quorate.votes.databases.address import SERVERS, Address
from quorate.votes.databases.connecting import connect, connected, failing
from quorate.votes.databases.database import Database, Relation, storable
from quorate.votes.faults import listed, shown

ROWS = 100_000  # that are written at a time


def output_table(url: str) -> Address:
    """The address of a table to write, refused before any work is done if that can be seen."""
    address = Address.of(url)
    if address.table is None:
        where = address.shown
        raise UsageError(f"{where} needs the name of a table to write: {where}?table=labels.")
    file = Path(address.database)
    if address.kind in SERVERS or file.exists():
        with connected(address) as database:
            _require_free(database, address)
    elif not file.parent.is_dir():
        raise UsageError(f"There is no directory {file.parent} to write {file.name} in.")
    return address


def _require_free(database: Database, address: Address) -> None:
    there = database.found(str(address.table))
    if there is not None and address.mode is None:
        raise UsageError(
            f"There is a table {shown(str(there))} in {address.shown} already: name another one, or"
            " say what to do with it by mode=append or mode=replace in the address."
        )


class Tables:
    """Tables in databases, which are there once they are committed, and not at all otherwise."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Database] = {}
        self._new: list[Path] = []

    def write(self, frame: pl.DataFrame | pl.LazyFrame, url: str) -> None:
        """Write a table, not yet committed."""
        address = output_table(url) if Address.of(url).key not in self._open else Address.of(url)
        database = self._database(address)
        with failing(database, address, "cannot be written"):
            self._write(database, address, frame)

    def _database(self, address: Address) -> Database:
        if address.key not in self._open:
            file = Path(address.database)
            if address.kind not in SERVERS and not file.exists():
                self._new.append(file)
            self._open[address.key] = connect(address, writing=True)
        return self._open[address.key]

    def _write(
        self, database: Database, address: Address, frame: pl.DataFrame | pl.LazyFrame
    ) -> None:
        _require_free(database, address)
        table = database.place_for(str(address.table))
        there = database.found(str(address.table)) is not None
        if there and address.mode == "replace":
            database.run(f"DROP TABLE {table.quoted}")
            there = False
        schema = frame.lazy().collect_schema()
        if there:
            _require_columns(database, address, table, schema)
        else:
            database.create(table, dict(schema))
        for part in frame.lazy().collect_batches(chunk_size=ROWS):
            for rows in part.iter_slices(ROWS):
                database.insert(table, storable(rows))

    def commit(self) -> None:
        """Commit what was written, one database after the other."""
        while self._open:
            key, database = next(iter(self._open.items()))
            with failing(database, database.address, "cannot be written"):
                database.commit()
            self._close(key)
        self._new = []

    def _close(self, key: tuple[str, str]) -> None:
        with suppress(Exception):  # of a server that is gone
            self._open.pop(key).close()

    def close(self) -> None:
        """Undo what was not committed."""
        for key in list(self._open):
            self._close(key)
        for file in self._new:
            for left in (file, Path(f"{file}-journal"), Path(f"{file}.wal")):
                left.unlink(missing_ok=True)
        self._new = []


def _require_columns(
    database: Database, address: Address, table: Relation, schema: Mapping[str, pl.DataType]
) -> None:
    there = database.columns(f"SELECT * FROM {table.quoted}")
    for name in schema:
        if name not in there:
            raise DataError(
                f"Table {table} of {address.shown} has no column {shown(name)} to append to: its"
                f" columns are {listed(there)}."
            )
