"""Adaptive against uniform assignment, over HTTP, on the same simulated answers.

    python -m benchmarks.asking                     # ten crowds
    python -m benchmarks.asking --runs 2 --per-task 5

Uniform: every task is labelled by the same number of workers, drawn at random. Adaptive: workers
ask the server for their next task, until a share of these votes is spent. Both are settled, and
scored by the truth.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from chaos.serve.process import server
from quorate.service.client import Client
from quorate.service.playing import answers_of, draw, play, set_up, wrong_share
from quorate.simulation.crowd import Crowd

GOAL = 0.7  # of the votes of uniform assignment


def uniform_error(url: str, crowd: Crowd, per_task: int, seed: int) -> float:
    """Share of wrong labels where every task has equally many votes."""
    book, answers = crowd.codebook, answers_of(crowd)
    random = np.random.default_rng([seed, 1])
    votes = [
        (book.tasks[task], book.workers[int(worker)], book.classes[int(answers[task, worker])])
        for task in range(crowd.labels.n_tasks)
        for worker in random.choice(crowd.labels.n_workers, per_task, replace=False)
    ]
    with Client(url) as client:
        set_up(client, f"uniform-{seed}", crowd)
        for start in range(0, len(votes), 10_000):
            client.add(votes[start : start + 10_000])
        client.settle()
        return wrong_share(client, crowd)


def adaptive_error(url: str, crowd: Crowd, votes: int, name: str) -> float:
    """Share of wrong labels where the server says who labels what, with so many votes."""
    with Client(url) as client:
        set_up(client, name, crowd, budget=votes, target_confidence=None, gold_rate=0)
    found = play(crowd, lambda: Client(url, name))
    assert found.votes <= votes, found
    return found.wrong


def compared(runs: int, tasks: int, per_task: int, shares: Sequence[float]) -> list[list[float]]:
    """For each crowd the error of uniform assignment, then of adaptive with each share."""
    rows = []
    with (
        tempfile.TemporaryDirectory() as directory,
        server(str(Path(directory) / "crowds.db")) as (url, _, _),
    ):
        for seed in range(runs):
            crowd = draw(workers=40, n_tasks=tasks, n_classes=3, seed=seed, spammers=0.1)
            row = [uniform_error(url, crowd, per_task, seed)]
            for share in shares:
                votes = int(share * tasks * per_task)
                row.append(adaptive_error(url, crowd, votes, f"adaptive-{seed}-{share}"))
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--per-task", type=int, default=10)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.5, GOAL])
    given = parser.parse_args()
    rows = compared(given.runs, given.tasks, given.per_task, given.shares)
    table = Table(title=f"Share of wrong labels, {given.tasks} tasks")
    table.add_column("crowd")
    table.add_column(f"uniform, {given.per_task} a task")
    for share in given.shares:
        table.add_column(f"adaptive, {share:.0%} of these")
    for seed, row in enumerate(rows):
        table.add_row(str(seed), *(f"{error:.1%}" for error in row))
    means = np.mean(rows, axis=0)
    table.add_row("mean", *(f"{error:.1%}" for error in means))
    console = Console()
    console.print(table)
    enough = [s for s, error in zip(given.shares, means[1:], strict=True) if error <= means[0]]
    reached = f"with {min(enough):.0%} of its votes" if enough else "with none of these shares"
    holds = "holds" if enough and min(enough) <= GOAL else "does not hold"
    console.print(
        f"The error of uniform assignment is reached {reached} (goal {GOAL:.0%}: {holds})."
    )


if __name__ == "__main__":
    main()
