"""Majority vote: the class most workers named."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyPhase, Calibration, Method, Model, Opening, Start, Step, Ties
from quorate.options import option


class Params(NamedTuple):
    prior: Floats


class Stats(NamedTuple):
    """The sum of the beliefs, and how many votes the answers agree with."""

    classes: Floats
    agreeing: int


@dataclass(frozen=True, eq=False)
class FixedBelief(Model[Params, Floats, Stats]):
    """A model whose belief is that of `begin`: nothing is learned but the class shares."""

    @property
    def starts_from(self) -> Start:
        return "first"

    @abstractmethod
    def begin(self, block: Labels) -> Floats:
        """The belief ``[task, class]``."""

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (Opening(Labels.class_sums, _class_shares), self)

    def sweep(self, block: Labels, params: Params, local: Floats) -> tuple[Floats, Stats]:
        answers = kernels.choose(local, self.ties, self.seed, block.task_keys)
        agreeing = int((block.label == np.repeat(answers, block.n_said)).sum())
        return local, Stats(block.class_sums(local), agreeing)

    def estimate(self, stats: Stats, params: Params) -> Params:
        return params

    def progress(self, stats: Stats, params: Params) -> Step:
        return Step(stats.agreeing, None)

    def posterior(self, block: Labels, params: Params, local: Floats) -> Floats:
        return local


def _class_shares(classes: Floats) -> Params:
    return Params(classes / classes.sum())


@dataclass(frozen=True, eq=False)
class Majority(FixedBelief):
    """The share of the votes is the belief; `objective` is how many votes the answers agree with.

    Examples:
        >>> import quorate
        >>> labels = quorate.Labels.from_codes([0, 0, 0, 1], [0, 1, 2, 0], [0, 0, 1, 1])
        >>> quorate.fit(quorate.Majority(), labels).answers
        array([0, 1], dtype=int32)
    """

    takes_weights: ClassVar[bool] = True

    ties: Ties = option(
        "shared",
        "How ties are broken: shared (the first of the tied classes is the answer, while the belief"
        " stays shared), first, or random by seed.",
    )
    seed: int = option(0, "Seed for ties that are broken at random.", at_least=0)

    def begin(self, block: Labels) -> Floats:
        return block.vote_shares()

    def calibration(self, params: object) -> Calibration:
        return Calibration(-0.7, 1.3)  # shares of votes are no odds


METHODS = (Method("majority", Majority, "The class most workers named."),)
