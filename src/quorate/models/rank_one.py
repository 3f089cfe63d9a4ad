"""Rank-one completion: workers' skills from how often they agree with each other.

Y. Ma, A. Olshevsky, V. Saligrama and C. Szepesvari, "Gradient Descent for Sparse Rank-One Matrix
Completion for Crowd-sourced Aggregation of Sparsely Interacting Workers" (ICML 2018).

Workers with skills ``s`` in [-1, 1] who are right independently agree, beyond chance, at the rate
``s_i s_j``. So the sparse matrix of agreements, weighted by how often two workers met, is completed
by one of rank one, and the skills' log-odds weigh the votes. The pairs of labels that met are the
fold's first statistic; all else about agreement is a sum of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyPhase, Method, Model, Phase, Step, Ties
from quorate.models.agreement import (
    START,
    Graph,
    Meetings,
    meetings,
    step_in_turn,
    step_together,
    with_gold_as_a_worker,
)
from quorate.models.one_coin import one_coin_confusion
from quorate.models.variant_choice import Candidates, Choose, Read
from quorate.options import option

VARIANTS = ("one-skill", "one-vs-rest", "beyond-chance")


class Params(NamedTuple):
    """``skill[worker, column]`` has one column, or one for each class; ``evidence`` is what a row
    (worker, label) adds to each class's score; ``met[worker]`` is the paper's N_i."""

    variant: int
    skill: Floats
    evidence: Floats
    met: Floats
    prior: Floats
    loss: float
    moved: float
    sweeps: int


class Stats(NamedTuple):
    """The sum of the posterior over tasks."""

    classes: Floats


@dataclass(frozen=True, eq=False)
class RankOne(Model[Params, Floats, Stats]):
    """Skills by projected gradient on the agreements of workers; votes weighted by their log-odds.

    The belief is the softmax of the weighted votes: with two classes the posterior of workers with
    those skills, and with one skill for each class the belief that this class and no other is
    true. `objective` is minus the weighted squared loss of the agreements.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.RankOne(), labels).params.skill[:, 0].round(2)
        array([0.5, 0.5, 0. ])
    """

    variant: Literal["auto", "one-skill", "one-vs-rest", "beyond-chance"] = option(
        "auto",
        "What becomes of more than two classes. one-skill: a worker errs evenly among the other"
        " classes; one-vs-rest: a skill for each class against the others; beyond-chance: the same,"
        " from agreement beyond that of the class's share of the labels; auto: whichever lets a"
        " task's labels best predict each other.",
    )
    margin: float = option(
        1.0,
        "tau of the paper: skills stay within 1 - tau / sqrt(N_i), where N_i is how often worker i"
        " met others.",
        at_least=0,
    )
    order: Literal["together", "in-turn"] = option(
        "together",
        "How workers take their steps. together: all at once, half way, and back where a"
        " component's loss would rise; in-turn: one after the other, as in the paper, many times"
        " slower.",
    )
    tol: float = option(1e-8, "Stop when no skill moves by more.", at_least=0)
    max_sweeps: int = option(1000, "Maximum number of steps of each worker.", at_least=1)
    ties: Ties = option("random", "How ties are broken: first, random by seed, or shared.")
    seed: int = option(0, "Seed for ties that are broken at random.", at_least=0)

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        if self.variant == "auto" and shape.n_classes > 2:
            return (Meet(self, VARIANTS), Read(), Choose(), self)
        named = self.variant if self.variant != "auto" and shape.n_classes > 2 else "one-skill"
        return (Meet(self, (named,)), self)

    def begin(self, block: Labels) -> Floats:
        return block.vote_shares()

    def sweep(self, block: Labels, params: Params, local: Floats) -> tuple[Floats, Stats]:
        scores = self.log_joint(block, params)
        posterior = block.with_known(kernels.normalise(scores)[0])
        return posterior, Stats(block.class_sums(posterior))

    def estimate(self, stats: Stats, params: Params) -> Params:
        return params

    def progress(self, stats: Stats, params: Params) -> Step:
        return Step(-params.loss, None, moved=params.moved)

    def converged(self, steps: Sequence[Step]) -> bool:
        return steps[-1].moved <= self.tol

    def posterior(self, block: Labels, params: Params, local: Floats) -> Floats:
        return local

    def newcomer(self, stats: Stats, params: Params) -> Params:
        skill = np.concatenate([params.skill, _average(params.skill, params.met)])
        met = np.append(params.met, 0.0)
        evidence = _evidence(skill, len(params.prior))
        return params._replace(skill=skill, met=met, evidence=evidence)

    def confusion(self, params: Params) -> Floats | None:
        """Of one skill for each worker; skills against the rest do not make up a matrix."""
        if params.skill.shape[1] > 1:
            return None
        n_classes = len(params.prior)
        accuracy = (1 + (n_classes - 1) * params.skill[:, 0]) / n_classes
        return one_coin_confusion(np.maximum(accuracy, 0.0), n_classes)

    def log_joint(self, block: Labels, params: Params) -> Floats:
        """What the votes add up to, for each task and class."""
        return block.pairs.gather(params.evidence)

    def solve(self, graph: Graph, share: Floats, variant: str) -> Params:
        """Algorithm 1, once for each column of skills."""
        n_classes = len(share)
        descend = step_together if self.order == "together" else step_in_turn
        worths = _worth_of_pairs(variant, share)
        found = [descend(graph.agreeing(w), self.tol, self.max_sweeps) for w in worths]
        skill = np.stack([column.skill for column in found], axis=1)
        met, unjudged = graph.met[:-1], graph.limit[:-1] == 0
        skill[unjudged] = _average(skill, np.where(unjudged, 0.0, met))
        return Params(
            variant=VARIANTS.index(variant),
            skill=skill,
            evidence=_evidence(skill, n_classes),
            met=met,
            prior=np.full(n_classes, 1 / n_classes),
            loss=sum(column.loss for column in found),
            moved=max(column.moved for column in found),
            sweeps=max(column.sweeps for column in found),
        )


@dataclass(frozen=True, eq=False)
class Meet(Phase[Any, Floats, Meetings]):
    """The agreements of workers who meet give their skills, by each of some variants."""

    model: RankOne
    variants: tuple[str, ...]

    def sweep(self, block: Labels, params: None, local: Floats) -> tuple[Floats, Meetings]:
        return local, meetings(with_gold_as_a_worker(block))

    def estimate(self, stats: Meetings, params: None) -> Params | Candidates:
        graph = Graph.of(stats.pairs, len(stats.labels), self.model.margin)
        share = stats.labels / stats.labels.sum()
        ways = tuple(self.model.solve(graph, share, variant) for variant in self.variants)
        return ways[0] if len(ways) == 1 else Candidates(ways)


def _worth_of_pairs(variant: str, share: Floats) -> list[Floats]:
    """For each column of skills, what it adds to the agreement of two workers that one says
    ``label`` and the other ``label'``: a table whose expectation is the product of their skills."""
    n_classes = len(share)
    if variant == "one-skill":  # Eq. 2, and beyond the chance 1/k with more than two classes
        return [(n_classes * np.eye(n_classes) - 1) / max(n_classes - 1, 1)]
    centre = np.full(n_classes, 0.5) if variant == "one-vs-rest" else share
    spread = np.sqrt(centre * (1 - centre))  # none where a class is all there is, or never named
    said = (np.eye(n_classes) - centre) / np.where(spread > 0, spread, np.inf)
    return [np.outer(column, column) for column in said.T]


def _average(skill: Floats, met: Floats) -> Floats:
    """The crowd's average, as one row; of a crowd of which nothing is known, the start."""
    if not met.any():
        return np.full((1, skill.shape[1]), START)
    average: Floats = met @ skill / met.sum()
    return average[None]


def _evidence(skill: Floats, n_classes: int) -> Floats:
    """``log (1 + s) / (1 - s)`` for the class named; with a skill for each class, the same against
    the others."""
    odds = np.log((1 + skill) / (1 - skill))[:, None]
    named = np.eye(n_classes) if skill.shape[1] == 1 else 2 * np.eye(n_classes) - 1
    evidence: Floats = odds * named
    return evidence.reshape(-1, n_classes)


METHODS = (
    Method(
        "rank-one",
        RankOne,
        "Skills from how often workers agree with each other, by rank-one completion.",
        "Ma, Olshevsky, Saligrama and Szepesvari, Gradient Descent for Sparse Rank-One Matrix"
        " Completion for Crowd-sourced Aggregation of Sparsely Interacting Workers (2018)",
    ),
)
