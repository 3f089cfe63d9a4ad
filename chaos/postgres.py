"""A PostgreSQL server of one's own, for as long as it is needed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from quorate.errors import UsageError

USER = "quorate"


@contextmanager
def postgresql(*, fsync: bool = True) -> Iterator[str]:
    """The address of an empty database on a server that is started here."""
    programs = _programs()
    place = Path(tempfile.mkdtemp(prefix="quorate-postgresql-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # as whom PostgreSQL refuses to run
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(place, "postgres")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def do(program: str, *options: str) -> None:
        whole = [*as_user, str(programs / program), "-D", str(place / "data"), *options]
        subprocess.run(whole, cwd=place, check=True, capture_output=True, timeout=300)

    how = f"-p {port} -k {place} -c listen_addresses=127.0.0.1 -c fsync={'on' if fsync else 'off'}"
    try:
        do("initdb", "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync")
        do("pg_ctl", "-w", "-l", str(place / "log"), "-o", how, "start")
        try:
            yield f"postgresql://{USER}@127.0.0.1:{port}/postgres"
        finally:
            do("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _programs() -> Path:
    on_path = shutil.which("initdb")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = [Path(on_path)] if on_path else debian[-1:]
    if not found:
        raise UsageError("There is no PostgreSQL server: install Debian's package postgresql.")
    return found[0].parent
