"""Max-margin majority voting: weights under which answers win by a margin.

T. Tian and J. Zhu, "Max-Margin Majority Voting for Learning from Crowds" (NIPS 2015):
weights and answers together minimise ``|weight|^2 / 2 + cost * sum of hinge(1 - lead)``, where the
lead of a task is that of its answer's weighted vote over the next best.

This is a deterministic coordinate form, not the Gibbs sampler, and without the confusion matrices
of the paper's Bayesian extension. The sampler draws answers, a scale for each task, and weights;
here answers are the mode, inverse scales the mean (one over how far the lead is from the margin),
and every worker's weight goes to the least of a bound in which workers are apart. So a sweep needs
two numbers of each worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import (
    AnyPhase,
    Calibration,
    Method,
    Model,
    Opening,
    Step,
    Ties,
    by_worker,
    dense,
)
from quorate.options import option

TIED = 1e-9  # votes that differ by less are tied, and teach nothing


@by_worker("weight", "best")
class Params(NamedTuple):
    """``weight[worker]`` is tried; ``best[worker]`` are the weights of the least loss so far."""

    weight: Floats
    best: Floats
    loss: float
    prior: Floats


@by_worker("slopes")
class Stats(NamedTuple):
    """``slopes[worker]``: the hinges' pull on the weight, and the curvature of their bound."""

    slopes: Floats | Rows
    hinges: float
    classes: Floats


@dataclass(frozen=True, eq=False)
class M3V(Model[Params, None, Stats]):
    """Weights of least length under which each answer leads by 1, as far as `cost` insists on it.

    The belief in a class is that of the paper's pseudo-likelihood: proportional to
    ``exp(-2 cost hinge)`` with the hinge there would be if that class were the answer. `objective`
    is minus the least loss so far: steps that would raise it are taken half as far.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.M3V(), labels).params.weight.round(1)
        array([0.5, 0.5, 0. ])
    """

    cost: float = option(
        0.3,
        "Cost of a lead that is short by 1, the paper's c (for its margin of 1; with a margin of"
        " l, c / l): little makes for weights that are small, and greatest for whoever did most.",
        above=0,
    )
    rounding: float = option(
        0.1, "Half-width of the parabola that rounds the hinge off.", at_least=1e-6
    )
    tol: float = option(1e-5, "Stop when the loss changes by less, relatively.", at_least=0)
    max_iter: int = option(1000, "Maximum number of iterations.", at_least=1)
    ties: Ties = option("random", "How ties are broken: first, random by seed, or shared.")
    seed: int = option(0, "Seed for ties that are broken at random.", at_least=0)

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (Opening(self._count_vote, self._first_step), self)

    def calibration(self, params: Params) -> Calibration:
        return Calibration(-0.7, 1.3)  # shares of votes are no odds

    def _count_vote(self, block: Labels, local: None) -> Stats:
        """From no weights at all: answers of the plain vote, which lead by nothing."""
        leader, pull, _ = _leads(block, block.weighted_votes(np.ones(block.n_workers)))
        return self.count(block, leader, pull, short=np.ones(block.n_tasks))

    def _first_step(self, stats: Stats) -> Params:
        n_classes = len(stats.classes)
        nothing = np.zeros(len(dense(stats.slopes)))
        before = Params(nothing, nothing, np.inf, np.full(n_classes, 1 / n_classes))
        return self.estimate(stats, before)

    def sweep(self, block: Labels, params: Params, local: None) -> tuple[None, Stats]:
        leader, pull, lead = _leads(block, block.weighted_votes(params.weight))
        return None, self.count(block, leader, pull, 1 - lead)

    def count(self, block: Labels, leader: Floats, pull: Floats, short: Floats) -> Stats:
        """The statistics of tasks whose leads are short of the margin by `short`."""
        curvature = self.cost / (2 * np.maximum(np.abs(short), self.rounding))
        slope = self.cost / 2 + curvature * short
        pulled = kernels.probability_correct(block.indptr, block.label, pull)
        size = kernels.task_sums(block.indptr, np.abs(pulled))
        of_task = np.repeat(np.arange(block.n_tasks), np.diff(block.indptr))
        slopes = np.stack(
            [slope[of_task] * pulled, (curvature * size)[of_task] * np.abs(pulled)], 1
        )
        hinges = float(self._hinge(short).sum(where=block.has_evidence))
        return Stats(block.crowd.scatter(slopes), hinges, block.class_sums(leader))

    def estimate(self, stats: Stats, params: Params) -> Params:
        loss = self._loss(stats, params.weight)
        if loss > params.loss:
            return params._replace(weight=(params.weight + params.best) / 2)
        pull, curvature = dense(stats.slopes).T
        weight = params.weight - (params.weight - pull) / (1 + curvature)
        return params._replace(weight=weight, best=params.weight, loss=loss)

    def progress(self, stats: Stats, params: Params) -> Step:
        loss = self._loss(stats, params.weight)
        moved = abs(loss - params.loss) / max(params.loss, np.finfo(float).tiny)
        return Step(-min(loss, params.loss), None, moved=moved)

    def converged(self, steps: Sequence[Step]) -> bool:
        return steps[-1].moved <= self.tol

    def posterior(self, block: Labels, params: Params, local: None) -> Floats:
        scores = block.weighted_votes(params.weight)
        ahead = np.repeat(kernels.row_max(scores)[:, None], block.n_classes, axis=1)
        if block.n_classes > 1:
            chosen = np.arange(block.n_tasks), scores.argmax(axis=1)
            ahead[chosen] = np.partition(scores, -2, axis=1)[:, -2]
        belief, _ = kernels.normalise(-2 * self.cost * self._hinge(1 + ahead - scores))
        return block.with_known(belief)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        return params._replace(weight=np.append(params.weight, params.weight.mean()))

    def _loss(self, stats: Stats, weight: Floats) -> float:
        return float(weight @ weight) / 2 + self.cost * stats.hinges

    def _hinge(self, short: Floats) -> Floats:
        """What a lead lacks to the margin, and a parabola near to it."""
        near = (short + self.rounding) ** 2 / (4 * self.rounding)
        return np.where(np.abs(short) < self.rounding, near, np.maximum(short, 0))


def _leads(block: Labels, scores: Floats) -> tuple[Floats, Floats, Floats]:
    """For each task the share of each class in the lead; that less its share in the second place,
    which is how the lead depends on the votes; and the lead. A tie for the lead is no lead."""
    leader, first = _top(scores)
    rest = np.where(leader > 0, -np.inf, scores)
    if block.gold is not None:
        known = np.flatnonzero(block.gold >= 0)
        answer = block.gold[known]
        leader[known] = np.eye(block.n_classes)[answer]
        first[known] = scores[known, answer]
        rest[known] = scores[known]
        rest[known, answer] = -np.inf
    second, next_best = _top(rest)
    tied = kernels.row_max(leader) < 1
    second[tied], next_best[tied] = leader[tied], first[tied]
    lead = np.where(np.isfinite(next_best), first - next_best, np.inf)
    return leader, leader - second, np.minimum(lead, 2 + np.abs(first))


def _top(scores: Floats) -> tuple[Floats, Floats]:
    """Shares of the classes with the highest score, and that score."""
    highest = kernels.row_max(scores)
    near = scores >= highest[:, None] - TIED
    return near / near.sum(axis=1, keepdims=True), highest


METHODS = (
    Method(
        "m3v",
        M3V,
        "Weights under which the answers win by a margin.",
        "Tian and Zhu, Max-Margin Majority Voting for Learning from Crowds (2015)",
    ),
)
