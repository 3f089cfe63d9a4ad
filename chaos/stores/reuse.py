"""A store that is used again, or a directory that is no store: nothing of anybody's is touched."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from chaos.attack import Attack, Outcomes
from chaos.children import called, quorate
from chaos.stores.runs import Run, write_votes


def results(seed: int, place: Path) -> Outcomes:
    """An earlier result of a store stays what it was."""
    chance = random.Random(seed)
    votes = place / "votes.csv"
    write_votes(votes, seed)
    first, second = chance.sample(["majority", "dawid-skene", "one-coin", "mace"], 2)
    yield called(lambda: _stays(votes, place / "store", first, second))


def _stays(votes: Path, store: Path, first: str, second: str) -> str | None:
    import quorate

    one = quorate.aggregate(votes, first, store=str(store))
    before = _rows(quorate.aggregate(votes, first).labels)
    quorate.aggregate(votes, second, store=str(store))
    same = sorted(_rows(one.labels)) == sorted(before)
    return None if same else f"the result of {first} changed when {second} used its store"


def _rows(table: Any) -> Any:
    frame = table.collect() if hasattr(table, "collect") else table
    return frame.select("task", "label", "confidence").rows()


def precious(seed: int, place: Path) -> Outcomes:
    """Files that are not the store's stay, whatever the directory holds."""
    chance = random.Random(seed)
    votes, mine = place / "votes.csv", place / "mine"
    write_votes(votes, seed, n_tasks=40)
    mine.mkdir()
    (mine / "below").mkdir()
    if chance.random() < 0.5:
        quorate("aggregate", votes, "--save", mine / ".quorate", "-m", "majority", place=place)
    run = Run(place, votes, "-m", chance.choice(["majority", "one-coin"]))
    if chance.random() < 0.4:
        command = run.start("filled", "--store", mine)
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0, 0.1))
            command.kill()
        command.wait()
    names = ["notes.txt", "below/notes.txt", ".hidden", "task.npy", "votes.parquet", "manifest"]
    own = [mine / name for name in names if not (mine / name).exists()]
    (mine / "below").mkdir(exist_ok=True)
    for path in own:
        path.write_text("important")
    for number in range(3):
        ran = run.end(f"found-{number}", "--store", mine)
        if ran.status and not ran.refused:
            yield str(ran)
        gone = [p.name for p in own if not p.exists() or p.read_text() != "important"]
        yield f"{gone} in a directory that was given as a store" if gone else None


RESULTS = Attack("stores-results", "a store that is used again", results, often=40)
PRECIOUS = Attack("stores-precious", "a directory with other files as a store", precious, often=60)
