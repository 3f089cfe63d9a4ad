"""Votes of databases in a store: the query is run once, to files, and these are read in pieces."""

from __future__ import annotations

from dataclasses import replace

from quorate.errors import DataError
from quorate.votes.columns import column_of
from quorate.votes.databases import Address, Query
from quorate.votes.reading import ROLES, How, Reading, Votes, columns_of
from quorate.votes.sources import MISSING, SourceTable, open_source
from quorate.votes.store.filling import Copy, Source, Storage, stored_votes
from quorate.votes.store.owned import temporary_directory
from quorate.votes.store.seals import writing


def stored_query(url: str, reading: Reading, how: How, storage: Storage) -> Votes:
    """Votes of a database in a store. A store that is used again is told by the rows themselves,
    which a database cannot be asked for otherwise."""
    opened = open_source(url, ROLES, reading.get("format"), MISSING)
    columns = _needed(opened, reading)
    place = temporary_directory()

    def report(rows: int) -> None:
        if storage.progress:
            storage.progress("asking the database", rows, None)

    try:
        files = place.path / "copied"
        with writing(place.path):
            files.mkdir()
            query = Query(Address.of(url), opened.names)
            digest = query.copy(columns, files, report, storage.store is not None)
        source = Source.of(str(files), reading, how)
        return stored_votes(replace(source, copy=Copy(opened.origin, digest)), storage)
    finally:
        place.remove()


def _needed(table: SourceTable, reading: Reading) -> list[str]:
    """The columns of task, worker and label; all columns of a table that may be wide."""
    named = columns_of(reading)
    try:
        return [column_of(role, named, table.names, table.origin) for role in ROLES]
    except DataError:
        return list(table.names)
