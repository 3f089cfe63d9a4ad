"""Which answers to find, with what probability, and what answers that were drawn so count.

The chance that is left in a task, v = p(1 - p) by the consensus, says what its answer is worth:
drawn with probabilities pi, answers give a mean over N tasks whose variance is about

    sum over tasks of (1 / pi - 1) v / N²                                                    (1)

which is least, for a number of answers, where pi is proportional to the root of v (active
inference: Zrnic and Candès 2024). A quarter of the draws is even, so that no task is out of reach
where the consensus is sure and wrong. Answers come back with their pi, and each then counts
1 / pi - 1 in what is learned of the tasks whose answers are unknown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats, Keys

EVENLY = 0.25  # share of the draws that are even
LEAST_SPREAD = 0.01
SOFTER = 1.0  # slope of the consensus: its confidences are taken as they are


def spread_of(consensus: Floats) -> Floats:
    """v of each task, from the expected values ``[task, ...]`` of one class or several."""
    odds = np.log(np.clip(consensus, 1e-3, 1.0)) - np.log(np.clip(1 - consensus, 1e-3, 1.0))
    p = 1 / (1 + np.exp(-SOFTER * odds))
    v = p * (1 - p)
    v = v if v.ndim == 1 else v.sum(axis=1)
    spread: Floats = np.maximum(v, LEAST_SPREAD)
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
        share = worth[open_] / worth[open_].sum()
        probability[open_] = left * ((1 - EVENLY) * share + EVENLY / open_.sum())
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


def counts(probability: Floats, spread: Floats) -> Floats:
    """What each answer counts in what is learned of the unknown tasks: 1 / pi - 1, scaled so that
    their sum is the number of even draws that would tell as much."""
    weight = 1 / probability - 1
    if not weight.any():
        return np.ones(len(weight))
    weight = weight / weight.sum()
    number = float((weight * spread).sum() / (weight**2 * spread).sum())
    scaled: Floats = weight * number
    return scaled


def share_left(probability: Floats, spread: Floats, n_tasks: int) -> float:
    """By what the variance of the mean over unknown tasks is multiplied for that over all: the
    finite population correction, 1 - n / N where all were drawn alike."""
    n, weight = len(probability), 1 / probability - 1
    squared = float((weight**2 * spread).sum())
    if not squared:
        return 0.0
    return ((n_tasks - n) / n_tasks) ** 2 * float((weight / probability * spread).sum()) / squared


def expected_widths(spread: Floats, numbers: NDArray[np.intp], z: float) -> tuple[Floats, Floats]:
    """Expected width of the interval for each number of answers, drawn evenly and by plan (1)."""
    n_tasks, mean = len(spread), float(spread.mean())
    even = 2 * z * np.sqrt(np.maximum(1 / numbers - 1 / n_tasks, 0.0) * mean)
    planned = [((1 / inclusion(spread, int(n)) - 1) * spread).sum() for n in numbers]
    return even, 2 * z * np.sqrt(np.maximum(planned, 0.0)) / n_tasks
