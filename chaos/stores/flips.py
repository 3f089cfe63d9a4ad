"""A changed bit or a foreign file in a store: the same answer, or a sentence."""

from __future__ import annotations

import pickle
import random
import shutil
import time
from pathlib import Path

from chaos.attack import Attack, FailureError, Outcomes
from chaos.stores.runs import ITERATIVE, Run, write_votes

FLIPS = 20


def flips(seed: int, place: Path) -> Outcomes:
    """Also in what a run that was killed has left, which is resumed."""
    chance = random.Random(seed)
    run, store, resume = _left_by_a_run(seed, place, chance)
    expected = run.expected()
    files = [path for path in sorted(store.rglob("*")) if path.is_file() and path.stat().st_size]
    kinds = sorted({path.suffix for path in files})
    for _ in range(FLIPS):
        kind = chance.choice(kinds)
        path = chance.choice([path for path in files if path.suffix == kind])
        content = bytearray(path.read_bytes())
        at = min(chance.randrange(len(content)), chance.randrange(len(content)))
        content[at] ^= 1 << chance.randrange(8)
        what = f"byte {at:,} of {len(content):,} of {path.relative_to(store)}, {resume}"
        yield _with(run, store, path, bytes(content), what, expected, resume)


def _left_by_a_run(seed: int, place: Path, chance: random.Random) -> tuple[Run, Path, list[str]]:
    votes, store = place / "votes.csv", place / "store"
    write_votes(votes, seed, n_tasks=chance.choice([20, 300]))
    run = Run(place, votes, "-m", ITERATIVE[seed % len(ITERATIVE)], "--max-iter", 15)
    ran = run.end("first", "--store", store)
    if ran.status:
        raise FailureError(f"with a store: {ran}")
    resume = ["--resume"] if chance.random() < 0.5 else []
    if resume:
        shutil.rmtree(store)
        command = run.start("cut short", "--store", store)
        time.sleep(chance.uniform(0.5, 1.0) * ran.seconds)
        command.kill()
        command.wait()
        if not any(path.is_file() for path in store.rglob("*")):
            run.end("first", "--store", store)
    return run, store, resume


def _with(
    run: Run,
    store: Path,
    path: Path,
    content: bytes,
    what: str,
    expected: tuple[bytes | None, bytes | None],
    resume: list[str],
) -> str | None:
    """What is wrong with a run on a copy of the store whose file has another content."""
    copy = run.place / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(store, copy)
    (copy / path.relative_to(store)).write_bytes(content)
    for output in run.outputs("flipped"):
        output.unlink(missing_ok=True)
    ran = run.end("flipped", "--store", copy, *resume)
    if ran.status == 0:
        same = run.written("flipped") == expected
        return None if same else f"{what}: exit 0 and other answers"
    if not ran.refused:
        return f"{what}: {ran}"
    left = [output.name for output in run.outputs("flipped") if output.exists()]
    return f"{what}: {left} is left" if left else None


class Hostile:
    """Something that, unpickled, makes a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.marker), "w")


def hostile(seed: int, place: Path) -> Outcomes:
    """A pickle in place of each file of a store, one after the other."""
    chance = random.Random(seed)
    run, store, _ = _left_by_a_run(seed, place, chance)
    expected, marker = run.expected(), place / "marker"
    content = pickle.dumps(Hostile(marker))
    for path in sorted(path for path in store.rglob("*") if path.is_file())[:30]:
        what = f"a pickle for {path.relative_to(store)}"
        wrong = _with(run, store, path, content, what, expected, ["--resume"])
        yield f"{what} was run" if marker.exists() else wrong
        marker.unlink(missing_ok=True)


ATTACK = Attack("stores-flips", "a flipped bit in a store", flips, often=2_000)
HOSTILE = Attack("stores-hostile", "a pickle in place of a store's file", hostile, often=60)
