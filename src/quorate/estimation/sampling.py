"""Which answers to find, with what probability.

The chance that is left in a task, v = p(1 - p), says what its answer is worth. Answers that are
drawn with probabilities pi, and count their weights 1 / pi - 1 each, give a mean over N tasks whose
variance is about

    sum over tasks of (1 / pi - 1) v / N²                                                    (1)

which is least, for a number of answers, where pi is proportional to the root of v (active
inference: Zrnic and Candès 2024). Where pi follows from the score that predicts the answers, they
count the roots of their weights (`calibration`), and the variance is least with pi proportional to
v², if the model is right. A plan for one value goes between the two, by v to the power of 1.5: the
model is not quite right, and not useless. How sure the consensus may be taken to be is not known
before there are answers, so v is its mean over the slopes that `prediction` thinks possible: no
task is out of reach where the consensus is sure and wrong.

Tasks are drawn in the order of what the consensus expects, by contests between neighbours (pivotal
sampling: Deville and Tillé 1998; in order: Chauvet 2012). Of two tasks with probabilities p and q
one is left with p + q, and the other is out; if that is more than 1, one is drawn, and the other is
left with p + q - 1. From any beginning of the order as many are drawn as are expected, rounded up
or down: all that the consensus may expect is in the sample in its proportions, so that a model that
is wrong about some of it does less harm. Systematic sampling in that order does so too, but has few
samples to choose from, and is off by more where errors keep step with it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.estimation.prediction import CONSENSUS_SLOPES, log_odds, prior_of_slopes
from quorate.kernels import Floats, Keys
from quorate.special import expit

POWER = 1.5  # of v, to which the probabilities of a plan for one value are proportional


def spread_of(consensus: Floats) -> Floats:
    """v of each task, from the expected values ``[task, ...]`` of one class or several."""
    odds = log_odds(consensus)
    p = expit(odds[..., None] * CONSENSUS_SLOPES)
    v = (p * (1 - p)) @ np.exp(prior_of_slopes())
    spread: Floats = v if v.ndim == 1 else v.sum(axis=1)
    return spread


def worth_of(consensus: Floats) -> Floats:
    """What the answer of each task is worth to a plan: see `spread_of`."""
    spread = spread_of(consensus)
    worth: Floats = spread**POWER if consensus.ndim == 1 else np.sqrt(spread)
    return worth


def is_by_plan(consensus: Floats, known: NDArray[np.intp], probability: Floats) -> bool:
    """Whether known tasks were drawn with the probabilities of a plan for this very value."""
    planned = inclusion(worth_of(consensus), len(known))[known]
    return bool(np.allclose(planned, probability, rtol=1e-6))


def inclusion(worth: Floats, n_answers: int) -> Floats:
    """The probability with which each task is drawn, so that `n_answers` are, by what they are
    worth."""
    n_tasks = len(worth)
    if n_answers >= n_tasks:
        return np.ones(n_tasks)
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


def drawn(probability: Floats, consensus: Floats, keys: Keys, seed: int) -> NDArray[np.intp]:
    """As many tasks as the probabilities add up to, each with its own, spread over what the
    consensus expects: ordered pivotal sampling."""
    ties, chance = kernels.hashed_uniform(keys, 2, seed).T
    order = _in_order(consensus, ties)
    found, last, open_ = [], -1, 0.0  # the task that is not decided, and its probability by now
    for task in order.tolist():
        both = open_ + probability[task]
        if both < 1:  # one of the two is out
            last = task if chance[task] * both < probability[task] else last
            open_ = both
        else:  # one of the two is drawn
            one, last = (task, last) if chance[task] * (2 - both) < 1 - open_ else (last, task)
            found.append(one)
            open_ = both - 1
    return np.sort(np.array([*found, last] if open_ > 0.5 else found, dtype=np.intp))


def _in_order(consensus: Floats, ties: Floats) -> NDArray[np.intp]:
    """Tasks in the order of what the consensus expects; of several values by the greatest, and by
    how great it is."""
    if consensus.ndim == 1:
        return np.lexsort((ties, consensus))
    return np.lexsort((ties, consensus.max(axis=1), consensus.argmax(axis=1)))


def probabilities_of(weights: Floats, n_tasks: int) -> Floats:
    """Probabilities from weights that are inverse to them, up to a factor."""
    found: Floats = np.clip(weights.sum() / (n_tasks * weights), 1e-9, 1.0)
    return found


def expected_widths(
    consensus: Floats, numbers: NDArray[np.intp], z: float
) -> tuple[Floats, Floats]:
    """Expected width of the interval for each number of answers, drawn evenly and by plan; the mean
    of the classes' where there are several."""
    spread, worth, by_plan = spread_of(consensus), worth_of(consensus), consensus.ndim == 1
    per_class = spread if by_plan else spread / consensus.shape[1]
    n_tasks, mean = len(spread), float(per_class.mean())
    even = 2 * z * np.sqrt(np.maximum(1 / numbers - 1 / n_tasks, 0.0) * mean)
    planned = [_variance(per_class, inclusion(worth, int(n)), by_plan) for n in numbers]
    return even, 2 * z * np.sqrt(planned)


def _variance(spread: Floats, probability: Floats, by_plan: bool) -> float:
    """The expected variance (3) of `calibration` of answers drawn with these probabilities."""
    stands_for = 1 / probability - 1
    if not stands_for.any():
        return 0.0
    weight = np.sqrt(stands_for) if by_plan else stands_for
    left = float((1 - probability) @ spread)
    counts = weight * left / float((probability * weight) @ spread)
    return (float((probability * counts**2) @ spread) + left) / len(spread) ** 2
