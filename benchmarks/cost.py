"""What a vote costs, stage by stage: CPU, disk, bytes that would travel; and what follows from it.

    python benchmarks/cost.py                             # 1, 10 and 100 million votes
    python benchmarks/cost.py --rows 1000000 10000000 -o docs/results/cost

Dawid-Skene from a Parquet file by way of blocks on disk, which is what a cluster does too. The last
table predicts runs on clusters of machines like this one from the costs at the largest size.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from figures import draw_cost
from files import CLASSES, ITERATIONS, PER_TASK, WORKERS, make_votes

STAGES = ("reading", "putting task by task", "writing blocks", "iterations", "labels")
SHUFFLE = STAGES[:3]
CLUSTERS = ((1e9, 16), (1e10, 100))
NETWORK = 1.25e9  # bytes a second in and out of a node: 10 Gbit
STORAGE = 0.5e9  # bytes a second that each node reads and writes of what all share


def measure(path: str) -> dict[str, Any]:
    """In a process of its own: CPU and wall seconds of each stage, disk and memory."""
    import quorate
    from quorate.engines.wire import only

    spent = {stage: [0.0, 0.0] for stage in STAGES}
    at = [time.process_time(), time.perf_counter()]
    disk: dict[str, int] = {}

    def charge(stage: str) -> None:
        now = [time.process_time(), time.perf_counter()]
        for i in range(2):
            spent[stage][i] += now[i] - at[i]
        at[:] = now

    with tempfile.TemporaryDirectory() as store:

        def stage(what: str, done: float, total: float | None, how: str = "") -> None:
            charge("iterations" if what.startswith("iteration") else what)
            if done == total and what in SHUFFLE:
                disk[what] = size_of(Path(store))

        result = quorate.aggregate(
            path,
            "dawid-skene",
            tol=0.0,
            max_iter=ITERATIONS,
            memory="2GB",
            store=store,
            progress=stage,
        )
        result.labels.sink_parquet(Path(store) / "labels.parquet")
        charge("labels")
        disk["iterations"] = size_of(Path(store))
        every = np.arange(len(result.tally))
        sent = len(pickle.dumps(only(result.params, every, len(every))))
        back = len(pickle.dumps(only(result.stats, every, len(every))))
    return {
        "cpu": {stage: cpu for stage, (cpu, _) in spent.items()},
        "wall": {stage: wall for stage, (_, wall) in spent.items()},
        "disk": disk,
        "memory": peak_memory(),
        "bytes_sent": sent,
        "bytes_back": back,
    }


def peak_memory() -> int:
    """Of this process alone: what it is started by counts in what `getrusage` says."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def size_of(place: Path) -> int:
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def run(rows: int, place: Path) -> dict[str, Any]:
    path = make_votes(rows, place, csv=False)["parquet"]
    command = [sys.executable, __file__, "--measure", str(path)]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, capture_output=True, check=True).stdout
    )
    found |= {"rows": rows, "file": path.stat().st_size}
    path.unlink()
    return found


def predict(found: dict[str, Any], votes: float, nodes: int) -> dict[str, float]:
    """Seconds, if each node has the cores of this machine and its share of the votes."""
    each = votes / nodes
    cpu = {stage: seconds / found["rows"] for stage, seconds in found["cpu"].items()}
    cores = os.cpu_count() or 1
    shuffled = found["file"] / found["rows"] + 2 * max(found["disk"].values()) / found["rows"]
    table = found["bytes_sent"] + found["bytes_back"]
    shuffle = each * sum(cpu[stage] for stage in SHUFFLE) / cores
    return {
        "votes": votes,
        "nodes": nodes,
        "shuffle": max(shuffle, each * shuffled / STORAGE),
        "iterations": each * cpu["iterations"] / cores,
        "travel": ITERATIONS * table / NETWORK * nodes.bit_length(),
        "labels": each * cpu["labels"] / cores,
        "memory_of_a_node": each * 2 * (5 + 8 * CLASSES / PER_TASK),
    }


def show(results: list[dict[str, Any]], predictions: list[dict[str, float]]) -> None:
    console = Console(width=110)
    cost = Table(
        title=f"A vote's cost: {WORKERS:,} workers, {CLASSES} classes, {ITERATIONS} iterations"
    )
    for column in ("votes", *(f"{s}, ns" for s in STAGES), "all, ns", "disk, bytes", "peak MB"):
        cost.add_column(column, justify="right")
    for r in results:
        ns = [r["cpu"][stage] / r["rows"] * 1e9 for stage in STAGES]
        disk = max(r["disk"].values()) / r["rows"]
        row = [f"{n:.0f}" for n in (*ns, sum(ns), disk)]
        cost.add_row(f"{r['rows']:,}", *row, f"{r['memory'] / 1e6:,.0f}")
    console.print(cost)
    console.print("ns of CPU for each vote, all iterations together; disk at its fullest.")
    table = results[-1]
    sent, back = (table[key] / 1e6 for key in ("bytes_sent", "bytes_back"))
    console.print(f"An iteration sends {sent:.1f} MB to each node at most, and {back:.1f} MB back.")
    future = Table(title="Predicted")
    for column in ("votes", "nodes", "shuffle, s", "iterations, s", "travel, s", "labels, s", "GB"):
        future.add_column(column, justify="right")
    for p in predictions:
        times = (f"{p[key]:,.0f}" for key in ("shuffle", "iterations", "travel", "labels"))
        memory = f"{p['memory_of_a_node'] / 1e9:.1f}"
        future.add_row(f"{p['votes']:,.0f}", f"{p['nodes']:.0f}", *times, memory)
    console.print(future)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("-o", "--output", type=Path, help="a directory for the figures")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        sys.stdout.write(json.dumps(measure(arguments.measure)))
        return
    with tempfile.TemporaryDirectory() as place:
        results = [run(rows, Path(place)) for rows in arguments.rows]
    predictions = [predict(results[-1], votes, nodes) for votes, nodes in CLUSTERS]
    show(results, predictions)
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        found = {"runs": results, "predictions": predictions}
        (arguments.output / "results.json").write_text(json.dumps(found, indent=1) + "\n")
        draw_cost(results, arguments.output / "cost.svg")


if __name__ == "__main__":
    main()
