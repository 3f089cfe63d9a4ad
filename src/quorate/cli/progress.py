"""The one progress bar."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from quorate.votes.store import Progress

PATIENCE = 1.0  # seconds that work may take without a bar
LONGEST = 60  # letters of what is under way


@contextmanager
def bar(quiet: bool) -> Iterator[Progress | None]:
    """A bar on the terminal for work that takes more than a second; None where there is none."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    drawn = _drawn()
    began = time.monotonic()
    shown: list[Any] = []

    def progress(what: str, done: float, total: float | None, how: str = "") -> None:
        if time.monotonic() - began < PATIENCE:
            return
        fields = {"what": _short(what), "how": _short(how)}
        if not shown:
            drawn.start()
            shown.append(drawn.add_task("", total=total, **fields))
        drawn.update(shown[0], completed=done, total=total, **fields)

    try:
        yield progress
    finally:
        drawn.stop()


def _drawn() -> Any:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from quorate.report.screen import Screen

    columns = (
        TextColumn("{task.fields[what]}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[how]}", markup=False),
    )
    console = Screen(stderr=True)
    return Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty())


def _short(text: str) -> str:
    """
    Examples:
        >>> len(_short("kos, glad, " * 20))
        60
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Work that has nothing to tidy up, and does not wait for its threads when interrupted."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K\x1b[?25h")  # in place of the bar, which hides the cursor
        click.echo("quorate: Interrupted.", err=True)
        sys.stderr.flush()
        os._exit(130)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
