"""Runs that are killed and resumed: the same bits as without."""

from __future__ import annotations

import random
import time
from pathlib import Path

from chaos.attack import Attack, FailureError, Outcomes
from chaos.stores.runs import METHODS, Run, write_gold, write_votes

MOST_KILLS = 4


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    method, votes = METHODS[seed % len(METHODS)], place / "votes.csv"
    repeats = chance.random() < 0.3
    write_votes(votes, seed, repeats=repeats and method not in ("kos", "rank-one"))
    options: list[object] = ["-m", method, "--max-iter", 30]
    if repeats:
        options += ["--repeats", chance.choice(["first", "last"])]
    run = Run(place, votes, *options)
    ran = run.end("expected")
    if ran.refused:  # a method that does not take such votes
        yield None
        return
    expected = run.expected()
    if chance.random() < 0.25:
        yield from _finished(run, expected, place / "store", method)
    else:
        yield from _killed(run, expected, place / "store", chance, ran.seconds * 1.5)
    if chance.random() < 0.4:
        yield from _other_gold(place, votes, options, chance)


def _finished(
    run: Run, expected: tuple[bytes | None, bytes | None], store: Path, method: str
) -> Outcomes:
    """Nothing killed at all."""
    for name in ("first", "second", "third"):
        ran = run.end(name, "--store", store, "--resume")
        if ran.status:
            raise FailureError(f"{method}, {name} run: {ran}")
        run.require(name, expected, f"{method}, {name} run on a store")
        yield None


def _killed(
    run: Run,
    expected: tuple[bytes | None, bytes | None],
    store: Path,
    chance: random.Random,
    seconds: float,
) -> Outcomes:
    what = " ".join(map(str, run.arguments[2:]))
    for _ in range(chance.randint(1, MOST_KILLS)):
        command = run.start("found", "--store", store, "--resume")
        time.sleep(chance.uniform(0, seconds))
        command.kill()
        if command.wait().status == 0:
            break
        written = run.written("found")
        if not all(w in (None, e) for w, e in zip(written, expected, strict=True)):
            raise FailureError(f"{what}: part of an output is left by a kill")
        yield None
    ran = run.end("found", "--store", store, "--resume")
    if ran.status:
        raise FailureError(f"{what}, resumed: {ran}")
    run.require("found", expected, f"{what}, killed and resumed")
    yield None


def _other_gold(place: Path, votes: Path, options: list[object], chance: random.Random) -> Outcomes:
    """What was kept of a run with other gold answers is of no use."""
    runs = []
    for name in ("one", "other"):
        write_gold(place / f"{name}.csv", chance.randrange(10**6))
        runs.append(Run(place, votes, *options, "--gold", place / f"{name}.csv"))
    if runs[0].end("one-gold", "--store", place / "gold-store", "--resume").status:
        return
    expected = runs[1].expected("other-expected")
    ran = runs[1].end("other-gold", "--store", place / "gold-store", "--resume")
    if ran.status:
        raise FailureError(f"resumed with other gold: {ran}")
    runs[1].require("other-gold", expected, f"{options[1]}, resumed with other gold")
    yield None


ATTACK = Attack("stores-kills", "SIGKILL of a run, and its resumption", trial, often=300)
