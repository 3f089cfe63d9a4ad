"""Rows in another order: no label changes that is not a tie."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

from chaos.attack import Attack, Outcomes
from chaos.children import called
from chaos.stores.runs import METHODS, write_rows

CLEAR = 1e-6  # what the two likeliest classes are apart


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    method = METHODS[seed % len(METHODS)]
    rows = _noisy(chance, two_classes=method in ("kos", "rank-one", "eigen-ratio", "ghosh-svd"))
    write_rows(place / "votes.csv", ["task", "worker", "label"], rows)
    stored = chance.random() < 0.3
    before = called(lambda: _posterior(place / "votes.csv", method, None))
    if isinstance(before, str):  # a method that does not take such votes
        yield None
        return
    for number in range(3):
        chance.shuffle(rows)
        path = place / f"shuffled-{number}.csv"
        write_rows(path, ["task", "worker", "label"], rows)
        here = place / f"store-{number}" if stored else None
        after = called(partial(_posterior, path, method, here))
        if isinstance(after, str):
            yield f"{method}: shuffled, it is refused: {after}"
            return
        changed = [task for task in before if _changed(before[task], after[task])]
        yield f"{method}: {len(changed)} of {len(before)} labels changed" if changed else None


def _noisy(chance: random.Random, two_classes: bool) -> list[tuple[str, str, str]]:
    """A small crowd of which some are worse than chance, where much depends on how ties fall."""
    classes = "ab" if two_classes else "abcd"[: chance.randint(2, 4)]
    n_workers = chance.randint(3, 8)
    accuracy = [chance.uniform(0.2, 0.95) for _ in range(n_workers)]
    rows = []
    for task in range(chance.randint(4, 40)):
        truth = chance.choice(classes)
        for worker in chance.sample(range(n_workers), chance.randint(1, n_workers)):
            right = chance.random() < accuracy[worker]
            rows.append((f"t{task}", f"w{worker}", truth if right else chance.choice(classes)))
    return rows


def _posterior(path: Path, method: str, store: Path | None) -> Any:
    import quorate

    try:
        options: dict[str, Any] = {} if store is None else {"store": str(store)}
        result = quorate.aggregate(path, method, **options)
        names = [name for name in ("posterior_table", "posterior_frame") if hasattr(result, name)]
        frame: Any = getattr(result, names[0])
        frame = frame.collect() if hasattr(frame, "collect") else frame
    except quorate.QuorateError as error:
        return str(error)
    found: dict[str, dict[str, float]] = {}
    if "probability" in frame.columns:
        for task, label, share in frame.select("task", "label", "probability").rows():
            found.setdefault(task, {})[label] = share
        return found
    return {row["task"]: {k: row[k] for k in row if k != "task"} for row in frame.to_dicts()}


def _changed(one: dict[str, float], other: dict[str, float]) -> bool:
    best = [max(shares, key=shares.__getitem__) for shares in (one, other)]
    return _clear(one) and _clear(other) and best[0] != best[1]


def _clear(shares: dict[str, float]) -> bool:
    *_, second, first = 0.0, *sorted(shares.values())
    return first - second > CLEAR


ATTACK = Attack("stores-shuffles", "rows in another order", trial, often=200)
