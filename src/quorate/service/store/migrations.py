"""From any earlier version's tables to these: forward only, each step in the same transaction."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, inspect, select

from quorate.errors import DataError
from quorate.service.store import tables


def _first(connection: Connection) -> None:
    """Everything, as it was in the first version."""
    names = (
        "schema projects tasks workers classes votes batches removed settlings gold checkpoints"
        " receipts leases"
    )
    chosen = [tables.metadata.tables[name] for name in names.split()]
    tables.metadata.create_all(connection, tables=chosen)


def _tokens(connection: Connection) -> None:
    """Who may do what, and who did what."""
    tables.metadata.create_all(connection, tables=[tables.tokens, tables.audit])


# Step i leads to version i + 1. A step that was released is never changed.
STEPS: tuple[Callable[[Connection], None], ...] = (_first, _tokens)
VERSION = len(STEPS)


def migrate(connection: Connection, place: str) -> None:
    """Bring the tables up to date; those of a later version are refused."""
    version = version_of(connection, place)
    if version > VERSION:
        raise DataError(
            f"{place} has tables of version {version}; this Quorate knows {VERSION}: upgrade it."
        )
    for step in STEPS[version:]:
        step(connection)
    if version < VERSION:
        connection.execute(tables.schema.delete())
        connection.execute(tables.schema.insert().values(version=VERSION))


def version_of(connection: Connection, place: str) -> int:
    """The version of the tables, 0 if there are none; tables of somebody else are refused."""
    there = set(inspect(connection).get_table_names())
    if not there:
        return 0
    ours = {"schema", "projects", "votes"}
    if not ours <= there:
        raise DataError(
            f"{place} holds other tables ({', '.join(sorted(there)[:3])}): name another database."
        )
    found = connection.execute(select(tables.schema.c.version)).scalar()
    if found is None:
        raise DataError(f"{place} is damaged: its tables have no version.")
    return int(found)
