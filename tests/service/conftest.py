"""A database of each kind that the server knows: a SQLite file, and a real PostgreSQL server."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.votes.databases.conftest import Server, server

__all__ = ["server"]


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a server keeps its votes: nothing is there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "project.db")
    return clean(request.getfixturevalue("server"))


def clean(server: Server) -> str:
    """The address of a database without tables."""
    server.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    return server.url()
