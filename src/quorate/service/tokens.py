"""Tokens: made here, shown once, kept as digests only."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from quorate.errors import UsageError, require_choice
from quorate.service.api.access import ROLES, Caller
from quorate.service.store import Store, tables

NOBODY = hashlib.sha256(b"").hexdigest()  # what an unknown token is compared with
FRESH, UNKNOWN = (
    1.0,
    0.05,
)  # seconds after which tokens are read again; after which unknown ones are


class Grant(NamedTuple):
    """What a token lets its bearer do."""

    role: str
    name: str
    project: str | None = None
    worker: str | None = None


def make_token(connection: Connection, grant: Grant, now_ms: int) -> str:
    """A new token; only its digest is kept."""
    require_choice("role", grant.role, ROLES)
    if grant.role == "worker" and grant.project is None:
        raise UsageError("A worker's token is for one project: name it.")
    if grant.worker is not None and grant.role != "worker":
        raise UsageError("Only a worker's token is for one worker.")
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = {"id": id, "digest": _digest(secret), **grant._asdict(), "created": now_ms}
    connection.execute(insert(tables.tokens), row)
    return f"quorate-{id}-{secret}"


def revoke(connection: Connection, id: str, now_ms: int) -> bool:
    """Take a token back; whether there was one."""
    these = (tables.tokens.c.id == id, tables.tokens.c.revoked.is_(None))
    done = connection.execute(update(tables.tokens).where(*these).values(revoked=now_ms))
    return bool(done.rowcount)


def tokens_of(connection: Connection) -> list[dict[str, Any]]:
    """All tokens, without what would tell their secrets."""
    of = tables.tokens.c
    columns = (of.id, of.role, of.name, of.project, of.worker, of.created, of.revoked)
    rows = connection.execute(select(*columns).order_by(of.created))
    return [dict(row._mapping) for row in rows]


class Tokens:
    """The tokens of a store, read again now and then, since others may make and revoke some."""

    def __init__(self, store: Store, passed: Callable[[], float]) -> None:
        self._store, self._passed = store, passed
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, Caller]] = {}
        self._any = False
        self._read = float("-inf")
        self._refresh(0.0)

    @property
    def required(self) -> bool:
        """Whether there are tokens: then nobody does without."""
        self._refresh(FRESH)
        return self._any

    @property
    def stale(self) -> bool:
        """Whether it is time to read them again, and nobody else is about to."""
        age = self._passed() - self._read
        return age >= FRESH and (age >= 2 * FRESH or not self._lock.locked())

    @property
    def known(self) -> bool:
        """Whether there were tokens when they were last read."""
        return self._any

    def caller(self, token: str) -> Caller | None:
        """Who bears a token, if anybody does."""
        id, _ = _parts(token)
        self._refresh(FRESH if id in self._known else UNKNOWN)
        return self.known_caller(token)

    def known_caller(self, token: str) -> Caller | None:
        """The same, by what was last read; nobody when that is too long ago."""
        if self.stale:
            return None
        id, secret = _parts(token)
        digest, caller = self._known.get(id, (NOBODY, None))
        same = hmac.compare_digest(_digest(secret), digest)
        return caller if same else None

    def _refresh(self, age: float) -> None:
        if self._passed() - self._read < age:
            return
        with self._lock:
            rows = self._store.read(lambda c: c.execute(select(tables.tokens)).all())
            self._any = any(row.revoked is None for row in rows)
            self._known = {
                row.id: (row.digest, Caller(row.name, row.role, row.project, row.worker))
                for row in rows
                if row.revoked is None
            }
            self._read = self._passed()


def _parts(token: str) -> tuple[str, str]:
    id, _, secret = token.partition("quorate-")[2].partition("-")
    return id, secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
