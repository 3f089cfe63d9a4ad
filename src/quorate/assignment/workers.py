"""Who gets a task: never one who has answered it, nor a duplicate, and nobody beyond what they can
or may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from quorate.assignment.gain import worth_of_each
from quorate.kernels import Codes, Floats
from quorate.labels import Labels

TRIES = 20


@dataclass
class Pool:
    """The workers who are there, by code; `capacity` is what each can still take (and goes down),
    `cost` what a vote of each costs, `confusions` what is believed of each. Workers with the same
    code in `voices`, which everyone has one in, are as good as one."""

    names: pl.Series
    workers: Any
    cost: Floats
    capacity: Floats
    confusions: Floats
    voices: Codes

    def voice(self, place: int) -> int:
        return int(self.voices[self.workers[place]])

    def anyone(
        self, task: int, labels: Labels, given: set[int], random: np.random.Generator, most: float
    ) -> int | None:
        """One of those who may, by chance; their place in the pool."""
        answered = self._answered(task, labels) | given
        for _ in range(TRIES):
            place = int(random.integers(len(self.workers)))
            if self._may(place, answered, most):
                return place
        open_to = [p for p in range(len(self.workers)) if self._may(p, answered, most)]
        return int(random.choice(open_to)) if open_to else None

    def best(
        self, task: int, labels: Labels, given: set[int], belief: Floats, most: float
    ) -> int | None:
        """The one of those who may whose vote is worth most for its cost; of equals, the one who is
        right most often."""
        answered = self._answered(task, labels) | given
        worth = worth_of_each(belief, self.confusions) / self.cost
        accuracy = np.einsum("wkk,k->w", self.confusions, belief) / self.cost
        for place in np.lexsort((-accuracy, -worth.round(12))).tolist():
            if self._may(place, answered, most):
                return int(place)
        return None

    def _may(self, place: int, answered: set[int], most: float) -> bool:
        return (
            self.capacity[place] >= 1
            and self.cost[place] <= most
            and self.voice(place) not in answered
        )

    def _answered(self, task: int, labels: Labels) -> set[int]:
        if task >= labels.n_tasks:
            return set()
        workers = labels.worker[labels.indptr[task] : labels.indptr[task + 1]]
        return set(self.voices[workers].tolist())
