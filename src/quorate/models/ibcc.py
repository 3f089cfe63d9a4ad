"""IBCC: Dawid-Skene with a belief about every confusion matrix instead of one estimate.

H.-C. Kim and Z. Ghahramani, "Bayesian Classifier Combination" (AISTATS 2012): rows of the confusion
matrices, and the class shares, have Dirichlet priors. The paper samples; here the posterior is
approximated by variational Bayes, in which truths are independent of parameters, as in E. Simpson,
S. Roberts, I. Psorakis and A. Smith, "Dynamic Bayesian Combination of Multiple Imperfect
Classifiers" (2013).

The tables are those of Dawid-Skene: a row for each (worker, label), a column for each truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from quorate.kernels import Floats
from quorate.model import Method, Step, by_worker, dense
from quorate.models import dirichlet
from quorate.models.dawid_skene import (
    ConfusionEM,
    by_label_and_truth,
    mean_matrices,
    pooled,
    table_of,
    with_newcomer,
)
from quorate.models.em import INIT, EMState, Evidence, Stats, is_word
from quorate.options import option

LEAST_PSEUDO_COUNT = 1e-6
SURE_AS = 100.0  # the number of labels that each row of an `init` counts as


@by_worker("log_confusion", "pseudo_counts")
class Params(NamedTuple):
    """Tables ``[worker * n_classes + label, truth]``: ``pseudo_counts`` of the posterior of each
    row of a confusion matrix, and ``log_confusion``, the mean logarithms under it; and how far the
    posterior diverges from the prior."""

    log_confusion: Floats
    pseudo_counts: Floats
    divergence: float
    state: EMState

    @property
    def prior(self) -> Floats:
        return self.state.prior


@dataclass(frozen=True, eq=False)
class IBCC(ConfusionEM[Params, Stats]):
    """Dirichlet posteriors over confusion rows and class shares; the objective is their bound.

    `worker_prior` is part of the prior of its worker.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.IBCC(), labels)
        >>> result.confusion[2].round(2)
        array([[0.51, 0.49],
               [0.24, 0.76]])
    """

    is_bound: ClassVar[bool] = True

    smoothing: float = option(
        1.0,
        "The prior's pseudo-count for each label in a row of a confusion matrix, and, but for"
        " prior_smoothing, for each class.",
        at_least=LEAST_PSEUDO_COUNT,
    )
    diagonal: float = option(
        1.0,
        "Further pseudo-counts of the right label: workers are expected to be better than chance.",
        at_least=0,
    )
    prior_smoothing: float | None = option(
        None,
        "The prior's pseudo-count for each class; by default the same as smoothing.",
        at_least=LEAST_PSEUDO_COUNT,
        only_with={"prior": "estimated"},
    )
    init: Any = option("vote", INIT)

    def m_step(self, stats: Stats, state: EMState) -> Params:
        """The posterior given the expected counts: the prior's pseudo-counts and these."""
        counts, classes = dense(stats.counts), stats.evidence.classes
        row_prior = self._row_prior(len(classes))
        rows = by_label_and_truth(counts) + row_prior
        divergence = dirichlet.divergence(rows, row_prior, axis=1)
        if is_word(self.prior, "estimated"):
            shares = classes + self.class_smoothing
            state = state._replace(log_prior=dirichlet.mean_log(shares))
            divergence += dirichlet.divergence(shares, self.class_smoothing)
        log_confusion = dirichlet.mean_log(rows, axis=1).reshape(counts.shape)
        return Params(log_confusion, rows.reshape(counts.shape), divergence, state)

    def _row_prior(self, n_classes: int) -> Floats:
        """Pseudo-counts ``[worker, label, truth]``, of all workers alike without `worker_prior`."""
        prior = self._average_prior(n_classes)[None]
        return prior if self.worker_prior is None else prior + self.worker_prior.transpose(0, 2, 1)

    def _average_prior(self, n_classes: int) -> Floats:
        """Pseudo-counts ``[label, truth]`` of a worker of whom nothing is known."""
        return self.smoothing + self.diagonal * np.eye(n_classes)

    def from_confusion(self, confusion: Floats) -> Params:
        return self._from_matrices(confusion, Evidence(np.zeros(confusion.shape[1])))

    def from_moments(self, confusion: Floats, vote: Stats) -> Params:
        return self._from_matrices(confusion, vote.evidence)

    def _from_matrices(self, confusion: Floats, evidence: Evidence) -> Params:
        counts = SURE_AS * table_of(confusion)
        return self.m_step(Stats(counts, evidence), self.even_state(confusion.shape[1]))

    def log_density(self, params: Params) -> float:
        return -params.divergence

    def progress(self, stats: Stats, params: Params) -> Step:
        """The prior of the class shares is in the divergence already."""
        bound = stats.evidence.log_likelihood - params.divergence
        return super().progress(stats, params)._replace(objective=bound)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        average = pooled(stats) + self._average_prior(len(params.state.log_prior))
        more: Params = with_newcomer(params, average)
        return more

    def confusion(self, params: Params) -> Floats:
        return mean_matrices(params.pseudo_counts)


METHODS = (
    Method(
        "ibcc",
        IBCC,
        "Dawid-Skene with a belief about every confusion matrix; variational Bayes.",
        "Kim and Ghahramani, Bayesian Classifier Combination (2012)",
    ),
)
