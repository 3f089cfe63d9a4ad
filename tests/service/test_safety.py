"""Who gets in, and what a stranger, another site or too much of something gets instead."""

from __future__ import annotations

import http.client
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from tests.service.serving import serving

from quorate.cli import main as command_line
from quorate.errors import UsageError
from quorate.service.api.access import ROLES
from quorate.service.client import Client, ServerError
from quorate.service.running import Place, serve
from quorate.service.service import Service
from quorate.service.settings import Settings
from quorate.service.store.database import beside
from quorate.service.tokens import Grant, make_token, revoke, tokens_of

# The least role of each route: the table of the guide is this one in short.
LEAST = {
    "worker": {
        "POST /projects/{project}/votes",
        "POST /projects/{project}/votes/correct",
        "POST /projects/{project}/votes/withdraw",
        "GET /projects/{project}/next",
        "POST /projects/{project}/release",
        "GET /projects",
        "GET /projects/{project}",
    },
    "requester": {
        "PATCH /projects/{project}",
        "POST /projects/{project}/tasks",
        "GET /projects/{project}/tasks",
        "GET /projects/{project}/tasks/{task}",
        "PATCH /projects/{project}/tasks/{task}",
        "GET /projects/{project}/tasks/{task}/explanation",
        "POST /projects/{project}/workers",
        "GET /projects/{project}/workers",
        "GET /projects/{project}/workers/{worker}",
        "PATCH /projects/{project}/workers/{worker}",
        "GET /projects/{project}/labels",
        "GET /projects/{project}/posterior",
        "GET /projects/{project}/estimate",
        "GET /projects/{project}/diagnosis",
        "POST /projects/{project}/settle",
        "GET /projects/{project}/export/{what}",
        "POST /projects/{project}/import",
        "GET /projects/{project}/events",
        "POST /projects/{project}/label-studio",
        "GET /metrics",
    },
    "admin": {"POST /projects"},
    "anyone": {"GET /healthz", "GET /readyz"},
}


@dataclass
class Server:
    url: str
    path: Path
    tokens: dict[str, str] = field(default_factory=dict)

    def raw(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """The answer to any request."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
        with closing(connection):
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            content = (
                b"" if "event-stream" in answer.headers.get("content-type", "") else answer.read()
            )
            return answer.status, dict(answer.headers.items()), content

    def bearing(self, role: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[role]}"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    path = tmp_path / "project.db"
    service = Service(str(path))
    for name in ("birds", "fish"):
        service.create(name, Settings(classes=("a", "b"))).result()
    service.vote(service.project("birds"), [("t", "ann", "a"), ("t", "bob", "b")]).result()
    with serving(service) as url:
        yield Server(url, path)
    service.close()


@pytest.fixture
def guarded(server: Server) -> Server:
    """With a token for each role."""
    with beside(str(server.path)) as connection:
        for role in ROLES:
            worker = role == "worker"
            grant = Grant(role, role, "birds" if worker else None, "ann" if worker else None)
            server.tokens[role] = make_token(connection, grant, 0)
    for _ in range(200):  # a server notices within a second
        if server.raw("GET", "/api/v1/projects")[0] == 401:
            return server
        time.sleep(0.05)
    pytest.fail("the tokens were not noticed")


def routes() -> Iterator[tuple[str, str]]:
    """Every route of the OpenAPI document."""
    from quorate.service.api.app import _api

    document = _api(None).openapi()  # type: ignore[arg-type]
    for path, methods in document["paths"].items():
        for method in methods:
            yield method.upper(), path


def test_every_route_is_in_the_table() -> None:
    found = {f"{method} {path.removeprefix('/api/v1')}" for method, path in routes()}
    assert found == set().union(*LEAST.values())


@pytest.mark.parametrize("role", [None, *ROLES])
def test_every_role_on_every_route(guarded: Server, role: str | None) -> None:
    for method, path in routes():
        name = f"{method} {path.removeprefix('/api/v1')}"
        least = next(role for role, those in LEAST.items() if name in those)
        filled = path.format(project="birds", task="t", worker="ann", what="labels")
        filled += "?worker=ann&last=1&suffix=.csv" if method == "GET" else ""
        headers = {"Content-Type": "application/json"}
        if role is not None:
            headers |= guarded.bearing(role)
        status, _, _ = guarded.raw(method, filled, b"[]" if method != "GET" else b"", headers)
        if least == "anyone":
            assert status == 200, name
        elif role is None:
            assert status == 401, name
        elif ROLES.index(role) < ROLES.index(least):
            assert status == 403, name
        else:
            assert status not in (401, 403) and status < 500, (name, status)


@pytest.mark.parametrize(
    ("path", "least"), [("/projects", "admin"), ("/projects/birds/tasks", "requester")]
)
def test_forms_are_for_the_same_roles(guarded: Server, path: str, least: str) -> None:
    for role in ROLES:
        status, _, content = guarded.raw("POST", path, b"", guarded.bearing(role))
        sentence = "The form is too old" if ROLES.index(role) >= ROLES.index(least) else "for a"
        assert status == 403 and sentence in content.decode()


def test_a_workers_token_is_for_that_worker_and_project(guarded: Server) -> None:
    with Client(guarded.url, "birds", token=guarded.tokens["worker"]) as ann:
        ann.vote("u", "ann", "a")
        for call in (
            lambda: ann.vote("u", "bob", "a"),
            lambda: ann.next("bob"),
            lambda: ann.withdraw([("t", "bob")]),
            lambda: ann.correct([("t", "bob", "a")]),
            lambda: ann.release("t", "bob"),
        ):
            with pytest.raises(ServerError, match="This token is for worker 'ann'"):
                call()
        ann.project = "fish"
        with pytest.raises(ServerError, match="This token is for project 'birds'"):
            ann.vote("u", "ann", "a")
        assert [p["project"] for p in ann.projects()] == ["birds"]


def test_tokens_are_kept_as_digests_and_can_be_revoked(guarded: Server) -> None:
    content = b"".join(p.read_bytes() for p in guarded.path.parent.iterdir() if p.is_file())
    for token in guarded.tokens.values():
        secret = token.split("-", 2)[2]  # in which there may be more of these
        assert secret.encode() not in content
    with beside(str(guarded.path)) as connection:
        ids = {row["role"]: row["id"] for row in tokens_of(connection)}
        assert revoke(connection, ids["requester"], 1)
        assert not revoke(connection, ids["requester"], 1)
    wrong = {"Authorization": guarded.bearing("admin")["Authorization"][:-1] + "~"}
    assert guarded.raw("GET", "/api/v1/projects", headers=wrong)[0] == 401


def test_wrong_tokens_are_slowed_down(guarded: Server) -> None:
    wrong = {"Authorization": "Bearer quorate-0-0"}
    statuses = [guarded.raw("GET", "/api/v1/projects", headers=wrong)[0] for _ in range(40)]
    assert statuses[0] == 401 and statuses[-1] == 429


def test_no_open_door_beyond_loopback(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="make a token first"):
        serve(str(tmp_path / "project.db"), Place("0.0.0.0", 0))


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[::1"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_hosts_and_sites_are_refused(server: Server, headers: dict[str, str]) -> None:
    body = json.dumps({"name": "evil"}).encode()
    sent = {"Content-Type": "application/json", **headers}
    status, _, _ = server.raw("POST", "/api/v1/projects", body, sent)
    assert status in (400, 403)
    assert server.raw("GET", "/api/v1/projects/evil")[0] == 404


def test_too_much_is_refused(server: Server) -> None:
    path = "/api/v1/projects/birds/votes"
    status, _, body = server.raw("POST", path, b"", {"Content-Length": str(10**9)})
    assert status == 413 and b"in parts" in body
    many = {"votes": [{"task": f"t{i}", "worker": "w", "label": "a"} for i in range(10_001)]}
    sent = {"Content-Type": "application/json"}
    assert server.raw("POST", path, json.dumps(many).encode(), sent)[0] == 422


def test_workers_cannot_ask_too_often(tmp_path: Path) -> None:
    service = Service(str(tmp_path / "project.db"))
    service.create("birds", Settings()).result()
    with beside(str(tmp_path / "project.db")) as connection:
        token = make_token(connection, Grant("worker", "ann", "birds"), 0)
    with serving(service, rate=1) as url:
        asked = Server(url, tmp_path, {"worker": token})
        path, headers = "/api/v1/projects", asked.bearing("worker")
        answers = [asked.raw("GET", path, headers=headers) for _ in range(8)]
    service.close()
    assert answers[0][0] == 200
    assert answers[-1][0] == 429 and int(answers[-1][1]["retry-after"]) >= 1


def test_answers_carry_strict_headers(server: Server) -> None:
    for path in ("/healthz", "/api/v1/projects", "/nowhere"):
        _, headers, _ = server.raw("GET", path)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name",
    ["'; DROP TABLE votes; --", "<script>alert(1)</script>", "../../etc/passwd", "%00", "é ☃"],
)
def test_names_are_data(server: Server, name: str) -> None:
    with Client(server.url, "birds") as client:
        client.vote(name, name, "a")
        assert client.task(name)["votes"] == [{"worker": name, "label": "a"}]
        assert client.summary()["votes"] == 3


def test_who_did_what_is_written_down(guarded: Server) -> None:
    with Client(guarded.url, "birds", token=guarded.tokens["requester"]) as client:
        client.add_tasks(["new"])
        with pytest.raises(ServerError):
            client.create("mine")
        client.settle()
    with closing(sqlite3.connect(guarded.path)) as file:
        rows = file.execute("SELECT caller, role, what, status FROM audit ORDER BY id").fetchall()
        senders = file.execute("SELECT kind, sender FROM receipts").fetchall()
    assert ("requester", "requester", "POST /api/v1/projects/birds/tasks", 201) in rows
    assert ("requester", "requester", "POST /api/v1/projects", 403) in rows
    assert senders[0] == ("add", "")


def test_tokens_by_the_command_line(tmp_path: Path) -> None:
    path = str(tmp_path / "project.db")
    run = CliRunner().invoke
    assert "There is no database" in str(run(command_line, ["serve", "token", "list", path]).output)
    Service(path).close()
    made = run(command_line, ["serve", "token", "new", path, "--role", "admin", "--name", "carla"])
    assert made.output.startswith("quorate-")
    listed = run(command_line, ["serve", "token", "list", path]).output
    id = made.output.split("-")[1]
    assert f"{id}  admin      carla  (valid)" in listed
    run(command_line, ["serve", "token", "revoke", id, path])
    assert "(revoked)" in run(command_line, ["serve", "token", "list", path]).output
