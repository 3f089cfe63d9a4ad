"""Outputs are whole or not there: kills, full devices, closed pipes, and never over an input."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from chaos.attack import Attack, FailureError, Outcomes, require
from chaos.children import Command, quorate
from chaos.stores.runs import Run, write_votes


def kills(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    votes = place / "votes.csv"
    write_votes(votes, seed, n_tasks=3_000)
    run = Run(place, votes, "-m", "majority")
    began = time.monotonic()
    expected = run.expected()
    seconds = time.monotonic() - began
    for number in range(5):
        command = run.start(f"{number}")
        time.sleep(chance.uniform(0.3, 1.1) * seconds)
        command.kill()
        command.wait()
        written = run.written(f"{number}")
        whole = all(w in (None, e) for w, e in zip(written, expected, strict=True))
        yield None if whole else "part of an output is left by a kill"


def devices(seed: int, place: Path) -> Outcomes:
    """Standard output that is full or closed: a sentence, and no other output."""
    votes, workers = place / "votes.csv", place / "workers.csv"
    write_votes(votes, seed, n_tasks=[30, 3_000][seed % 2])
    arguments = ["aggregate", votes, "-m", "majority", "-o", "-", "--workers", workers]
    full = os.open("/dev/full", os.O_WRONLY)
    reading, closed = os.pipe()
    os.close(reading)
    for output, what in ((full, "/dev/full"), (closed, "a closed pipe")):
        ran = Command(arguments, place, output=output).wait()
        require(ran.status != 0, f"{what}: exit 0")
        require("Traceback" not in ran.errors, f"{what}: {ran}")
        require("Exception" not in ran.errors, f"{what}: {ran}")
        require(not workers.exists(), f"{what}: the workers are there")
        yield None
    yield _to_a_device(arguments[:4], place)
    yield _to_a_fifo(arguments[:4], place)


def _to_a_device(arguments: list[object], place: Path) -> str | None:
    ran = quorate(*arguments, "-o", "/dev/full", place=place)
    if not ran.refused:
        return f"-o /dev/full: {ran}"
    return None if Path("/dev/full").is_char_device() else "/dev/full was replaced"


def _to_a_fifo(arguments: list[object], place: Path) -> str | None:
    fifo = place / "fifo.csv"
    os.mkfifo(fifo)
    end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    ran = quorate(*arguments[:1], _few(place), *arguments[2:], "-o", fifo, place=place)
    said = os.read(end, 2**16)
    os.close(end)
    if not fifo.is_fifo():
        return "a FIFO was replaced by a file"
    return None if ran.status == 0 and said.startswith(b"task") else f"to a FIFO: {ran}"


def _few(place: Path) -> Path:
    """Votes whose answers fit into a pipe."""
    write_votes(place / "few.csv", 0, n_tasks=10)
    return place / "few.csv"


def over_inputs(seed: int, place: Path) -> Outcomes:
    """By its name, through a link, by another way to it."""
    votes = place / "votes.csv"
    write_votes(votes, seed, n_tasks=30)
    before = votes.read_bytes()
    (place / "link.csv").symlink_to(votes)
    (place / "hard.csv").hardlink_to(votes)
    (place / "directory").mkdir()
    ways = [votes, place / "link.csv", place / "hard.csv", place / "directory/../votes.csv"]
    for output in ways:
        for option in ("-o", "--workers", "--posterior"):
            ran = quorate("aggregate", votes, "-m", "majority", option, output, place=place)
            if votes.read_bytes() != before:
                raise FailureError(f"{option} {output.name}: the votes are gone")
            yield None if ran.refused else f"{option} {output.name}: {ran}"


KILLS = Attack("outputs-kills", "SIGKILL while outputs are written", kills, often=60)
DEVICES = Attack("outputs-devices", "full devices, closed pipes, FIFOs", devices, often=24)
INPUTS = Attack("outputs-inputs", "outputs over inputs", over_inputs, often=24)
