"""Ghosh-SVD, EigenRatio and the centred SVD of "Spectral Methods meet EM", as loops.

Matrices are lists of rows, eigenvectors come from multiplying again and again. Each component of
the workers who share tasks has its own, but for the centred matrix, in which all workers meet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.naive.majority import Votes, vote_shares

Vector = list[float]
Matrix = list[Vector]


def ghosh_svd(votes: Votes, n_workers: int, gold: Mapping[int, int]) -> Matrix:
    """The belief of each task from the sign matrix's leading right singular vector."""
    _, agreement = meetings(votes, n_workers)
    _, weight = leading_vectors(agreement, agreement)
    return believe(votes, weight, 0.0, gold)


def eigen_ratio(votes: Votes, n_workers: int, gold: Mapping[int, int], variant: str) -> Matrix:
    together, agreement = meetings(votes, n_workers)
    seen, perfect = agreement, together
    if variant == "eigenvectors-of-ratio":
        seen = [[0.0] * n_workers for _ in range(n_workers)]
        perfect = [[0.0] * n_workers for _ in range(n_workers)]
        for i in range(n_workers):
            for j in range(n_workers):
                if together[i][j] > 0:
                    seen[i][j] = agreement[i][j] / together[i][j]
                    perfect[i][j] = 1.0
    seen_value, seen_vector = leading_vectors(seen, together)
    value, vector = leading_vectors(perfect, together)
    weight = [0.0] * n_workers
    for i in range(n_workers):
        if value[i] > 0:
            weight[i] = math.sqrt(max(seen_value[i], 0.0) / value[i]) * seen_vector[i] / vector[i]
    return believe(votes, weight, 0.0, gold)


def centred_svd(votes: Votes, n_workers: int, gold: Mapping[int, int]) -> Matrix:
    """Of the tasks with labels, the matrix of signs less each column's mean."""
    labelled = [said for said in votes if said]
    centred = []
    mean = [0.0] * n_workers
    for said in labelled:
        for worker, label in said:
            mean[worker] += (2 * label - 1) / len(labelled)
    for said in labelled:
        row = [-m for m in mean]
        for worker, label in said:
            row[worker] += 2 * label - 1
        centred.append(row)
    gram = [
        [sum(row[i] * row[j] for row in centred) for j in range(n_workers)]
        for i in range(n_workers)
    ]
    everyone = [[1.0] * n_workers for _ in range(n_workers)]
    _, weight = leading_vectors(gram, everyone)
    return believe(votes, weight, sum(m * w for m, w in zip(mean, weight, strict=True)), gold)


def meetings(votes: Votes, n_workers: int) -> tuple[Matrix, Matrix]:
    """How often two workers label the same task, and how much oftener they agree than not."""
    together = [[0.0] * n_workers for _ in range(n_workers)]
    agreement = [[0.0] * n_workers for _ in range(n_workers)]
    for said in votes:
        for one, first in said:
            for other, second in said:
                together[one][other] += 1
                agreement[one][other] += 1 if first == second else -1
    return together, agreement


def leading_vectors(matrix: Matrix, graph: Matrix) -> tuple[Vector, Vector]:
    """Each row's leading eigenvalue and entry, component by component, with a mean square of one
    and a positive sum."""
    n = len(matrix)
    value, vector = [0.0] * n, [0.0] * n
    for part in components(graph):
        inside = [[matrix[i][j] for j in part] for i in part]
        top, entries = leading(inside)
        for i, entry in zip(part, entries, strict=True):
            value[i], vector[i] = top, entry
    return value, vector


def components(graph: Matrix) -> list[list[int]]:
    unseen = set(range(len(graph)))
    parts = []
    while unseen:
        part, frontier = set(), {min(unseen)}
        while frontier:
            part |= frontier
            frontier = {j for i in frontier for j in range(len(graph)) if graph[i][j] != 0} - part
        unseen -= part
        parts.append(sorted(part))
    return parts


def leading(matrix: Matrix) -> tuple[float, Vector]:
    n = len(matrix)
    shift = max(sum(abs(value) for value in row) for row in matrix)  # none is then below zero
    vector = [1.0] * n
    for _ in range(20_000):
        after = [
            shift * vector[i] + sum(matrix[i][j] * vector[j] for j in range(n)) for i in range(n)
        ]
        length = math.sqrt(sum(entry**2 for entry in after) / n)
        if length == 0:
            return 0.0, vector
        after = [entry / length for entry in after]
        still = max(abs(now - then) for now, then in zip(after, vector, strict=True)) < 1e-16
        vector = after
        if still:
            break
    turned = [sum(matrix[i][j] * vector[j] for j in range(n)) for i in range(n)]
    value = sum(t * v for t, v in zip(turned, vector, strict=True)) / n
    sign = 1 if sum(vector) > 0 else -1
    return value, [sign * entry for entry in vector]


def believe(votes: Votes, weight: Vector, centre: float, gold: Mapping[int, int]) -> Matrix:
    scores, weights = [], []
    for said in votes:
        scores.append(sum((2 * label - 1) * weight[worker] for worker, label in said) - centre)
        weights.append(sum(abs(weight[worker]) for worker, _ in said))
    factor = sharpness([score for score, said in zip(scores, votes, strict=True) if said])
    return beliefs(votes, scores, weights, factor, gold)


def sharpness(scores: Vector) -> float:
    """Two bells of one width: in units of the root mean square their distance from zero is the
    mean size m, their variance 1 - m^2."""
    n = len(scores)
    unit = math.sqrt(sum(score**2 for score in scores) / n)
    if unit == 0:
        return 0.0
    m = sum(abs(score) for score in scores) / n / unit
    return 2 * m / max(1 - m**2, 1 / n) / unit


def beliefs(
    votes: Votes, scores: Vector, weights: Vector, factor: float, gold: Mapping[int, int]
) -> Matrix:
    rows = vote_shares(votes, 2, gold)
    for task, score in enumerate(scores):
        if weights[task] > 0 and task not in gold:
            odds = math.exp(max(min(factor * score, 700.0), -700.0))
            rows[task] = [1 / (1 + odds), odds / (1 + odds)]
    return rows
