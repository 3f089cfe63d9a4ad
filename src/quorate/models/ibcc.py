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

import numpy as np

from quorate import kernels
from quorate.errors import UsageError, require_number
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Params, Stats, Step
from quorate.models.dawid_skene import DawidSkene

LEAST_PSEUDO_COUNT = 1e-6
SURE_AS = 100.0  # each row of an `init` counts as so many labels


@dataclass(frozen=True, eq=False)
class Ibcc(DawidSkene):
    """Dirichlet posteriors over confusion rows and class shares; the objective is their bound.

    ``params.concentration`` holds the pseudo-counts of the rows' posterior. `worker_prior` is part
    of the prior of its worker.

    Options:
        smoothing: the prior's pseudo-count for each label in a row of a confusion matrix, and, but
            for `prior_smoothing`, for each class.
        diagonal: how many more the right label has: workers are expected to be better than chance.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.Ibcc(), labels)
        >>> result.confusion[2].round(2)
        array([[0.51, 0.49],
               [0.24, 0.76]])
    """

    smoothing: float = 1.0
    diagonal: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.harden != "never":
            raise UsageError("IBCC has no hard answers: its beliefs are what it learns from.")
        require_number("smoothing", self.smoothing, at_least=LEAST_PSEUDO_COUNT)
        require_number("prior_smoothing", self._prior_smoothing, at_least=LEAST_PSEUDO_COUNT)
        require_number("diagonal", self.diagonal, at_least=0)

    def estimate(self, stats: Stats, params: Params | None) -> Params:
        return self._weigh(super().estimate(stats, params), stats.classes)

    def learn(self, counts: Floats, worker_prior: Floats | None) -> Floats:
        """The pseudo-counts of the rows' posterior: the prior's and the expected ones."""
        by_worker = self._by_worker(counts)
        concentration = by_worker + self._row_prior(by_worker.shape[-1], worker_prior)
        return concentration.reshape(counts.shape)

    def _row_prior(self, n_classes: int, worker_prior: Floats | None) -> Floats:
        prior = np.full((1, n_classes, n_classes), self.smoothing)
        prior += self.diagonal * np.eye(n_classes)
        return prior if worker_prior is None else prior + worker_prior.transpose(0, 2, 1)

    def _weigh(self, params: Params, classes: Floats) -> Params:
        """The parameters with mean logs in place of the pseudo-counts."""
        concentration = params.skill
        rows = self._by_worker(concentration)
        row_prior = self._row_prior(rows.shape[-1], self.worker_prior)
        divergence = kernels.dirichlet_divergence(rows, row_prior, axis=1)
        log_prior = params.log_prior
        if isinstance(self.prior, str) and self.prior == "estimated":
            shares = classes + self._prior_smoothing
            log_prior = kernels.mean_log(shares)
            divergence += kernels.dirichlet_divergence(shares, self._prior_smoothing)
        return params._replace(
            log_prior=log_prior,
            skill=kernels.mean_log(rows, axis=1).reshape(concentration.shape),
            concentration=concentration,
            divergence=divergence,
        )

    def progress(self, stats: Stats, params: Params) -> Step:
        """The bound of the likelihood, which itself is out of reach."""
        bound = stats.log_likelihood - params.divergence
        return super().progress(stats, params)._replace(objective=bound, log_likelihood=None)

    def start(self, labels: Labels) -> Params | None:
        params = super().start(labels)
        return None if params is None else self._weigh(params, np.zeros(labels.n_classes))

    def skill_from(self, confusion: Floats) -> Floats:
        counts = SURE_AS * np.ascontiguousarray(confusion.transpose(0, 2, 1))
        return self.learn(counts.reshape(-1, counts.shape[-1]), self.worker_prior)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        average = super().newcomer(stats, params).skill[len(params.skill) :]
        return params._replace(
            skill=np.concatenate([params.skill, kernels.mean_log(average, axis=0)]),
            concentration=np.concatenate([params.concentration, average]),
        )

    def confusion(self, params: Params) -> Floats:
        """What the posterior expects."""
        by_label = self._by_worker(params.concentration)
        mean: Floats = by_label / by_label.sum(axis=1, keepdims=True)
        return mean.transpose(0, 2, 1)
