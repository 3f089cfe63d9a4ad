"""Votes asked for one by one: which task, of whom, until when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.assignment.gain import worth
from quorate.assignment.situation import Situation, ranked
from quorate.assignment.workers import Pool
from quorate.errors import UsageError, require_number
from quorate.kernels import Floats

Ask = Literal["anyone", "best"]
NOTHING = 1e-6  # a gain in expected error that is as good as none


class Limits(NamedTuple):
    """When to stop: what may be spent, the confidence that is enough, the error that is."""

    budget: float | None
    confidence: float | None
    target_error: float | None

    def require_one(self) -> None:
        """Refuse to go on for ever, and limits that nothing reaches."""
        if self == (None, None, None):
            raise UsageError(
                "Say when to stop: a budget, a confidence, or an expected error (target_error)."
            )
        if self.budget is not None:
            require_number("budget", self.budget, at_least=0)
        for name, share in (("confidence", self.confidence), ("target_error", self.target_error)):
            if share is not None and not 0 < share < 1:
                raise UsageError(f"{name} is between 0 and 1, not {share!r}.")


@dataclass(eq=False)
class Asking:
    """Goes through the tasks by their `score` under the `policy`, and finds someone for each."""

    situation: Situation
    policy: str
    score: Floats
    pool: Pool
    to: Ask
    limits: Limits
    random: np.random.Generator
    asked: list[tuple[int, int]] = field(default_factory=list)  # task, place in the pool
    given: dict[int, set[int]] = field(default_factory=dict)
    spent: float = 0.0
    reason: str = ""

    def __post_init__(self) -> None:
        self.more = np.zeros(len(self.score), dtype=np.int64)
        self._total = float(self.situation.ahead[:, 0].sum())

    @property
    def error(self) -> float:
        return self._total / len(self.score)

    def ask(self) -> None:
        """Ask for votes until a limit is reached, or nobody is left."""
        limits, eligible = self.limits, self.eligible
        if not eligible.any():
            self.reason = f"every label has a confidence of {limits.confidence} or more"
            return
        left = np.inf if limits.budget is None else float(limits.budget)
        stuck: set[int] = set()
        n_eligible = int(eligible.sum())
        for task in self._in_turn():
            if self._enough(left) or len(stuck) == n_eligible:
                break
            place = None if task in stuck else self._find(task, left)
            if place is None:
                stuck.add(task)
            else:
                left -= self._give(task, place)
        everyone_asked = len(stuck) == n_eligible
        self.reason = self._enough(left) or self._out_of(everyone_asked)

    def _enough(self, left: float) -> str:
        """The limit that has been reached; nothing as long as none has."""
        limits = self.limits
        if limits.target_error is not None and self.error <= limits.target_error:
            return f"the expected error is down to {limits.target_error}"
        if limits.budget is not None and left < self.pool.cost.min(initial=np.inf):
            return "the budget is spent"
        return ""

    def _out_of(self, everyone_asked: bool) -> str:
        """Why there are no more votes to ask for, although no limit has been reached."""
        limits = self.limits
        if limits.budget is None and limits.target_error is None:
            return f"every label below a confidence of {limits.confidence} gets a vote"
        if limits.budget is None and not everyone_asked:
            return "no further ahead can be seen: look again when they are in"
        return "nobody is left to ask"

    @cached_property
    def eligible(self) -> NDArray[np.bool_]:
        """The tasks that may get votes: those below the confidence that is enough, and for the
        gain, if there are such, those that votes may change."""
        if self.limits.confidence is not None:
            unsure: NDArray[np.bool_] = self.situation.confidence < self.limits.confidence
            return unsure
        open_to_change = worth(self.situation.ahead) > NOTHING
        if self.policy == "gain" and open_to_change.any():
            gaining: NDArray[np.bool_] = open_to_change
            return gaining
        return np.ones(len(self.score), dtype=bool)

    def _in_turn(self) -> Iterable[int]:
        """Yield tasks by rank, for as many rounds as the stopping rule allows."""
        limits, eligible = self.limits, self.eligible
        order = ranked(self.score, eligible, int(eligible.sum())).tolist()
        rounds = 1
        if limits.budget is not None:
            rounds = len(self.pool.workers)
        elif limits.target_error is not None:
            rounds = self.situation.ahead.shape[1] - 1  # votes that are looked ahead to
        for _ in range(rounds):
            yield from order

    def _find(self, task: int, left: float) -> int | None:
        given = self.given.get(task, set())
        labels = self.situation.labels
        if self.to == "best":
            belief = self.situation.result.posterior[task]
            return self.pool.best(task, labels, given, belief, left)
        return self.pool.anyone(task, labels, given, self.random, left)

    def _give(self, task: int, place: int) -> float:
        self.asked.append((task, place))
        self.given.setdefault(task, set()).add(self.pool.voice(place))
        self.pool.capacity[place] -= 1
        ahead, last = self.situation.ahead, self.situation.ahead.shape[1] - 1
        before, after = min(self.more[task], last), min(self.more[task] + 1, last)
        self._total -= float(ahead[task, before] - ahead[task, after])
        self.more[task] += 1
        self.spent += float(self.pool.cost[place])
        return float(self.pool.cost[place])
