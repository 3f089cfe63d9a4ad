"""A billion votes on one machine: time, memory, disk, and agreement with the truth.

    python benchmarks/billion.py                                   # 10^9 votes; hours, 60 GB
    python benchmarks/billion.py --votes 10000000 -o docs/results/billion
    python benchmarks/billion.py --votes 10000000 --methods dawid-skene --kill-after 30

Five votes for each task, a thousand for each worker, five classes, with the votes of a task far
apart, in Parquet in pieces. They are aggregated in `--memory` by way of a store on disk, each
method in a process of its own. In a `--place` that is named, everything stays and is gone on with:
pieces that are there are not made again, a fit that was killed is resumed, and a method that has
ended is not run again. `--kill-after` kills the first method with SIGKILL so many seconds after its
first iteration began, and resumes it. Seconds are from the call to the file of labels. Votes are
hashed from their numbers, and so is the truth, of which nothing is kept.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from figures import draw_billion
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from quorate.kernels import hashed_uniform

PER_TASK, PER_WORKER, CLASSES, ITERATIONS = 5, 1000, 5, 20
PIECE = 10_000_000  # votes in a file
AT_ONCE = 2_000_000  # votes that are made at a time
METHODS = ("majority", "dawid-skene", "auto")
OPTIONS: dict[str, dict[str, Any]] = {"dawid-skene": {"tol": 0.0, "max_iter": ITERATIONS}}
GOALS = "under 4 GB of memory, at most 60 GB of disk, Dawid-Skene in 30 minutes"


@dataclass(frozen=True)
class Crowd:
    """So many votes, each of which is known from its number alone."""

    votes: int
    n_workers: int

    @property
    def skill(self) -> NDArray[np.float64]:
        return np.random.default_rng(1).beta(6, 2, self.n_workers)

    @property
    def stride(self) -> int:
        """What rows of a task are apart by: no factor of it is one of the number of votes."""
        return next(
            n
            for n in range(int(self.votes * 0.618) | 1, 2 * self.votes)
            if math.gcd(n, self.votes) == 1
        )

    def rows(self, first: int, last: int) -> pl.DataFrame:
        row = np.arange(first, last, dtype=np.uint64)
        number = (row * np.uint64(self.stride)) % np.uint64(self.votes)
        task = (number // np.uint64(PER_TASK)).astype(np.int32)
        who, luck, guess = hashed_uniform(number, 3, seed=1).T
        worker = (who * self.n_workers).astype(np.int32)
        wrong = (guess * CLASSES).astype(np.int8)
        label = np.where(luck < self.skill[worker], truth_of(task), wrong)
        return pl.DataFrame({"task": task, "worker": worker, "label": label})


def truth_of(task: NDArray[np.integer]) -> NDArray[np.int8]:
    return (hashed_uniform(task, 1, seed=2)[:, 0] * CLASSES).astype(np.int8)


def make_pieces(crowd: Crowd, place: Path) -> None:
    """Write the pieces that are not there yet."""
    place.mkdir(parents=True, exist_ok=True)
    for first in range(0, crowd.votes, PIECE):
        path, last = place / f"votes-{first:013d}.parquet", min(first + PIECE, crowd.votes)
        if path.exists():
            continue
        unfinished = path.with_suffix(".part")
        parts = (crowd.rows(at, min(at + AT_ONCE, last)) for at in range(first, last, AT_ONCE))
        pl.concat(parts).write_parquet(unfinished)
        unfinished.replace(path)


def measure(place: Path, method: str, memory: str) -> None:
    """In a process of its own: aggregate, and keep seconds by stage, labels and their agreement."""
    import quorate

    log = place / f"{method}.stages"
    spent: dict[str, float] = json.loads(log.read_text()) if log.exists() else {}
    peaks: dict[str, int] = {}
    at = time.perf_counter()

    def stage(what: str, done: float, total: float | None, how: str = "") -> None:
        nonlocal at
        name = "iterations" if what.startswith("iteration") else what
        now = time.perf_counter()
        spent[name] = spent.get(name, 0.0) + now - at
        peaks[name] = max(peaks.get(name, 0), peak_memory("self"))
        at = now
        log.write_text(json.dumps(spent))

    result = quorate.aggregate(
        sorted(map(str, (place / "votes").glob("*.parquet"))),
        method,
        memory=memory,
        store=str(place / "store"),
        resume=True,
        progress=stage,
        **OPTIONS.get(method, {}),
    )
    labels = place / f"{method}.parquet"
    result.labels.sink_parquet(labels)
    stage("labels", 1, 1)
    right, tasks = agreement(labels)
    found = {"stages": spent, "right": right / tasks, "iterations": result.iterations}
    found |= {"notes": list(result.notes), "peaks": peaks}  # up to the end of each stage
    (place / f"{method}.found").write_text(json.dumps(found))


def agreement(labels: Path) -> tuple[int, int]:
    """Number of right answers, and of tasks."""
    right = tasks = 0
    for batch in pl.scan_parquet(labels).select("task", "label").collect_batches():
        right += int((batch["label"].to_numpy() == truth_of(batch["task"].to_numpy())).sum())
        tasks += len(batch)
    return right, tasks


def watched(command: list[str], place: Path, kill_after: float | None) -> dict[str, Any]:
    """Run a command; its peak memory, and the most disk that was in use meanwhile."""
    memory, disk = 0, 0
    kill_at: float | None = None
    process = subprocess.Popen(command)
    for disk_now, memory_now in samples(process, place):
        memory, disk = max(memory, memory_now), max(disk, disk_now)
        fitting = any((place / "store").glob("unfinished-*/checkpoint.state"))
        if kill_after is not None and fitting:
            kill_at = kill_at or time.monotonic() + kill_after
            if time.monotonic() >= kill_at:
                process.send_signal(signal.SIGKILL)
    return {"memory": memory, "disk": disk, "exit": process.wait()}


def samples(process: subprocess.Popen[bytes], place: Path) -> Iterator[tuple[int, int]]:
    """Bytes on disk, and the peak memory so far, as long as the process runs."""
    while process.poll() is None:
        memory = peak_memory(process.pid)
        began = time.perf_counter()
        size = size_of(place)
        counting = time.perf_counter() - began
        yield size, memory
        time.sleep(max(0.2, 20 * counting))  # a large store has many files


def peak_memory(process: int | str) -> int:
    """Bytes of resident memory at its peak so far; 0 of a process that has just ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return 0


def size_of(place: Path) -> int:
    """Bytes of the files in a directory, some of which may go while they are counted."""
    total = 0
    for directory, _, names in os.walk(place):
        for name in names:
            try:
                total += (Path(directory) / name).stat().st_size
            except OSError:
                continue
    return total


def run(crowd: Crowd, place: Path, method: str, given: argparse.Namespace) -> dict[str, Any]:
    """One method, killed once and resumed if that is asked for; what is there is not run again."""
    outcome = place / f"{method}.json"
    if outcome.exists():
        known: dict[str, Any] = json.loads(outcome.read_text())
        return known
    command = [sys.executable, __file__, "--measure", method, "--place", str(place)]
    command += ["--memory", given.memory]
    kill_after = given.kill_after if method == given.methods[0] else None
    runs = [watched(command, place, kill_after)]
    if kill_after is not None and runs[0]["exit"] == -signal.SIGKILL:
        runs.append(watched(command, place, None))
    if runs[-1]["exit"]:
        raise SystemExit(f"{method} ended with {runs[-1]['exit']}.")
    found: dict[str, Any] = json.loads((place / f"{method}.found").read_text())
    found |= {"votes": crowd.votes, "workers": crowd.n_workers, "method": method}
    found["seconds"] = sum(found["stages"].values())  # of all runs, whoever ended them
    found |= {key: max(each[key] for each in runs) for key in ("memory", "disk")}
    found["killed"] = len(runs) > 1
    outcome.write_text(json.dumps(found))
    (place / f"{method}.parquet").unlink()
    return found


def show(results: list[dict[str, Any]], console: Console) -> None:
    stages = dict.fromkeys(stage for r in results for stage in r["stages"])
    table = Table(title=f"Votes on disk, {CLASSES} classes; the goal at 10^9: {GOALS}")
    for column in ("votes", "method", "seconds", *stages, "peak MB", "disk GB", "right"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for r in results:
        spent = (f"{r['stages'][s]:.1f}" if s in r["stages"] else "" for s in stages)
        sizes = f"{r['memory'] / 1e6:,.0f}", f"{r['disk'] / 1e9:.2f}"
        name = f"{r['method']}, killed and resumed" if r["killed"] else r["method"]
        cells = name, f"{r['seconds']:.1f}", *spent, *sizes, f"{r['right']:.2%}"
        table.add_row(f"{r['votes']:,}", *cells)
    console.print(table)


def joined(results: list[dict[str, Any]], path: Path) -> list[dict[str, Any]]:
    """The results, and those that are kept of other sizes and methods, in order."""
    known = {(r["votes"], r["method"], r["killed"]): r for r in results}
    if path.exists():
        for each in json.loads(path.read_text())["runs"]:
            known.setdefault((each["votes"], each["method"], each["killed"]), each)
    return [known[key] for key in sorted(known, key=lambda k: (k[0], METHODS.index(k[1]), k[2]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=int, default=10**9)
    parser.add_argument("--workers", type=int, help="one for each thousand votes by default")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--place", type=Path, help="a directory to work in, which stays")
    parser.add_argument("--kill-after", type=float, metavar="SECONDS")
    parser.add_argument("-o", "--output", type=Path, help="a directory for the figures and plot")
    parser.add_argument("--measure", choices=METHODS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.place, given.measure, given.memory)
        return
    n_workers = given.workers or max(given.votes // PER_WORKER, 10)
    crowd, console = Crowd(given.votes, n_workers), Console(width=150)
    with tempfile.TemporaryDirectory() as temporary:
        place = given.place or Path(temporary)
        make_pieces(crowd, place / "votes")
        results = [run(crowd, place, method, given) for method in given.methods]
    kept = None if given.output is None else given.output / "results.json"
    results = results if kept is None else joined(results, kept)
    show(results, console)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"cores": os.cpu_count(), "runs": results}, indent=1) + "\n")
        draw_billion(results, given.output / "billion.svg")


if __name__ == "__main__":
    main()
