"""A server as users start it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil


@contextmanager
def server(database: str) -> Iterator[tuple[str, psutil.Process, float]]:
    """A server of a database: its address, its process, and processor seconds until it listened."""
    command = [sys.executable, "-m", "quorate", "serve", database, "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+:\d+", line)
    assert found is not None, line
    watched = psutil.Process(process.pid)
    try:
        yield found[0], watched, sum(watched.cpu_times()[:2])
    finally:
        process.terminate()
        process.wait()
