"""Signals that end a command."""

from __future__ import annotations

import subprocess
import sys

import pytest

CALLED_BY_POLARS = """
import os, signal, sys, time
import polars as pl
from quorate.cli.stopping import stopping_tidily

def stop(_: int) -> int:
    os.kill(os.getpid(), signal.{name})
    return 1

with stopping_tidily():
    try:
        print(pl.Series([0]).map_elements(stop, return_dtype=pl.Int64)[0], flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize(("name", "exit_code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_stop_inside_polars_waits_for_its_end(name: str, exit_code: int) -> None:
    command = [sys.executable, "-c", CALLED_BY_POLARS.format(name=name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (exit_code, "1\n", "")
