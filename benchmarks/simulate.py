"""Seconds and peak memory to simulate 10 million labels: 2 million tasks, 5 labels on each, 1,000
workers, 4 classes. Each crowd is a process of its own.

    python benchmarks/simulate.py
    python benchmarks/simulate.py regular misbehaving
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

from race import PeakMemory

from quorate import simulate

SIZE: dict[str, Any] = {"workers": 1_000, "n_tasks": 2_000_000, "n_classes": 4}
CROWDS: dict[str, dict[str, Any]] = {
    "one-coin": {},
    "confusion": {"kind": "confusion"},
    "glad": {"kind": "glad"},
    "regular": {"assignment": "regular"},
    "skewed": {"assignment": "skewed"},
    "misbehaving": {
        "spammers": 0.1,
        "inverted": 0.05,
        "colluders": 10,
        "groups": 5,
        "correlation": 0.3,
        "tiring": 5_000,
    },
    "features": {"n_features": 20},
    "several": {"several": 0.3},
}


def run(name: str) -> dict[str, float]:
    began = time.perf_counter()
    with PeakMemory() as memory:
        crowd = simulate(**SIZE, **CROWDS[name])
        seconds = time.perf_counter() - began
    return {"seconds": seconds, "memory": memory.bytes, "labels": crowd.labels.n_labels}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("crowds", nargs="*", default=list(CROWDS))
    parser.add_argument("--run", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(run(arguments.run)))
        return
    for name in arguments.crowds:
        command = [sys.executable, __file__, "--run", name]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name}: {(done.stderr.strip() or 'no word of why').splitlines()[-1]}")
        got = json.loads(done.stdout)
        print(
            f"{name:12} {got['labels']:>11,} labels  {got['seconds']:6.2f} s"
            f"  {got['memory'] / 1e6:7,.0f} MB"
        )


if __name__ == "__main__":
    main()
