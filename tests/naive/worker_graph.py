"""The worker graph of the rank-one completion paper, worker by worker and task by task."""

from __future__ import annotations

import math

Votes = list[list[tuple[int, int]]]


def together(votes: Votes, n_workers: int) -> list[list[int]]:
    """N_ij: the number of tasks that both workers labelled; N_ii = 0."""
    counts = [[0] * n_workers for _ in range(n_workers)]
    for said in votes:
        who = {worker for worker, _ in said}
        for i in who:
            for j in who:
                if i != j:
                    counts[i][j] += 1
    return counts


def alike(votes: Votes, n_workers: int) -> list[list[int]]:
    """On how many of them both said the same."""
    counts = [[0] * n_workers for _ in range(n_workers)]
    for said in votes:
        for i, first in said:
            for j, second in said:
                if i != j and first == second:
                    counts[i][j] += 1
    return counts


def signless_laplacian(n: list[list[int]]) -> list[list[float]]:
    """P(1) / 2: the row sums of N on the diagonal, N elsewhere."""
    size = len(n)
    return [[float(sum(n[i]) if i == j else n[i][j]) for j in range(size)] for i in range(size)]


def components(n: list[list[int]]) -> list[tuple[set[int], bool]]:
    """Each component with whether it can be coloured with two colours."""
    colour: dict[int, int] = {}
    found = []
    for start in range(len(n)):
        if start in colour:
            continue
        colour[start] = 0
        members, waiting, bipartite = {start}, [start], True
        while waiting:
            i = waiting.pop()
            for j, shared in enumerate(n[i]):
                if not shared:
                    continue
                if j not in colour:
                    colour[j] = 1 - colour[i]
                    members.add(j)
                    waiting.append(j)
                elif colour[j] == colour[i]:
                    bipartite = False
        found.append((members, bipartite))
    return found


def kl_distance(
    confusion: list[list[list[float]]], activity: list[float], first: int, second: int
) -> float:
    """Eq. 6 of the spectral paper, between two given classes."""
    total = 0.0
    for matrix, share in zip(confusion, activity, strict=True):
        for p, q in zip(matrix[first], matrix[second], strict=True):
            total += share * p * math.log(p / q)
    return total / len(confusion)
