"""Hierarchical Dawid-Skene: workers' confusion matrices are drawn around the crowd's.

Every row of a worker's confusion matrix has a Dirichlet prior whose mean is the same row of the
crowd's matrix M and whose precision is kappa: the number of labels that the crowd's matrix counts
as. A worker with few labels is taken for one of the crowd, and one with many for what the labels
say. This is the partial pooling of S. Paun, B. Carpenter, J. Chamberlain, D. Hovy, U. Kruschwitz
and M. Poesio, "Comparing Bayesian Models of Annotation" (TACL 2018), who have a normal prior of
log-odds and sample; here the posterior of the rows is approximated by variational Bayes, as in
IBCC: the E-step uses the mean logarithms psi(C + kappa M) - psi(sum) of rows with counts C.

M and kappa are learned too (empirical Bayes), by the fixed-point iteration of T. P. Minka,
"Estimating a Dirichlet Distribution" (2000). Given M, labels of a worker are draws from an urn:
each is drawn from M, or as one that came before. Only draws from M tell of M. Their expected
number is kappa M (psi(C + kappa M) - psi(kappa M)), added up over workers, so that one who labels
very much does not make the crowd's matrix alone; M is the shares of these draws, with pseudo-counts
that expect the right label. No step lets the bound of the likelihood fall.

The tables are those of Dawid-Skene: a row for each (worker, label), a column for each truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.model import Method, Room, by_worker, dense
from quorate.models import dirichlet
from quorate.models.dawid_skene import (
    ConfusionEM,
    by_label_and_truth,
    mean_matrices,
    table_of,
    with_newcomer,
)
from quorate.models.em import INIT, EMState, Evidence, Stats
from quorate.options import option

LEAST_PSEUDO_COUNT = 1e-6
SURE_AS = 100.0  # the number of labels that each row of an `init` counts as


@by_worker("log_confusion", "pseudo_counts")
class Params(NamedTuple):
    """Tables ``[worker * n_classes + label, truth]``: ``pseudo_counts`` of the posterior of each
    row of a confusion matrix, and ``log_confusion``, the mean logarithms under it; the ``crowd``'s
    matrix ``[label, truth]`` and ``kappa``, which make the prior."""

    log_confusion: Floats
    pseudo_counts: Floats
    crowd: Floats
    kappa: float
    state: EMState

    @property
    def prior(self) -> Floats:
        return self.state.prior


@dataclass(frozen=True, eq=False)
class Hierarchical(ConfusionEM[Params, Stats]):
    """Confusion matrices drawn around the crowd's, by variational and empirical Bayes.

    `worker_prior` counts as labels of its worker.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.Hierarchical(kappa=8), labels)
        >>> result.confusion[2].round(2)
        array([[0.71, 0.29],
               [0.12, 0.88]])
    """

    is_bound: ClassVar[bool] = True

    kappa: float | None = option(
        None,
        "The number of labels that the crowd's matrix counts as in each row of a worker's; by"
        " default it is found.",
        at_least=LEAST_PSEUDO_COUNT,
    )
    smoothing: float = option(
        2.0,
        "Pseudo-count of each label in a row of the crowd's matrix.",
        at_least=LEAST_PSEUDO_COUNT,
    )
    diagonal: float = option(
        4.0, "As many times more pseudo-counts of the right label there.", at_least=0
    )
    prior_smoothing: float | None = option(
        1.0,
        "Pseudo-count of every class for the class prior.",
        at_least=0,
        only_with={"prior": "estimated"},
    )
    init: Any = option("vote", INIT)

    def room(self, n_workers: int, n_classes: int) -> Room:
        matrix = n_classes**2
        return Room(2 * matrix, matrix, 2 * matrix)

    # M-step: the crowd's matrix, kappa, and with them the posterior of each worker's rows.

    def m_step(self, stats: Stats, state: EMState) -> Params:
        """At first the crowd's matrix is the shares of all labels together."""
        counts = self._counts(stats)
        kappa = self.kappa or dirichlet.FIRST_PRECISION
        return self._learn(counts, self._crowd(counts.sum(axis=0)), kappa, state)

    def estimate(self, stats: Stats, params: Params) -> Params:
        state = self.next_state(stats.evidence.classes, params.state)
        return self._learn(self._counts(stats), params.crowd, params.kappa, state)

    def _learn(self, counts: Floats, crowd: Floats, kappa: float, state: EMState) -> Params:
        draws = dirichlet.prior_draws(counts, dirichlet.same_for_all(kappa * crowd))
        crowd = self._crowd(draws.expected)
        kappa = self.kappa or dirichlet.next_precision(draws)
        rows = dirichlet.row_posterior(counts, dirichlet.same_for_all(kappa * crowd))
        return Params(rows.log_rows, rows.pseudo_counts, crowd, kappa, state)

    def _counts(self, stats: Stats) -> Floats:
        """``[worker, label, truth]``, what is known from before among them."""
        counts = by_label_and_truth(dense(stats.counts))
        known = self.worker_prior
        return counts if known is None else counts + known.transpose(0, 2, 1)

    def _crowd(self, draws: Floats) -> Floats:
        """M as ``[label, truth]``: the shares of the labels drawn from it, and the pseudo-counts
        of its own prior."""
        crowd: Floats = draws + self._pseudo_draws(len(draws))
        crowd /= crowd.sum(axis=0)
        return crowd

    def _pseudo_draws(self, n_classes: int) -> Floats:
        return self.smoothing * (1 + self.diagonal * np.eye(n_classes))

    def log_density(self, params: Params) -> float:
        density = kernels.weighted_log(self._pseudo_draws(len(params.crowd)), params.crowd)
        if self.kappa is None:
            density += dirichlet.log_density_of_precision(params.kappa)
        if self.worker_prior is not None:
            density += float(np.sum(table_of(self.worker_prior) * params.log_confusion))
        prior = params.kappa * params.crowd
        posterior, log_rows = map(by_label_and_truth, (params.pseudo_counts, params.log_confusion))
        return density - dirichlet.row_divergence(posterior, log_rows, lambda some: prior)

    # How confusion matrices relate.

    def from_confusion(self, confusion: Floats) -> Params:
        n_classes = confusion.shape[1]
        counts = SURE_AS * table_of(confusion)
        evidence = Evidence(np.zeros(n_classes))
        return self.m_step(Stats(counts, evidence), self.even_state(n_classes))

    def newcomer(self, stats: Stats, params: Params) -> Params:
        """One of whom nothing is known: the crowd's matrix, as sure as kappa is."""
        more: Params = with_newcomer(params, params.kappa * params.crowd)
        return more

    def confusion(self, params: Params) -> Floats:
        return mean_matrices(params.pseudo_counts)


METHODS = (
    Method(
        "hierarchical",
        Hierarchical,
        "Confusion matrices drawn around the crowd's own; variational and empirical Bayes.",
        "Paun et al., Comparing Bayesian Models of Annotation (2018)",
    ),
)
