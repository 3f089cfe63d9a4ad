"""A cluster that loses its driver or an actor: the same bits as in memory."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaos.attack import Attack, FailureError, Outcomes
from chaos.stores.runs import Run, write_votes

PATIENCE = 90  # seconds


def driver(seed: int, place: Path) -> Outcomes:
    """Killed, and the run resumed."""
    if importlib.util.find_spec("ray") is None:
        return
    chance = random.Random(seed)
    run, expected = _run(seed, place)
    process = _start(run, place, "found")
    _wait_for_actors(process)
    time.sleep(chance.uniform(0, 2))
    process.kill()
    process.wait()
    _require(_start(run, place, "found", "--resume"), "resumed")
    run.require("found", expected, "driver killed and resumed")
    yield None


def actor(seed: int, place: Path) -> Outcomes:
    """Killed while the run goes on."""
    if importlib.util.find_spec("ray") is None:
        return
    chance = random.Random(seed)
    run, expected = _run(seed, place)
    process = _start(run, place, "found")
    actors = _wait_for_actors(process)
    time.sleep(chance.uniform(0, 1))
    with suppress(ProcessLookupError):  # if the run was quicker
        os.kill(chance.choice(actors), signal.SIGKILL)
    _require(process, "an actor killed")
    run.require("found", expected, "an actor killed")
    yield None


def _run(seed: int, place: Path) -> tuple[Run, tuple[bytes | None, bytes | None]]:
    votes = place / "votes.csv"
    write_votes(votes, seed, n_tasks=20_000, n_workers=50)
    run = Run(place, votes, "-m", "dawid-skene", "--tol", 0, "--max-iter", 150)
    return run, run.expected()


def _start(run: Run, place: Path, name: str, *options: str) -> subprocess.Popen[str]:
    """A process that is not forked: Ray starts others."""
    labels, workers = run.outputs(name)
    arguments = [*run.arguments, "-o", labels, "--workers", workers, "--engine", "ray"]
    arguments += ["--store", place / "store", *options]
    command = [sys.executable, "-m", "quorate", *map(str, arguments)]
    return subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _wait_for_actors(process: subprocess.Popen[str]) -> list[int]:
    import psutil

    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        children = psutil.Process(process.pid).children(recursive=True)
        found = [child.pid for child in children if _is_actor(child)]
        if found:
            return found
        time.sleep(0.02)
    _, errors = process.communicate()
    raise FailureError(f"no actors: {errors[-500:]}")


def _is_actor(process: Any) -> bool:
    """Ray names a process after what it does."""
    import psutil

    with suppress(psutil.Error):
        return "ray::Owner" in " ".join(process.cmdline())
    return False


def _require(process: subprocess.Popen[str], what: str) -> None:
    _, errors = process.communicate(timeout=PATIENCE)
    if process.returncode:
        raise FailureError(f"{what}: exit {process.returncode}: {errors[-800:]}")


DRIVER = Attack("cluster-driver", "a Ray driver killed and resumed", driver, 2, True, 240)
ACTOR = Attack("cluster-actor", "a Ray actor killed", actor, 2, True, 240)
