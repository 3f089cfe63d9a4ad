"""Hierarchical Dawid-Skene by variational and empirical Bayes, as loops."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.naive.dawid_skene import Matrix, Trace
from tests.naive.majority import Votes
from tests.naive.variational import digamma, divergence, geometric_means, variational


def hierarchical(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    kappa: float | None = None,
    smoothing: float = 2.0,
    diagonal: float = 4.0,
    prior: list[float] | None = None,
    prior_smoothing: float = 1.0,
    worker_prior: list[Matrix] | None = None,
    start: list[Matrix] | None = None,
    gold: Mapping[int, int] | None = None,
) -> Trace:
    classes = range(n_classes)
    pseudo = [[smoothing * (1 + diagonal * (t == c)) for c in classes] for t in classes]
    crowd: Matrix = []
    precision = 8.0 if kappa is None else kappa

    def learn(belief: Matrix | None) -> tuple[list[Matrix], list[Matrix], float]:
        nonlocal crowd, precision
        counts = [counts_of(worker, belief) for worker in range(n_workers)]
        if not crowd:
            crowd = shares([[sum(of[t][c] for of in counts) for c in classes] for t in classes])
        for _ in range(1):
            draws, rate = draws_from_the_crowd(counts, crowd, precision)
            crowd = shares(draws)
            if kappa is None:
                precision = (sum(map(sum, draws)) + 10) / (rate + 10 / 8)
        weights, means, gain = [], [], 0.0
        for worker in range(n_workers):
            weights.append([])
            means.append([])
            for t in classes:
                center = [precision * share for share in crowd[t]]
                row = [center[c] + counts[worker][t][c] for c in classes]
                weights[worker].append(geometric_means(row))
                means[worker].append([n / sum(row) for n in row])
                gain -= divergence(row, center)
                if worker_prior is not None:
                    for c in classes:
                        gain += worker_prior[worker][t][c] * math.log(weights[worker][t][c])
        for t in classes:
            for c in classes:
                gain += pseudo[t][c] * math.log(crowd[t][c])
        if kappa is None:
            gain += 10 * (math.log(precision) - precision / 8)
        return weights, means, gain

    def counts_of(worker: int, belief: Matrix | None) -> Matrix:
        """Of each truth and label; those of a given start count as a hundred labels of a truth."""
        counts = [[0.0] * n_classes for _ in classes]
        for t in classes:
            for c in classes:
                if worker_prior is not None:
                    counts[t][c] += worker_prior[worker][t][c]
                if belief is None:
                    assert start is not None
                    counts[t][c] += 100 * start[worker][t][c]
                else:
                    for task, said in enumerate(votes):
                        for vote in said:
                            counts[t][c] += belief[task][t] * (vote == (worker, c))
        return counts

    def shares(draws: Matrix) -> Matrix:
        rows = [[draws[t][c] + pseudo[t][c] for c in classes] for t in classes]
        return [[n / sum(row) for n in row] for row in rows]

    return variational(
        votes,
        n_classes,
        iterations,
        learn,
        gold=gold,
        prior=prior,
        prior_pseudo=prior_smoothing,
        prior_is_believed=False,
        started=start is not None,
    )


def draws_from_the_crowd(
    counts: list[Matrix], crowd: Matrix, precision: float
) -> tuple[Matrix, float]:
    """How many labels of each truth come from the crowd's matrix, and how that number grows with
    the precision."""
    draws = [[0.0] * len(row) for row in crowd]
    rate = 0.0
    for of_worker in counts:
        for t, row in enumerate(of_worker):
            rate += digamma(sum(row) + precision) - digamma(precision)
            for c, n in enumerate(row):
                center = precision * crowd[t][c]
                draws[t][c] += center * (digamma(n + center) - digamma(center))
    return draws, rate
