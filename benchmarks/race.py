"""Quorate against Crowd-Kit: the same simulated votes, the same number of EM iterations, one run.

Each contestant runs in a process of its own, started afresh, so that its peak memory is its own.

    python benchmarks/race.py                      # 1 million labels
    python benchmarks/race.py --tasks 20000 -o race.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from rich.console import Console
from rich.table import Table

ITERATIONS = 10


class PeakMemory:
    """The highest resident memory of this process while the block runs, beyond what it had."""

    def __enter__(self) -> PeakMemory:
        self._process = psutil.Process()
        self._before = self._peak = self._process.memory_info().rss
        self._running = True
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def _watch(self) -> None:
        while self._running:
            self._peak = max(self._peak, self._process.memory_info().rss)
            time.sleep(0.001)

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._watcher.join()
        self.bytes = self._peak - self._before


def simulated_votes(n_tasks: int, n_workers: int, n_classes: int, per_task: int) -> pd.DataFrame:
    from quorate.models.one_coin import one_coin_confusion
    from quorate.simulation import simulate

    accuracy = np.random.default_rng(1).uniform(0.3, 0.9, n_workers)
    crowd = simulate(one_coin_confusion(accuracy, n_classes), n_tasks, per_task, seed=1).labels
    task = np.repeat(np.arange(n_tasks), per_task)
    votes = pd.DataFrame(
        {
            "task": pd.Series(task).map("task-{}".format),
            "worker": pd.Series(crowd.worker).map("worker-{}".format),
            "label": pd.Series(crowd.label).map("class-{}".format),
        }
    )
    return votes.sample(frac=1, random_state=1, ignore_index=True)


def run_quorate(votes: pd.DataFrame, repeats: int) -> dict[str, Any]:
    import quorate

    def call(iterations: int) -> tuple[pd.Series, float]:
        result = quorate.aggregate(votes, "dawid-skene", max_iter=iterations, tol=0.0)
        return result.labels.set_index("task")["label"], result.seconds

    quorate.aggregate(
        votes.head(1000), "dawid-skene", max_iter=2
    )  # imports are not part of the race
    return timed(call, repeats)


def run_engine(votes: pd.DataFrame, repeats: int) -> dict[str, Any]:
    """The fit alone, on votes that have been read: its memory, of which the posterior is part."""
    import quorate

    del repeats
    quorate.aggregate(votes.head(1000), "dawid-skene", max_iter=2)
    labels = quorate.read_votes(votes).labels
    with PeakMemory() as memory:
        result = quorate.fit(quorate.DawidSkene(max_iter=ITERATIONS, tol=0.0), labels)
    return {"memory": memory.bytes - result.posterior.nbytes}


def run_crowd_kit(votes: pd.DataFrame, repeats: int) -> dict[str, Any]:
    from crowdkit.aggregation import DawidSkene

    def call(iterations: int) -> tuple[pd.Series, float]:
        began = time.perf_counter()
        labels = DawidSkene(n_iter=iterations, tol=0.0).fit_predict(votes)
        return labels, time.perf_counter() - began

    DawidSkene(n_iter=2).fit_predict(votes.head(1000))
    return timed(call, repeats)


def timed(call: Callable[[int], tuple[pd.Series, float]], repeats: int) -> dict[str, Any]:
    """The first call's memory; the best of some calls' times; an iteration's time by difference."""
    with PeakMemory() as memory:
        labels, _ = call(ITERATIONS)
    one = min(call(1)[1] for _ in range(repeats))
    whole, fitting = [], []
    for _ in range(repeats):
        began = time.perf_counter()
        fitting.append(call(ITERATIONS)[1])
        whole.append(time.perf_counter() - began)
    return {
        "whole": min(whole),
        "iteration": (min(fitting) - one) / (ITERATIONS - 1),
        "memory": memory.bytes,
        "labels": labels.to_dict(),
    }


CONTESTANTS = {"quorate": run_quorate, "crowd-kit": run_crowd_kit, "engine": run_engine}


def race(arguments: argparse.Namespace) -> dict[str, Any]:
    """Both contestants, one after the other, on votes kept in a file."""
    votes = simulated_votes(
        arguments.tasks, arguments.workers, arguments.classes, arguments.per_task
    )
    runs = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.parquet"
        votes.to_parquet(path)
        for name in CONTESTANTS:
            command = [sys.executable, __file__, "--run", name, "--votes", str(path)]
            command += ["--repeats", str(arguments.repeats)]
            runs[name] = json.loads(subprocess.run(command, stdout=-1, check=True).stdout)
    ours, theirs, engine = runs["quorate"], runs["crowd-kit"], runs.pop("engine")
    labels, other = ours.pop("labels"), theirs.pop("labels")
    n = len(votes)
    return {
        "labels": n,
        "iterations": ITERATIONS,
        "runs": runs,
        "ratio_whole": theirs["whole"] / ours["whole"],
        "ratio_iteration": theirs["iteration"] / ours["iteration"],
        "ns_per_label_and_iteration": ours["iteration"] / n * 1e9,
        "engine_bytes_per_label": engine["memory"] / n,
        "agreement": float(np.mean([labels[task] == other[task] for task in labels])),
    }


def show(outcome: dict[str, Any]) -> None:
    table = Table(box=None)
    for column in ("", "quorate", "crowd-kit", "ratio"):
        table.add_column(column, justify="right")
    ours, theirs = outcome["runs"]["quorate"], outcome["runs"]["crowd-kit"]
    for row, key, scale in (
        (f"whole call, {ITERATIONS} iterations, s", "whole", 1),
        ("one iteration, s", "iteration", 1),
        ("peak memory beyond the votes, MB", "memory", 1e-6),
    ):
        a, b = ours[key] * scale, theirs[key] * scale
        table.add_row(row, f"{a:.3f}", f"{b:.3f}", f"{b / a:.1f}")
    console = Console()
    console.print(f"{outcome['labels']:,} labels, data frame in, data frame out")
    console.print(table)
    console.print(
        f"quorate: {outcome['ns_per_label_and_iteration']:.1f} ns per label and iteration;"
        f" the engine needs {outcome['engine_bytes_per_label']:.0f} bytes per label at the peak,"
        f" beyond the votes and the posterior\n"
        f"both give the same label to {outcome['agreement']:.2%} of the tasks"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--per-task", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--run", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--votes", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        outcome = CONTESTANTS[arguments.run](pd.read_parquet(arguments.votes), arguments.repeats)
        print(json.dumps(outcome))
        return
    outcome = race(arguments)
    show(outcome)
    if arguments.output:
        arguments.output.write_text(json.dumps(outcome, indent=1) + "\n")


if __name__ == "__main__":
    main()
