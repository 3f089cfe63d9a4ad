"""MACE: each worker either knows the truth or spams.

D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, "Learning Whom to Trust with MACE" (NAACL-HLT
2013). On each task a worker knows the truth with probability ``competence``, and says it; else the
label is drawn from the worker's own ``strategy``, whatever the truth. Of the paper's two ways to
learn, this is variational Bayes, with a Beta prior on the one and a symmetric Dirichlet prior on
the other; it starts from the vote rather than from the best of many random starts.

The table of log weights has a row for each (worker, label) and two columns: how likely the worker
is to say the label when it is wrong (by spamming only), and when it is right (either way).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate import kernels
from quorate.errors import UsageError, require_number
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import EM, Params, Stats, Step, dense

LEAST_PSEUDO_COUNT = 1e-6
SURE_AS = 100.0  # an `init` counts as so many labels
FEW_CLASSES = 8  # so few that a column for each truth is faster than going label by label


@dataclass(frozen=True, eq=False)
class Mace(EM):
    """Competences and spamming strategies by variational Bayes; the objective is its bound.

    ``params.concentration[worker]`` holds the posterior's pseudo-counts: of knowing, of spamming,
    and of each class when spamming.

    Options:
        competence_prior: (a, b) of the Beta prior on how often a worker knows the truth.
        strategy_prior: the pseudo-count of each class when a worker spams.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> result = quorate.fit(quorate.Mace(), labels)
        >>> result.model.competence(result.params).round(2)
        array([0.81, 0.81, 0.23])
    """

    competence_prior: tuple[float, float] = (0.5, 0.5)
    strategy_prior: float = 1.0
    prior: str | Floats = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.harden != "never" or self.smoothing != 0:
            raise UsageError("MACE takes no harden and no smoothing: it has priors of its own.")
        for parameter in self.competence_prior:
            require_number("competence_prior", parameter, at_least=LEAST_PSEUDO_COUNT)
        require_number("strategy_prior", self.strategy_prior, at_least=LEAST_PSEUDO_COUNT)

    def competence(self, params: Params) -> Floats:
        """The share of a worker's labels that are given knowingly, as the posterior expects it."""
        know, spam = params.concentration[:, :2].T
        share: Floats = know / (know + spam)
        return share

    # E-step: the sum over who spams where.

    def log_joint(self, block: Labels, params: Params) -> Floats:
        if block.n_classes <= FEW_CLASSES:
            joint = block.pairs.gather(_by_truth(params.skill, block.n_classes))
            joint += params.log_prior
            return joint
        wrong, right = block.said.gather(params.skill).T
        votes = kernels.weighted_votes(block.indptr, block.label, right - wrong, block.n_classes)
        votes += kernels.task_sums(block.indptr, wrong)[:, None]
        votes += params.log_prior
        return votes

    def count(self, block: Labels, posterior: Floats) -> Floats | Rows:
        """How often each worker's each label is right, and how often wrong; with few classes, of
        which truth each was said, which takes less time to count."""
        if block.n_classes <= FEW_CLASSES:
            return block.pairs.scatter(posterior)
        belief = kernels.belief_in_labels(block.indptr, block.label, posterior)
        return block.said.scatter(np.stack([belief, 1 - belief], axis=1))

    # M-step: the posteriors of competence and strategy.

    def estimate(self, stats: Stats, params: Params | None) -> Params:
        counts = _right_or_wrong(stats)
        if self.worker_prior is not None:
            counts = counts + _right_and_wrong(self.worker_prior)
        right, wrong = counts.T
        spam = right / (1 + len(stats.classes))  # at first, knowing is as likely as spamming
        if params is not None:
            spam = right * np.exp(params.skill[:, 0] - params.skill[:, 1])
        given = np.stack([right - spam, spam + wrong], axis=1).reshape(-1, len(stats.classes), 2)
        return self._weigh(super().estimate(stats._replace(counts=given), params))

    def learn(self, counts: Floats, worker_prior: Floats | None) -> Floats:
        """The posteriors' pseudo-counts from ``counts[worker, label]`` of labels that were given
        knowingly, and spamming; what is known from before is among them."""
        know, spam = counts.transpose(2, 0, 1)
        a, b = self.competence_prior
        return np.column_stack(
            [a + know.sum(axis=1), b + spam.sum(axis=1), self.strategy_prior + spam]
        )

    def _weigh(self, params: Params) -> Params:
        """The parameters with the weights that follow from the posterior in place of skill."""
        competence, strategy = params.skill[:, :2], params.skill[:, 2:]
        know, spam = kernels.mean_log(competence).T[:, :, None]
        wrong = spam + kernels.mean_log(strategy)
        right = np.logaddexp(know, wrong)
        divergence = kernels.dirichlet_divergence(
            competence, np.array(self.competence_prior)
        ) + kernels.dirichlet_divergence(strategy, self.strategy_prior)
        return params._replace(
            skill=np.stack([wrong.ravel(), right.ravel()], axis=1),
            concentration=params.skill,
            divergence=divergence,
        )

    def log_skill_prior(self, params: Params) -> float:
        known = 0.0
        if self.worker_prior is not None:
            known = float(np.sum(_right_and_wrong(self.worker_prior) * params.skill[:, ::-1]))
        return known - params.divergence

    def progress(self, stats: Stats, params: Params) -> Step:
        """The objective is a bound of the likelihood, which itself is out of reach."""
        return super().progress(stats, params)._replace(log_likelihood=None)

    # How matrices relate.

    def start(self, labels: Labels) -> Params | None:
        params = super().start(labels)
        return None if params is None else self._weigh(params)

    def skill_from(self, confusion: Floats) -> Floats:
        """A spammer says what is said of the other truths; the rest of the diagonal is knowing."""
        n_classes = confusion.shape[1]
        right = np.einsum("wll->wl", confusion)
        spam = (confusion.sum(axis=1) - right) / max(n_classes - 1, 1)
        know = np.maximum(right - spam, 0) / n_classes
        counts = SURE_AS * np.stack([know, spam], axis=2)
        return self.learn(counts, None)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        nothing = self.learn(np.zeros((1, len(params.log_prior), 2)), None)
        average = nothing + (params.concentration - nothing).sum(axis=0)
        return self._weigh(params._replace(skill=np.concatenate([params.concentration, average])))

    def confusion(self, params: Params) -> Floats:
        """What the posterior expects."""
        know = self.competence(params)[:, None, None]
        strategy = params.concentration[:, 2:]
        strategy = strategy / strategy.sum(axis=1, keepdims=True)
        mean: Floats = know * np.eye(strategy.shape[1]) + (1 - know) * strategy[:, None, :]
        return mean

    def history(self, stats: Stats, params: Params) -> Floats:
        """Wrong labels are spread over the truths that they may have had by the classes' shares."""
        n_classes = len(params.log_prior)
        right, wrong = _right_or_wrong(stats).reshape(-1, n_classes, 2).transpose(2, 0, 1)
        others = params.prior[:, None] * (1 - np.eye(n_classes))  # [truth, label]
        others /= np.maximum(others.sum(axis=0), np.finfo(float).tiny)
        counts: Floats = right[:, None, :] * np.eye(n_classes) + wrong[:, None, :] * others
        return counts

    def pool(self, counts: Floats) -> Floats:
        pooled: Floats = counts.sum(axis=0, keepdims=True)
        return pooled


def _by_truth(skill: Floats, n_classes: int) -> Floats:
    """The weights in a column for each truth: that of a right label, or of a wrong one."""
    wrong, right = skill.reshape(-1, n_classes, 2).transpose(2, 0, 1)[..., None]
    table: Floats = np.where(np.eye(n_classes, dtype=bool), right, wrong)
    return table.reshape(-1, n_classes)


def _right_or_wrong(stats: Stats) -> Floats:
    """For each (worker, label), how often it was right and how often wrong."""
    counts: Floats = dense(stats.counts)
    n_classes = len(stats.classes)
    if n_classes > FEW_CLASSES:
        return counts
    by_label = counts.reshape(-1, n_classes, n_classes)
    right = np.einsum("wll->wl", by_label)
    return np.stack([right.ravel(), (by_label.sum(axis=2) - right).ravel()], axis=1)


def _right_and_wrong(counts: Floats) -> Floats:
    """For each (worker, label), how often it was right and how often wrong."""
    right = np.einsum("wll->wl", counts)
    return np.stack([right.ravel(), (counts.sum(axis=1) - right).ravel()], axis=1)
