"""Votes from files: how long they take to become codes in task order, against parsing alone, and
the memory that takes at its peak. Each file is read in a process of its own.

    python benchmarks/reading.py                  # 10 million shuffled rows
    python benchmarks/reading.py --rows 1000000 -o reading.json

The measure is `polars.read_csv` on the CSV file, by turns with ours: parsed, not coded or sorted.
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
from typing import Any

import numpy as np
import polars as pl
from race import PeakMemory
from rich.console import Console
from rich.table import Table

from quorate.simulation import simulate
from quorate.votes import read_votes

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


def seconds_of(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def run(source: str, csv: str, repeats: int) -> dict[str, float]:
    """The best of several runs of ours and of parsing alone, and the first run's peak memory."""
    with PeakMemory() as memory:
        read_votes(source)
    parse, ours = [], []
    for _ in range(repeats):
        parse.append(seconds_of(lambda: pl.read_csv(csv)))
        ours.append(seconds_of(lambda: read_votes(source)))
    return {"seconds": min(ours), "parse": min(parse), "memory": memory.bytes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        source, csv = arguments.run
        print(json.dumps(run(source, csv, arguments.repeats)))
        return
    outcome: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        files = write_files(Path(directory), arguments.rows)
        csv = next(iter(files.values()))
        for kind, path in files.items():
            command = [sys.executable, __file__, "--run", path, csv]
            command += ["--repeats", str(arguments.repeats)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            outcome[kind] = json.loads(done.stdout)
    show(outcome, arguments.rows)
    if arguments.output:
        arguments.output.write_text(json.dumps(outcome, indent=1) + "\n")


def write_files(place: Path, rows: int) -> dict[str, str]:
    codes = votes_of(rows)
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
    return {kind: str(place / name) for kind, (name, _) in files.items()}


def show(outcome: dict[str, dict[str, float]], rows: int) -> None:
    table = Table("file", "seconds", "polars.read_csv", "ratio", "bytes per vote")
    for kind, got in outcome.items():
        cells = (f"{got['seconds']:.2f}", f"{got['parse']:.2f}")
        ratio, memory = got["seconds"] / got["parse"], got["memory"] / rows
        table.add_row(kind, *cells, f"{ratio:.1f}", f"{memory:.0f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
