"""Random histories of an `Online`: what is done, and what has to be known after it."""

from __future__ import annotations

import inspect
import itertools
import math
import random
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from chaos.attack import FailureError
from quorate import DataError, Online

METHODS = ("dawid-skene", "fast-dawid-skene", "hybrid", "one-coin", "auto")
CLOSE = 1e-9
WORKERS = tuple(f"w{i}" for i in range(8))

Vote = tuple[str, str, str]


class Step(NamedTuple):
    """Something that is done to an `Online`: add, table, remove, gold, forget or settle. Of gold
    and forget the votes are known answers, without a worker."""

    kind: str
    votes: tuple[Vote, ...] = ()

    def do(self, online: Online) -> None:
        if self.kind == "settle":
            online.settle()
        elif self.kind == "remove":
            online.remove(*self.votes[0][:2])
        elif self.kind == "gold":
            online.add_gold({task: label for task, _, label in self.votes})
        elif self.kind == "forget":
            if self.votes[0][0] in online.gold:
                online.remove_gold(self.votes[0][0])
        elif self.kind == "table":
            import polars as pl

            online.add(pl.DataFrame(list(self.votes), ["task", "worker", "label"], orient="row"))
        else:
            online.add(self.votes[0] if len(self.votes) == 1 else list(self.votes))


class Script(NamedTuple):
    """What an `Online` is made with, and the steps."""

    settings: dict[str, Any]
    steps: tuple[Step, ...]

    def open(self, place: Path, **opening: Any) -> Online:
        settings = {} if opening.get("read_only") else self.settings
        return Online.open(place, **settings, **opening)

    def fresh(self, steps: Sequence[Step] | int) -> Online:
        """One that got the votes that are left of some steps, and never any other."""
        online = Online(**self.settings)
        chosen = self.steps[:steps] if isinstance(steps, int) else steps
        for step in without_removed(chosen):
            step.do(online)
        return online


def make_script(seed: int, length: int = 60, removing: bool = True) -> Script:
    """Mostly single votes; some lists, tables, votes taken back, and settlings."""
    chance = random.Random(seed)
    settings: dict[str, Any] = {"method": METHODS[seed % len(METHODS)]}
    if seed // len(METHODS) % 2:
        settings["half_life"] = chance.choice([3.0, 20.0, 200.0])
    if chance.random() < 0.3 and settings["method"] != "auto":
        settings["smoothing"] = 0.5
    if chance.random() < 0.3:
        settings["classes"] = ["a", "b", "c"]
    if settings["method"] == "auto":
        length //= 3  # a settling is several fits
    crowd = _Crowd(chance)
    steps: list[Step] = []
    if chance.random() < 0.2:
        steps.append(Step("gold", (("t0", "", "a"), ("t1", "", "b"))))
    while len(steps) < length:
        steps.append(crowd.step(removing))
    if removing and chance.random() < 0.2:
        steps = _only_one_settled(steps)
    return Script(settings, tuple(steps))


def _only_one_settled(steps: list[Step]) -> list[Step]:
    """The same after a vote that is settled alone, and taken back when there are others."""
    vote, half = ("first", "w0", "a"), len(steps) // 2
    begin = [Step("add", (vote,)), Step("settle")]
    return [*begin, *steps[: half - 2], Step("remove", (vote,)), *steps[half - 2 : -3]]


class _Crowd:
    """Workers of different accuracy, tasks that get votes now and then."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.n_tasks, self.n_workers = chance.randint(4, 30), chance.randint(2, len(WORKERS))
        self.accuracy = [chance.uniform(0.4, 1.0) for _ in range(self.n_workers)]
        self.there: list[Vote] = []

    def vote(self) -> Vote:
        chance = self.chance
        task, worker = chance.randrange(self.n_tasks), chance.randrange(self.n_workers)
        right = chance.random() < self.accuracy[worker]
        label = "abc"[task % 3] if right else chance.choice("abc")
        return (f"t{task}", f"w{worker}", label)

    def step(self, removing: bool) -> Step:
        draw = self.chance.random()
        if removing and draw < 0.12 and self.there:
            place = self._one_to_remove()
            return Step("remove", (self.there.pop(place),))
        if draw < 0.16 and self.there:
            return Step("settle")
        if self.chance.random() < 0.1:
            return self._gold_step()
        kind, n = ("table", self.chance.randint(1, 12)) if draw < 0.26 else ("add", 1)
        if 0.26 <= draw < 0.4:
            n = self.chance.randint(2, 6)
        votes = tuple(self.vote() for _ in range(n))
        self.there += votes
        return Step(kind, votes)

    def _gold_step(self) -> Step:
        """Answers that become known, some of tasks without votes, or one that is forgotten."""
        tasks = self.chance.sample(range(self.n_tasks), self.chance.randint(1, 3))
        known = tuple((f"t{task}", "", self.chance.choice("abc")) for task in tasks)
        return Step("forget", known[:1]) if self.chance.random() < 0.3 else Step("gold", known)

    def _one_to_remove(self) -> int:
        """Often a recent one; the last one of its worker on its task."""
        recent = self.chance.random() < 0.6
        among = self.there[-5:] if recent else self.there
        task, worker, _ = self.chance.choice(among)
        return last_of(self.there, task, worker)


def last_of(votes: Sequence[Vote], task: str, worker: str) -> int:
    return max(i for i, vote in enumerate(votes) if vote[:2] == (task, worker))


def without_removed(steps: Sequence[Step]) -> list[Step]:
    """The steps as if the votes that were taken back had never come. A settling without votes does
    nothing."""
    kept: list[tuple[str, list[Vote]]] = []
    for step in steps:
        if step.kind != "remove":
            kept.append((step.kind, list(step.votes)))
            continue
        task, worker, _ = step.votes[0]
        for _, votes in reversed(kept):
            # A known answer has no worker, so that it is never taken for a vote.
            places = [i for i, vote in enumerate(votes) if vote[:2] == (task, worker)]
            if places:
                del votes[places[-1]]
                break
    left, any_yet = [], False
    for kind, votes in kept:
        any_yet = any_yet or (bool(votes) and kind not in ("gold", "forget"))
        if votes or (kind == "settle" and any_yet):
            left.append(Step(kind, tuple(votes)))
    return left


Known = dict[str, Any]


def known(online: Online) -> Known:
    """All that can be asked of an `Online`."""
    n_votes, gold = online.n_votes, online.gold
    if not n_votes:
        return {"votes": 0, "gold": gold, "tasks": {}, "workers": {}, "labels": {}}
    labels = {row[0]: row[1:] for row in online.result().labels.select(LABELS).rows()}
    return {
        "votes": n_votes,
        "gold": gold,
        "tasks": {task: tuple(online.label(task)[1:]) for task in (*labels, *gold)},
        "workers": {worker: about for worker in WORKERS if (about := _quality(online, worker))},
        "labels": labels,
    }


def _quality(online: Online, worker: str) -> tuple[Any, ...] | None:
    try:
        return tuple(online.worker(worker)[1:])
    except DataError:  # without votes
        return None


LABELS = ["task", "label", "confidence"]


def difference(one: Any, other: Any, where: str = "") -> str | None:
    """The first difference of what is known; numbers may differ by rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return f"{where}: {sorted(map(str, one.keys() ^ other.keys()))[:5]} only in one"
        parts = (difference(one[key], other[key], f"{where} {key}") for key in one)
        return next((part for part in parts if part), None)
    if isinstance(one, (tuple, list)):
        pairs = itertools.zip_longest(one, other)
        return next((d for a, b in pairs if (d := difference(a, b, where))), None)
    if isinstance(one, float) and isinstance(other, float):
        same = math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    else:
        same = one == other
    return None if same else f"{where}: {one!r} instead of {other!r}"


def which(script: Script, online: Online, steps: Sequence[int]) -> int:
    """After which of some numbers of steps it is in; a failure if after none."""
    return found_among(script, known(online), steps)


def found_among(script: Script, found: Known, steps: Sequence[int]) -> int:
    first = None
    for n in steps:
        wrong = difference(found, known(script.fresh(n)))
        if wrong is None:
            return n
        first = first or wrong
    raise FailureError(f"not the state after {' or '.join(map(str, steps))} steps:{first}")


def require_same(script: Script, online: Online, steps: Sequence[Step] | int) -> None:
    wrong = difference(known(online), known(script.fresh(steps)))
    if wrong is not None:
        raise FailureError(f"not the state of the votes that were acknowledged:{wrong}")


def checkpoint_often(votes: int = 15) -> None:
    """So that short histories have checkpoints."""
    for module in ("checkpoints", "keeping"):
        try:
            found: Any = import_module(f"quorate.online.{module}")
        except ModuleNotFoundError:
            continue
        if hasattr(found, "FEWEST"):
            found.FEWEST = votes


def can_open(option: str) -> bool:
    """Whether this version has such an option of `Online.open`."""
    parameters = inspect.signature(Online.open).parameters
    return option in parameters
