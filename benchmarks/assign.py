"""How long it takes to rank a million tasks.

python benchmarks/assign.py
python benchmarks/assign.py --tasks 100000
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import quorate
from quorate.models.one_coin import one_coin_confusion
from quorate.simulation import simulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--budget", type=int, default=10_000)
    arguments = parser.parse_args()
    accuracy = np.random.default_rng(1).uniform(0.5, 0.95, 1_000)
    labels = simulate(one_coin_confusion(accuracy, 3), arguments.tasks, 3, seed=1).labels
    votes = quorate.Votes.of(labels)
    model = quorate.OneCoin(beta=(4, 2), low=1 / 3)
    table = Table("policy", "seconds", "of which the fit", "expected error", "after")
    for policy in ("random", "entropy", "gain", "forest"):
        began = time.perf_counter()
        quorate.aggregate(votes, model)
        fitting = time.perf_counter() - began
        plan = quorate.assign(votes, arguments.budget, policy=policy)
        seconds = time.perf_counter() - began - fitting
        errors = (f"{plan.error_now:.2%}", f"{plan.error_after:.2%}")
        table.add_row(policy, f"{seconds:.1f}", f"{fitting:.1f}", *errors)
    Console().print(table)


if __name__ == "__main__":
    main()
