"""Signals that end a command: as exceptions, so that it tidies up, and never inside polars."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

TERMINATED = 143
AGAIN = 0.01  # seconds after which a stop that came inside polars is tried again

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def stopping_tidily() -> Iterator[None]:
    """SIGTERM ends what is under way as an exception would. Neither it nor an interrupt is raised
    while polars is at work, which would panic and say so on several lines."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[int, Handler] = {signal.SIGTERM: _terminate}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handlers[signal.SIGINT] = signal.default_int_handler
    before = {n: signal.signal(n, _outside_polars(stop)) for n, stop in handlers.items()}
    try:
        yield
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def tidy_in_peace() -> None:
    """What is said and done is over: what is left to remove is removed whoever interrupts."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _terminate(number: int, frame: FrameType | None) -> None:
    sys.exit(TERMINATED)


def _outside_polars(stop: Handler) -> Handler:
    """The handler that stops now or, inside polars, a moment later; at once where there are no
    timers."""

    def handle(number: int, frame: FrameType | None) -> None:
        if hasattr(signal, "setitimer") and _is_in_polars(frame):
            signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        else:
            stop(number, frame)

    return handle


def _is_in_polars(frame: FrameType | None) -> bool:
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == "polars":
            return True
        frame = frame.f_back
    return False
