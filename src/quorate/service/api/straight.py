"""Votes in and tasks out: nearly all that a server is asked, and so past the framework.

To find a route and to check types takes FastAPI longer than a vote costs otherwise. What is asked
here as it should be is read from bytes and answered in bytes. Whatever is unusual about a request
goes the long way, which ends in the same functions: an answer does not depend on the way it went.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from pydantic import ValidationError

from quorate.errors import DataError
from quorate.service import handing
from quorate.service.api import schemas
from quorate.service.api.access import Caller
from quorate.service.api.gate import App, Receive, Scope, Send
from quorate.service.api.told import sentence_of
from quorate.service.service import Service
from quorate.service.settings import is_name

PATH = re.compile(r"/api/v1/projects/([a-zA-Z0-9][a-zA-Z0-9._-]{0,63})/(votes|votes/correct|next)")
DIGITS = re.compile(r"[1-9][0-9]?|100")


class Route(NamedTuple):
    """What a request is counted under, as routes of the framework are."""

    path: str


VOTES, CORRECT, NEXT = (
    Route(f"/api/v1/projects/{{project}}/{end}") for end in ("votes", "votes/correct", "next")
)


async def take_votes(
    service: Service, caller: Caller, project: str, body: bytes, *, correct: bool
) -> bytes:
    """Take votes, or votes in place of others: answered once they are kept for good."""
    found = service.project(project)
    try:
        new = schemas.NEW_VOTES.validate_json(body)
    except ValidationError as error:
        raise DataError(sentence_of(error.errors(include_url=False))) from None
    votes = [(vote["task"], vote["worker"], vote["label"]) for vote in new["votes"]]
    if caller.worker is not None:
        for _, worker, _ in votes:
            caller.require_worker(worker)
    how: dict[str, Any] = {"key": new.get("key"), "sender": caller.name, "correct": correct}
    receipt = await asyncio.wrap_future(service.vote(found, votes, **how))
    repeated = b"true" if receipt.repeated else b"false"
    return b'{"votes":%d,"first":%d,"repeated":%s}' % (receipt.size, receipt.vote, repeated)


async def next_tasks(service: Service, caller: Caller, project: str, worker: str, n: int) -> bytes:
    """The tasks where a vote of this worker is worth most, leased to them for a while."""
    caller.require_worker(worker)
    service.require_lead()
    handed = await handing.hand_out(service.project(project), worker, n)
    tasks = ",".join(
        f'{{"task":{json.dumps(task)},"payload":{payload or "null"},"seconds":{seconds}}}'
        for task, payload, seconds in handed.tasks
    )
    return f'{{"tasks":[{tasks}],"reason":{json.dumps(handed.reason)}}}'.encode()


class Straight:
    """An ASGI application that takes the short way, where there is one, before another one."""

    def __init__(self, app: App, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        found = PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        method, what = scope.get("method"), found[2] if found is not None else None
        if found is not None and method == "POST" and what != "next":
            await self._take_votes(found[1], what == "votes/correct", (scope, receive, send))
        elif found is not None and method == "GET" and what == "next":
            await self._next(found[1], (scope, receive, send))
        else:
            await self.app(scope, receive, send)

    async def _take_votes(
        self, project: str, correct: bool, request: tuple[Scope, Receive, Send]
    ) -> None:
        scope, receive, send = request
        scope["route"] = CORRECT if correct else VOTES
        caller = _caller_in(scope, project)
        body = await _body(receive)
        if body is None:
            return
        taken = await take_votes(self.service, caller, project, body, correct=correct)
        await _answer(send, 200 if correct else 201, taken)

    async def _next(self, project: str, request: tuple[Scope, Receive, Send]) -> None:
        scope, receive, send = request
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        asked = dict(pairs)
        worker, n = asked.get("worker", ""), asked.get("n", "1")
        usual = len(asked) == len(pairs) and asked.keys() <= {"worker", "n"}
        if not (usual and is_name(worker) and DIGITS.fullmatch(n)):
            await self.app(scope, receive, send)
            return
        scope["route"] = NEXT
        caller = _caller_in(scope, project)
        tasks = await next_tasks(self.service, caller, project, worker, int(n))
        await _answer(send, 200, tasks)


def _caller_in(scope: Scope, project: str) -> Caller:
    """Whoever passed the gate, if the project is theirs."""
    caller: Caller = scope["quorate.caller"]
    caller.require_project(project)
    return caller


async def _body(receive: Receive) -> bytes | None:
    """What was sent; None if whoever sent it is gone."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
