"""What models share in which every class is a mixture of subtypes.

A task is in a *state*, a class and a subtype of it; a worker has a row of label probabilities for
each state. Tables have a row for each (worker, label) and a column for each state, in the order of
classes and then of subtypes. All have Dirichlet posteriors, by mean-field variational Bayes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import Model, Step, Ties, by_worker, dense, objective_settled
from quorate.options import option


class SubtypeParams(Protocol):
    """``row_counts[worker * n_classes + label, state]``, ``subtype_counts[class, subtype]`` and
    ``class_counts[class]`` are the posterior's pseudo-counts; ``log_rows`` and
    ``log_states[state]`` the mean logarithms under it; ``divergence`` is how far it is from the
    prior."""

    @property
    def log_rows(self) -> Floats: ...
    @property
    def log_states(self) -> Floats: ...
    @property
    def row_counts(self) -> Floats: ...
    @property
    def subtype_counts(self) -> Floats: ...
    @property
    def divergence(self) -> float: ...


@by_worker("rows")
class Stats(NamedTuple):
    """Expected counts of labels by state, ``rows[worker * n_classes + label, state]``, and of
    tasks, ``states[state]``; and the tasks' log evidence."""

    rows: Floats | Rows
    states: Floats
    log_evidence: float = 0.0


P = TypeVar("P", bound=SubtypeParams)
S = TypeVar("S", bound=Stats)


@dataclass(frozen=True, eq=False)
class SubtypeModel(Model[P, Floats, S]):
    """The E-step, the counts, and what follows from the posterior; a model adds where it begins
    and its M-step."""

    takes_weights: ClassVar[bool] = True

    tol: float = option(1e-6, "Stop when the objective changes by less, relatively.", at_least=0)
    max_iter: int = option(200, "Maximum number of iterations.", at_least=1)
    ties: Ties = option("random", "How ties are broken: first, random by seed, or shared.")
    seed: int = option(0, "Seed for ties.", at_least=0)

    @property
    def subtypes(self) -> int:
        """Subtypes of each class."""
        return 2

    def n_matrices(self, n_classes: int) -> int:
        return self.subtypes

    def with_subtypes(self, classes: Floats, subtype: Floats) -> Floats:
        """``[task, state]`` from shares of classes and, in each, of subtypes."""
        return (classes[:, :, None] * subtype).reshape(len(classes), -1)

    def mostly(self, own: NDArray[np.intp], probability: float) -> Floats:
        """Shares ``[task, 1, subtype]``: the task's own with this probability, the rest evenly."""
        shares = np.full((len(own), 1, self.subtypes), (1 - probability) / self.subtypes)
        shares[np.arange(len(own)), 0, own] += probability
        return shares

    # E-step.

    def sweep(self, block: Labels, params: P, local: Floats) -> tuple[Floats, S]:
        log_joint = block.pairs.gather(params.log_rows, params.log_states)
        states, log_evidence = kernels.normalise(self._clamped(log_joint, block))
        return states, self.count(block, states, float(log_evidence.sum(where=block.has_evidence)))

    def _clamped(self, log_joint: Floats, block: Labels) -> Floats:
        """All states but those of the known class ruled out, where it is known."""
        if block.gold is None:
            return log_joint
        known = np.flatnonzero(block.gold >= 0)
        others = np.arange(log_joint.shape[1]) // self.subtypes != block.gold[known, None]
        log_joint[known] += np.where(others, kernels.LOG_ZERO, 0.0)
        return log_joint

    def count(self, block: Labels, states: Floats, log_evidence: float = 0.0) -> S:
        """The expected counts under the belief."""
        rows, sums = block.pairs.scatter(states), block.class_sums(states)
        stats: S = self.stats_type(rows, sums, log_evidence)
        return stats

    def progress(self, stats: S, params: P) -> Step:
        return Step(stats.log_evidence - params.divergence, None)

    def converged(self, steps: Sequence[Step]) -> bool:
        return objective_settled(steps, self.tol)

    # What follows from the posterior.

    def posterior(self, block: Labels, params: P, local: Floats) -> Floats:
        """Of the class: the sum over its subtypes; of a known one 1, whatever rounding does."""
        by_class: Floats = local.reshape(len(local), -1, self.subtypes).sum(axis=2)
        return block.with_known(by_class)

    def states(self, block: Labels, params: P, local: Floats) -> Floats:
        """The belief ``[task, state]`` by which votes are predicted."""
        return local

    def chances(self, params: P) -> Floats:
        """The probability ``[worker * n_classes + label, state]`` that a worker gives a label."""
        rows = self.by_worker(params.row_counts)
        mean: Floats = rows / rows.sum(axis=1, keepdims=True)
        return mean.reshape(params.row_counts.shape)

    def confusion(self, params: P) -> Floats:
        """The posterior mean, over the subtypes by their shares."""
        shares = params.subtype_counts / params.subtype_counts.sum(axis=1, keepdims=True)
        return self._by_class(self.by_worker(self.chances(params)) * shares.ravel())

    def history(self, stats: S, params: P) -> Floats:
        return self._by_class(self.by_worker(dense(stats.rows)))

    def by_worker(self, table: Floats) -> Floats:
        """``[worker, label, state]``."""
        return table.reshape(-1, table.shape[1] // self.subtypes, table.shape[1])

    def _by_class(self, rows: Floats) -> Floats:
        """``[worker, truth, label]``: the sum over subtypes of ``[worker, label, state]``."""
        n_workers, n_classes, _ = rows.shape
        by_class: Floats = rows.reshape(n_workers, n_classes, -1, self.subtypes).sum(axis=3)
        return by_class.transpose(0, 2, 1)
