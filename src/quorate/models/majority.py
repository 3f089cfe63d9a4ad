"""Majority vote: the class most workers named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from quorate import kernels
from quorate.errors import require_choice, require_number
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Off, Step, Ties


class Params(NamedTuple):
    prior: Floats


class Stats(NamedTuple):
    classes: Floats
    agreeing: int


@dataclass(frozen=True, eq=False)
class Majority:
    """The share of the votes is the belief; `objective` is how many votes the answers agree with.

    Options:
        ties: ``"shared"`` (the first of the tied classes is shown, and scores count each tied
            class's share), ``"first"`` or ``"random"`` by seed.
        seed: for ties broken at random.

    Examples:
        >>> import quorate
        >>> labels = quorate.Labels.from_codes([0, 0, 0, 1], [0, 1, 2, 0], [0, 0, 1, 1])
        >>> quorate.fit(quorate.Majority(), labels).answers
        array([0, 1], dtype=int32)
    """

    params_type: ClassVar[type[Params]] = Params
    stats_type: ClassVar[type[Stats]] = Stats
    off_by: ClassVar[Off] = Off(too_low=-0.7, around=1.3)  # shares of votes are no odds
    weighs_votes: ClassVar[bool] = True

    ties: Ties = "shared"
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("ties", self.ties, ("shared", "first", "random"))
        require_number("seed", self.seed, at_least=0)

    @property
    def max_iter(self) -> int:
        return 1

    def start(self, labels: Labels) -> None:
        return None

    def begin(self, block: Labels) -> Floats:
        return block.vote_shares()

    def sweep(self, block: Labels, params: Params | None, local: Floats) -> tuple[Floats, Stats]:
        answers = kernels.choose(local, self.ties, self.seed, block.first_task)
        agreeing = int((block.label == np.repeat(answers, np.diff(block.indptr))).sum())
        return local, Stats(block.class_sums(local), agreeing)

    def estimate(self, stats: Stats, params: Params | None) -> Params:
        return Params(stats.classes / stats.classes.sum())

    def progress(self, stats: Stats, params: Params) -> Step:
        return Step(stats.agreeing, None)

    def converged(self, steps: Sequence[Step]) -> bool:
        return True

    def posterior(self, block: Labels, params: Params, local: Floats) -> Floats:
        return local

    def newcomer(self, stats: Stats, params: Params) -> Params:
        return params

    def confusion(self, params: Params) -> None:
        return None

    def history(self, stats: Stats, params: Params) -> None:
        return None
