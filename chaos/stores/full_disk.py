"""A disk that is full while a store is written: a sentence, nothing left, and it works later."""

from __future__ import annotations

import random
import signal
import tempfile
import time
from pathlib import Path

from chaos.attack import Attack, FailureError, Outcomes
from chaos.online.full_disk import enlarge, file_size, mounted
from chaos.stores.runs import ITERATIVE, Run, write_votes


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    small = place / "small"
    small.mkdir()
    votes = place / "votes.csv"
    write_votes(votes, seed, n_tasks=2_000)
    run = Run(place, votes, "-m", ITERATIVE[seed % len(ITERATIVE)], "--max-iter", 8)
    expected = run.expected()
    size = int(2 ** chance.uniform(9, 19))
    small_disk = chance.random() < 0.5 and mounted(small, max(size, 8192))
    before = (lambda: None) if small_disk else (lambda: file_size(size).__enter__())
    run = Run(small, votes, *run.arguments[2:])
    ran = run.end("found", "--store", small / "store", before=before)
    if ran.status == 0:
        run.require("found", expected, "on a disk that was large enough")
    elif not ran.refused:
        raise FailureError(f"{size:,} bytes, {'a disk' if small_disk else 'a limit'}: {ran}")
    else:
        run.require_nothing("found", f"refused for {size:,} bytes")
    if small_disk:
        enlarge(small)
    ran = run.end("later", "--store", small / "store", "--resume")
    if ran.status:
        raise FailureError(f"when there was room again: {ran}")
    run.require("later", expected, "when there was room again")
    yield None


def interrupted(seed: int, place: Path) -> Outcomes:
    """SIGTERM and Ctrl-C of a run without a store of its own: no temporary directory is left."""
    chance = random.Random(seed)
    votes, temporary = place / "votes.csv", place / "temporary"
    temporary.mkdir()
    write_votes(votes, seed, n_tasks=2_000)
    run = Run(place, votes, "-m", "dawid-skene", "--tol", 0, "--max-iter", 150)
    signals = [signal.SIGTERM, signal.SIGINT]
    limited = ("--memory", "1GB")
    ran = run.end("undisturbed", *limited)
    if ran.status:
        raise FailureError(f"undisturbed: {ran}")
    command = run.start("found", *limited, before=lambda: _there(temporary))
    time.sleep(chance.uniform(0, 1.1) * ran.seconds)
    sent = chance.choice(signals)
    command.kill(sent)
    ran = command.wait()
    if "Traceback" in ran.errors:
        raise FailureError(f"{sent.name}: {ran}")
    if ran.status:
        run.require_nothing("found", sent.name)
    left = [path.name for path in temporary.iterdir()]
    yield f"{sent.name} leaves {left[:3]}" if left else None


def _there(temporary: Path) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tempfile.tempdir = str(temporary)


ATTACK = Attack("stores-full-disk", "a full disk, or a limit of file sizes", trial, often=60)
INTERRUPTED = Attack("stores-interrupts", "SIGTERM and Ctrl-C of a run", interrupted, often=60)
