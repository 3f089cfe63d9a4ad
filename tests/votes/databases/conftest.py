"""A database of each kind, each a real one: files, and a PostgreSQL server that is started here."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "hu:sh hush"


@dataclass(frozen=True)
class Place:
    """A database: its address, and a function that runs statements of SQL in it and commits."""

    kind: str
    url: str
    run: Callable[..., list[tuple[Any, ...]]]

    def table(self, name: str, more: str = "") -> str:
        from urllib.parse import quote

        return f"{self.url}{'&' if '?' in self.url else '?'}table={quote(name, safe='')}{more}"


@pytest.fixture
def sqlite(tmp_path: Path) -> Place:
    def run(*statements: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(tmp_path / "votes.db")) as connection, connection:
            return [row for one in statements for row in connection.execute(one).fetchall()]

    run()
    return Place("sqlite", f"sqlite:///{tmp_path / 'votes.db'}", run)


@pytest.fixture
def duckdb(tmp_path: Path) -> Place:
    module = pytest.importorskip("duckdb")

    def run(*statements: str) -> list[tuple[Any, ...]]:
        with module.connect(str(tmp_path / "votes.duckdb")) as connection:
            return [row for one in statements for row in connection.execute(one).fetchall()]

    run()
    return Place("duckdb", f"duckdb:///{tmp_path / 'votes.duckdb'}", run)


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server on this machine."""

    directory: Path
    port: int

    def url(self, password: str = PASSWORD) -> str:
        from urllib.parse import quote

        return f"postgresql://quorate:{quote(password, safe='')}@127.0.0.1:{self.port}/postgres"

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        from adbc_driver_postgresql import dbapi

        rows = []
        with dbapi.connect(self.url(), autocommit=True) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    rows += cursor.fetchall() if cursor.description else []
        return rows

    def kill_sessions(self) -> None:
        """Kill the processes that serve others, by which the whole server falls and recovers."""
        others = "SELECT pid FROM pg_stat_activity WHERE datname = 'postgres' AND pid <> "
        for (pid,) in self.run(f"{others} pg_backend_pid()"):
            with suppress(ProcessLookupError):  # it fell with the one before
                os.kill(pid, signal.SIGKILL)
        for _ in range(600):
            with suppress(Exception):
                self.run("SELECT 1")
                return
            time.sleep(0.05)


def _programs() -> Path | None:
    on_path = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = [Path(on_path)] if on_path else debian[-1:]
    return found[0].parent if found else None


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server that this process starts and stops."""
    pytest.importorskip("adbc_driver_postgresql")
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server: install Debian's package postgresql")
    place = Path(tempfile.mkdtemp(prefix="quorate-postgres-"))
    (place / "password").write_text(PASSWORD)
    user: list[str] = []
    if os.geteuid() == 0:  # as whom PostgreSQL refuses to run
        user = ["runuser", "-u", "postgres", "--"]
        for path in (place, place / "password"):
            shutil.chown(path, "postgres")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def do(program: str, *options: str) -> None:
        whole = [*user, str(programs / program), "-D", str(place / "data"), *options]
        done = subprocess.run(whole, cwd=place, capture_output=True, text=True, timeout=120)
        assert not done.returncode, done.stderr

    access = ["-A", "scram-sha-256", f"--pwfile={place / 'password'}", "-U", "quorate"]
    how = f"-p {port} -k {place} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        do("initdb", *access, "-E", "UTF8", "--locale=C", "--no-sync")
        do("pg_ctl", "-w", "-l", str(place / "log"), "-o", how, "start")
        try:
            yield Server(place, port)
        finally:
            do("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def postgres(server: Server) -> Place:
    server.run("DROP SCHEMA IF EXISTS other CASCADE")
    server.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return Place("postgresql", server.url(), server.run)


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def database(request: pytest.FixtureRequest) -> Place:
    """A database of each kind in turn."""
    place: Place = request.getfixturevalue(request.param)
    return place
