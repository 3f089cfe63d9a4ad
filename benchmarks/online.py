"""Votes that keep coming: how many a second, one by one and in tables, with more and more history.

python benchmarks/online.py
python benchmarks/online.py --history 10000,1000000 -m dawid-skene -o online.json
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from quorate import Online
from quorate.models.one_coin import one_coin_confusion
from quorate.simulation import simulate

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
    began = time.perf_counter()
    for vote in singles:
        online.add(vote)
    one_by_one = len(singles) / (time.perf_counter() - began)
    began = time.perf_counter()
    for table in tables:
        online.add(table)
    in_tables = TABLES * TABLE / (time.perf_counter() - began)
    return {
        "method": method,
        "tasks": n_tasks,
        "kept": directory is not None,
        "one_by_one": one_by_one,
        "in_tables": in_tables,
    }


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
    table = Table("method", "tasks of history", "in a directory", "votes/s one by one", "in tables")
    for row in rows:
        speeds = (f"{row['one_by_one']:,.0f}", f"{row['in_tables']:,.0f}")
        kept = "yes" if row["kept"] else "no"
        table.add_row(row["method"], f"{row['tasks']:,}", kept, *speeds)
    Console().print(table)
    if arguments.output:
        with Path(arguments.output).open("w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
