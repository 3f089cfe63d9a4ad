"""Votes from files: how long they take to become codes in task order, against parsing alone.

    python benchmarks/reading.py                  # 10 million shuffled rows
    python benchmarks/reading.py --rows 1000000 -o reading.json

The measure is `polars.read_csv` on the same file in the same run: parsed, not coded or sorted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from quorate.io import read_votes
from quorate.simulate import simulate

PER_TASK, WORKERS, CLASSES = 5, 1_000, 4


def votes_of(rows: int) -> pl.DataFrame:
    crowd = simulate(WORKERS, rows // PER_TASK, PER_TASK, n_classes=CLASSES, seed=1)
    frame = pl.DataFrame(
        {
            "task": np.repeat(np.arange(rows // PER_TASK), PER_TASK),
            "worker": crowd.labels.worker,
            "label": crowd.labels.label,
        }
    )
    return frame.sample(fraction=1, shuffle=True, seed=1)


def named(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.format(f"{role}-{{}}", role).alias(role) for role in frame.columns)


def best_of(call: Callable[[], Any], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        codes = votes_of(arguments.rows)
        names = named(codes)
        files = {
            "CSV, text, shuffled": ("text.csv", names),
            "Parquet, text, shuffled": ("text.parquet", names),
            "Parquet, whole numbers, shuffled": ("codes.parquet", codes),
            "Parquet, whole numbers, by task": ("sorted.parquet", codes.sort("task")),
        }
        for name, frame in files.values():
            path = place / name
            frame.write_csv(path) if name.endswith("csv") else frame.write_parquet(path)
        del codes, names
        csv = str(place / "text.csv")
        parse = best_of(lambda: pl.read_csv(csv), arguments.repeats)
        for kind, (name, _) in files.items():
            source = str(place / name)
            seconds = best_of(partial(read_votes, source), arguments.repeats)
            rows.append({"file": kind, "seconds": seconds, "ratio": seconds / parse})
    table = Table("file", "seconds", f"times polars.read_csv of the first ({parse:.2f} s)")
    for row in rows:
        table.add_row(row["file"], f"{row['seconds']:.2f}", f"{row['ratio']:.1f}")
    Console().print(table)
    if arguments.output:
        arguments.output.write_text(json.dumps({"parse": parse, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
