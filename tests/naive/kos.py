"""KOS, as loops over the edges between tasks and workers.

Karger, Oh and Shah, "Iterative Learning for Reliable Crowdsourcing Systems" (2011), with messages
that begin at one, and "Efficient Crowdsourcing for Multi-class Labeling" (2013).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.naive.majority import Votes
from tests.naive.ordered import Ask, Matrix, differences, pooled, questions
from tests.naive.spectral_vote import beliefs, sharpness


def messages(votes: Votes, gold: Mapping[int, int], iterations: int) -> Matrix:
    edges = [(t, w, 2 * label - 1) for t, said in enumerate(votes) for w, label in said]
    of_task = [[e for e, edge in enumerate(edges) if edge[0] == t] for t in range(len(votes))]
    to_task = [1.0] * len(edges)  # y
    factor = 0.0
    for iteration in range(iterations + 1):
        scores = [sum(edges[e][2] * to_task[e] for e in of_task[t]) for t in range(len(votes))]
        weights = [sum(abs(to_task[e]) for e in of_task[t]) for t in range(len(votes))]
        if iteration == iterations:
            break
        factor = sharpness([s for s, said in zip(scores, votes, strict=True) if said])
        to_worker = []  # x
        for e, (task, _, _) in enumerate(edges):
            to_worker.append(sum(edges[f][2] * to_task[f] for f in of_task[task] if f != e))
        unit = math.sqrt(sum(x**2 for x in to_worker) / len(edges)) or 1.0
        if sum(edge[2] * x for edge, x in zip(edges, to_worker, strict=True)) < 0:
            unit = -unit  # the crowd is better than chance
        to_task = []
        for e, (_, worker, _) in enumerate(edges):
            others = [f for f, edge in enumerate(edges) if edge[1] == worker and f != e]
            to_task.append(sum(edges[f][2] * to_worker[f] for f in others) / unit)
    return beliefs(votes, scores, weights, factor, gold)


def kos(votes: Votes, n_classes: int, gold: Mapping[int, int], ask: Ask) -> Matrix:
    """The first class that the task is not above, as sure as the least sure step to it; the other
    classes share the rest as ordered classes do."""
    result = []
    for row in questions(votes, n_classes, gold, ask):
        answer, sure = 0, 1.0
        while answer < len(row) and row[answer] >= 0.5:
            sure = min(sure, row[answer])
            answer += 1
        if answer < len(row):
            sure = min(sure, 1 - row[answer])
        belief = differences(pooled(row))
        rest = sum(value for c, value in enumerate(belief) if c != answer)
        for c in range(n_classes):
            share = belief[c] / rest if rest > 0 else 1 / (n_classes - 1)
            belief[c] = sure if c == answer else (1 - sure) * share
        result.append(belief)
    return result
