"""Bayesian one-coin by variational and empirical Bayes, as loops."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.naive.dawid_skene import Matrix, Trace
from tests.naive.majority import Votes, right_and_wrong
from tests.naive.one_coin import one_coin_matrix
from tests.naive.variational import digamma, divergence, variational

Pair = tuple[float, float]  # of right and of wrong labels


def one_coin_bayes(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    kappa: float | None = None,
    prior: list[float] | str | None = "uniform",
    prior_smoothing: float = 0.0,
    worker_prior: list[Matrix] | None = None,
    start: list[Matrix] | None = None,
    gold: Mapping[int, int] | None = None,
) -> Trace:
    others = max(n_classes - 1, 1)
    classes = range(n_classes)
    mean = -1.0
    precision = 8.0 if kappa is None else kappa

    def learn(belief: Matrix | None) -> tuple[list[Matrix], list[Matrix], float]:
        nonlocal mean, precision
        known = [known_of(worker) for worker in range(n_workers)]
        if belief is None:
            assert start is not None
            share = [sum(matrix[t][t] for t in classes) / n_classes for matrix in start]
            said = [(100 * p, 100 * (1 - p)) for p in share]
        else:
            said = right_and_wrong(votes, n_workers, belief)
        counts = [(r + a, w + b) for (r, w), (a, b) in zip(said, known, strict=True)]
        if mean < 0:
            right, wrong = (sum(pair[i] for pair in counts) for i in (0, 1))
            mean = (right + 4) / (right + wrong + 6)
        before, tried = (mean, precision), (mean, precision)
        for _ in range(1):
            tried = likelier(counts, *tried)
        mean, precision = max(before, tried, key=lambda pair: bound(counts, *pair))
        gain = density(mean, precision)
        weights, means = [], []
        for pair, (a, b) in zip(counts, known, strict=True):
            beta = posterior(pair, mean, precision)
            right, wrong = mean_logs(beta)
            gain -= divergence(list(beta), [precision * mean, precision * (1 - mean)])
            gain += a * right + b * wrong
            weights.append(
                [[math.exp(right if t == c else wrong) for c in classes] for t in classes]
            )
            means.append(one_coin_matrix(beta[0] / sum(beta), n_classes))
        return weights, means, gain

    def known_of(worker: int) -> Pair:
        if worker_prior is None:
            return 0.0, 0.0
        right = sum(worker_prior[worker][t][t] for t in classes)
        return right, sum(map(sum, worker_prior[worker])) - right

    def likelier(counts: list[Pair], mean: float, precision: float) -> Pair:
        a, b = precision * mean, precision * (1 - mean)
        right = wrong = rate = 0.0
        for r, w in counts:
            right += a * (digamma(a + r) - digamma(a))
            wrong += b * (digamma(b + w) - digamma(b))
            rate += digamma(a + b + r + w) - digamma(a + b)
        if kappa is None:
            precision = (right + wrong + 10) / (rate + 10 / 8)
        return (right + 4) / (right + wrong + 6), precision

    def bound(counts: list[Pair], mean: float, precision: float) -> float:
        total = density(mean, precision)
        for r, w in counts:
            beta = posterior((r, w), mean, precision)
            right, wrong = mean_logs(beta)
            total += r * right + w * wrong
            total -= divergence(list(beta), [precision * mean, precision * (1 - mean)])
        return total

    def density(mean: float, precision: float) -> float:
        of_kappa = 10 * (math.log(precision) - precision / 8) if kappa is None else 0.0
        return 4 * math.log(mean) + 2 * math.log(1 - mean) + of_kappa

    def posterior(pair: Pair, mean: float, precision: float) -> Pair:
        """The wrong labels that have to count as right for a label not to weigh less than
        nothing are found by halving."""
        a, b = precision * mean + pair[0], precision * (1 - mean) + pair[1]
        least, most = 0.0, b
        while most - least > 1e-15 * b:
            middle = (least + most) / 2
            right, wrong = mean_logs((a + middle, b - middle))
            least, most = (middle, most) if right < wrong else (least, middle)
        right, wrong = mean_logs((a, b))
        return (a + least, b - least) if right < wrong else (a, b)

    def mean_logs(beta: Pair) -> Pair:
        whole = digamma(sum(beta))
        return digamma(beta[0]) - whole, digamma(beta[1]) - whole - math.log(others)

    return variational(
        votes,
        n_classes,
        iterations,
        learn,
        gold=gold,
        prior=[1 / n_classes] * n_classes if isinstance(prior, str) else prior,
        prior_pseudo=prior_smoothing,
        prior_is_believed=False,
        started=start is not None,
    )
