"""MACE by variational Bayes, and by maximum likelihood, as loops.

D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, "Learning Whom to Trust with MACE" (2013).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.naive.dawid_skene import Matrix, Trace
from tests.naive.majority import Votes, vote_shares
from tests.naive.variational import divergence, geometric_means, variational


def mace(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    competence_prior: tuple[float, float] = (0.5, 0.5),
    strategy_prior: float = 1.0,
    prior: list[float] | str | None = "uniform",
    prior_smoothing: float = 0.0,
    worker_prior: list[Matrix] | None = None,
    start: list[Matrix] | None = None,
    gold: Mapping[int, int] | None = None,
) -> Trace:
    # The geometric means of knowing, and of spamming with each label; at first all are even.
    know = [0.5] * n_workers
    spam = [[0.5 / n_classes] * n_classes for _ in range(n_workers)]

    def learn(
        belief: Matrix | None,
    ) -> tuple[list[Matrix], list[Matrix], float]:
        weights, means, gain = [], [], 0.0
        for worker in range(n_workers):
            knowing, spamming = 0.0, [0.0] * n_classes
            if belief is None:
                assert start is not None
                for label in range(n_classes):
                    others = [start[worker][t][label] for t in range(n_classes) if t != label]
                    elsewhere = sum(others) / len(others) if others else 0.0
                    knowing += 100 * max(start[worker][label][label] - elsewhere, 0) / n_classes
                    spamming[label] += 100 * elsewhere
            else:
                for label, is_right, weight in seen(worker, belief):
                    right = know[worker] + spam[worker][label]
                    knew = know[worker] / right if is_right else 0.0
                    knowing += weight * knew
                    spamming[label] += weight * (1 - knew)
            competence = [competence_prior[0] + knowing, competence_prior[1] + sum(spamming)]
            strategy = [strategy_prior + n for n in spamming]
            knows, spams = geometric_means(competence)
            know[worker] = knows
            spam[worker] = [spams * share for share in geometric_means(strategy)]
            weights.append(matrix(know[worker], spam[worker]))
            share = competence[0] / sum(competence)
            means.append(matrix(share, [(1 - share) * n / sum(strategy) for n in strategy]))
            gain -= divergence(competence, list(competence_prior))
            gain -= divergence(strategy, [strategy_prior] * n_classes)
            if worker_prior is not None:
                for truth in range(n_classes):
                    for label in range(n_classes):
                        known = worker_prior[worker][truth][label]
                        gain += known * math.log(weights[worker][truth][label])
        return weights, means, gain

    def seen(worker: int, belief: Matrix) -> list[tuple[int, bool, float]]:
        """A worker's labels, whether they are right, and how much of each there is."""
        labels = []
        for task, said in enumerate(votes):
            for who, label in said:
                if who == worker:
                    labels.append((label, True, belief[task][label]))
                    labels.append((label, False, 1 - belief[task][label]))
        if worker_prior is not None:
            for truth, row in enumerate(worker_prior[worker]):
                labels += [(label, truth == label, known) for label, known in enumerate(row)]
        return labels

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


def matrix(know: float, spam: list[float]) -> Matrix:
    classes = range(len(spam))
    return [[know * (truth == label) + spam[label] for label in classes] for truth in classes]


def likeliest_mace(
    votes: Votes, n_workers: int, n_classes: int, iterations: int, smoothing: float
) -> tuple[Matrix, list[float], Matrix]:
    """MACE by maximum likelihood, the paper's other way to learn: the posterior, the probability of
    knowing, and that of each label when spamming. A pseudo-count is added to expected counts."""
    know = [0.5] * n_workers
    spam = [[1 / n_classes] * n_classes for _ in range(n_workers)]
    belief = vote_shares(votes, n_classes, {})
    for _ in range(iterations):
        knowing = [smoothing] * n_workers
        spamming = [[smoothing] * n_classes for _ in range(n_workers)]
        spams = [smoothing] * n_workers
        for task, said in enumerate(votes):
            for worker, label in said:
                by_chance = (1 - know[worker]) * spam[worker][label]
                knew = belief[task][label] * know[worker] / (know[worker] + by_chance)
                knowing[worker] += knew
                spams[worker] += 1 - knew
                spamming[worker][label] += 1 - knew
        know = [k / (k + s) for k, s in zip(knowing, spams, strict=True)]
        spam = [[n / sum(row) for n in row] for row in spamming]
        belief = []
        for said in votes:
            row = []
            for truth in range(n_classes):
                product = 1.0
                for worker, label in said:
                    by_chance = (1 - know[worker]) * spam[worker][label]
                    product *= by_chance + know[worker] * (label == truth)
                row.append(product)
            belief.append([value / sum(row) for value in row])
    return belief, know, spam
