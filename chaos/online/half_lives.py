"""Half-lives of any size: no exception, no number out of its range, and what the oracle finds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from tests.naive import online as naive

from chaos.attack import Attack, FailureError, Outcomes, require
from chaos.online.script import LABELS, METHODS, Vote
from quorate import Online

HALF_LIVES = (0.01, 0.1, 0.5, 1.0, 5.0, 20.0, 50.0, 200.0, 1000.0)
ALL_ALONG = 8.0  # from which on what was said first still counts at the end


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    yield _long_run(chance, METHODS[seed % 4])
    yield _against_the_oracle(chance, METHODS[seed % 4])


def _votes(chance: random.Random, n: int, n_tasks: int, n_workers: int, k: int) -> list[Vote]:
    votes = []
    for _ in range(n):
        task, worker = chance.randrange(n_tasks), chance.randrange(n_workers)
        label = (
            task % k if chance.random() < 0.4 + 0.6 * worker / n_workers else chance.randrange(k)
        )
        votes.append((f"t{task}", f"w{worker}", "abcdefgh"[label]))
    return votes


def _long_run(chance: random.Random, method: str) -> str | None:
    """A thousand votes or two, one by one, some at a time, or as tables, then settled."""
    half_life, k = chance.choice(HALF_LIVES), chance.randint(2, 5)
    options: dict[str, Any] = {"smoothing": 0.5} if chance.random() < 0.2 else {}
    n_tasks, n_workers = chance.choice([5, 60, 1_000]), chance.choice([2, 20])
    votes = _votes(chance, chance.choice([300, 1_500]), n_tasks, n_workers, k)
    online, size = Online(method, half_life=half_life, **options), chance.choice([1, 10, 100])
    what = f"{method}, half-life {half_life:g}, {size} at a time, {options}"
    try:
        for start in range(0, len(votes), size):
            some = votes[start : start + size]
            online.add(some[0] if size == 1 else some)
        require(online.n_votes == len(votes), f"{online.n_votes} of {len(votes)} votes")
        _require_in_range(online, votes)
        online.settle()
        online.add(votes[0])
        _require_in_range(online, votes)
    except FailureError as failure:
        return f"{what}: {failure}"
    except Exception as error:
        return f"{what}: {error!r} after {online.n_votes} votes"
    return None


def _require_in_range(online: Online, votes: list[Vote]) -> None:
    for task, _, confidence in online.result().labels.select(LABELS).rows():
        for number in (confidence, online.label(task).confidence):
            require(0 <= number <= 1, f"confidence {number} of {task}")
    for worker in {worker for _, worker, _ in votes}:
        found = online.worker(worker)
        for number in found[2:]:
            require(0 <= number <= 1, f"{found}")


def _against_the_oracle(chance: random.Random, method: str) -> str | None:
    """A short run; an exact one, so that smoothing keeps what is all but zero from deciding."""
    from quorate import models

    make = getattr(models, "make", None) or models.named
    half_life = chance.choice([h for h in HALF_LIVES if h >= ALL_ALONG])
    options: dict[str, Any] = {"smoothing": chance.choice([0.1, 0.5]), "ties": "first"}
    online = Online(method, classes=["a", "b", "c"], half_life=half_life, **options)
    slow = naive.Online(make(method, **options), 3, half_life)
    size = chance.choice([1, 1, 4])
    votes = _votes(chance, 40, 6, 4, 3)
    for start in range(0, len(votes), size):
        some = votes[start : start + size]
        online.add(some[0] if size == 1 else some)
        slow.add([(task, worker, "abc".index(label)) for task, worker, label in some])
        for task in slow.votes:
            found, expected = online.label(task), slow.e_step(task)
            if abs(found.confidence - max(expected)) > 1e-7:
                return (
                    f"{method}, half-life {half_life:g}, {size} at a time: after {start + size}"
                    f" votes {found} where the oracle has {max(expected)}"
                )
    return None


ATTACK = Attack("online-half-lives", "half-lives of any size", trial, often=250)
