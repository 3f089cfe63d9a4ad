"""Two runs on one store at once: each gives what it gives alone, or is refused in a sentence."""

from __future__ import annotations

import random
import time
from pathlib import Path

from chaos.attack import Attack, Outcomes
from chaos.stores.runs import ITERATIVE, Run, write_gold, write_votes


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    votes = place / "votes.csv"
    write_votes(votes, seed, n_tasks=1_500)
    runs = _two(place, votes, chance)
    expected = [run.expected(f"expected-{i}") for i, run in enumerate(runs)]
    store = place / "store"
    if chance.random() < 0.6:
        Run(place, votes, "-m", "majority").end("filled", "--store", store)
    for number in range(4):
        pause = chance.random() ** 2 * 0.4
        commands = []
        for i, run in enumerate(runs):
            resume = ["--resume"] if chance.random() < 0.3 else []
            commands.append(run.start(f"{number}-{i}", "--store", store, *resume))
            time.sleep(pause * (i == 0))
        ran = [command.wait() for command in commands]
        for i, (run, end) in enumerate(zip(runs, ran, strict=True)):
            what = (
                f"run {i} of a pair, {pause:.3f} s apart, {' '.join(map(str, run.arguments[2:]))}"
            )
            if end.status == 0:
                run.require(f"{number}-{i}", expected[i], what)
            elif not end.refused:
                yield f"{what}: {end}"
                return
        yield None


def _two(place: Path, votes: Path, chance: random.Random) -> list[Run]:
    """Other gold, another method, other votes, or the same."""
    method = chance.choice(ITERATIVE)
    kind = chance.choice(["gold", "method", "votes", "same"])
    options: list[list[object]] = [["-m", method, "--max-iter", 12] for _ in range(2)]
    paths = [votes, votes]
    if kind == "gold":
        for i, some in enumerate(options):
            write_gold(place / f"gold-{i}.csv", i)
            some += ["--gold", place / f"gold-{i}.csv"]
    elif kind == "method":
        options[1][1] = chance.choice(ITERATIVE)
    elif kind == "votes":
        paths[1] = place / "other.csv"
        write_votes(paths[1], chance.randrange(10**6), n_tasks=1_500)
    return [Run(place, path, *some) for path, some in zip(paths, options, strict=True)]


ATTACK = Attack("stores-pairs", "two runs on one store at once", trial, often=200)
