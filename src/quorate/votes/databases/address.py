"""Addresses of tables in databases: which database, which of its tables, or what is asked of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from quorate.errors import UsageError, masked, require_choice

# What is before ://, with the driver of another library behind it or not.
SCHEME = re.compile(r"(sqlite|duckdb|postgres(?:ql)?)(?:\+\w+)?://", re.I)
SERVERS = ("postgresql",)
MODES = ("append", "replace")


@dataclass(frozen=True)
class Address:
    """A table of a database, or a query of it. `database` is the path of a file, or the address of
    a server; `mode` says what writing does with a table that is there."""

    kind: str
    database: str
    table: str | None = None
    query: str | None = None
    mode: str | None = None

    @classmethod
    def of(cls, url: str) -> Address:
        """The address that a URL spells.

        Examples:
            >>> Address.of("sqlite:///votes.db?table=my%20votes").table
            'my votes'
            >>> Address.of("postgres://ann@host/crowd?sslmode=require&table=votes").database
            'postgresql://ann@host/crowd?sslmode=require'
        """
        scheme = SCHEME.match(url)
        assert scheme is not None
        kind = scheme[1].lower().replace("postgresql", "postgres").replace("postgres", "postgresql")
        place, _, behind = url[scheme.end() :].partition("?")
        _require_encoded(place, behind)
        given = [word.partition("=") for word in behind.split("&") if word]
        own = {name: unquote(value) for name, _, value in given if name in _OWN}
        others = "&".join("".join(word) for word in given if word[0] not in _OWN)
        for name in ("table", "query"):
            if own.get(name, "x").strip() == "":
                raise UsageError(f"The {name} in {_shown(kind, place)} is empty.")
        if "table" in own and "query" in own:
            raise UsageError(f"{_shown(kind, place)} is asked for a table and a query: name one.")
        if "mode" in own:
            require_choice("mode", own["mode"], MODES)
        if kind in SERVERS:
            return cls(kind, f"{kind}://{place}" + (f"?{others}" if others else ""), **own)
        if others:
            raise UsageError(
                f"{_shown(kind, place)} takes {', '.join(_OWN)} behind its ?, not {others!r}."
            )
        return cls(kind, _path(kind, place), **own)

    @property
    def shown(self) -> str:
        """The database in a sentence, without secrets."""
        if self.kind in SERVERS:
            return _shown(self.kind, self.database.partition("://")[2].partition("?")[0])
        return f"{self.kind}:///{self.database}"

    @property
    def origin(self) -> str:
        """What is read, as a sentence begins."""
        if self.query is not None:
            return f"The query of {self.shown}"
        return f"{'The table' if self.table is None else f'Table {self.table}'} of {self.shown}"

    @property
    def key(self) -> tuple[str, str]:
        """What tells this database from others."""
        if self.kind in SERVERS:
            return self.kind, self.database
        return self.kind, str(Path(self.database).resolve())


_OWN = ("table", "query", "mode")


def _path(kind: str, place: str) -> str:
    if not place.startswith("/") or not place[1:]:
        raise UsageError(f"The address of a file of {kind} has three slashes: {kind}:///file.db.")
    return unquote(place[1:])


def _require_encoded(place: str, behind: str) -> None:
    """Refuse a password in which a character ends the part of the address that it is in."""
    user, _, _ = place.rpartition("@")
    first, equals, _ = behind.partition("=")
    if "/" in user or "@" in first or ("@" in behind and not equals):
        raise UsageError(
            "A name or password in an address has / as %2F, ? as %3F and @ as %40; or give the"
            " password as PGPASSWORD in the environment."
        )


def _shown(kind: str, place: str) -> str:
    """An address without who asks: a password may have a slash in it, though it should not."""
    user, at, host = place.rpartition("@")
    return masked(f"{kind}://{'***@' if user or at else ''}{host}")


def is_database(source: Any) -> bool:
    """Whether a source of votes, or an output, is the address of a database."""
    return isinstance(source, str) and SCHEME.match(source) is not None


def asked(source: Any, query: str | None, table: str | None) -> Any:
    """The source, with the query or the name of the table as part of its address.

    Examples:
        >>> asked("sqlite:///votes.db", None, "votes")
        'sqlite:///votes.db?table=votes'
    """
    if query is None and table is None:
        return source
    if not is_database(source):
        raise UsageError(
            "query and table (--query, --table) are of one database, such as sqlite:///votes.db:"
            " leave them out."
        )
    already = Address.of(source)
    if (query is not None) + (table is not None) + bool(already.query or already.table) > 1:
        raise UsageError(f"{already.shown} is asked for more than one thing: name one.")
    name, value = ("table", table) if query is None else ("query", query)
    url = f"{source}{'&' if '?' in source else '?'}{name}={quote(str(value), safe='')}"
    Address.of(url)
    return url
