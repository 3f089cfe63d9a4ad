"""The gate before all routes: hosts, sizes, tokens, rates, headers, and what is counted of it."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from fastapi.concurrency import run_in_threadpool

from quorate.errors import QuorateError
from quorate.service.api.access import LOCAL, Caller
from quorate.service.failures import (
    ForbiddenError,
    TooLargeError,
    TooOftenError,
    UnknownCallerError,
    status_of,
)
from quorate.service.service import Service
from quorate.service.store import tables
from quorate.service.tokens import Tokens
from quorate.service.writer import Group, Job

log = logging.getLogger("quorate.serve")
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "quorate-token"
MEGABYTE = 2**20
LARGEST, LARGEST_FILE = 8 * MEGABYTE, 256 * MEGABYTE
OPEN = ("/healthz", "/readyz", "/login", "/static/")  # for whoever asks
WRITING = ("POST", "PATCH", "PUT", "DELETE")
RATES = {"worker": (20.0, 100.0), "requester": (5000.0, 5000.0), "admin": (5000.0, 5000.0)}
STRANGERS = (2.0, 20.0)  # wrong tokens a second from one address, and at once
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:;"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
ENCODED = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 5.0)


class Rates:
    """Buckets that fill at a rate, one for each caller."""

    def __init__(self, passed: Callable[[], float]) -> None:
        self._passed = passed
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str, rate: tuple[float, float], n: float = 1.0) -> float:
        """Seconds until as much can be taken; 0 if it was."""
        a_second, at_once = rate
        now = self._passed()
        level, before = self._buckets.get(who, (at_once, now))
        level = min(at_once, level + (now - before) * a_second)
        if level < n:
            return (n - level) / a_second
        self._buckets[who] = (level - n, now)
        if len(self._buckets) > 10_000:
            full = [w for w, (had, at) in self._buckets.items() if had + (now - at) > at_once]
            for one in full:
                del self._buckets[one]
        return 0.0


class Gate:
    """What every request passes, first of all."""

    def __init__(self, app: App, service: Service, hosts: frozenset[str], rate: float) -> None:
        self.app, self.service, self.hosts = app, service, hosts
        self.tokens = Tokens(service.store, service.clock.passed)
        self.rates = Rates(service.clock.passed)
        self.worker_rate = (rate, max(5 * rate, 1.0))
        self.answered: Counter[tuple[str, int]] = Counter()
        self.seconds: Counter[float] = Counter()
        self.seconds_total = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or say why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name for name, _ in message["headers"]}
                more = [pair for pair in ENCODED if pair[0] not in there]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        try:
            await self._enter(scope, receive, send_on)
        except QuorateError as error:
            await _refuse(error, send_on)
        finally:
            self._count(scope, status, time.perf_counter() - begun)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        self._require_host(headers)
        self._require_own_page(scope, headers)
        scope["quorate.caller"] = caller = await self._caller(scope, headers)
        if caller is None and not scope["path"].startswith(OPEN):
            if "text/html" in headers.get(b"accept", "") and scope["method"] == "GET":
                await _send_to_login(scope, send)
                return
            raise UnknownCallerError("Say who you are: Authorization: Bearer TOKEN.")
        if caller is not None:
            self._require_rate(caller)
        await self.app(scope, _limited(scope, headers, receive), send)

    def _require_host(self, headers: dict[bytes, str]) -> None:
        """Refuse a name that is not this server's, by which a page elsewhere may reach it."""
        host = headers.get(b"host", "")
        name = urlsplit(f"//{host}").hostname if _sound(host) else None
        if name is None or (name not in self.hosts and "*" not in self.hosts):
            raise ForbiddenError(
                f"This server is not called {host[:100]!r}: start it with --allow-host."
            )

    def _require_own_page(self, scope: Scope, headers: dict[bytes, str]) -> None:
        """Refuse what another site has a browser send."""
        if scope["method"] not in WRITING:
            return
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        elsewhere = site is not None and site not in ("same-origin", "none")
        if origin is not None and not elsewhere:
            elsewhere = not _sound(origin) or urlsplit(origin).netloc != headers.get(b"host", "")
        if elsewhere:
            raise ForbiddenError("Another site may not send this.")

    async def _caller(self, scope: Scope, headers: dict[bytes, str]) -> Caller | None:
        kind, _, token = headers.get(b"authorization", "").partition(" ")
        if kind.lower() not in ("bearer", "token"):
            token = _cookie(headers.get(b"cookie", ""))
        if not token:
            required = (
                await run_in_threadpool(lambda: self.tokens.required)
                if (self.tokens.stale)
                else self.tokens.known
            )
            return None if required else LOCAL
        address = (scope.get("client") or ("?",))[0]
        caller = self.tokens.known_caller(token)
        if caller is None:
            caller = await run_in_threadpool(self.tokens.caller, token)
        if caller is None:
            if wait := self.rates.take(f"address {address}", STRANGERS):
                raise TooOftenError("Too many wrong tokens: wait a moment.", wait)
            if scope["path"].startswith(OPEN):
                return None
            raise UnknownCallerError("There is no such token.")
        return caller

    def _require_rate(self, caller: Caller) -> None:
        rate = self.worker_rate if caller.role == "worker" else RATES[caller.role]
        if wait := self.rates.take(f"{caller.role} {caller.name}", rate):
            raise TooOftenError("Too many requests: wait a moment.", wait)

    # What is counted.

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in ("GET", *WRITING) else "other"
        self.answered[f"{method} {route}", status] += 1
        self.seconds[next((b for b in BUCKETS if seconds <= b), float("inf"))] += 1
        self.seconds_total += seconds
        caller = scope.get("quorate.caller")
        quiet = ("/votes", "/next", "/release", "/votes/correct", "/votes/withdraw")
        if scope["method"] in WRITING and caller is not None and not route.endswith(quiet):
            self._note(caller, f"{scope['method']} {scope['path']}"[:500], status)

    def _note(self, caller: Caller, what: str, status: int) -> None:
        """Who did what, for the audit log; votes have receipts of their own."""
        at = self.service.clock.wall_ms()
        row = {"at": at, "caller": caller.name, "role": caller.role, "status": status}
        printable = "".join(c if c.isprintable() else "?" for c in what)

        def run(group: Group) -> None:
            group.changes.run(tables.audit.insert(), {**row, "what": printable})

        try:
            self.service.writer.submit(Job(run))
        except QuorateError as error:
            log.warning("%s", error)


def _sound(address: str) -> bool:
    try:
        urlsplit(address if "//" in address else f"//{address}").port  # noqa: B018
    except ValueError:
        return False
    return True


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""


def _limited(scope: Scope, headers: dict[bytes, str], receive: Receive) -> Receive:
    """Receive no more than may be sent."""
    most = LARGEST_FILE if scope["path"].endswith("/import") else LARGEST
    sentence = f"That is more than {most // MEGABYTE} MB: send it in parts."
    length = headers.get(b"content-length", "0")
    if length.isdigit() and int(length) > most:
        raise TooLargeError(sentence)
    received = 0

    async def receive_on() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise TooLargeError(sentence)
        return message

    return receive_on


async def _send_to_login(scope: Scope, send: Send) -> None:
    location = b"/login"
    headers = [(b"location", location), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(error: QuorateError, send: Send) -> None:
    told = json.dumps({"error": str(error)}, ensure_ascii=False, separators=(",", ":"))
    body = told.encode(errors="backslashreplace")
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if isinstance(error, TooOftenError):
        headers.append((b"retry-after", b"%d" % max(1, round(error.seconds))))
    if isinstance(error, UnknownCallerError):
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status_of(error), "headers": headers})
    await send({"type": "http.response.body", "body": body})
