"""Quorate's methods against Crowd-Kit's: the same simulated votes, own defaults, one run.

Each contestant runs in a process of its own, started afresh; a call is timed from data frame to
labels, after a call on a few votes, so that imports are not part of the race. Both are called
equally often, except who takes very long, and the best time of each counts. On a busy machine the
ratio of processor time is the steadier one.

    python benchmarks/methods.py                   # 50,000 labels, every method both have
    python benchmarks/methods.py glad mace -o methods.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from race import PeakMemory, simulated_votes
from rich.console import Console
from rich.table import Table

from quorate.models import METHODS


class Race(NamedTuple):
    """A method, the class of Crowd-Kit that is its rival, and how many classes both can take."""

    rival: str
    classes: int = 4


RACES = {
    "glad": Race("GLAD"),
    "mace": Race("MACE"),
    "kos": Race("KOS", classes=2),
    "one-coin": Race("OneCoinDawidSkene"),
    "rank-one": Race("MMSR", classes=2),
}
PATIENCE = 20  # seconds after which a contestant is not called again


def run(call: Callable[[pd.DataFrame], pd.Series], path: str, repeats: int) -> dict[str, Any]:
    """A first call's memory and labels, and the best of all calls' times."""
    votes = pd.read_parquet(path)
    call(simulated_votes(200, 20, votes["label"].nunique(), 5))
    seconds: list[float] = []
    processor: list[float] = []

    def timed() -> pd.Series:
        began, used = time.perf_counter(), time.process_time()
        labels = call(votes)
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
        return labels

    with PeakMemory() as memory:
        labels = timed()
    while len(seconds) <= repeats and sum(seconds) < PATIENCE:
        timed()
    return {
        "seconds": min(seconds),
        "processor": min(processor),
        "memory": memory.bytes,
        "labels": labels.to_dict(),
    }


def quorate_call(method: str) -> Callable[[pd.DataFrame], pd.Series]:
    import quorate

    def call(votes: pd.DataFrame) -> pd.Series:
        result = quorate.aggregate(votes, method=method)
        labels: pd.Series = result.labels.set_index("task")["label"]
        return labels

    return call


def crowd_kit_call(method: str) -> Callable[[pd.DataFrame], pd.Series]:
    from crowdkit import aggregation

    rival = getattr(aggregation, RACES[method].rival)

    def call(votes: pd.DataFrame) -> pd.Series:
        labels: pd.Series = rival().fit_predict(votes)
        return labels

    return call


CONTESTANTS = {"quorate": quorate_call, "crowd-kit": crowd_kit_call}


def race(method: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both contestants, one after the other. Who crashes is left out, with the last line said."""
    votes = simulated_votes(
        arguments.tasks, arguments.workers, RACES[method].classes, arguments.per_task
    )
    path = folder / f"{method}.parquet"
    votes.to_parquet(path)
    outcome: dict[str, Any] = {"labels": len(votes)}
    labels = {}
    for name in CONTESTANTS:
        command = [sys.executable, __file__, method, "--run", name, "--votes", str(path)]
        command += ["--repeats", str(arguments.repeats)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            outcome[name] = {"crashed": (done.stderr.strip() or "no message").splitlines()[-1]}
        else:
            outcome[name] = json.loads(done.stdout.splitlines()[-1])
            labels[name] = outcome[name].pop("labels")
    if len(labels) == len(CONTESTANTS):
        ours, theirs = labels.values()
        for ratio, time_of in (("ratio", "seconds"), ("processor_ratio", "processor")):
            outcome[ratio] = outcome["crowd-kit"][time_of] / outcome["quorate"][time_of]
        outcome["agreement"] = float(np.mean([ours[task] == theirs[task] for task in ours]))
    return outcome


def show(outcomes: dict[str, dict[str, Any]]) -> None:
    console = Console()
    table = Table(box=None)
    columns = ("method", "labels", "quorate, s", "crowd-kit, s", "ratio", "of processor time")
    for column in (*columns, "same labels"):
        table.add_column(column, justify="right")
    for method, outcome in outcomes.items():
        seconds = [
            f"{outcome[name]['seconds']:.3f}" if "seconds" in outcome[name] else "crashed"
            for name in CONTESTANTS
        ]
        compared = [""] * 3
        if "ratio" in outcome:
            ratios = [f"{outcome[ratio]:.0f}" for ratio in ("ratio", "processor_ratio")]
            compared = [*ratios, f"{outcome['agreement']:.2%}"]
        table.add_row(method, f"{outcome['labels']:,}", *seconds, *compared)
    console.print(table)
    for method, outcome in outcomes.items():
        for name in CONTESTANTS:
            if "crashed" in outcome[name]:
                console.print(f"{name}'s {method} crashed: {outcome[name]['crashed']}")


def main() -> None:
    there = [method for method in RACES if method in METHODS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=", ".join(there))
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=500)
    parser.add_argument("--per-task", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--run", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--votes", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for method in arguments.methods:
        if method not in there:
            parser.error(f"there is no race of {method}: there is {', '.join(there)}")
    methods = arguments.methods or there
    if arguments.run:
        call = CONTESTANTS[arguments.run](methods[0])
        print(json.dumps(run(call, arguments.votes, arguments.repeats)))
        return
    with tempfile.TemporaryDirectory() as folder:
        outcomes = {method: race(method, arguments, Path(folder)) for method in methods}
    show(outcomes)
    if arguments.output:
        arguments.output.write_text(json.dumps(outcomes, indent=1) + "\n")


if __name__ == "__main__":
    main()
