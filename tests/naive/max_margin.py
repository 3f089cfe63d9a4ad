"""Max-margin majority voting, as loops.

T. Tian and J. Zhu, "Max-Margin Majority Voting for Learning from Crowds" (2015): its
objective, lowered by steps that minimise a sum of parabolas above it, one for each worker; steps
that would raise it are halved. The parabola above the hinge is that of the paper's scale mixture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.naive.dawid_skene import Matrix
from tests.naive.majority import Votes, vote_shares

TIED = 1e-9


def max_margin(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    cost: float = 0.3,
    rounding: float = 0.1,
    gold: Mapping[int, int] | None = None,
) -> tuple[list[float], Matrix, list[float]]:
    """The weights, the belief and the trace of the objective, after so many iterations."""
    gold = gold or {}

    def hinge(short: float) -> float:
        if abs(short) < rounding:
            return (short + rounding) ** 2 / (4 * rounding)
        return max(short, 0.0)

    def look(weight: list[float], scores: Matrix, start: bool) -> tuple[float, list[float]]:
        """The loss, and where the sum of parabolas is least."""
        loss = sum(w * w for w in weight) / 2
        slope = list(weight)
        curvature = [1.0] * n_workers
        for task, said in enumerate(votes):
            if not said and task not in gold:
                continue
            pull, lead = lead_of(scores[task], gold.get(task))
            short = 1.0 if start else 1.0 - lead
            loss += cost * hinge(short)
            bend = cost / (2 * max(abs(short), rounding))
            size = sum(abs(pull[label]) for _, label in said)
            for worker, label in said:
                slope[worker] -= (cost / 2 + bend * short) * pull[label]
                curvature[worker] += bend * size * abs(pull[label])
        return loss, [w - s / c for w, s, c in zip(weight, slope, curvature, strict=True)]

    best = [0.0] * n_workers
    loss, weight = look(best, vote_shares(votes, n_classes, {}), start=True)
    objective = []
    for iteration in range(iterations):
        scores = weighted(votes, n_classes, weight)
        now, after = look(weight, scores, start=False)
        objective.append(-min(now, loss))
        last = weight
        if iteration < iterations - 1:
            if now > loss:
                weight = [(a + b) / 2 for a, b in zip(weight, best, strict=True)]
            else:
                best, loss, weight = weight, now, after
    belief = []
    for task, row in enumerate(weighted(votes, n_classes, last)):
        if task in gold:
            belief.append([float(c == gold[task]) for c in range(n_classes)])
            continue
        values = []
        for c in range(n_classes):
            others = [row[d] for d in range(n_classes) if d != c]
            short = 1 + max(others) - row[c] if others else 1.0
            values.append(math.exp(-2 * cost * hinge(short)))
        belief.append([value / sum(values) for value in values])
    return last, belief, objective


def weighted(votes: Votes, n_classes: int, weight: list[float]) -> Matrix:
    scores = []
    for said in votes:
        row = [0.0] * n_classes
        for worker, label in said:
            row[label] += weight[worker]
        scores.append(row)
    return scores


def lead_of(row: list[float], answer: int | None) -> tuple[list[float], float]:
    """How the lead depends on the classes' votes, and the lead; nothing where it is tied."""
    n_classes = len(row)
    if answer is None:
        leaders = [c for c in range(n_classes) if row[c] >= max(row) - TIED]
        if len(leaders) > 1:
            return [0.0] * n_classes, 0.0
        answer = leaders[0]
    others = [c for c in range(n_classes) if c != answer]
    if not others:
        return [0.0], math.inf
    second = max(row[c] for c in others)
    next_best = [c for c in others if row[c] >= second - TIED]
    pull = [-1 / len(next_best) if c in next_best else 0.0 for c in range(n_classes)]
    pull[answer] = 1.0
    return pull, row[answer] - second
