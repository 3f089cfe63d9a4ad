"""A server as a process: opened, served until it is told to stop, closed."""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import uvicorn

from quorate.errors import UsageError
from quorate.service.api.app import LOOPBACK, WORKER_RATE, Application
from quorate.service.failures import UnavailableError
from quorate.service.label_studio import LabelStudio, Pushing
from quorate.service.service import Service
from quorate.service.tokens import Tokens

Push = tuple[LabelStudio, float]  # whom to tell how projects stand, and every how many seconds
SWITCH = 0.001  # seconds a thread may keep others waiting that want to run
KEEP_ALIVE = 75  # seconds that a connection is kept for somebody who thinks about a task


@dataclass(frozen=True)
class Place:
    """Where a server listens, and by which names it may be called."""

    host: str = "127.0.0.1"
    port: int = 8765
    names: Sequence[str] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def url(self) -> str:
        """The address to open."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


class _Server(uvicorn.Server):
    """Says when it listens, and on which port."""

    def __init__(self, config: uvicorn.Config, told: Callable[[int], None]) -> None:
        super().__init__(config)
        self.told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self.told(self.servers[0].sockets[0].getsockname()[1])


def _config(app: Application, place: Place) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=place.host,
        port=place.port,
        ws="none",  # there are none, and to load them takes time
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
        timeout_keep_alive=KEEP_ALIVE,
        h11_max_incomplete_event_size=64 * 1024,
        backlog=2048,
    )


def serve(
    address: str,
    place: Place,
    *,
    rate: float | None = None,
    push: Push | None = None,
    started: Callable[[Service, Place], None] = lambda service, place: None,
) -> None:
    """Serve a database until the process is told to stop."""
    sys.setswitchinterval(SWITCH)
    service = Service(address)
    pushing = None if push is None else Pushing(service, *push)
    try:
        if not place.is_loopback and not Tokens(service.store, service.clock.passed).required:
            raise UsageError(
                f"Whoever reaches {place.host} could do anything: make a token first, with"
                " `quorate serve token`, or listen on 127.0.0.1."
            )
        hosts = frozenset({*LOOPBACK, place.host, *place.names})
        app = Application(service, hosts, WORKER_RATE if rate is None else rate)
        config = _config(app, place)
        server = _Server(config, lambda port: started(service, replace(place, port=port)))
        server.run()
        if not server.started:
            raise UnavailableError(f"{place.url} cannot be served: is something else there?")
    finally:
        if pushing is not None:
            pushing.close()
        service.close()
