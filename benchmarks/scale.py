"""Every method at 1 and at 10 million labels: seconds, how they grow, and peak memory.

Iterative methods run for a fixed number of iterations, so that it is the cost of a sweep that is
compared and not how soon each converges. Each run is a process of its own.

    python benchmarks/scale.py                     # all methods; takes some minutes
    python benchmarks/scale.py glad kos -o scale.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from race import PeakMemory
from rich.console import Console
from rich.table import Table

import quorate
from quorate.models import METHODS, make
from quorate.models.one_coin import one_coin_confusion

SIZES = (1_000_000, 10_000_000)
PER_TASK, LABELS_PER_WORKER, ITERATIONS = 5, 100, 10


def run(method: str, n_labels: int) -> dict[str, Any]:
    """One fit on simulated labels, of as many classes as the method takes (four, or two)."""
    classes = 2 if METHODS[method].two_classes_only else 4
    accuracy = np.random.default_rng(1).uniform(0.4, 0.9, n_labels // LABELS_PER_WORKER)
    crowd = quorate.simulate(one_coin_confusion(accuracy, classes), n_labels // PER_TASK, PER_TASK)
    options = {"max_iter": ITERATIONS} if "max_iter" in METHODS[method].options else {}
    with PeakMemory() as memory:
        result = quorate.fit(make(method, **options), crowd.labels)
    return {
        "seconds": result.seconds,
        "iterations": result.iterations,
        "memory": memory.bytes,
        "error": float((result.answers != crowd.truth).mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", default=list(METHODS))
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--run", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(run(arguments.methods[0], arguments.run)))
        return
    outcome: dict[str, dict[str, Any]] = {}
    for method in arguments.methods:
        outcome[method] = {}
        for n_labels in SIZES:
            command = [sys.executable, __file__, method, "--run", str(n_labels)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                why = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
                outcome[method][str(n_labels)] = {"failed": why}
                break
            outcome[method][str(n_labels)] = json.loads(done.stdout)
        show({method: outcome[method]})
    if arguments.output:
        arguments.output.write_text(json.dumps(outcome, indent=1) + "\n")


def show(outcome: dict[str, dict[str, Any]]) -> None:
    table = Table(box=None, show_header=False)
    for method, by_size in outcome.items():
        cells = []
        for n_labels, got in by_size.items():
            if "failed" in got:
                cells.append(f"{int(n_labels):,}: {got['failed']}")
            else:
                cells.append(
                    f"{int(n_labels):,} labels: {got['seconds']:.2f} s,"
                    f" {got['iterations']} iterations, {got['memory'] / 1e6:,.0f} MB"
                )
        table.add_row(method, *cells)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
