"""A server in this process, on a free port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from quorate.service.api.app import LOOPBACK, Application
from quorate.service.clock import Clock
from quorate.service.service import Service


class MovedClock(Clock):
    """A clock that tests move, both hands or one."""

    def __init__(self) -> None:
        self.wall, self.later = 0.0, 0.0

    def wall_ms(self) -> int:
        return super().wall_ms() + int(1000 * self.wall)

    def passed(self) -> float:
        return super().passed() + self.later


@contextmanager
def serving(service: Service, rate: float = 1e6) -> Iterator[str]:
    """The address of a server of a service."""
    app = Application(service, LOOPBACK, rate)
    config = uvicorn.Config(
        app, port=0, log_level="error", timeout_graceful_shutdown=2, timeout_keep_alive=75
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
