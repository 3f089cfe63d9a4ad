"""A server as users start it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import psutil


class Started(NamedTuple):
    """Seconds until a server listened: of the processor, and by the clock."""

    processor: float
    clock: float

    def __str__(self) -> str:
        return f"{self.clock:.2f} s by the clock, {self.processor:.2f} s of the processor"


@contextmanager
def server(database: str) -> Iterator[tuple[str, psutil.Process, Started]]:
    """A server of a database: its address, its process, and how long it took until it listened."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "quorate", "serve", database, "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+:\d+", line)
    assert found is not None, line
    watched = psutil.Process(process.pid)
    try:
        clock = time.perf_counter() - begun
        yield found[0], watched, Started(sum(watched.cpu_times()[:2]), clock)
    finally:
        process.terminate()
        process.wait()
