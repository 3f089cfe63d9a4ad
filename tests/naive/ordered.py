"""Ordered classes, as loops: a question for each threshold, pooled until they agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.naive.majority import Votes

Matrix = list[list[float]]
Ask = Callable[[Votes, Mapping[int, int]], Matrix]


def questions(votes: Votes, n_classes: int, gold: Mapping[int, int], ask: Ask) -> Matrix:
    """``[task][threshold]``: the belief of being above, as ``ask`` tells it in two classes."""
    above: Matrix = [[] for _ in votes]
    for threshold in range(n_classes - 1):
        sides = [[(worker, int(label > threshold)) for worker, label in said] for said in votes]
        known = {task: int(answer > threshold) for task, answer in gold.items()}
        for row, belief in zip(above, ask(sides, known), strict=True):
            row.append(belief[1])
    return above


def ordered(votes: Votes, n_classes: int, gold: Mapping[int, int], ask: Ask) -> Matrix:
    return [differences(pooled(row)) for row in questions(votes, n_classes, gold, ask)]


def pooled(row: list[float]) -> list[float]:
    """Pool adjacent violators: neighbours that rise are replaced by their mean, until none do."""
    pools: list[tuple[float, int]] = []
    for value in row:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-1][0] > pools[-2][0]:
            (last, m), (before, n) = pools.pop(), pools.pop()
            pools.append(((last * m + before * n) / (m + n), m + n))
    return [value for value, size in pools for _ in range(size)]


def differences(row: list[float]) -> list[float]:
    edges = [1.0, *row, 0.0]
    return [edges[i] - edges[i + 1] for i in range(len(edges) - 1)]
