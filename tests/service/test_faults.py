"""Servers that are killed, stopped, doubled or cut off from their database."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.service.conftest import clean
from tests.service.serving import serving
from tests.votes.databases.conftest import Server

import quorate
from quorate.service.client import Client, ServerError
from quorate.service.service import Service
from quorate.service.settings import Settings
from quorate.service.store.database import back_up

VOTES = [(f"t{i % 7}", f"w{i // 7}", "ab"[i % 3 == 0]) for i in range(70)]


@contextmanager
def process(database: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`quorate serve` as users start it, once it says that it serves."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "quorate", "serve", database, "--port", str(port), *options]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert running.stdout is not None
    line = running.stdout.readline()
    try:
        assert "Serving" in line, line
        yield running, f"http://127.0.0.1:{port}"
    finally:
        running.kill()
        running.communicate()


def test_killed_and_stopped_it_has_every_vote(address: str) -> None:
    with process(address) as (killed, url), Client(url) as client:
        client.create("birds", classes=["a", "b"])
        client.add(VOTES[:60])
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    with process(address) as (stopped, url), Client(url, "birds") as client:
        assert client.summary()["votes"] == 60
        client.add(VOTES[60:])
        client.settle()
        rows = [(row["task"], row["label"], row["confidence"]) for row in client.labels()]
        expected = quorate.aggregate(VOTES).labels.select("task", "label", "confidence").rows()
        assert sorted(rows) == sorted(expected)
        stopped.send_signal(signal.SIGTERM)
        assert stopped.wait(30) in (0, 143, -15)
    service = Service(address)
    assert service.project("birds").online.n_votes == 70
    assert service.project("birds").online.ledger.settled is not None  # the fit was kept
    service.close()


def test_a_second_server_on_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    service = Service(str(tmp_path / "project.db"))
    command = [sys.executable, "-m", "quorate", "serve", str(tmp_path / "project.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    service.close()
    assert done.returncode == 1
    assert "is served already: one server at a time can have a SQLite file" in done.stderr


def test_the_second_server_reads_and_takes_over(server: Server) -> None:
    address = clean(server)
    first = Service(address)
    first.create("birds", Settings(classes=("a", "b"))).result()
    first.vote(first.project("birds"), VOTES[:30]).result()
    second = Service(address)
    assert not second.leads
    with serving(second) as url, Client(url, "birds") as client:
        assert client.summary()["votes"] == 30
        first.vote(first.project("birds"), VOTES[30:40]).result()
        _until(lambda: client.summary()["votes"] == 40)
        with pytest.raises(ServerError, match="Another server writes"):
            client.add(VOTES[40:50], again=False)
        with pytest.raises(ServerError, match="Another server writes"):
            client.ask("GET", "/projects/birds/next?worker=w1", again=False)
        first.close()
        _until(lambda: second.leads)
        client.add(VOTES[40:])
        client.settle()
        assert client.summary()["votes"] == 70
    second.close()


def test_the_database_is_gone_and_back(server: Server) -> None:
    service = Service(clean(server))
    service.create("birds", Settings(classes=("a", "b"))).result()
    project = service.project("birds")
    with serving(service) as url, Client(url, "birds") as client:
        client.add(VOTES[:30], key="first")
        server.kill_sessions()
        _until(lambda: _taken(client, VOTES[30:40], "second"))
        assert client.add(VOTES[:30], key="first").repeated
        client.add(VOTES[40:])
        client.settle()
        assert client.summary()["votes"] == 70
    assert project.online.n_votes == 70
    service.close()


def _taken(client: Client, votes: list[tuple[str, str, str]], key: str) -> bool:
    try:
        client.add(votes, key=key, again=False)
    except ServerError as error:
        if error.status != 503:
            raise
        return False
    return True


def test_a_full_disk_refuses_votes_and_takes_them_later(tmp_path: Path) -> None:
    service = Service(str(tmp_path / "project.db"))
    service.create("birds", Settings(classes=("a", "b"))).result()
    project = service.project("birds")
    service.vote(project, VOTES[:10]).result()
    writer = service.store._writer
    assert writer is not None
    pages = writer.exec_driver_sql("PRAGMA page_count").scalar()
    writer.rollback()
    writer.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    writer.rollback()
    many = [(f"long name {i} {'x' * 100}", "w", "a") for i in range(2_000)]
    with pytest.raises(
        quorate.QuorateError, match=r"cannot be written, so nothing changed: .*full"
    ):
        service.vote(project, many).result()
    assert project.online.n_votes == 10
    writer.exec_driver_sql("PRAGMA max_page_count = 1000000")
    writer.rollback()
    service.vote(project, many).result()
    assert project.online.n_votes == 2_010
    service.close()


def test_a_backup_of_a_running_server_can_be_served(tmp_path: Path) -> None:
    service = Service(str(tmp_path / "project.db"))
    service.create("birds", Settings(classes=("a", "b"))).result()
    service.vote(service.project("birds"), VOTES[:40]).result()
    command = [sys.executable, "-m", "quorate", "serve", "backup", str(tmp_path / "project.db")]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "copy.db")], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    service.vote(service.project("birds"), VOTES[40:]).result()
    service.close()
    restored = Service(str(tmp_path / "copy.db"))
    assert restored.project("birds").online.n_votes == 40
    restored.close()
    with pytest.raises(quorate.DataError, match="There is no database"):
        back_up(tmp_path / "nowhere.db", tmp_path / "other.db")


def test_a_damaged_file_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "project.db"
    service = Service(str(path))
    service.create("birds", Settings()).result()
    service.vote(service.project("birds"), VOTES).result()
    service.close()
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM votes WHERE id = 5")
    connection.commit()
    connection.close()
    with pytest.raises(quorate.DataError, match="is damaged in the numbers of votes"):
        Service(str(path))


def _until(holds: object, seconds: float = 30) -> None:
    for _ in range(int(seconds / 0.1)):
        if holds():  # type: ignore[operator]
            return
        time.sleep(0.1)
    pytest.fail("it did not happen")
