"""An address where nobody listens, or nobody who knows Ray: a sentence, soon."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
from pathlib import Path

from chaos.attack import Attack, Outcomes
from chaos.stores.runs import write_votes

SOON = 45  # seconds, with importing Ray on a machine that has other work


def trial(seed: int, place: Path) -> Outcomes:
    if importlib.util.find_spec("ray") is None:
        return
    votes = place / "votes.csv"
    write_votes(votes, seed, n_tasks=20)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if seed % 2 else 1
        arguments = ["aggregate", votes, "--engine", "ray", "--address", f"127.0.0.1:{port}"]
        command = [sys.executable, "-m", "quorate", *map(str, arguments)]
        began = time.monotonic()
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=2 * SOON)
        except subprocess.TimeoutExpired:
            yield f"port {port}: no answer in {2 * SOON} s"
            return
    seconds, lines = time.monotonic() - began, ran.stderr.strip().splitlines()
    if ran.returncode == 0 or len(lines) > 4 or "Traceback" in ran.stderr:
        yield f"port {port}: exit {ran.returncode}, {len(lines)} lines: {ran.stderr[-400:]}"
    else:
        yield None if seconds < SOON else f"port {port}: a sentence after {seconds:.0f} s"


ATTACK = Attack("cluster-address", "a cluster that does not answer", trial, 2, True, 240)
