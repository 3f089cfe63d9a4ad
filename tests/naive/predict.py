"""The probability of hidden votes under a method's beliefs, vote by vote."""

from __future__ import annotations

import math

Votes = list[list[tuple[int, int]]]


def log_likelihoods(
    votes: Votes,
    hidden: list[tuple[int, int, int]],
    belief: list[list[float]],
    n_classes: int,
    crowd: float,
) -> list[float]:
    """For each hidden (task, worker, label): the workers' matrices are counted under the belief in
    the votes that are left, with `crowd` pseudo-counts a row of everybody's matrix."""

    def counted(truth: int, label: int, of: int | None) -> float:
        return sum(
            belief[task][truth]
            for task, said in enumerate(votes)
            for worker, what in said
            if what == label and of in (None, worker)
        )

    def everybody(truth: int, label: int) -> float:
        row = [counted(truth, c, None) + 1 / n_classes for c in range(n_classes)]
        return row[label] / sum(row)

    likelihoods = []
    for task, worker, label in hidden:
        probability = 0.0
        for truth in range(n_classes):
            row = [counted(truth, c, worker) for c in range(n_classes)]
            said = (row[label] + crowd * everybody(truth, label)) / (sum(row) + crowd)
            probability += belief[task][truth] * said
        likelihoods.append(math.log(probability))
    return likelihoods
