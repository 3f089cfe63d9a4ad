"""Iterative weighted majority voting, as loops.

H. Li and B. Yu, "Error Rate Bounds and Iterative Weighted Majority Voting for Crowdsourcing"
(2014), with tied answers shared or the first of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.naive.dawid_skene import Matrix, hardened
from tests.naive.majority import Votes, right_and_wrong, vote_shares


def weighted_vote(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    ties: str = "shared",
    gold: Mapping[int, int] | None = None,
) -> tuple[list[float], Matrix, list[float]]:
    """The accuracies, the belief and the trace of the objective, after so many iterations."""
    gold = gold or {}
    answers = [hardened(row, ties) for row in vote_shares(votes, n_classes, gold)]
    objective = []
    for _ in range(iterations):
        accuracy = accuracies(votes, n_workers, answers)
        belief = []
        for task, said in enumerate(votes):
            scores = [0.0] * n_classes
            for worker, label in said:
                scores[label] += n_classes * accuracy[worker] - 1
            factor = n_classes / (n_classes - 1) if n_classes > 1 else 1.0
            row = [math.exp(factor * score) for score in scores]
            row = [value / sum(row) for value in row]
            if task in gold:
                row = [float(c == gold[task]) for c in range(n_classes)]
            belief.append(row)
        answers = [hardened(row, ties) for row in belief]
        after = accuracies(votes, n_workers, answers)
        total = 0.0
        for said in votes:
            for worker, _ in said:
                total += (n_classes * after[worker] - 1) ** 2
        objective.append(total)
    return accuracy, belief, objective


def accuracies(votes: Votes, n_workers: int, answers: Matrix) -> list[float]:
    tally = right_and_wrong(votes, n_workers, answers)
    all_right = sum(right for right, _ in tally)
    all_wrong = sum(wrong for _, wrong in tally)
    found = []
    for right, wrong in tally:
        if right + wrong > 0:
            found.append(right / (right + wrong))
        else:
            found.append(all_right / (all_right + all_wrong))
    return found
