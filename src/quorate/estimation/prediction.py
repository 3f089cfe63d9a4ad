"""Scores that predict the answers of tasks: the consensus, and what known answers teach.

The consensus is fitted without the known answers, so that it has not seen any. What these teach is
learned by cross-fitting: a ridge regression of the answers on the votes of each worker and on the
consensus is learned from all folds but one and scores the tasks of that one, and every task whose
answer is unknown; the scores of a task by its several learners are all kept, as each stands for
the one that met the known answers of its fold.

    score = sum over workers of w[worker] x[task, worker] + w[0] log-odds of the consensus

x is 2 value - 1 of the vote, from -1 to 1, and 0 where there is none. Whether what was learned is
better than the consensus is not decided here: both are candidates, and `calibration` weighs them by
the answers that they predict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate.estimation.calibration import Candidate
from quorate.kernels import Floats
from quorate.special import logit

RIDGE = 1.0  # times the mean square of a known task's features
FOLDS = 10
LEAST_TO_LEARN = 10  # known answers
SURE = 0.01  # of an error, however sure the consensus is
# Slopes of the consensus' log-odds: 1 if its confidences are right. Of a learned score nothing is
# known beforehand but that it is meant to point the right way; it is scaled to a spread of 1.
CONSENSUS_SLOPES: Floats = np.exp(np.linspace(np.log(0.08), np.log(2.6), 9))
USUAL_SLOPE, SPREAD_OF_SLOPE = 1.0, np.log(3)  # right, give or take a factor of three
LEARNED_SLOPES = np.array([0.4, 0.8, 1.4, 2.2, 3.2, 4.6, 6.5])
NO_SLOPE_WEIGHT, LEARNED_WEIGHT = 0.1, 0.2  # against 1 of the consensus


class Known(NamedTuple):
    """Tasks with known answers: their places among all tasks, their values from 0 to 1, and the
    fold of each."""

    task: NDArray[np.intp]
    value: Floats
    fold: NDArray[np.intp]


def candidates(consensus: Floats, votes: csr_array, known: Known) -> list[Candidate]:
    """The scores that may predict the answers: none, the consensus, and those that are learned.

    ``consensus[task]`` is the expected value of each task, and ``votes[task, worker]`` what workers
    said, from -1 to 1."""
    odds = log_odds(consensus)
    unknown = np.full(len(odds), True)
    unknown[known.task] = False
    found = [nothing(odds[unknown], len(known.task)), _of_consensus(odds, unknown, known)]
    if len(known.task) >= LEAST_TO_LEARN and unknown.any() and votes.nnz:
        found.append(_learned(odds, votes, unknown, known))
    return found


def log_odds(share: Floats) -> Floats:
    """Log-odds of shares, none of which is quite certain."""
    odds: Floats = logit(np.clip(share, SURE, 1 - SURE))
    return odds


def nothing(unknown: Floats, n_known: int) -> Candidate:
    """The score that says nothing: the answers alone."""
    slopes, prior = np.zeros(1), np.log([NO_SLOPE_WEIGHT])
    return Candidate(np.zeros((1, len(unknown))), np.zeros(n_known), slopes, prior)


def prior_of_slopes() -> Floats:
    """The logarithm of what each slope of the consensus is thought to be worth beforehand."""
    prior = -(((np.log(CONSENSUS_SLOPES) - np.log(USUAL_SLOPE)) / SPREAD_OF_SLOPE) ** 2) / 2
    found: Floats = prior - np.log(np.exp(prior).sum())
    return found


def _of_consensus(odds: Floats, unknown: NDArray[np.bool_], known: Known) -> Candidate:
    scores = odds[unknown][None], odds[known.task]
    return Candidate(*scores, CONSENSUS_SLOPES, prior_of_slopes())


def _learned(odds: Floats, votes: csr_array, unknown: NDArray[np.bool_], known: Known) -> Candidate:
    """The score that is learned, by the kernel of known tasks, which are few."""
    said, base = votes[known.task], odds[known.task]
    kernel = np.asarray((said @ said.T).todense()) + np.outer(base, base)
    target = 2 * known.value - 1
    prior = np.full(len(LEARNED_SLOPES), np.log(LEARNED_WEIGHT / len(LEARNED_SLOPES)))
    weight, score = _fold_by_fold(kernel, target, known.fold, RIDGE * kernel.trace())
    scores = votes @ (said.T @ weight) + np.outer(odds, base @ weight)
    everywhere = scores[unknown].T
    centre, spread = everywhere.mean(), max(float(everywhere.std()), 1e-9)
    scaled = (everywhere - centre) / spread, (score - centre) / spread
    return Candidate(*scaled, LEARNED_SLOPES, prior)


def _fold_by_fold(
    kernel: Floats, target: Floats, fold: NDArray[np.intp], ridge: float
) -> tuple[Floats, Floats]:
    """The dual weights ``[known task, fold]`` of each fold's learner, which has not seen the fold,
    and the score of each known task by the learner that has not seen it."""
    # The inverse without rows and columns H comes from the whole one, A, by A's block of them:
    # inverse of the rest = A[rest, rest] - A[rest, H] inverse(A[H, H]) A[H, rest].
    n, every = len(target), np.arange(fold.max() + 1)
    whole = np.linalg.inv(kernel + ridge / n * np.eye(n))
    seen = fold[:, None] != every
    mean = (target @ seen) / np.maximum(seen.sum(axis=0), 1)
    weight = whole @ (seen * (target[:, None] - mean))
    for each in every:
        hidden = np.flatnonzero(fold == each)
        taken = np.linalg.solve(whole[np.ix_(hidden, hidden)], weight[hidden, each])
        weight[:, each] -= whole[:, hidden] @ taken
        weight[hidden, each] = 0.0
    return weight, (kernel @ weight)[np.arange(n), fold]
