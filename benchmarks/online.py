"""Votes that keep coming: how many a second, one by one and in tables, with more and more history;
in a directory also how long the slowest of them take, and how long it takes to open it again.

python benchmarks/online.py
python benchmarks/online.py --history 10000,1000000 -m dawid-skene -o online.json
python benchmarks/online.py --history 200000         # a million votes
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from quorate import Online
from quorate.models.one_coin import one_coin_confusion
from quorate.simulation import simulate

T = TypeVar("T")
QUANTILES = (50, 99, 99.9)
PER_TASK, WORKERS, CLASSES, SINGLES, TABLE, TABLES = 5, 1_000, 4, 20_000, 100_000, 5


def votes_on(n_tasks: int, seed: int) -> pl.DataFrame:
    """In a random order, by name."""
    accuracy = np.random.default_rng(1).uniform(0.3, 0.9, WORKERS)
    crowd = simulate(one_coin_confusion(accuracy, CLASSES), n_tasks, PER_TASK, seed=seed).labels
    frame = pl.DataFrame(
        {
            "task": np.repeat(np.arange(n_tasks), PER_TASK),
            "worker": crowd.worker,
            "label": crowd.label,
        }
    )
    names = [pl.format(f"{role}-{{}}", role).alias(role) for role in frame.columns]
    return frame.sample(fraction=1, shuffle=True, seed=seed).select(names)


def measure(method: str, n_tasks: int, directory: str | None) -> dict[str, Any]:
    votes = votes_on(n_tasks + (SINGLES + TABLES * TABLE) // PER_TASK, seed=1)
    history = votes.head(n_tasks * PER_TASK)
    singles = votes.slice(n_tasks * PER_TASK, SINGLES).rows()
    tables = list(votes.tail(TABLES * TABLE).iter_slices(TABLE))
    online = Online(method) if directory is None else Online.open(directory, method)
    online.add(history)
    timings = np.array([timed(online.add, vote)[:2] for vote in singles])
    opening: dict[str, Any] = {}
    if directory is not None:
        online.close()
        opening["opening"], opening["opening_cpu"], online = timed(Online.open, directory)
    began = time.perf_counter()
    for table in tables:
        online.add(table)
    in_tables = TABLES * TABLE / (time.perf_counter() - began)
    return {
        "method": method,
        "tasks": n_tasks,
        "kept": directory is not None,
        "one_by_one": len(timings) / timings[:, 0].sum(),
        "ms": (np.percentile(timings, QUANTILES, axis=0) * 1e3).tolist(),
        "in_tables": in_tables,
        **opening,
    }


def timed(call: Callable[[Any], T], argument: Any) -> tuple[float, float, T]:
    """Seconds, and of processor time, which other work on the machine does not make longer."""
    began, cpu = time.perf_counter(), time.process_time()
    found = call(argument)
    return time.perf_counter() - began, time.process_time() - cpu, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--history", default="10000,100000,1000000")
    parser.add_argument("-m", "--method", action="append")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    rows = []
    for method in arguments.method or ["fast-dawid-skene"]:
        for n_tasks in map(int, arguments.history.split(",")):
            rows.append(measure(method, n_tasks, None))
            with tempfile.TemporaryDirectory() as directory:
                rows.append(measure(method, n_tasks, directory))
    heads = ("method", "tasks of history", "in a directory", "votes/s one by one", "in tables")
    table = Table(*heads, *(f"p{q:g} ms (of CPU)" for q in QUANTILES), "opening s (of CPU)")
    for row in rows:
        speeds = (f"{row['one_by_one']:,.0f}", f"{row['in_tables']:,.0f}")
        slowest = [f"{ms:.2f} ({cpu:.2f})" for ms, cpu in row["ms"]]
        kept, opening = ("yes" if row["kept"] else "no"), ""
        if row["kept"]:
            opening = f"{row['opening']:.2f} ({row['opening_cpu']:.2f})"
        table.add_row(row["method"], f"{row['tasks']:,}", kept, *speeds, *slowest, opening)
    Console().print(table)
    if arguments.output:
        with Path(arguments.output).open("w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
