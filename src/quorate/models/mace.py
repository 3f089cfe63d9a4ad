"""MACE: each worker either knows the truth or spams.

D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, "Learning Whom to Trust with MACE" (NAACL-HLT
2013). On each task a worker spams (S = 1) with probability 1 - theta. A worker who does not says
the truth T; one who does draws the label A from a multinomial xi of its own, whatever the truth.
The likelihood is the sum over truths and spamming of ``P(T) P(S; theta) P(A | S, T; xi)``. Of the
paper's two ways to learn, this is variational Bayes, with a Beta prior on ``competence`` (theta)
and a symmetric Dirichlet prior on ``strategy`` (xi); it starts from the vote rather than from the
best of many random starts.

The table of log weights has a row for each (worker, label) and two columns: how likely the worker
is to say the label when it is wrong (by spamming only), and when it is right (either way).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from quorate import chunks, kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Method, Room, by_worker, dense
from quorate.models import dirichlet
from quorate.models.em import EM, INIT, EMState, Evidence
from quorate.models.em import Stats as Stats
from quorate.options import option

LEAST_PSEUDO_COUNT = 1e-6
SURE_AS = 100.0  # the number of labels that an `init` counts as


@by_worker("log_weights", "competence", "strategy")
class Params(NamedTuple):
    """The posterior's pseudo-counts, ``competence[worker]`` of knowing and of spamming, and
    ``strategy[worker, label]`` of each label when spamming; ``log_weights[worker * n_classes +
    label]`` of a wrong and of a right label, which follow from them."""

    log_weights: Floats
    competence: Floats
    strategy: Floats
    state: EMState

    @property
    def prior(self) -> Floats:
        return self.state.prior


@dataclass(frozen=True, eq=False)
class MACE(EM[Params, Stats]):
    """Competences and spamming strategies by variational Bayes; the objective is its bound.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.MACE(), labels)
        >>> result.model.competence(result.params).round(2)
        array([0.81, 0.81, 0.23])
    """

    is_bound: ClassVar[bool] = True

    competence_prior: tuple[float, float] = option(
        (0.5, 0.5),
        "The numbers a and b of the Beta prior on how often a worker knows the truth.",
        at_least=LEAST_PSEUDO_COUNT,
        parts=("a", "b"),
    )
    strategy_prior: float = option(
        1.0, "Pseudo-count of each class when a worker spams.", at_least=LEAST_PSEUDO_COUNT
    )
    prior: Any = option(
        "uniform",
        "Class shares: uniform, as in the paper, estimated, or given, as one share for each class"
        " or such as yes=0.7,no=0.3.",
    )
    prior_smoothing: float | None = option(
        None,
        "Pseudo-count of every class for the class prior; by default none.",
        at_least=0,
        only_with={"prior": "estimated"},
    )
    init: Any = option("vote", INIT)

    def competence(self, params: Params) -> Floats:
        """The share of a worker's labels that are given knowingly, as the posterior expects it."""
        know, spam = params.competence.T
        share: Floats = know / (know + spam)
        return share

    def room(self, n_workers: int, n_classes: int) -> Room:
        held, by_label = 3 * n_classes + 2, 2 * n_classes
        summed = n_classes * (n_classes if n_classes <= kernels.FEW_CLASSES else 2)
        return Room(held, summed, 2 * held + by_label)

    # E-step: P(T, A), summed over who spams where.

    def log_joint(self, block: Labels, params: Params) -> Floats:
        by_worker_and_label = params.log_weights.reshape(-1, block.n_classes, 2)
        log_joint = block.sum_right_and_wrong(by_worker_and_label)
        log_joint += params.state.log_prior
        return log_joint

    def count(self, block: Labels, posterior: Floats, evidence: Evidence) -> Stats:
        """How often each (worker, label) is right and wrong."""
        return Stats(block.count_right_and_wrong(posterior), evidence)

    # M-step: the posteriors of competence and strategy.

    def m_step(self, stats: Stats, state: EMState) -> Params:
        """At first, knowing is as likely as spamming with any label."""
        return self._learn(stats, state, lambda right, some: right / (1 + right.shape[1]))

    def estimate(self, stats: Stats, params: Params) -> Params:
        weights = params.log_weights.reshape(*params.strategy.shape, 2)

        def spam(right: Floats, some: slice) -> Floats:
            log_wrong, log_right = weights[some].transpose(2, 0, 1)
            spam: Floats = right * np.exp(log_wrong - log_right)  # P(S = 1 | A, T = A)
            return spam

        return self._learn(stats, self.next_state(stats.evidence.classes, params.state), spam)

    def _learn(
        self, stats: Stats, state: EMState, spam_of: Callable[[Floats, slice], Floats]
    ) -> Params:
        """The posterior from labels that are right and wrong, and how many right ones of some
        workers spam."""
        counts = self._right_and_wrong(stats).reshape(-1, len(state.log_prior), 2)

        def of(some: slice) -> Params:
            right, wrong = counts[some].transpose(2, 0, 1)
            spam = spam_of(right, some)
            return self._posterior(right - spam, spam + wrong, state)

        found = chunks.each(of, counts)
        weights, competence, strategy = (
            np.concatenate([params[field] for params in found]) for field in range(3)
        )
        return Params(weights, competence, strategy, state)

    def _right_and_wrong(self, stats: Stats) -> Floats:
        """``[worker * n_classes + label, (right, wrong)]``, those known from before among them."""
        counts = kernels.right_and_wrong(dense(stats.counts), len(stats.evidence.classes))
        return counts if self.worker_prior is None else counts + _known(self.worker_prior)

    def _posterior(self, know: Floats, spam: Floats, state: EMState) -> Params:
        """Of competence and strategy, from how often each worker gave each label knowingly, and
        spamming: the priors' pseudo-counts and these."""
        a, b = self.competence_prior
        competence = np.stack([a + know.sum(axis=1), b + spam.sum(axis=1)], axis=1)
        return self._weigh(competence, self.strategy_prior + spam, state)

    def log_shares(self, pseudo_counts: Floats) -> Floats:
        """Logarithms of the shares in each row of a posterior: their means."""
        return dirichlet.mean_log(pseudo_counts)

    def _weigh(self, competence: Floats, strategy: Floats, state: EMState) -> Params:
        """The weights of labels under a posterior."""
        log_know, log_spam = self.log_shares(competence).T[:, :, None]
        wrong = log_spam + self.log_shares(strategy)  # P(S = 1) P(A | S = 1)
        right = np.logaddexp(log_know, wrong)  # P(S = 0) + P(S = 1) P(A | S = 1)
        log_weights = np.stack([wrong.ravel(), right.ravel()], axis=1)
        return Params(log_weights, competence, strategy, state)

    def log_density(self, params: Params) -> float:
        known = 0.0
        if self.worker_prior is not None:
            known = float(np.sum(_known(self.worker_prior) * params.log_weights[:, ::-1]))
        return (
            known
            - dirichlet.divergence(params.competence, np.array(self.competence_prior))
            - dirichlet.divergence(params.strategy, self.strategy_prior)
        )

    # How confusion matrices relate.

    def from_confusion(self, confusion: Floats) -> Params:
        """A spammer says what is said of the other truths; the rest of the diagonal is knowing."""
        n_classes = confusion.shape[1]
        right = np.einsum("wll->wl", confusion)
        spam = (confusion.sum(axis=1) - right) / max(n_classes - 1, 1)
        know = np.maximum(right - spam, 0) / n_classes
        return self._posterior(SURE_AS * know, SURE_AS * spam, self.even_state(n_classes))

    def newcomer(self, stats: Stats, params: Params) -> Params:
        competence, strategy = (
            np.concatenate([each, prior + (each - prior).sum(axis=0, keepdims=True)])
            for each, prior in (
                (params.competence, np.array([self.competence_prior])),
                (params.strategy, np.full((1, params.strategy.shape[1]), self.strategy_prior)),
            )
        )
        return self._weigh(competence, strategy, params.state)

    def confusion(self, params: Params) -> Floats:
        """The posterior mean."""
        know = self.competence(params)[:, None, None]
        strategy = params.strategy / params.strategy.sum(axis=1, keepdims=True)
        mean: Floats = know * np.eye(strategy.shape[1]) + (1 - know) * strategy[:, None, :]
        return mean

    def history(self, stats: Stats, params: Params) -> Floats:
        """Wrong labels are spread over the truths that they may have had by the classes' shares."""
        n_classes = len(params.state.log_prior)
        counts = kernels.right_and_wrong(dense(stats.counts), n_classes)
        right, wrong = counts.reshape(-1, n_classes, 2).transpose(2, 0, 1)
        others = params.prior[:, None] * (1 - np.eye(n_classes))  # [truth, label]
        others /= np.maximum(others.sum(axis=0), np.finfo(float).tiny)
        spread: Floats = right[:, None, :] * np.eye(n_classes) + wrong[:, None, :] * others
        return spread


def _known(worker_prior: Floats) -> Floats:
    """``[worker * n_classes + label, (right, wrong)]`` from counts ``[worker, truth, label]``."""
    right = np.einsum("wll->wl", worker_prior)
    return np.stack([right.ravel(), (worker_prior.sum(axis=1) - right).ravel()], axis=1)


METHODS = (
    Method(
        "mace",
        MACE,
        "Each worker knows the truth or spams with a label distribution of its own; variational"
        " Bayes.",
        "Hovy, Berg-Kirkpatrick, Vaswani and Hovy, Learning Whom to Trust with MACE (2013)",
    ),
)
