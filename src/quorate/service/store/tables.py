"""The tables, for SQLite and PostgreSQL alike.

Names, votes, removals, known answers and settlings of a project are the rows of an `Online`
(`quorate.online.store`), with the project's number before them and whatever else the server knows
of a task or a worker behind. They are numbered as they come, and only ever appended. Everything
else hangs on them: a receipt says who sent which votes when, and under which key.

Times are in milliseconds since 1970.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()


def _number(name: str, **more: Any) -> Column[int]:
    return Column(name, BigInteger, nullable=more.pop("nullable", False), **more)


def _text(name: str, **more: Any) -> Column[str]:
    return Column(name, Text, nullable=more.pop("nullable", False), **more)


def _of_project(name: str, *columns: Any, key: str = "id") -> Table:
    """A table whose rows are numbered within their project."""
    parts = [_number("project", primary_key=True), _number(key, primary_key=True)]
    return Table(name, metadata, *parts, *columns, sqlite_with_rowid=False)


# The version of these tables, in one row.
schema = Table("schema", metadata, Column("version", Integer, nullable=False))

projects = Table(
    "projects",
    metadata,
    Column("id", Integer, primary_key=True),
    _text("name", unique=True),
    _text("settings"),  # JSON
    _number("created"),
    Column("archived", Boolean, nullable=False),
)

tasks = _of_project(
    "tasks",
    _text("name"),
    _text("payload", nullable=True),  # JSON
    _text("features", nullable=True),  # JSON
    Column("priority", Float, nullable=False, server_default="0"),
    Column("closed", Boolean, nullable=False, server_default="0"),
    UniqueConstraint("project", "name"),
)

workers = _of_project(
    "workers",
    _text("name"),
    _text("kind", nullable=True),
    Column("cost", Float, nullable=True),
    _number("capacity", nullable=True),
    Column("paused", Boolean, nullable=False, server_default="0"),
    _text("alias", nullable=True),
    UniqueConstraint("project", "name"),
)

classes = _of_project("classes", _text("name"), UniqueConstraint("project", "name"))

votes = _of_project("votes", _number("task"), _number("worker"), _number("label"))

# Votes that were counted together, by the first of them.
batches = _of_project("batches", _number("size"))

removed = _of_project("removed", _number("vote"))

# A fit of all votes up to the one it came after.
settlings = _of_project("settlings", _number("after"))

gold = _of_project(
    "gold",
    _number("task"),
    _number("label", nullable=True),  # null: the answer is not known any more
    _number("together"),  # the first row of the same request
    _number("vote"),  # the last vote that came before
    _number("settling"),  # the last settling before
)

checkpoints = Table(
    "checkpoints",
    metadata,
    _number("project", primary_key=True),
    _number("vote", primary_key=True),
    _number("settling", primary_key=True),
    Column("state", LargeBinary, nullable=False),
    _number("checksum"),
)

# One for each request that brought votes, corrected or withdrew them.
receipts = _of_project(
    "receipts",
    _text("key", nullable=True),
    _text("digest"),  # of what was asked
    _text("kind"),
    _number("vote"),  # the first
    _number("size"),
    _number("at"),
    _text("sender"),
)
Index("receipts_by_key", receipts.c.project, receipts.c.key, unique=True)
Index("receipts_by_vote", receipts.c.project, receipts.c.vote)

# Tasks that were handed out and are not back yet.
leases = Table(
    "leases",
    metadata,
    _number("project", primary_key=True),
    _number("task", primary_key=True),
    _number("worker", primary_key=True),
    _number("until"),
)

# Since version 2.
tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    _text("digest"),  # of the secret, which nobody keeps
    _text("role"),
    _text("name"),
    _text("project", nullable=True),
    _text("worker", nullable=True),
    _number("created"),
    _number("revoked", nullable=True),
)

audit = Table(
    "audit",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    _number("at"),
    _text("caller"),
    _text("role"),
    _text("what"),
    Column("status", Integer, nullable=False),
)

NAMED = {"task": tasks, "worker": workers, "label": classes}
