"""How often the 95 % intervals of workers hold the truth, in simulated crowds.

    python benchmarks/intervals.py                            # dawid-skene in every regime
    python benchmarks/intervals.py -m majority -m ibcc --workers 5000

The true accuracy of a worker is the probability of a right label when classes come in their shares;
the true confusion is the matrix that the labels were drawn from. Shown is the percentage of
workers, and of entries of confusion matrices, whose interval holds it, with the mean width.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import quorate
from quorate.kernels import Floats
from quorate.models import make

UNEVEN = (0.4, 0.3, 0.15, 0.1, 0.05)


class Regime(NamedTuple):
    workers: int
    tasks: int
    votes: int
    classes: int
    skills: str

    @property
    def shares(self) -> Floats:
        shares = np.array(UNEVEN[: self.classes])
        return np.array(shares / shares.sum())


REGIMES = (
    Regime(10, 100, 3, 2, "uniform"),
    Regime(10, 1000, 2, 2, "uniform"),
    Regime(20, 500, 10, 4, "confusion"),
    Regime(30, 300, 3, 2, "confusion"),
    Regime(30, 600, 5, 5, "uniform"),
    Regime(50, 100, 5, 3, "uniform"),
    Regime(50, 500, 2, 2, "uniform"),
    Regime(50, 1000, 5, 2, "uniform"),
    Regime(100, 500, 3, 2, "beta"),
    Regime(100, 4000, 3, 5, "confusion"),
    Regime(200, 1000, 3, 3, "uniform"),
    Regime(200, 2000, 5, 5, "confusion"),
    Regime(200, 2000, 10, 3, "beta"),
    Regime(200, 5000, 4, 2, "beta"),
    Regime(1000, 5000, 3, 2, "beta"),
    Regime(50, 1000, 5, 2, "one class hard"),
)


def matrices(regime: Regime, seed: int) -> Floats:
    """``[worker, truth, label]``: accuracies uniform between 0.5 and 0.95, or Beta(4, 2), wrong
    evenly; or for each truth another (0.4 to 0.95), with errors from a flat Dirichlet; or, of two
    classes, the first easy for all workers (0.8 to 0.95), the second hard (0.5 to 0.7)."""
    random = np.random.default_rng(seed)
    size = (regime.workers, regime.classes)
    if regime.skills == "uniform":
        right = np.repeat(random.uniform(0.5, 0.95, (size[0], 1)), size[1], axis=1)
    elif regime.skills == "beta":
        right = np.repeat(random.beta(4, 2, (size[0], 1)), size[1], axis=1)
    elif regime.skills == "confusion":
        right = random.uniform(0.4, 0.95, size)
    else:
        right = random.uniform((0.8, 0.5), (0.95, 0.7), size)
    errors = np.full((*size, size[1] - 1), 1 / (size[1] - 1))
    if regime.skills == "confusion":
        errors = random.dirichlet(np.ones(size[1] - 1), size)
    confusion = np.zeros((*size, size[1]))
    diagonal = np.eye(size[1], dtype=bool)
    confusion[:, diagonal] = right
    confusion[:, ~diagonal] = (errors * (1 - right)[:, :, None]).reshape(size[0], -1)
    return confusion


def coverage(regime: Regime, method: str, n_workers: int) -> list[str]:
    """Percentage covered and mean width: of accuracies, of entries of confusion matrices."""
    held: dict[str, list[NDArray[np.bool_]]] = {"accuracy": [], "probability": []}
    width: dict[str, list[Floats]] = {"accuracy": [], "probability": []}
    for seed in range(max(3, -(-n_workers // regime.workers))):
        truth = matrices(regime, seed)
        crowd = quorate.simulate(truth, regime.tasks, regime.votes, prior=regime.shares, seed=seed)
        result = quorate.fit(make(method), crowd.labels)
        tables = {"accuracy": (result.workers_frame, truth.diagonal(0, 1, 2) @ regime.shares)}
        if result.confusion is not None:
            tables["probability"] = (result.confusion_table, truth.ravel())
        for name, (table, true) in tables.items():
            low, high = table["low"].to_numpy(), table["high"].to_numpy()
            held[name].append((low <= true) & (true <= high))
            width[name].append(high - low)
    return [
        f"{100 * np.concatenate(held[name]).mean():.1f} ({np.concatenate(width[name]).mean():.2f})"
        if held[name]
        else "-"
        for name in held
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--method", action="append", dest="methods")
    parser.add_argument("--workers", type=int, default=2000, help="so many in all, of each regime")
    arguments = parser.parse_args()
    methods = arguments.methods or ["dawid-skene"]
    table = Table("workers", "tasks", "votes", "classes", "labels each", "skills", box=None)
    for method in methods:
        table.add_column(f"{method}: accuracy")
        table.add_column("confusion")
    for regime in REGIMES:
        each = regime.tasks * regime.votes / regime.workers
        cells = [cell for m in methods for cell in coverage(regime, m, arguments.workers)]
        table.add_row(*map(str, regime[:4]), f"{each:.0f}", regime.skills, *cells)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
