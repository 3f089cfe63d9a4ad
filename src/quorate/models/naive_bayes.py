"""Naive Bayes with experts: confusion matrices for the workers, and rates for the tasks' features.

Y. Jin and L. Zhang, "Multiple Experts with Binary Features" (2010), whose sections and equations
are named below. It is Dawid-Skene with one more kind of evidence: a task of a class has each
feature with a rate of its own, independently of the other features and of what the workers say.
Tasks that nobody labelled are known by their features alone: what is learned is a classifier.

Two things go beyond the report, both because real features are not independent. Taken at their
word, a hundred that all say the same count a hundred times, and drown the workers: `feature_weight`
multiplies their log-likelihood. And tasks without labels are classified by *unmixed* rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from quorate.errors import UsageError
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import Method, by_worker, dense
from quorate.models.dawid_skene import ConfusionEM
from quorate.models.em import INIT, EMState, Evidence
from quorate.options import option

AUTO: Literal["auto"] = "auto"


@by_worker("log_confusion")
class Params(NamedTuple):
    """``log_confusion[worker * n_classes + label, truth]``, and where tasks have features the rates
    ``[feature, class]``, as they are counted and unmixed."""

    log_confusion: Floats
    state: EMState
    feature_rate: Floats | None = None
    unmixed_rate: Floats | None = None

    @property
    def prior(self) -> Floats:
        return self.state.prior


class FeatureCounts(NamedTuple):
    """``present[feature, class]``: the tasks that have a feature; ``overlap[class, class]``: the
    sum of the products of the posterior, class by class."""

    present: Floats | Rows
    overlap: Floats


@by_worker("counts")
class Stats(NamedTuple):
    """``counts[worker * n_classes + label, truth]``, and those of the features if there are any."""

    counts: Floats | Rows
    evidence: Evidence
    features: tuple[FeatureCounts, ...] = ()


@dataclass(frozen=True, eq=False)
class NaiveBayes(ConfusionEM[Params, Stats]):
    """Dawid-Skene that sees binary features of the tasks as well, also of those without labels.

    The objective is the log-likelihood of votes and features, the latter's at their weight, plus
    the prior's terms; it never falls. Tasks without labels are classified, not learned from.

    Examples:
        >>> import quorate
        >>> from scipy.sparse import csr_array
        >>> features = csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]))
        >>> task, worker, label = [0, 0, 1, 2, 2, 3], [0, 1, 0, 0, 1, 1], [0, 0, 0, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label, n_tasks=5, features=features)
        >>> result = quorate.fit(quorate.NaiveBayes(feature_weight=1.0), labels)
        >>> result.answers  # nobody labelled the last task
        array([0, 0, 1, 1, 1], dtype=int32)
        >>> result.params.feature_rate.round(2)  # [feature, class]
        array([[0.92, 0.08],
               [0.08, 0.92]])
    """

    learns_from_features: ClassVar[bool] = True

    smoothing: float = option(
        0.2,
        "Pseudo-count added to every count of the M-step: of labels, of classes, and of tasks with"
        " and without a feature. Above 0, or one feature could rule a class out; 1 is the"
        " report's.",
        above=0,
    )
    feature_weight: float | Literal["auto"] = option(
        AUTO,
        "What the features' log-likelihood is multiplied by: 1 is the report's model, 0 leaves the"
        " features out; auto is found from held-out votes, without gold.",
        at_least=0,
    )
    init: Any = option("vote", INIT)

    def start(self, shape: Labels) -> Params | None:
        if self.feature_weight == AUTO and shape.features is not None:
            raise UsageError(
                "feature_weight has to be a number here: quorate.weigh_features finds one."
            )
        params = super().start(shape)
        if params is None or shape.features is None:
            return params
        even = np.full((shape.n_features, shape.n_classes), 0.5)  # tells nothing yet
        return params._replace(feature_rate=even, unmixed_rate=even)

    def log_joint(self, block: Labels, params: Params) -> Floats:
        log_joint = super().log_joint(block, params)  # section 4.3, but for the features
        if block.traits is not None and params.feature_rate is not None:
            present, absent = np.log(params.feature_rate), np.log1p(-params.feature_rate)
            log_features = block.traits.gather(present - absent)  # Eq. 1: as if all were absent,
            log_features += absent.sum(axis=0)  # and what those that are present change
            log_joint += self._weight * log_features
        return log_joint

    def posterior(self, block: Labels, params: Params, local: Floats) -> Floats:
        belief = super().posterior(block, params, local)
        if block.features is None or block.has_evidence.all():
            return belief
        unmixed = params._replace(feature_rate=params.unmixed_rate)
        return np.where(block.has_evidence[:, None], belief, self.e_step(block, unmixed)[0])

    def count(self, block: Labels, posterior: Floats, evidence: Evidence) -> Stats:
        stats = super().count(block, posterior, evidence)
        if block.traits is None:
            return stats
        learned = posterior * block.has_evidence[:, None]
        counts = FeatureCounts(block.traits.scatter(learned), learned.T @ learned)
        return stats._replace(features=(counts,))

    def m_step(self, stats: Stats, state: EMState) -> Params:
        """Eq. 2 and 3, smoothed as in section 4.4."""
        return self._with_rates(Params(self.learn(stats), state), stats)

    def from_moments(self, confusion: Floats, vote: Stats) -> Params:
        return self._with_rates(self.from_confusion(confusion), vote)

    def _with_rates(self, params: Params, stats: Stats) -> Params:
        """The parameters with the rates of the features, if there are any."""
        if not stats.features:
            return params
        (counts,) = stats.features
        present = dense(counts.present) + self.smoothing
        tasks = stats.evidence.classes + 2 * self.smoothing
        return params._replace(
            feature_rate=present / tasks,  # Eq. 4, smoothed as in section 4.4
            unmixed_rate=self._unmix(present, tasks, counts.overlap),
        )

    def _unmix(self, present: Floats, tasks: Floats, overlap: Floats) -> Floats:
        """Rates that are not blurred where the posterior q is unsure.

        A task of class m adds q(n) to the counts of class n. So what is counted for n is to be
        expected to be the sum over m of ``overlap[n, m] * rate[m]``, where overlap is the sum of
        q(n) q(m) over the tasks, if q is what it says it is. That is solved for the rates. Where
        all answers are sure, overlap is diagonal and the rates are those of Eq. 4.
        """
        least = self.smoothing / tasks
        pseudo = 2 * self.smoothing * np.eye(len(tasks))
        rate = np.linalg.solve(overlap + pseudo, present.T).T
        unmixed: Floats = np.clip(rate, least, 1 - least)
        return unmixed

    def log_density(self, params: Params) -> float:
        """The pseudo-counts of features weigh what the features do: so Eq. 4 is the maximum at any
        weight."""
        log_density = super().log_density(params)
        if params.feature_rate is not None:
            rate = params.feature_rate
            log_rates = float(np.sum(np.log(rate) + np.log1p(-rate)))
            log_density += self._weight * self.smoothing * log_rates
        return log_density

    @property
    def _weight(self) -> float:
        return 0.0 if isinstance(self.feature_weight, str) else self.feature_weight


METHODS = (
    Method(
        "naive-bayes",
        NaiveBayes,
        "Dawid-Skene that learns from the tasks' binary features too: also a classifier.",
        "Jin and Zhang, Multiple Experts with Binary Features (2010)",
    ),
)
