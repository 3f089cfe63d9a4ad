"""Teaching: how a consensus is corrected by known answers.

With P the posterior that was found of a task while its answer was hidden (see `crossfit`), the
corrected one is q proportional to P^a exp(sum of b[worker] over the votes for a class), see
`Taught`. The scale a and the weights b maximise

    sum of log q(known answer) - (log a)² / (2 * 0.6²) - ridge / 2 * sum of b²

so that few answers change little. How large the ridge has to be, cross-validation over the known
answers tells: for each of a few ridges, among them an infinite one under which only a is learned, a
and b are learned from all folds but one and predict the answers of that one. The final a and b are
the mean of those of all ridges, weighted by the likelihood of the answers that they predict. So
known answers count for as much as they are worth against the consensus.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.crossfit import CrossFit
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.models.taught import LEAST, corrected

RIDGES = (np.inf, 100.0, 30.0, 10.0, 3.0)
SPREAD = 0.6  # of log a, before any answer is known
MOST_STEPS = 200


class Correction(NamedTuple):
    """The scale a, and the weights b of each worker's votes."""

    scale: float
    vote_weights: Floats

    def apply(self, labels: Labels, posterior: Floats) -> Floats:
        return corrected(labels, posterior, self.scale, self.vote_weights)


class Lesson(NamedTuple):
    """What known answers teach, and the corrected posteriors of their tasks, each by a correction
    that was learned from the other folds."""

    correction: Correction
    posterior: Floats


def teach(cross: CrossFit) -> Lesson:
    """Learn the correction from known answers, and by cross-validation how much of it."""
    everything = np.full(len(cross.fold), True)
    corrections = [_learn(cross, everything, ridge) for ridge in RIDGES]
    predicted = [_cross_validated(cross, ridge) for ridge in RIDGES]
    at_truth = (np.arange(len(cross.truth)), cross.truth)
    scores = np.array([np.log(np.maximum(q[at_truth], LEAST)).sum() for q in predicted])
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    mean = Correction(
        float(np.exp(weights @ np.log([each.scale for each in corrections]))),
        weights @ np.array([each.vote_weights for each in corrections]),
    )
    return Lesson(mean, np.einsum("r,rtc->tc", weights, np.array(predicted)))


def _cross_validated(cross: CrossFit, ridge: float) -> Floats:
    """The corrected posteriors of each fold, as the others teach."""
    found = np.empty_like(cross.posterior)
    for fold in range(cross.fold.max() + 1):
        here = cross.fold == fold
        correction = _learn(cross, ~here, ridge)
        found[here] = correction.apply(cross.labels.only_tasks(here), cross.posterior[here])
    return found


def _learn(cross: CrossFit, of: NDArray[np.bool_], ridge: float) -> Correction:
    """The penalised maximum-likelihood correction from some of the tasks."""
    from scipy.optimize import minimize  # slow to import

    loss = _Loss(cross.labels.only_tasks(of), cross.posterior[of], cross.truth[of], ridge)
    n_weights = 0 if np.isinf(ridge) else cross.labels.n_workers
    found: Any = minimize(
        loss, np.zeros(1 + n_weights), jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS}
    )
    weights = np.zeros(cross.labels.n_workers)
    weights[:n_weights] = found.x[1:]
    return Correction(float(np.exp(found.x[0])), weights)


class _Loss(NamedTuple):
    """The penalised negative log-likelihood of log a and b, and its gradient."""

    labels: Labels
    posterior: Floats
    truth: NDArray[np.integer]
    ridge: float

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        log_scale, weights = x[0], x[1:]
        padded = weights if len(weights) else np.zeros(self.labels.n_workers)
        q = corrected(self.labels, self.posterior, float(np.exp(log_scale)), padded)
        at_truth = (np.arange(len(q)), self.truth)
        loss = -np.log(np.maximum(q[at_truth], 1e-300)).sum() + log_scale**2 / (2 * SPREAD**2)
        q[at_truth] -= 1.0  # the gradient of the loss in log q
        log_posterior = np.log(np.maximum(self.posterior, LEAST))
        slope = np.exp(log_scale) * (q * log_posterior).sum() + log_scale / SPREAD**2
        if not len(weights):
            return float(loss), np.array([slope])
        each = self.labels.weighted(q[self.labels.task_of_label(), self.labels.label])
        by_worker = np.bincount(self.labels.worker, each, minlength=self.labels.n_workers)
        loss += self.ridge / 2 * float(weights @ weights)
        return float(loss), np.concatenate([[slope], by_worker + self.ridge * weights])
