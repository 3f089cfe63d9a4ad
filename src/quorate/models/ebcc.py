"""EBCC: every class is a mixture of subtypes, so that workers may err on the same tasks.

Y. Li, B. I. P. Rubinstein and T. Cohn, "Exploiting Worker Correlation for Label Aggregation in
Crowdsourcing" (ICML 2019). A task has a class z and, within it, a subtype g; a worker has a row of
label probabilities for each pair. Given the class alone labels are then correlated, through the
subtype they share. Class shares tau, subtype shares pi_k and rows v_jkm have Dirichlet priors, and
the posterior is approximated by mean-field variational Bayes: rho_i(k, m), the belief about a
task's class and subtype, is independent of the parameters. With one subtype this is IBCC.

The paper takes the best of many random starts. Here the start is deterministic: the vote, with a
task's subtype by how contested it is. `restarts` tries random starts as well, each for a few
iterations, and goes on from the one with the highest bound.

Tables have a row for each (worker, label) and a column for each *state* (class, subtype).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyPhase, Method, Opening, Phase, Step, by_worker, dense
from quorate.models import dirichlet
from quorate.models.subtypes import Stats, SubtypeModel
from quorate.options import option

LEAST_PSEUDO_COUNT = 1e-6
TRIAL_ITERATIONS = 20  # of each start before the best is chosen
OWN_SUBTYPE = 0.7  # the probability that a task begins with in the subtype of its disagreement


@by_worker("log_rows", "row_counts")
class Params(NamedTuple):
    """``row_counts[worker * n_classes + label, state]``, ``subtype_counts[class, subtype]`` and
    ``class_counts[class]`` are the posterior's pseudo-counts; ``log_rows`` and
    ``log_states[state]`` the mean logarithms under it; ``divergence`` is how far it is from the
    prior."""

    log_rows: Floats
    log_states: Floats
    row_counts: Floats
    subtype_counts: Floats
    class_counts: Floats
    divergence: float

    @property
    def prior(self) -> Floats:
        """The expected class shares."""
        shares: Floats = self.class_counts / self.class_counts.sum()
        return shares


@dataclass(frozen=True, eq=False)
class EBCC(SubtypeModel[Params, Stats]):
    """Dirichlet posteriors over the workers' rows for each class and subtype; the objective is the
    evidence lower bound.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.EBCC(subtypes=2), labels).answers
        array([0, 1], dtype=int32)
    """

    subtypes: int = option(10, "Subtypes of each class; 1 gives IBCC.", at_least=1)
    right: float = option(
        4.0,
        "The prior's pseudo-count for the right label in a row of a worker.",
        at_least=LEAST_PSEUDO_COUNT,
    )
    wrong: float = option(
        1.0, "The prior's pseudo-count for each wrong label.", at_least=LEAST_PSEUDO_COUNT
    )
    class_prior: float = option(
        1.0, "The prior's pseudo-count for each class.", at_least=LEAST_PSEUDO_COUNT
    )
    subtype_prior: float = option(
        0.1,
        "The prior's pseudo-count for all subtypes of a class together; little leaves most empty.",
        at_least=LEAST_PSEUDO_COUNT,
    )
    restarts: int = option(0, "Random starts that are tried beside the vote's.", at_least=0)
    seed: int = option(0, "Seed for random starts and for ties.", at_least=0)

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        if not self.restarts:
            return (Opening(self.count, self.estimate), self)
        starts = range(self.restarts + 1)
        return (*(phase for n in starts for phase in (Start(self, n), Trial(self))), Best(), self)

    def begin(self, block: Labels) -> Floats:
        """rho from the vote: most of it in the subtype that the task's disagreement names."""
        shares = block.vote_shares()
        return self.with_subtypes(shares, self.mostly(self._disagreement(shares), OWN_SUBTYPE))

    def random_states(self, block: Labels, number: int) -> Floats:
        """rho from the vote, with subtypes drawn from a flat Dirichlet distribution, as in the
        paper."""
        states, seed = block.n_classes * self.subtypes, self.seed + number
        draws = kernels.hashed_uniform(block.task_keys(), states, seed)
        subtype = -np.log1p(-draws).reshape(block.n_tasks, block.n_classes, self.subtypes)
        return self.with_subtypes(block.vote_shares(), subtype / subtype.sum(axis=2, keepdims=True))

    def _disagreement(self, shares: Floats) -> NDArray[np.intp]:
        """Even steps from the tasks on which all agree to those on which nobody does."""
        n_classes = shares.shape[1]
        most = max(1 - 1 / n_classes, np.finfo(float).tiny)
        step = (1 - kernels.row_max(shares)) / most * self.subtypes
        subtype: NDArray[np.intp] = np.minimum(step.astype(np.intp), self.subtypes - 1)
        return subtype

    # Variational M-step: the Dirichlet posteriors, mu, eta and nu of section 4.

    def estimate(self, stats: Stats, params: Params | None = None) -> Params:
        rows_prior = self._rows_prior(len(stats.states) // self.subtypes)
        rows = self.by_worker(dense(stats.rows)) + rows_prior  # mu_jkml
        states = stats.states.reshape(-1, self.subtypes)
        subtypes = states + self.subtype_prior / self.subtypes  # eta_km
        classes = states.sum(axis=1) + self.class_prior  # nu_k
        log_states = dirichlet.mean_log(classes)[:, None] + dirichlet.mean_log(subtypes)
        divergence = (
            dirichlet.divergence(rows, rows_prior, axis=1)
            + dirichlet.divergence(subtypes, self.subtype_prior / self.subtypes)
            + dirichlet.divergence(classes, self.class_prior)
        )
        shape = (-1, len(stats.states))
        log_rows = dirichlet.mean_log(rows, axis=1).reshape(shape)
        return Params(
            log_rows, log_states.ravel(), rows.reshape(shape), subtypes, classes, divergence
        )

    def _rows_prior(self, n_classes: int) -> Floats:
        """beta ``[1, label, state]``: the same for every worker and subtype."""
        prior = np.where(np.eye(n_classes, dtype=bool), self.right, self.wrong)
        return np.repeat(prior, self.subtypes, axis=1)[None]

    def newcomer(self, stats: Stats, params: Params) -> Params:
        n_classes = len(params.class_counts)
        counts = self.by_worker(dense(stats.rows)).sum(axis=0)
        average = counts + self._rows_prior(n_classes)[0]
        log_average = dirichlet.mean_log(average, axis=0)
        return params._replace(
            log_rows=np.concatenate([params.log_rows, log_average]),
            row_counts=np.concatenate([params.row_counts, average]),
        )


class Trials(NamedTuple):
    """The parameters of the start that is tried, and the best so far with their bound."""

    now: Params
    best: Params
    bound: float = -np.inf


@dataclass(frozen=True, eq=False)
class Start(Phase[Any, Floats, Stats]):
    """The beginning of a trial: the vote's start is number 0, the others are random."""

    model: EBCC
    number: int

    def sweep(self, block: Labels, params: Any, local: Floats) -> tuple[Floats, Stats]:
        model, number = self.model, self.number
        states = model.random_states(block, number) if number else model.begin(block)
        return states, model.count(block, states)

    def estimate(self, stats: Stats, params: Trials | None) -> Trials:
        begun = self.model.estimate(stats)
        return Trials(begun, begun) if params is None else params._replace(now=begun)


@dataclass(frozen=True, eq=False)
class Trial(Phase[Trials, Floats, Stats]):
    """A few iterations, after each of which the best parameters of all trials are kept."""

    model: EBCC

    @property
    def max_iter(self) -> int:
        return TRIAL_ITERATIONS

    def sweep(self, block: Labels, params: Trials, local: Floats) -> tuple[Floats, Stats]:
        return self.model.sweep(block, params.now, local)

    def estimate(self, stats: Stats, params: Trials) -> Trials:
        bound = self.model.progress(stats, params.now).objective
        now = self.model.estimate(stats, params.now)
        return Trials(now, params.now, bound) if bound > params.bound else params._replace(now=now)

    def converged(self, steps: Sequence[Step]) -> bool:
        return False


@dataclass(frozen=True, eq=False)
class Best(Phase[Any, Floats, float]):
    """The best of the trials goes on."""

    def sweep(self, block: Labels, params: Trials, local: Floats) -> tuple[Floats, float]:
        return local, 0.0

    def estimate(self, stats: float, params: Trials) -> Params:
        return params.best


METHODS = (
    Method(
        "ebcc",
        EBCC,
        "Every class a mixture of subtypes, so that workers' errors are correlated.",
        "Li, Rubinstein and Cohn, Exploiting Worker Correlation for Label Aggregation in"
        " Crowdsourcing (2019)",
    ),
)
