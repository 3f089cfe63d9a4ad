"""Dawid-Skene: each worker has a confusion matrix.

A. P. Dawid and A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM
Algorithm", Applied Statistics 28 (1979). Equation numbers are those of V. B. Sinha, S. Rao and
V. N. Balasubramanian, "Fast Dawid-Skene: A Fast Vote Aggregation Scheme for Sentiment
Classification" (KDD WISDOM 2018), whose Fast Dawid-Skene and Hybrid are this model with `harden`.

Counts and the table of log probabilities have a row for each (worker, label) and a column for each
truth, so that a task's evidence is a sum of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import Method, Start, Step, by_worker, dense
from quorate.models import dirichlet
from quorate.models.em import (
    EM,
    INIT,
    SMOOTHING,
    ZEROS,
    EMParams,
    EMState,
    EMStats,
    Evidence,
    possible_tasks,
    without_zeros,
)
from quorate.options import option


@by_worker("log_confusion")
class Params(NamedTuple):
    """``log_confusion[worker * n_classes + label, truth]``."""

    log_confusion: Floats
    state: EMState

    @property
    def prior(self) -> Floats:
        return self.state.prior


@by_worker("counts")
class Stats(NamedTuple):
    """``counts[worker * n_classes + label, truth]``; of hard answers also the log-likelihood of
    votes and answers, and how many answers changed."""

    counts: Floats | Rows
    evidence: Evidence
    log_complete: float = 0.0
    changed: int = 0


class ConfusionParams(EMParams, Protocol):
    @property
    def log_confusion(self) -> Floats: ...
    def _replace(self, *, log_confusion: Floats) -> Self: ...


P = TypeVar("P", bound=ConfusionParams)
S = TypeVar("S", bound=EMStats)


@dataclass(frozen=True, eq=False)
class ConfusionEM(EM[P, S]):
    """What the models share in which each worker has a confusion matrix."""

    smoothing: float = option(0.0, SMOOTHING, at_least=0)

    def n_matrices(self, n_classes: int) -> int:
        return 1

    def log_joint(self, block: Labels, params: P) -> Floats:
        return block.pairs.gather(params.log_confusion, params.state.log_prior)  # Eq. 8

    def count(self, block: Labels, posterior: Floats, evidence: Evidence) -> S:
        stats: S = self.stats_type(block.pairs.scatter(posterior), evidence)  # the sums in Eq. 6
        return stats

    def learn(self, stats: S) -> Floats:
        return kernels.log_shares(dense(stats.counts), self.smoothing, self.worker_prior)  # Eq. 6

    def from_confusion(self, confusion: Floats) -> P:
        log_confusion = kernels.log_or(table_of(confusion))
        params: P = self.params_type(log_confusion, self.even_state(confusion.shape[1]))
        return params

    def log_density(self, params: P) -> float:
        if self.smoothing == 0 and self.worker_prior is None:
            return 0.0
        pseudo = np.full((1, 1, 1), self.smoothing)
        if self.worker_prior is not None:
            pseudo = pseudo + self.worker_prior
        return kernels.weighted_log(pseudo, by_truth_and_label(np.exp(params.log_confusion)))

    def newcomer(self, stats: S, params: P) -> P:
        average = kernels.log_shares(pooled(stats), self.smoothing)
        return params._replace(log_confusion=np.concatenate([params.log_confusion, average]))

    def confusion(self, params: P) -> Floats:
        return by_truth_and_label(np.exp(params.log_confusion))

    def history(self, stats: S, params: P) -> Floats:
        return by_truth_and_label(dense(stats.counts))


@dataclass(frozen=True, eq=False)
class SoftDawidSkene(ConfusionEM[Params, Stats]):
    """Dawid-Skene by soft EM, wherever it begins."""

    zeros: Literal["exclude", "skip"] = option("exclude", ZEROS)
    acceleration: Literal["none", "squarem"] = option(
        "none",
        "How iterations are saved: none, or squarem, squared extrapolation, whose steps are taken"
        " back where the objective would fall.",
        only_with={"harden": "never"},
    )

    def log_joint(self, block: Labels, params: Params) -> Floats:
        return super().log_joint(block, _skipping_zeros(params) if self.zeros == "skip" else params)

    def m_step(self, stats: Stats, state: EMState) -> Params:
        return Params(self.learn(stats), state)

    def n_matrices(self, n_classes: int) -> int:
        return 1 if self.acceleration == "none" else 2

    def sums(self, stats: Stats) -> tuple[Floats, ...] | None:
        if self.acceleration == "none":
            return None
        return dense(stats.counts), stats.evidence.classes

    def with_sums(self, stats: Stats, sums: tuple[Floats, ...]) -> Stats:
        counts, classes = sums
        return stats._replace(counts=counts, evidence=stats.evidence._replace(classes=classes))


@dataclass(frozen=True, eq=False)
class DawidSkene(SoftDawidSkene):
    """Dawid-Skene by EM in log space; `harden` makes it Fast Dawid-Skene or Hybrid.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.DawidSkene(smoothing=0.1), labels).answers
        array([0, 1], dtype=int32)
    """

    harden: Literal["never", "always", "settled"] = option(
        "never",
        "When the E-step puts all belief on the likeliest class: never, always, or settled, once"
        " the class marginals move by less than switch_at.",
    )
    switch_at: float = option(
        0.005,
        "Change of the class marginals below which answers become hard.",
        at_least=0,
        only_with={"harden": "settled"},
    )
    init: Any = option("vote", INIT)

    # Hard answers (Eq. 2), always or once the class marginals have settled (Algorithm 3).

    @property
    def starts_from(self) -> Start:
        """Hard answers are compared with those before."""
        return "nothing" if self.harden == "never" else "last"

    def begin(self, block: Labels) -> Floats:
        vote = super().begin(block)
        return self._hardened(block, vote) if self.harden == "always" else vote

    def sweep(self, block: Labels, params: Params, local: Floats) -> tuple[Floats, Stats]:
        if not params.state.hard:
            return super().sweep(block, params, local)
        posterior, log_evidence = self.e_step(block, params)
        answers = self._hardened(block, posterior)
        log_complete = log_evidence + np.log(kernels.row_max(posterior))
        stats = self.count(block, answers, Evidence.of(block, answers, log_evidence))
        return answers, stats._replace(
            log_complete=float(log_complete.sum(where=possible_tasks(block, log_evidence))),
            changed=int((block.has_evidence & np.any(answers != local, axis=1)).sum()),
        )

    def first_state(self, classes: Floats) -> EMState:
        return super().first_state(classes)._replace(hard=self.harden == "always")

    def next_state(self, classes: Floats, before: EMState) -> EMState:
        settled = self.harden == "settled" and before.moved < self.switch_at
        return super().next_state(classes, before)._replace(hard=before.hard or settled)

    def log_fit(self, stats: Stats, params: Params) -> float:
        return stats.log_complete if params.state.hard else stats.evidence.log_likelihood

    def progress(self, stats: Stats, params: Params) -> Step:
        step = super().progress(stats, params)
        return step._replace(changed=stats.changed, hard=params.state.hard)

    def converged(self, steps: Sequence[Step]) -> bool:
        now, *before = reversed(steps)
        if now.hard and now.changed == 0:
            return True
        if self.stop == "objective" and before and before[0].hard != now.hard:
            return False
        return super().converged(steps)

    def posterior(self, block: Labels, params: Params, local: Floats) -> Floats:
        """Hard answers are how it learned, not how sure it is: the posterior is always soft."""
        return self.e_step(block, params)[0] if params.state.hard else local

    def _hardened(self, block: Labels, posterior: Floats) -> Floats:
        return kernels.harden(posterior, self.ties, self.seed, block.task_keys)


def _skipping_zeros(params: Params) -> Params:
    """The parameters with which a factor of zero is left out of the product."""
    log_prior = without_zeros(params.state.log_prior)
    state = params.state._replace(log_prior=log_prior)
    return Params(without_zeros(params.log_confusion), state)


def table_of(confusion: Floats) -> Floats:
    """``[worker * n_classes + label, truth]`` from ``[worker, truth, label]``."""
    return confusion.transpose(0, 2, 1).reshape(-1, confusion.shape[1])


def by_label_and_truth(table: Floats) -> Floats:
    """``[worker, label, truth]`` from a table ``[worker * n_classes + label, truth]``."""
    n_classes = table.shape[-1]
    return table.reshape(-1, n_classes, n_classes)


def by_truth_and_label(table: Floats) -> Floats:
    """``[worker, truth, label]`` from a table ``[worker * n_classes + label, truth]``."""
    return by_label_and_truth(table).transpose(0, 2, 1)


def mean_matrices(pseudo_counts: Floats) -> Floats:
    """``[worker, truth, label]``, the mean of rows with Dirichlet posteriors."""
    by_label = by_label_and_truth(pseudo_counts)
    mean: Floats = by_label / by_label.sum(axis=1, keepdims=True)
    return mean.transpose(0, 2, 1)


def with_newcomer(params: Any, pseudo_counts: Floats) -> Any:
    """Parameters of such rows, with those ``[label, truth]`` of one more worker."""
    log_confusion = dirichlet.mean_log(pseudo_counts, axis=0)
    return params._replace(
        log_confusion=np.concatenate([params.log_confusion, log_confusion]),
        pseudo_counts=np.concatenate([params.pseudo_counts, pseudo_counts]),
    )


def pooled(stats: EMStats) -> Floats:
    """The counts of all workers as if they were one."""
    total: Floats = by_label_and_truth(dense(stats.counts)).sum(axis=0)
    return total


PAPER = (
    "Dawid and Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM"
    " Algorithm (1979)"
)
FAST = (
    "Sinha, Rao and Balasubramanian, Fast Dawid-Skene: A Fast Vote Aggregation Scheme for"
    " Sentiment Classification (2018)"
)
METHODS = (
    Method(
        "dawid-skene",
        DawidSkene,
        "A confusion matrix for each worker, by soft EM.",
        PAPER,
        settings={"harden": "never"},
    ),
    Method(
        "fast-dawid-skene",
        DawidSkene,
        "Dawid-Skene with hard answers at every step: fewer iterations.",
        FAST,
        settings={"harden": "always"},
    ),
    Method(
        "hybrid",
        DawidSkene,
        "Dawid-Skene until the class shares settle, then hard answers.",
        FAST,
        settings={"harden": "settled"},
    ),
)
