"""The short way and the long way give the same answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from quorate.service.api.app import Application
from quorate.service.api.gate import Gate
from quorate.service.service import Service
from quorate.service.settings import Settings

BASE = "/api/v1/projects/birds"
VOTE = {"task": "t1", "worker": "ann", "label": "a"}
POSTED: list[tuple[str, Any]] = [
    ("/votes", {"votes": [VOTE], "key": "one"}),
    ("/votes", {"votes": [VOTE], "key": "one"}),
    ("/votes", {"votes": [VOTE]}),
    ("/votes", {"votes": []}),
    ("/votes", {"votes": [{**VOTE, "task": " t"}, {**VOTE, "label": ""}]}),
    ("/votes", {"votes": [{**VOTE, "more": 1}]}),
    ("/votes", {"votes": [{**VOTE, "worker": "bob", "label": "c"}]}),
    ("/votes", b"{"),
    ("/votes", b""),
    ("/votes/correct", {"votes": [{**VOTE, "label": "b"}]}),
    ("/votes/correct", {"votes": [{**VOTE, "worker": "nobody"}]}),
]
ASKED = (
    "worker=ann",
    "worker=ann&n=2",
    "worker=ann&n=0",
    "worker=ann&n=101",
    "worker=ann&n=x",
    "worker=ann&worker=bob",
    "worker=ann&other=1",
    "worker=",
    "worker=%20ann",
    "worker=nobody",
    "",
)


async def asked(app: Any, method: str, path: str, body: bytes = b"") -> tuple[int, Any, Any]:
    """A request without a socket: status, headers and content."""
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], sorted(sent[0]["headers"]), json.loads(content)


def apps(service: Service) -> tuple[Any, Any]:
    whole = Application(service)
    return whole, Gate(whole.api, service, whole.gate.hosts, 1e6)


@pytest.fixture
def two(tmp_path: Path) -> Any:
    services = [Service(str(tmp_path / f"{name}.db")) for name in ("short", "long")]
    for service in services:
        service.create("birds", Settings(classes=("a", "b"))).result()
        tasks = [{"task": f"t{i}", "payload": {"text": f"“{i}”\u2028"}} for i in range(3)]
        service.add_tasks(service.project("birds"), tasks).result()
        service.add_workers(service.project("birds"), [{"worker": "ann"}]).result()
    yield apps(services[0])[0], apps(services[1])[1]
    for service in services:
        service.close()


def test_votes_are_taken_the_same_way(two: Any) -> None:
    for path, given in POSTED:
        body = given if isinstance(given, bytes) else json.dumps(given).encode()
        short, long = (asyncio.run(asked(app, "POST", BASE + path, body)) for app in two)
        assert short == long, (path, given)


def test_tasks_are_handed_out_the_same_way(two: Any) -> None:
    for query in ASKED:
        short, long = (asyncio.run(asked(app, "GET", f"{BASE}/next?{query}")) for app in two)
        assert short == long, query


@pytest.mark.parametrize("path", ["/api/v1/projects/none/votes", "/api/v1/projects/-/votes"])
def test_projects_that_are_not_there(two: Any, path: str) -> None:
    body = json.dumps({"votes": [VOTE]}).encode()
    short, long = (asyncio.run(asked(app, "POST", path, body)) for app in two)
    assert short == long
    short, long = (asyncio.run(asked(app, "GET", path)) for app in two)
    assert short == long
