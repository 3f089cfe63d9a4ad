"""IBCC by variational Bayes, as loops.

H.-C. Kim and Z. Ghahramani, "Bayesian Classifier Combination" (2012).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.naive.dawid_skene import Matrix, Trace
from tests.naive.majority import Votes
from tests.naive.variational import divergence, geometric_means, variational


def ibcc(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    smoothing: float = 1.0,
    diagonal: float = 1.0,
    prior: list[float] | None = None,
    prior_smoothing: float | None = None,
    worker_prior: list[Matrix] | None = None,
    start: list[Matrix] | None = None,
    gold: Mapping[int, int] | None = None,
) -> Trace:
    def learn(belief: Matrix | None) -> tuple[list[Matrix], list[Matrix], float]:
        weights, means, gain = [], [], 0.0
        for worker in range(n_workers):
            weights.append([])
            means.append([])
            for truth in range(n_classes):
                pseudo = [smoothing] * n_classes
                pseudo[truth] += diagonal
                if worker_prior is not None:
                    for label in range(n_classes):
                        pseudo[label] += worker_prior[worker][truth][label]
                counts = list(pseudo)
                if belief is None:
                    assert start is not None
                    for label in range(n_classes):
                        counts[label] += 100 * start[worker][truth][label]
                else:
                    for task, said in enumerate(votes):
                        for who, label in said:
                            if who == worker:
                                counts[label] += belief[task][truth]
                weights[worker].append(geometric_means(counts))
                means[worker].append([n / sum(counts) for n in counts])
                gain -= divergence(counts, pseudo)
        return weights, means, gain

    return variational(
        votes,
        n_classes,
        iterations,
        learn,
        gold=gold,
        prior=prior,
        prior_pseudo=smoothing if prior_smoothing is None else prior_smoothing,
        prior_is_believed=True,
        started=start is not None,
    )
