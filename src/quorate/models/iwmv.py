"""Iterative weighted majority voting: a vote weighted by how often each worker agrees with it.

H. Li and B. Yu, "Error Rate Bounds and Iterative Weighted Majority Voting for Crowdsourcing"
(2014). With k classes a worker of accuracy w has the weight k w - 1: the weight that
minimises their bound on the error of the vote and, around chance, the log-odds of one-coin workers
but for a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import AnyPhase, Method, Model, Opening, Step, Ties, by_worker, dense
from quorate.models.one_coin import one_coin_confusion
from quorate.options import option


@by_worker("accuracy")
class Params(NamedTuple):
    """``accuracy[worker]``; the classes are taken to be even."""

    accuracy: Floats
    prior: Floats


@by_worker("counts")
class Stats(NamedTuple):
    """``counts[worker]``: labels that agree with the answers, and labels that do not; the answers'
    sum for each class, and how many answers changed."""

    counts: Floats | Rows
    classes: Floats
    changed: int = 0


@dataclass(frozen=True, eq=False)
class IWMV(Model[Params, Floats, Stats]):
    """Vote, count how often each worker agrees with the answers, weight the votes by that, again.

    The belief is the softmax of the weighted votes times k / (k - 1), which to first order around
    chance is that of one-coin workers. `objective` is the sum over labels of their worker's squared
    weight: answers that agree with the weights of the last raise it, so it never falls.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.IWMV(), labels).params.accuracy
        array([1. , 1. , 0.5])
    """

    takes_weights: ClassVar[bool] = True

    ties: Ties = option(
        "shared",
        "How tied answers count: shared evenly between the tied classes, first, or random by seed.",
    )
    max_iter: int = option(200, "Maximum number of iterations.", at_least=1)
    seed: int = option(0, "Seed for ties that are broken at random.", at_least=0)

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (Opening(self.count, self.estimate), self)

    def begin(self, block: Labels) -> Floats:
        """The answers of the plain vote."""
        return self._answers(block, block.vote_shares())

    def sweep(self, block: Labels, params: Params, local: Floats) -> tuple[Floats, Stats]:
        answers = self._answers(block, self._believe(block, params))
        changed = int((block.has_evidence & np.any(answers != local, axis=1)).sum())
        return answers, self.count(block, answers)._replace(changed=changed)

    def count(self, block: Labels, answers: Floats) -> Stats:
        """How often each worker agrees with the answers."""
        return Stats(block.weighted_agreement(answers), block.class_sums(answers))

    def estimate(self, stats: Stats, params: Params | None = None) -> Params:
        counts = dense(stats.counts).copy()
        silent = counts.sum(axis=1) == 0
        counts[silent] = counts.sum(axis=0)  # of whom nothing is known: the crowd's average
        n_classes = len(stats.classes)
        return Params(_accuracy(counts), np.full(n_classes, 1 / n_classes))

    def progress(self, stats: Stats, params: Params) -> Step:
        counts = dense(stats.counts)
        weight = len(params.prior) * _accuracy(counts) - 1
        objective = float(counts.sum(axis=1) @ weight**2)
        return Step(objective, None, changed=stats.changed, hard=True)

    def converged(self, steps: Sequence[Step]) -> bool:
        return steps[-1].changed == 0

    def posterior(self, block: Labels, params: Params, local: Floats) -> Floats:
        return self._believe(block, params)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        average = _accuracy(dense(stats.counts).sum(axis=0, keepdims=True))
        return params._replace(accuracy=np.concatenate([params.accuracy, average]))

    def confusion(self, params: Params) -> Floats:
        return one_coin_confusion(params.accuracy, len(params.prior))

    def log_joint(self, block: Labels, params: Params) -> Floats:
        """What the votes add up to, for each task and class."""
        n_classes = block.n_classes
        scores = block.weighted_votes(n_classes * params.accuracy - 1)
        return scores * (n_classes / max(n_classes - 1, 1))

    def _believe(self, block: Labels, params: Params) -> Floats:
        belief, _ = kernels.normalise(self.log_joint(block, params))
        return block.with_known(belief)

    def _answers(self, block: Labels, belief: Floats) -> Floats:
        return kernels.harden(belief, self.ties, self.seed, block.task_keys)


def _accuracy(counts: Floats) -> Floats:
    total = counts.sum(axis=1)
    accuracy: Floats = counts[:, 0] / np.where(total > 0, total, 1)
    return accuracy


METHODS = (
    Method(
        "iwmv",
        IWMV,
        "Votes weighted by how often each worker agrees with the answers, again and again.",
        "Li and Yu, Error Rate Bounds and Iterative Weighted Majority Voting for Crowdsourcing"
        " (2014)",
    ),
)
