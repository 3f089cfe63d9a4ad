"""The application: routes behind the gate, errors as one sentence, health and figures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import accumulate
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from quorate import __version__
from quorate.errors import QuorateError
from quorate.service import views
from quorate.service.api import schemas
from quorate.service.api.access import Requester
from quorate.service.api.gate import BUCKETS, Gate
from quorate.service.api.routes import router
from quorate.service.api.straight import Straight
from quorate.service.api.told import sentence_of
from quorate.service.failures import STATUS, status_of
from quorate.service.page.routes import router as pages
from quorate.service.service import Service

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
WORKER_RATE = 20.0  # requests a second of a worker's token


class Application:
    """An ASGI application of a service."""

    def __init__(
        self, service: Service, hosts: frozenset[str] = LOOPBACK, rate: float = WORKER_RATE
    ) -> None:
        self.service = service
        self.api = _api(service)
        self.gate = Gate(Straight(self.api, service), service, hosts, rate)
        self.api.state.gate = self.gate

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        await self.gate(scope, receive, send)


def _api(service: Service) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.stopping = asyncio.Event()
        yield
        app.state.stopping.set()

    api = FastAPI(
        title="Quorate",
        version=__version__,
        summary="Votes come in, the next task goes out.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        redirect_slashes=False,
    )
    api.state.service = service
    api.include_router(router)
    _add_health(api)
    api.include_router(pages)
    _describe_votes(api)
    api.add_exception_handler(QuorateError, _told)
    api.add_exception_handler(RequestValidationError, _told_what_is_wrong)
    api.add_exception_handler(HTTPException, _told_in_http)
    return api


def _describe_votes(api: FastAPI) -> None:
    """Put what votes look like into the OpenAPI document, since their route reads them itself."""
    made = api.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        reference = "#/components/schemas/{model}"
        votes = schemas.NewVotes.model_json_schema(ref_template=reference)
        document["components"]["schemas"] |= votes.pop("$defs", {})
        document["components"]["schemas"]["NewVotes"] = votes
        return document

    api.openapi = openapi  # type: ignore[method-assign]


async def _told(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, QuorateError)
    return JSONResponse({"error": str(error)}, status_of(error))


async def _told_what_is_wrong(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return JSONResponse({"error": sentence_of(error.errors())}, 422)


async def _told_in_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    sentence = str(error.detail).rstrip(".") + "."
    return JSONResponse({"error": sentence}, error.status_code, headers=error.headers)


def _add_health(api: FastAPI) -> None:
    @api.get("/healthz", tags=["health"])
    async def healthz() -> schemas.Health:
        """The server runs."""
        return schemas.Health(status="ok")

    @api.get("/readyz", tags=["health"], responses={503: {"model": schemas.Health}})
    def readyz(request: Request) -> Any:
        """The database answers."""
        service: Service = request.app.state.service
        if service.store.reachable():
            return schemas.Health(status="ok", leads=service.leads)
        detail = "The database does not answer."
        body = schemas.Health(status="unavailable", leads=service.leads, detail=detail)
        return JSONResponse(body.model_dump(), 503)

    @api.get(
        "/metrics",
        tags=["health"],
        response_class=PlainTextResponse,
        responses=_failures(401, 403, 429),
    )
    def metrics(request: Request, caller: Requester) -> PlainTextResponse:
        """Figures for Prometheus."""
        lines = _figures(request.app.state.service, request.app.state.gate)
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Errors as a model, which thereby is in the OpenAPI document: other routes name it."""
    return {status: {"model": schemas.Error} for status in statuses if status in STATUS.values()}


def _figures(service: Service, gate: Gate) -> list[str]:
    lines = ["# TYPE quorate_leads gauge", f"quorate_leads {int(service.leads)}"]
    gauges = ("tasks", "open_tasks", "votes", "workers", "handed_out", "spent", "expected_error")
    summaries = [views.summary(project) for project in list(service.projects.values())]
    for gauge in gauges:
        lines.append(f"# TYPE quorate_{gauge} gauge")
        lines += [
            f'quorate_{gauge}{{project="{summary["project"]}"}} {summary[gauge]}'
            for summary in summaries
            if summary[gauge] is not None
        ]
    lines.append("# TYPE quorate_requests_total counter")
    for (route, status), n in sorted(gate.answered.items()):
        lines.append(f'quorate_requests_total{{route="{route}",status="{status}"}} {n}')
    lines.append("# TYPE quorate_request_seconds histogram")
    bounds = (*BUCKETS, float("inf"))
    for bound, n in zip(bounds, accumulate(gate.seconds[b] for b in bounds), strict=True):
        shown = "+Inf" if bound == float("inf") else f"{bound:g}"
        lines.append(f'quorate_request_seconds_bucket{{le="{shown}"}} {n}')
    total = sum(gate.seconds.values())
    lines += [
        f"quorate_request_seconds_sum {gate.seconds_total}",
        f"quorate_request_seconds_count {total}",
    ]
    for name, n in (("transactions", service.writer.groups), ("jobs", service.writer.jobs)):
        lines += [f"# TYPE quorate_{name}_total counter", f"quorate_{name}_total {n}"]
    return lines
