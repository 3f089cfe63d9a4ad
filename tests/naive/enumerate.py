"""Brute force over every possible truth of a tiny problem."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping

from tests.naive.dawid_skene import Matrix
from tests.naive.majority import Votes


def enumerate_truths(
    votes: Votes,
    prior: list[float],
    confusion: Callable[[int, int], Matrix],
    gold: Mapping[int, int],
    features: Matrix | None = None,
) -> tuple[float, Matrix]:
    """The log-likelihood of all votes, and how probable each class is for each task, by adding up
    the probability of the votes together with each assignment of truths to the tasks. The
    confusion matrix is that of a task and a worker; ``features`` is how likely each task's
    features are under each class."""
    n_tasks, n_classes = len(votes), len(prior)
    total = 0.0
    mass = [[0.0] * n_classes for _ in range(n_tasks)]
    for truths in itertools.product(range(n_classes), repeat=n_tasks):
        if any(truths[task] != answer for task, answer in gold.items()):
            continue
        probability = 1.0
        for task, truth in enumerate(truths):
            probability *= prior[truth]
            for worker, label in votes[task]:
                probability *= confusion(task, worker)[truth][label]
            if features:
                probability *= features[task][truth]
        total += probability
        for task, truth in enumerate(truths):
            mass[task][truth] += probability
    return math.log(total), [[value / total for value in row] for row in mass]
