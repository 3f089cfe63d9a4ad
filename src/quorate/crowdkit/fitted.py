"""GLAD, MACE and KOS: each is a model of Quorate's, fitted to all votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from quorate import models
from quorate.crowdkit.aggregator import Aggregator, WithProbas, found, found_series
from quorate.crowdkit.crowd import Crowd
from quorate.crowdkit.learning import learned, of_all
from quorate.errors import DataError, UsageError, require_choice, require_number
from quorate.kernels import Floats
from quorate.models import mace

STRATEGY_PRIOR = 10.0  # Crowd-Kit's pseudo-count of each label of a worker who spams
LEAST = 1e-6  # pseudo-count of MACE
SETTLED = 1e-12  # change of MACE's objective, relatively, that is little more than rounding


@dataclass(eq=False)
class GLAD(WithProbas):
    """An ability for each worker, a difficulty for each task (`quorate.GLAD`).

    ``alphas_[worker]`` are abilities, ``betas_[task]`` logarithms of easiness, and `loss_history_`
    is the log-likelihood of votes and parameters, by vote, iteration by iteration.
    """

    alphas_: Any = found_series("alpha")
    betas_: Any = found_series("beta")
    priors_: Any = found_series("prior")
    loss_history_: Any = found(list)

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True
    labels_priors: Any = None
    alphas_priors_mean: Any = None
    betas_priors_mean: Any = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2

    def fit(self, data: Any) -> Self:
        """Learn from votes."""
        for option in ("m_step_max_iter", "m_step_tol"):
            self.refuse(option, "its M-step is in closed form")
        priors = self.labels_priors
        shares = "uniform" if priors is None else _shares(priors)
        crowd = Crowd.of(data, in_order=True, classes=None if priors is None else priors.index)
        if crowd.is_empty:
            return self.nothing()
        model = models.GLAD(
            ability_prior=(self._mean("alphas_priors_mean"), 1.0),
            easiness_prior=(self._mean("betas_priors_mean"), 1.0),
            prior=shares,
            tol=of_all(self.tol, crowd.labels),
            ties="first",
        )
        learnt = learned(model, crowd.labels, self.n_iter, visible=not self.silent)
        self.labels_ = crowd.answers(learnt.codes)
        self.probas_ = crowd.by_class(learnt.posterior).rename_axis(columns="variable")
        self.alphas_ = pd.Series(learnt.params.ability, crowd.workers, name="alpha")
        self.betas_ = pd.Series(-np.log(learnt.per_task["difficulty"]), crowd.tasks, name="beta")
        self.priors_ = pd.Series(learnt.params.prior, crowd.classes.rename(None), name="prior")
        self.loss_history_ = learnt.objective
        return self

    def _mean(self, option: str) -> float:
        """The mean of a prior, which is the same for all."""
        given = getattr(self, option)
        means = np.unique(1.0 if given is None else np.asarray(given, dtype=float))
        if len(means) != 1:
            raise UsageError(f"{option} has several means: one prior here is the same for all.")
        return float(means[0])


def _shares(priors: Any) -> Floats:
    if not isinstance(priors, pd.Series) or not priors.index.is_unique:
        raise UsageError("labels_priors is a Series of shares indexed by label, with one of each.")
    shares = priors.to_numpy(dtype=float)
    if not ((shares >= 0).all() and 0 < shares.sum() < np.inf):
        raise UsageError("labels_priors has a share that is missing, negative, or not a number.")
    return np.asarray(shares / shares.sum())


@dataclass(eq=False)
class MACE(WithProbas):
    """Workers who know the truth or spam (`quorate.MACE`), from the vote on.

    ``spamming_[worker]`` has the weights of spamming and of knowing, ``thetas_[worker, label]`` of
    each label when spamming; workers and labels are in the order in which they first appear.
    """

    spamming_: Any = found(lambda: np.empty((0, 2)))
    thetas_: Any = found(lambda: np.empty((0, 0)))
    theta_priors_: Any = found(lambda: None)
    strategy_priors_: Any = found(lambda: None)

    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    smoothing: float = 0.1
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0

    def fit(self, data: Any) -> Self:
        """Learn from votes."""
        self.refuse("default_noise", "it begins from the vote, and not from random numbers")
        crowd = Crowd.of(data)
        model = self._model()
        if crowd.is_empty:
            return self.nothing()
        learnt = learned(model, crowd.labels, self.n_iter, visible=self.verbose > 0)
        self.labels_ = crowd.answers(learnt.codes)
        self.probas_ = crowd.by_class(learnt.posterior).rename_axis(columns=None)
        self.spamming_ = np.exp(model.log_shares(learnt.params.competence))[:, ::-1]
        self.thetas_ = np.exp(model.log_shares(learnt.params.strategy))
        self.theta_priors_ = self.strategy_priors_ = None
        if self.method == "vb":
            self.theta_priors_ = np.tile([self.alpha, self.beta], (len(crowd.workers), 1))
            self.strategy_priors_ = np.full_like(self.thetas_, STRATEGY_PRIOR)
        return self

    def _model(self) -> models.MACE:
        require_choice("method", self.method, ("vb", "em"))
        if self.method == "em":
            for option in ("alpha", "beta"):
                self.refuse(option, "method='em' has no prior")
            require_number("smoothing", self.smoothing, at_least=LEAST)
            even = (self.smoothing, self.smoothing)
            return PlainMACE(
                competence_prior=even, strategy_prior=self.smoothing, tol=SETTLED, ties="first"
            )
        self.refuse("smoothing", "method='vb' has priors in its place")
        prior = (self.beta, self.alpha)
        return models.MACE(
            competence_prior=prior, strategy_prior=STRATEGY_PRIOR, tol=SETTLED, ties="first"
        )


@dataclass(frozen=True, eq=False)
class PlainMACE(models.MACE):
    """MACE by maximum likelihood: a pseudo-count is added to expected counts, as to others'."""

    is_bound: ClassVar[bool] = False

    def log_shares(self, pseudo_counts: Floats) -> Floats:
        log: Floats = np.log(pseudo_counts / pseudo_counts.sum(axis=1, keepdims=True))
        return log

    def log_density(self, params: mace.Params) -> float:
        parts = (params.competence, params.strategy)
        return float(sum(self.strategy_prior * self.log_shares(part).sum() for part in parts))


@dataclass(eq=False)
class KOS(Aggregator):
    """Messages between tasks and workers, for two labels (`quorate.KOS`)."""

    n_iter: int = 100
    random_state: int = 0

    def fit(self, data: Any) -> Self:
        """Learn from votes."""
        crowd = Crowd.of(data, in_order=True)
        if crowd.is_empty:
            return self.nothing()
        if len(crowd.classes) != 2:
            raise DataError(
                f"KOS is for two labels, and there are {len(crowd.classes)}: quorate.KOS takes"
                " more, if they have an order."
            )
        model = models.KOS(seed=self.random_state, ties="first")
        self.labels_ = crowd.answers(learned(model, crowd.labels, self.n_iter).codes)
        return self
