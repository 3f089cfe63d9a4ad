"""Ordinal: each worker has thresholds on the scale of the grades.

The truth of a task is a grade c of K in order, and worker j says k with a probability that falls
with the square of the distance, and leans to the labels that the worker likes:

    P(label = k | truth = c, worker j)  proportional to  exp(leaning_jk - precision_j (k - c)^2 / 2)

Between the labels k - 1 and k the odds change at the threshold k - 1/2 - (leaning_jk -
leaning_j,k-1) / precision_j of the grade. It is the partial credit model of G. N. Masters, "A Rasch
Model for Partial Credit Scoring" (Psychometrika, 1982), with a slope as in E. Muraki, "A
Generalized Partial Credit Model" (Applied Psychological Measurement, 1992), for each worker, as
raters have them in J. M. Linacre, "Many-Facet Rasch Measurement" (1989), here on a truth that is
one of the labels. A worker has K + 1 numbers instead of the K (K - 1) of a confusion matrix.

Workers' numbers are drawn from normal distributions around the crowd's. The crowd has no leanings:
otherwise it could not be told from the grades where its thresholds are; its precision is learned.
The M-step is then a concave problem for each worker, from the same expected counts as those of
Dawid-Skene, which Newton's method solves for all of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from quorate.errors import UsageError
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Method, by_worker, dense
from quorate.models.dawid_skene import by_label_and_truth, by_truth_and_label, table_of
from quorate.models.em import EM, INIT, PRIOR, EMState, Evidence, Stats
from quorate.options import option

MOST_CLASSES = 100
SURE_AS = 100.0  # the number of labels that each row of an `init` counts as
NEWTON_STEPS, HALVINGS, SMALL = 50, 40, 1e-11
FIRST_PRECISION = 1.0  # mean of the crowd's, whose standard deviation is 1


@by_worker("log_confusion", "worker")
class Params(NamedTuple):
    """``log_confusion[worker * n_classes + label, truth]``; the numbers ``worker[worker, number]``,
    which are the leaning to each label, then the precision; and the crowd's ``precision``."""

    log_confusion: Floats
    worker: Floats
    precision: float
    state: EMState

    @property
    def prior(self) -> Floats:
        return self.state.prior


@dataclass(frozen=True, eq=False)
class Ordinal(EM[Params, Stats]):
    """Thresholds of each worker on the scale of grades, drawn around the crowd's.

    Classes are in the order in which they sort, or in that of `ordered`.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 2, 2, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.Ordinal(), labels).answers
        array([0, 2], dtype=int32)
    """

    orders_classes: ClassVar[bool] = True

    prior: Any = option("uniform", PRIOR)
    spread: float = option(
        0.3,
        "Standard deviation, among workers, of leanings and precision; a small one makes all"
        " workers alike.",
        above=0,
    )
    init: Any = option("vote", INIT)

    def n_matrices(self, n_classes: int) -> int:
        return 1

    def begin(self, block: Labels) -> Floats:
        if block.n_classes > MOST_CLASSES:
            raise UsageError(
                f"ordinal takes up to {MOST_CLASSES} grades, not {block.n_classes:,}: for numbers"
                " there is `quorate scores`."
            )
        return super().begin(block)

    # E-step.

    def log_joint(self, block: Labels, params: Params) -> Floats:
        return block.pairs.gather(params.log_confusion, params.state.log_prior)

    def count(self, block: Labels, posterior: Floats, evidence: Evidence) -> Stats:
        return Stats(block.pairs.scatter(posterior), evidence)

    # M-step.

    def m_step(self, stats: Stats, state: EMState) -> Params:
        """From workers who are all like the first crowd."""
        counts = self._counts(stats)
        like_the_crowd = np.tile(crowd_of(FIRST_PRECISION, counts.shape[1]), (len(counts), 1))
        return self._learn(counts, like_the_crowd, FIRST_PRECISION, state)

    def estimate(self, stats: Stats, params: Params) -> Params:
        state = self.next_state(stats.evidence.classes, params.state)
        return self._learn(self._counts(stats), params.worker, params.precision, state)

    def _learn(self, counts: Floats, worker: Floats, precision: float, state: EMState) -> Params:
        """The workers' numbers given the crowd's, then the crowd's precision given theirs."""
        weight = self.spread**-2
        worker = newton(counts, worker, crowd_of(precision, counts.shape[1]), weight)
        total = weight * float(worker[:, -1].sum()) + FIRST_PRECISION
        crowd = total / (weight * len(worker) + 1)
        return Params(table_of(log_rows(worker)), worker, crowd, state)

    def _counts(self, stats: Stats) -> Floats:
        """Expected counts ``[worker, truth, label]``, what is known from before among them."""
        counts = by_label_and_truth(dense(stats.counts)).transpose(0, 2, 1)
        return counts if self.worker_prior is None else counts + self.worker_prior

    def log_density(self, params: Params) -> float:
        crowd = crowd_of(params.precision, params.worker.shape[1] - 1)
        apart = ((params.worker - crowd) ** 2).sum() / self.spread**2
        apart += (params.precision - FIRST_PRECISION) ** 2
        known = 0.0
        if self.worker_prior is not None:
            known = float((self.worker_prior * by_truth_and_label(params.log_confusion)).sum())
        return known - float(apart) / 2

    # How confusion matrices relate.

    def from_confusion(self, confusion: Floats) -> Params:
        n_classes = confusion.shape[1]
        evidence = Evidence(np.zeros(n_classes))
        return self.m_step(
            Stats(SURE_AS * table_of(confusion), evidence), self.even_state(n_classes)
        )

    def newcomer(self, stats: Stats, params: Params) -> Params:
        """One of whom nothing is known, who is like the crowd."""
        crowd = crowd_of(params.precision, params.worker.shape[1] - 1)[None]
        return params._replace(
            log_confusion=np.concatenate([params.log_confusion, table_of(log_rows(crowd))]),
            worker=np.concatenate([params.worker, crowd]),
        )

    def confusion(self, params: Params) -> Floats:
        return by_truth_and_label(np.exp(params.log_confusion))

    def history(self, stats: Stats, params: Params) -> Floats:
        return by_truth_and_label(dense(stats.counts))

    def thresholds(self, params: Params) -> Floats:
        """The grade ``[worker, threshold]`` at which each label becomes likelier than the one below
        it; infinite for a worker whose labels do not depend on the grade."""
        leaning, precision = params.worker[:, :-1], params.worker[:, -1:]
        middle = np.arange(1, leaning.shape[1]) - 0.5
        with np.errstate(divide="ignore"):
            at: Floats = middle - np.diff(leaning, axis=1) / precision
        return at


def crowd_of(precision: float, n_classes: int) -> Floats:
    """The numbers of a crowd with this precision, and no leanings."""
    return np.append(np.zeros(n_classes), precision)


@cache
def _slopes(n_classes: int) -> Floats:
    """``[truth * n_classes + label, number]``: by what each of a worker's numbers changes the
    log-odds."""
    grade = np.arange(n_classes)
    closeness = -((grade[:, None] - grade) ** 2) / 2.0
    return np.column_stack([np.tile(np.eye(n_classes), (n_classes, 1)), closeness.ravel()])


def log_rows(worker: Floats) -> Floats:
    """Log-probabilities ``[worker, truth, label]`` from the workers' numbers."""
    n_classes = worker.shape[1] - 1
    odds = (worker @ _slopes(n_classes).T).reshape(-1, n_classes, n_classes)
    odds -= odds.max(axis=2, keepdims=True)
    rows: Floats = odds - np.log(np.exp(odds).sum(axis=2, keepdims=True))
    return rows


def newton(counts: Floats, worker: Floats, crowd: Floats, precision: float) -> Floats:
    """The numbers of each worker at which the expected log-likelihood of the counts ``[worker,
    truth, label]`` and the log density around the crowd's are highest together: a concave function,
    of which Newton's steps are halved where they lead down."""

    def height(numbers: Floats) -> Floats:
        apart = ((numbers - crowd) ** 2).sum(axis=1)
        high: Floats = (counts * log_rows(numbers)).sum(axis=(1, 2)) - precision * apart / 2
        return high

    now = height(worker)
    for _ in range(NEWTON_STEPS):
        gradient, curvature = _derivatives(counts, worker)
        gradient -= precision * (worker - crowd)
        curvature += precision * np.eye(worker.shape[1])
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        for _ in range(HALVINGS):
            tried = height(worker + step)
            down = tried < now - SMALL * np.abs(now)
            if not down.any():
                break
            step[down] /= 2
        worker, now = worker + step, tried
        if np.abs(step).max(initial=0.0) < SMALL:
            break
    return worker


def _derivatives(counts: Floats, worker: Floats) -> tuple[Floats, Floats]:
    """The gradient of the log-likelihood, observed less expected, and its negative curvature, the
    covariance of what each number changes."""
    n_workers, n_classes, _ = counts.shape
    slopes = _slopes(n_classes)
    chance = np.exp(log_rows(worker))
    given = counts.sum(axis=2, keepdims=True)
    expected = given * chance
    gradient = (counts - expected).reshape(n_workers, -1) @ slopes
    squares = (slopes[:, :, None] * slopes[:, None, :]).reshape(len(slopes), -1)
    second = (expected.reshape(n_workers, -1) @ squares).reshape(n_workers, *worker.shape[1:] * 2)
    mean = (chance[:, :, None] @ slopes.reshape(n_classes, n_classes, -1))[:, :, 0]
    curvature: Floats = second - (given * mean).transpose(0, 2, 1) @ mean
    return gradient, curvature


METHODS = (
    Method(
        "ordinal",
        Ordinal,
        "Thresholds of each worker on the scale of ordered grades, drawn around the crowd's.",
        "Masters, A Rasch Model for Partial Credit Scoring (1982)",
    ),
)
