"""What more votes are worth: the expected error of a task's answer after some of them, exact over
all that they may say."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Floats, row_max

# As many votes ahead as have so few outcomes in all, and at most so many.
MOST_OUTCOMES, FURTHEST = 80, 6
TASKS_AT_ONCE = 100_000
SMALL = 500_000  # numbers that are multiplied at once sooner than outcome by outcome


@cache
def horizon(n_classes: int) -> int:
    """How many votes ahead it pays to look.

    Examples:
        >>> [horizon(k) for k in (2, 3, 5, 20)]
        [6, 5, 3, 1]
    """
    ahead, outcomes = 1, n_classes
    while ahead < FURTHEST:
        outcomes += comb(ahead + n_classes, n_classes - 1)
        if outcomes > MOST_OUTCOMES:
            break
        ahead += 1
    return ahead


def errors_ahead(posterior: Floats, confusion: Floats) -> Floats:
    """``[task, m]``: the expected error after m more votes (m from 0) of a worker with this
    confusion matrix ``[truth, label]``, under what is believed now.

    Examples:
        >>> ahead = errors_ahead(np.array([[0.5, 0.5]]), np.array([[0.8, 0.2], [0.2, 0.8]]))
        >>> ahead[0, :4].round(3)
        array([0.5  , 0.2  , 0.2  , 0.104])
    """
    ahead = _likelihoods_ahead(confusion.tobytes(), len(confusion))
    errors = np.empty((len(posterior), len(ahead) + 1))
    for start in range(0, len(posterior), TASKS_AT_ONCE):
        part = slice(start, start + TASKS_AT_ONCE)
        errors[part, 0] = 1 - row_max(posterior[part])
        for m, likelihoods in enumerate(ahead, start=1):
            errors[part, m] = 1 - _expected_best(posterior[part], likelihoods)
    return np.maximum(errors, 0.0)


def _expected_best(posterior: Floats, likelihoods: Floats) -> Floats:
    """The probability of being right when the answer is the likeliest class after each outcome."""
    if posterior.size * len(likelihoods) <= SMALL:
        joint = posterior * likelihoods[:, None]
        best_after = row_max(joint.reshape(-1, posterior.shape[1])).reshape(len(joint), -1)
        in_order: Floats = best_after.cumsum(axis=0)[-1]  # one after the other, as below
        return in_order
    best = np.zeros(len(posterior))
    for likelihood in likelihoods:
        best += row_max(posterior * likelihood)
    return best


@lru_cache(maxsize=16)
def _likelihoods_ahead(confusion: bytes, n_classes: int) -> tuple[Floats, ...]:
    """The `_likelihoods` for each number of votes ahead: the same crowd is asked for often."""
    matrix = np.frombuffer(confusion).reshape(n_classes, n_classes)
    return tuple(_likelihoods(matrix, m) for m in range(1, horizon(n_classes) + 1))


def _likelihoods(confusion: Floats, m: int) -> Floats:
    """``[outcome, truth]``: the probability of each way that m votes can fall, order aside."""
    said, orders = _outcomes(len(confusion), m)
    likelihoods: Floats = orders * confusion[:, said].prod(axis=2).T
    return likelihoods


@cache
def _outcomes(n_classes: int, m: int) -> tuple[NDArray[np.int64], Floats]:
    """The ways that m votes can fall, ``[outcome, vote]``, and ``[outcome, 1]`` in how many
    orders."""
    said = list(combinations_with_replacement(range(n_classes), m))
    orders = [factorial(m) // prod(factorial(one.count(c)) for c in set(one)) for one in said]
    return np.array(said), np.array(orders, dtype=np.float64)[:, None]


def worth(errors: Floats) -> Floats:
    """How much a vote lowers the expected error, at best per vote: one vote may change nothing
    where three would.

    Examples:
        >>> worth(np.array([[0.1, 0.1, 0.1, 0.04], [0.5, 0.2, 0.2, 0.1]])).round(3)
        array([0.02, 0.3 ])
    """
    votes = np.arange(1, errors.shape[1])
    per_vote: Floats = (errors[:, :1] - errors[:, 1:]) / votes
    return row_max(per_vote)


def worth_of_each(belief: Floats, confusions: Floats) -> Floats:
    """How much one vote of each worker ``[worker, truth, label]`` lowers the expected error of one
    task.

    Examples:
        >>> good, guess = [[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]
        >>> worth_of_each(np.array([0.6, 0.4]), np.array([good, guess])).round(3)
        array([0.3, 0. ])
    """
    best_after: Floats = (belief[:, None] * confusions).max(axis=1).sum(axis=1)
    gained: Floats = np.maximum(best_after - belief.max(), 0.0)
    return gained
