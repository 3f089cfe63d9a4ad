"""Which answers to find, with what probability.

The chance that is left in a task, v = p(1 - p), says what its answer is worth: drawn with
probabilities pi, answers give a mean over N tasks whose variance is about

    sum over tasks of (1 / pi - 1) v / N²                                                    (1)

which is least, for a number of answers, where pi is proportional to the root of v (active
inference: Zrnic and Candès 2024). How sure the consensus may be taken to be is not known before
there are answers, so v is its mean over the slopes that `prediction` thinks possible: no task is
out of reach where the consensus is sure and wrong.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from quorate import kernels
from quorate.estimation.prediction import CONSENSUS_SLOPES, log_odds, prior_of_slopes
from quorate.kernels import Floats, Keys


def spread_of(consensus: Floats) -> Floats:
    """v of each task, from the expected values ``[task, ...]`` of one class or several."""
    odds = log_odds(consensus)
    p = expit(odds[..., None] * CONSENSUS_SLOPES)
    v = (p * (1 - p)) @ np.exp(prior_of_slopes())
    spread: Floats = v if v.ndim == 1 else v.sum(axis=1)
    return spread


def inclusion(spread: Floats, n_answers: int) -> Floats:
    """The probability with which each task is drawn, so that `n_answers` are."""
    n_tasks = len(spread)
    if n_answers >= n_tasks:
        return np.ones(n_tasks)
    worth = np.sqrt(spread)
    probability = np.zeros(n_tasks)
    certain = np.zeros(n_tasks, dtype=bool)
    while True:  # what is certain to be drawn leaves fewer for the others
        left, open_ = n_answers - int(certain.sum()), ~certain
        probability[open_] = left * worth[open_] / worth[open_].sum()
        probability[certain] = 1.0
        over = open_ & (probability >= 1.0)
        if not over.any():
            return probability
        certain |= over


def drawn(probability: Floats, keys: Keys, seed: int) -> NDArray[np.intp]:
    """As many tasks as the probabilities add up to, each with its own: systematic sampling of the
    tasks in a random order."""
    order = kernels.hashed_uniform(keys, 1, seed)[:, 0].argsort(kind="stable")
    start = float(np.random.default_rng(seed).random())
    passed = np.concatenate([[0.0], probability[order].cumsum()])
    steps = np.floor(passed + start + 1e-9)
    return np.sort(order[np.diff(steps) > 0])


def probabilities_of(weights: Floats, n_tasks: int) -> Floats:
    """Probabilities from weights that are inverse to them, up to a factor."""
    found: Floats = np.clip(weights.sum() / (n_tasks * weights), 1e-9, 1.0)
    return found


def expected_widths(spread: Floats, numbers: NDArray[np.intp], z: float) -> tuple[Floats, Floats]:
    """Expected width of the interval for each number of answers, drawn evenly and by plan (1)."""
    n_tasks, mean = len(spread), float(spread.mean())
    even = 2 * z * np.sqrt(np.maximum(1 / numbers - 1 / n_tasks, 0.0) * mean)
    planned = [((1 / inclusion(spread, int(n)) - 1) * spread).sum() for n in numbers]
    return even, 2 * z * np.sqrt(np.maximum(planned, 0.0)) / n_tasks
