"""Bayesian one-coin: each worker is right with one probability, drawn around the crowd's.

The accuracy of a worker has a Beta(kappa m, kappa (1 - m)) prior: m is the crowd's accuracy, and
kappa the number of labels that it counts as. A wrong label is any of the others, evenly, and so are
the classes. With one accuracy each, as little as possible is learned of workers, and nothing of the
classes: it is for few labels, and for tasks whose classes have nothing in common, such as the
options of a quiz.

The posterior of an accuracy is approximated by variational Bayes: with r right and w wrong labels
expected it is Beta(kappa m + r, kappa (1 - m) + w), and the E-step uses its mean logarithms,
digammas. m and kappa are learned (empirical Bayes) as the crowd's matrix and kappa of hierarchical
Dawid-Skene, by the fixed-point iteration of T. P. Minka, "Estimating a Dirichlet Distribution"
(2000).

A right label never weighs less than a wrong one. Of a worker who seems worse than chance, the
posterior is the one with the highest bound of the likelihood among those by which a label weighs
nothing: Beta(kappa m + r + x, kappa (1 - m) + w - x) for some x. So nobody's label counts against
the class that it names, as it may where accuracies are free. The bound never falls: steps of m and
kappa that would lower it, as they can where somebody is at chance, are not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Method, Room, by_worker, dense
from quorate.models import dirichlet
from quorate.models.em import EM, INIT, EMState, Evidence, Stats
from quorate.models.one_coin import (
    one_coin_confusion,
    over_classes,
    right_and_wrong,
)
from quorate.options import option

PSEUDO_DRAWS = np.array([4.0, 2.0])  # right and wrong labels of the crowd before any vote
LEAST_PSEUDO_COUNT = 1e-6
SURE_AS = 100.0  # the number of labels that an `init` counts as
MOST_SECANTS, NEAR_ZERO = 40, 1e-13
MADE = 20  # numbers for each worker on the way to the next parameters


@by_worker("log_weights", "pseudo_counts")
class Params(NamedTuple):
    """Columns for right and wrong labels: ``pseudo_counts[worker, 2]`` of the posterior of an
    accuracy, and ``log_weights[worker, 2]``, the mean logarithms of the probability of a label; the
    ``crowd``'s accuracy and its complement, and ``kappa``, which make the prior."""

    log_weights: Floats
    pseudo_counts: Floats
    crowd: Floats
    kappa: float
    state: EMState

    @property
    def prior(self) -> Floats:
        return self.state.prior


@dataclass(frozen=True, eq=False)
class OneCoinBayes(EM[Params, Stats]):
    """Accuracies drawn around the crowd's, none worse than chance; variational and empirical Bayes.

    `worker_prior` counts as labels of its worker.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.OneCoinBayes(kappa=8), labels)
        >>> result.model.accuracy(result.params).round(2)
        array([0.76, 0.76, 0.69])
    """

    is_bound: ClassVar[bool] = True
    guarded: ClassVar[bool] = True  # whether steps that would lower the bound are not taken

    kappa: float | None = option(
        None,
        "The number of labels that the crowd's accuracy counts as in a worker's; by default it is"
        " found.",
        at_least=LEAST_PSEUDO_COUNT,
    )
    prior: Any = option(
        "uniform",
        "Class shares: uniform, estimated, or given, as one share for each class or such as"
        " yes=0.7,no=0.3.",
    )
    prior_smoothing: float | None = option(
        None,
        "Pseudo-count of every class for the class prior; by default none.",
        at_least=0,
        only_with={"prior": "estimated"},
    )
    init: Any = option("vote", INIT)

    def accuracy(self, params: Params) -> Floats:
        """The share of a worker's labels that are right, as the posterior expects it."""
        right, wrong = params.pseudo_counts.T
        share: Floats = right / (right + wrong)
        return share

    def room(self, n_workers: int, n_classes: int) -> Room:
        summed = n_classes * (n_classes if n_classes <= kernels.FEW_CLASSES else 2)
        return Room(4, summed, 2 * n_classes + MADE)

    # E-step.

    def log_joint(self, block: Labels, params: Params) -> Floats:
        log_joint = block.sum_right_and_wrong(params.log_weights[:, None, ::-1])
        log_joint += params.state.log_prior
        return log_joint

    def count(self, block: Labels, posterior: Floats, evidence: Evidence) -> Stats:
        """How often each (worker, label) is right and wrong."""
        return Stats(block.count_right_and_wrong(posterior), evidence)

    # M-step: the crowd's accuracy, kappa, and with them the posterior of each worker's.

    def m_step(self, stats: Stats, state: EMState) -> Params:
        """At first the crowd's accuracy is the share of all labels that are right."""
        return self._first(self._said(stats), state)

    def _first(self, said: Floats, state: EMState) -> Params:
        counts = self._with_known(said)
        crowd = _shares(counts.sum(axis=0) + PSEUDO_DRAWS)
        return self._learn(counts, crowd, self.kappa or dirichlet.FIRST_PRECISION, state)

    def estimate(self, stats: Stats, params: Params) -> Params:
        state = self.next_state(stats.evidence.classes, params.state)
        counts = self._with_known(self._said(stats))
        return self._learn(counts, params.crowd, params.kappa, state)

    def _learn(self, counts: Floats, crowd: Floats, kappa: float, state: EMState) -> Params:
        prior = dirichlet.same_for_all(kappa * crowd[:, None])
        draws = dirichlet.prior_draws(counts[:, :, None], prior)
        next_crowd = _shares(draws.expected[:, 0] + PSEUDO_DRAWS)
        next_kappa = self.kappa or dirichlet.next_precision(draws)
        after = self._posterior(counts, next_crowd, next_kappa, state)
        if not self.guarded:
            return after
        before = self._posterior(counts, crowd, kappa, state)
        return max(before, after, key=lambda params: self._bound(counts, params))

    def _posterior(self, counts: Floats, crowd: Floats, kappa: float, state: EMState) -> Params:
        others = max(len(state.log_prior) - 1, 1)
        pseudo_counts, log_weights = no_worse_than_chance(counts + kappa * crowd, others)
        log_weights[:, 1] -= np.log(others)
        log_weights[:, 0] = np.maximum(log_weights[:, 0], log_weights[:, 1])  # despite rounding
        return Params(log_weights, pseudo_counts, crowd, kappa, state)

    def _with_known(self, said: Floats) -> Floats:
        """The counts, with what is known from before."""
        return said if self.worker_prior is None else said + right_and_wrong(self.worker_prior)

    def _said(self, stats: Stats) -> Floats:
        """The expected number of right and of wrong labels of each worker."""
        n_classes = len(stats.evidence.classes)
        by_label = kernels.right_and_wrong(dense(stats.counts), n_classes)
        said: Floats = by_label.reshape(-1, n_classes, 2).sum(axis=1)
        return said

    # The bound.

    def _bound(self, counts: Floats, params: Params) -> float:
        """What the bound owes to the workers, given the counts."""
        fit = float(np.sum(counts * params.log_weights))
        return fit + self._log_density_of_crowd(params) - _divergence(params)

    def _log_density_of_crowd(self, params: Params) -> float:
        density = float(PSEUDO_DRAWS @ np.log(params.crowd))
        if self.kappa is None:
            density += dirichlet.log_density_of_precision(params.kappa)
        return density

    def log_density(self, params: Params) -> float:
        known = 0.0
        if self.worker_prior is not None:
            known = float(np.sum(right_and_wrong(self.worker_prior) * params.log_weights))
        return known + self._log_density_of_crowd(params) - _divergence(params)

    # How confusion matrices relate.

    def from_confusion(self, confusion: Floats) -> Params:
        n_classes = confusion.shape[1]
        right = np.trace(confusion, axis1=1, axis2=2) / n_classes
        counts = SURE_AS * np.stack([right, 1 - right], axis=1)
        return self._first(counts, self.even_state(n_classes))

    def newcomer(self, stats: Stats, params: Params) -> Params:
        """One of whom nothing is known: the crowd's accuracy, as sure as kappa is."""
        new = self._posterior(np.zeros((1, 2)), params.crowd, params.kappa, params.state)
        return params._replace(
            log_weights=np.concatenate([params.log_weights, new.log_weights]),
            pseudo_counts=np.concatenate([params.pseudo_counts, new.pseudo_counts]),
        )

    def confusion(self, params: Params) -> Floats:
        """The posterior mean."""
        return one_coin_confusion(self.accuracy(params), len(params.state.log_prior))

    def history(self, stats: Stats, params: Params) -> Floats:
        return over_classes(self._said(stats), params.prior)


def _divergence(params: Params) -> float:
    """How far the posterior of accuracies is from their prior."""
    others = max(len(params.state.log_prior) - 1, 1)
    mean_log = params.log_weights + np.array([0.0, np.log(others)])
    return dirichlet.divergence(params.pseudo_counts, params.kappa * params.crowd, log=mean_log)


def no_worse_than_chance(pseudo_counts: Floats, others: int) -> tuple[Floats, Floats]:
    """Beta posteriors ``[worker, (right, wrong)]`` by which a right label weighs no less than any
    of so many others, and their mean logarithms: counts of wrong labels move to the right where it
    would."""
    mean_log = dirichlet.mean_log(pseudo_counts)
    low = np.flatnonzero(_excess(mean_log, others) < 0)
    if not len(low):
        return pseudo_counts, mean_log
    of_low = pseudo_counts[low]

    def moved(x: Floats) -> Floats:
        return of_low + np.stack([x, -x], axis=1)

    x = _root(lambda x: _excess(dirichlet.mean_log(moved(x)), others), of_low[:, 1])
    pseudo_counts = pseudo_counts.copy()
    pseudo_counts[low] = moved(x)
    mean_log[low] = dirichlet.mean_log(moved(x))
    return pseudo_counts, mean_log


def _excess(mean_log: Floats, others: int) -> Floats:
    """By how much more a right label weighs than a wrong one: the difference of geometric means,
    but for a factor, which grows almost in a line with what moves to the right."""
    right, wrong = np.exp(mean_log).T
    excess: Floats = others * right - wrong
    return excess


def _root(rising: Callable[[Floats], Floats], most: Floats) -> Floats:
    """Where rising functions are zero, between 0 and `most`, by regula falsi (Illinois)."""
    ends = np.stack([np.zeros_like(most), most])
    values = np.stack([rising(ends[0]), rising(ends[1])])
    each, before = np.arange(len(most)), np.full(len(most), -1)
    for _ in range(MOST_SECANTS):
        middle = ends[0] - values[0] * (ends[1] - ends[0]) / (values[1] - values[0])
        value = rising(middle)
        end = (value > 0).astype(np.intp)
        values[1 - end, each] *= np.where(end == before, 0.5, 1.0)
        ends[end, each], values[end, each], before = middle, value, end
        if np.abs(value).max() < NEAR_ZERO:
            break
    root: Floats = middle
    return root


def _shares(draws: Floats) -> Floats:
    shares: Floats = draws / draws.sum()
    return shares


METHODS = (
    Method(
        "one-coin-bayes",
        OneCoinBayes,
        "One accuracy for each worker, drawn around the crowd's and never worse than chance.",
    ),
)
