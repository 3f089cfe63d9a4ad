"""How many votes adaptive assignment saves over HTTP: random workers ask the server for tasks, or
label each task equally often. Both runs of a seed have the same crowd, whose workers say the same
of the same tasks."""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import numpy as np

from chaos.serve.process import server
from quorate.service.client import Client
from quorate.service.playing import Players
from quorate.simulation import simulate

WITHOUT_END = {"target_confidence": 0.9999, "gold_rate": 0.0, "settle_seconds": 86_400.0}


def curve(client: Client, players: Players, adaptive: bool, votes: int, every: int) -> list[float]:
    """The share of wrong labels after each so many votes, all of them fitted."""
    errors: list[float] = []
    pairs = players.asked(client) if adaptive else _uniform(players)
    for n, (task, worker) in enumerate(pairs, start=1):
        client.vote(task, worker, players.says(task, worker))
        if n % every == 0:
            client.settle()
            errors.append(players.error(client.labels()))
        if n == votes:
            break
    errors += [errors[-1]] * (votes // every - len(errors))
    return errors


def _uniform(players: Players) -> list[tuple[str, str]]:
    """Every task once, then every task twice, and so on, each time by another worker."""
    chance = random.Random(players.seed)
    orders = {task: chance.sample(players.workers, len(players.workers)) for task in players.tasks}
    return [
        (task, orders[task][turn]) for turn in range(len(players.workers)) for task in players.tasks
    ]


def main() -> None:
    """The curves of all runs, and the votes at which the adaptive one is as good."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--workers", type=int, default=30)
    parser.add_argument("--votes-per-task", type=int, default=15)
    given = parser.parse_args()
    votes, every = given.tasks * given.votes_per_task, given.tasks
    found: dict[bool, list[list[float]]] = {True: [], False: []}
    with tempfile.TemporaryDirectory() as place, server(str(Path(place) / "a.db")) as (url, *_):
        for seed in range(given.runs):
            crowd = simulate(
                n_tasks=given.tasks, workers=given.workers, n_classes=2, beta=(4, 2), seed=seed
            )
            players = Players(crowd, seed)
            for adaptive in (True, False):
                with Client(url, timeout=300) as client:
                    players.set_up(client, f"run-{seed}-{adaptive}", **WITHOUT_END)
                    found[adaptive].append(curve(client, players, adaptive, votes, every))
            print(f"seed {seed} done", flush=True)
    adaptive, uniform = (np.mean(found[kind], axis=0) for kind in (True, False))
    for i, (a, u) in enumerate(zip(adaptive, uniform, strict=True), start=1):
        print(f"{i * every:6,} votes: adaptive {a:.2%}, uniform {u:.2%} wrong")
    enough = np.flatnonzero(adaptive <= uniform[-1])
    needed = (int(enough[0]) + 1) * every if len(enough) else votes
    print(
        f"as good as uniform with {votes:,} votes ({uniform[-1]:.2%} wrong) after {needed:,}: "
        f"{needed / votes:.0%}"
    )


if __name__ == "__main__":
    main()
