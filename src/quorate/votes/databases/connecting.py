"""Connections to databases, with every failure of theirs as one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from quorate.errors import DataError, QuorateError, UsageError
from quorate.votes.databases.address import SERVERS, Address
from quorate.votes.databases.database import Database
from quorate.votes.faults import FAULTS, reason


def connect(address: Address, *, writing: bool = False) -> Database:
    """A connection that only reads, or one that writes too; only the latter makes a file that is
    not there."""
    file = Path(address.database)
    if address.kind not in SERVERS and not writing and not file.is_file():
        raise DataError(f"There is no file {address.database}.")
    made = _class_of(address)
    with failing(made, address, "cannot be opened"):
        return made(address, writing)


def _class_of(address: Address) -> type[Database]:
    """What speaks with this kind of database, imported when it is first needed."""
    if address.kind == "sqlite":
        from quorate.votes.databases.sqlite import SQLite

        return SQLite
    if address.kind == "duckdb":
        from quorate.votes.databases.duckdb import DuckDB

        return DuckDB
    from quorate.votes.databases.postgresql import PostgreSQL

    return PostgreSQL


@contextmanager
def connected(address: Address) -> Iterator[Database]:
    """A connection to read from, whose failures are one sentence."""
    database = connect(address)
    try:
        with failing(database, address, "cannot be read"):
            yield database
    finally:
        with suppress(Exception):  # of a server that is gone
            database.close()


@contextmanager
def failing(
    database: Database | type[Database],
    address: Address,
    fails: Literal["cannot be opened", "cannot be read", "cannot be written", "cannot be asked"],
) -> Iterator[None]:
    """Context in which what the database says is one sentence."""
    try:
        yield
    except QuorateError:
        raise
    except Exception as error:
        said = database.says(error)
        if said is None and isinstance(error, FAULTS):
            said = reason(error)
        if said is None:
            raise
        kind = UsageError if fails == "cannot be asked" else DataError
        why = " ".join(said.split()).rstrip(".")
        what = address.origin if fails == "cannot be asked" else address.shown
        raise kind(f"{what} {fails}: {why}.") from None
