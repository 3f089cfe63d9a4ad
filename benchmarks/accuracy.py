"""The accuracy of methods on published votes, on the tasks whose truth is known.

    python benchmarks/accuracy.py                      # mace, ibcc and glad on every data set
    python benchmarks/accuracy.py majority mace:strategy_prior=10 --data-sets rte,web

The data sets are looked for in QUORATE_DATA, else in ../shared/data: a directory for each, with
labels.csv (task, worker, label) and gold.csv (task, label).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

import quorate
from quorate import metrics

DATA_SETS = (
    *("rte", "bird", "temp", "trec", "web", "dog", "adult2"),
    *("bm", "sp", "labelme", "d_possent", "weather", "wsd", "s_rel"),
)


def accuracy(directory: Path, setting: str) -> float:
    """Percent right, ties for the highest belief shared."""
    method, _, given = setting.partition(":")
    pairs = (pair.split("=") for pair in given.split(",") if pair)
    options: dict[str, Any] = {name: float(value) for name, value in pairs}
    votes = pl.read_csv(directory / "labels.csv", infer_schema=False)
    gold = pl.read_csv(directory / "gold.csv", infer_schema=False)
    result = quorate.aggregate(votes, method=method, **options)
    code = {name: i for i, name in enumerate(result.classes)}
    known = {task: code.get(label, len(code)) for task, label in gold.iter_rows()}
    truth = np.array([known.get(task, -1) for task in result.codebook.tasks])
    # A truth that nobody named cannot be got right: a class that no belief goes to.
    never = np.zeros((len(truth), 1))
    return 100 * (1 - metrics.error(np.hstack([result.posterior, never]), truth))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=["mace", "ibcc", "glad"])
    parser.add_argument("--data-sets", default=",".join(DATA_SETS))
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=os.environ.get("QUORATE_DATA", default))
    arguments = parser.parse_args()
    names = arguments.data_sets.split(",")
    rows = {name: [accuracy(arguments.data / name, m) for m in arguments.methods] for name in names}
    table = Table("", *arguments.methods, box=None)
    for name, row in rows.items():
        table.add_row(name, *(f"{value:.1f}" for value in row))
    table.add_row("mean", *(f"{value:.2f}" for value in np.mean(list(rows.values()), axis=0)))
    Console().print(table)


if __name__ == "__main__":
    main()
