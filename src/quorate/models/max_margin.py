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
from typing import ClassVar, NamedTuple

import numpy as np

from quorate import kernels
from quorate.errors import require_choice, require_number
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import Off, Step, Ties, dense

TIED = 1e-9  # votes that differ by less are tied, and teach nothing


class Params(NamedTuple):
    """``weight`` is tried; ``best`` are the weights of the least ``loss`` so far."""

    weight: Floats
    best: Floats
    loss: float
    prior: Floats

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("weight", "best")


class Stats(NamedTuple):
    """``slopes[worker]``: the hinges' pull on the weight, and the curvature of their bound."""

    slopes: Floats | Rows
    hinges: float
    classes: Floats

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("slopes",)


@dataclass(frozen=True, eq=False)
class MaxMargin:
    """Weights of least length under which each answer leads by 1, as far as `cost` insists on it.

    The belief in a class is that of the paper's pseudo-likelihood: proportional to
    ``exp(-2 cost hinge)`` with the hinge there would be if that class were the answer. `objective`
    is minus the least loss so far: steps that would raise it are taken half as far.

    Options:
        cost: of a lead that is short by 1, the paper's c (for its margin of 1; with a margin of l,
            c / l): little makes for weights that are small, and greatest for whoever did most.
        rounding: so near to the margin the hinge is a parabola.
        tol: stop when the loss changes by less, relatively.
        max_iter: at most so many iterations.
        ties: how `result.labels` breaks ties: ``"random"`` by seed, ``"first"`` or ``"shared"``.
        seed: for ties broken at random.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.MaxMargin(), labels).params.weight.round(1)
        array([0.5, 0.5, 0. ])
    """

    params_type: ClassVar[type[Params]] = Params
    stats_type: ClassVar[type[Stats]] = Stats
    off_by: ClassVar[Off] = Off(too_low=-0.7, around=1.3)  # shares of votes are no odds

    cost: float = 0.3
    rounding: float = 0.1
    tol: float = 1e-5
    max_iter: int = 1000
    ties: Ties = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        require_number("cost", self.cost, at_least=np.nextafter(0, 1))
        require_number("rounding", self.rounding, at_least=1e-6)
        require_number("tol", self.tol, at_least=0)
        require_number("max_iter", self.max_iter, at_least=1)
        require_choice("ties", self.ties, ("first", "random", "shared"))
        require_number("seed", self.seed, at_least=0)

    def start(self, labels: Labels) -> None:
        return None

    def begin(self, block: Labels) -> None:
        return None

    def sweep(self, block: Labels, params: Params | None, local: None) -> tuple[None, Stats]:
        if params is None:  # no weights yet: answers of the plain vote, which lead by nothing
            leader, pull, _ = _leads(block, block.weighted_votes(np.ones(block.n_workers)))
            short = np.ones(block.n_tasks)
        else:
            leader, pull, lead = _leads(block, block.weighted_votes(params.weight))
            short = 1 - lead
        curvature = self.cost / (2 * np.maximum(np.abs(short), self.rounding))
        slope = self.cost / 2 + curvature * short
        pulled = kernels.belief_in_labels(block.indptr, block.label, pull)
        size = kernels.task_sums(block.indptr, np.abs(pulled))
        of_task = np.repeat(np.arange(block.n_tasks), np.diff(block.indptr))
        slopes = np.stack(
            [slope[of_task] * pulled, (curvature * size)[of_task] * np.abs(pulled)], 1
        )
        hinges = float(self._hinge(short).sum(where=block.heard))
        return None, Stats(block.crowd.scatter(slopes), hinges, block.class_sums(leader))

    def estimate(self, stats: Stats, params: Params | None) -> Params:
        pull, curvature = dense(stats.slopes).T
        if params is None:
            n_classes = len(stats.classes)
            weight, prior = np.zeros(len(pull)), np.full(n_classes, 1 / n_classes)
        else:
            weight, prior = params.weight, params.prior
        loss = self._loss(stats, weight)
        if params is not None and loss > params.loss:
            return params._replace(weight=(weight + params.best) / 2)
        return Params(weight - (weight - pull) / (1 + curvature), weight, loss, prior)

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
        if block.gold is not None:
            known = block.gold >= 0
            belief[known] = np.eye(block.n_classes)[block.gold[known]]
        return belief

    def newcomer(self, stats: Stats, params: Params) -> Params:
        return params._replace(weight=np.append(params.weight, params.weight.mean()))

    def confusion(self, params: Params) -> None:
        return None

    def history(self, stats: Stats, params: Params) -> None:
        return None

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
