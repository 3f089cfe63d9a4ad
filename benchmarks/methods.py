"""Quorate's methods against Crowd-Kit's: the same simulated votes, own defaults, one run.

Each contestant runs in a process of its own, started afresh; a call is timed from data frame to
labels, after a call on a few votes, so that imports are not part of the race.

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
    "rank-one": Race("MMSR"),
}


def run(call: Callable[[pd.DataFrame], pd.Series], path: str, repeats: int) -> dict[str, Any]:
    """The first call's memory and labels, and the best of some calls' times."""
    votes = pd.read_parquet(path)
    call(votes.head(1000))
    times = []
    with PeakMemory() as memory:
        began = time.perf_counter()
        labels = call(votes)
        times.append(time.perf_counter() - began)
    for _ in range(repeats - 1):
        began = time.perf_counter()
        call(votes)
        times.append(time.perf_counter() - began)
    return {"seconds": min(times), "memory": memory.bytes, "labels": labels.to_dict()}


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
        # A rival that takes tens of seconds is not asked twice.
        command += ["--repeats", str(arguments.repeats if name == "quorate" else 1)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            outcome[name] = {"crashed": (done.stderr.strip() or "no message").splitlines()[-1]}
        else:
            outcome[name] = json.loads(done.stdout.splitlines()[-1])
            labels[name] = outcome[name].pop("labels")
    if len(labels) == len(CONTESTANTS):
        ours, theirs = labels.values()
        outcome["ratio"] = outcome["crowd-kit"]["seconds"] / outcome["quorate"]["seconds"]
        outcome["agreement"] = float(np.mean([ours[task] == theirs[task] for task in ours]))
    return outcome


def show(outcomes: dict[str, dict[str, Any]]) -> None:
    console = Console()
    table = Table(box=None)
    for column in ("method", "labels", "quorate, s", "crowd-kit, s", "ratio", "same labels"):
        table.add_column(column, justify="right")
    for method, outcome in outcomes.items():
        seconds = [
            f"{outcome[name]['seconds']:.3f}" if "seconds" in outcome[name] else "crashed"
            for name in CONTESTANTS
        ]
        compared = ["", ""]
        if "ratio" in outcome:
            compared = [f"{outcome['ratio']:.0f}", f"{outcome['agreement']:.2%}"]
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
    parser.add_argument("--repeats", type=int, default=3)
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
