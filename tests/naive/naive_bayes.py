"""Naive Bayes with experts, as loops.

Y. Jin and L. Zhang, "Multiple Experts with Binary Features" (2010), sections 4.2 to 4.4, with a
weight on the features' log-likelihood. The pseudo-counts' log density belongs to what is maximised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tests.naive.dawid_skene import Matrix, Trace, class_shares, joint_probability
from tests.naive.majority import Votes, vote_shares


def naive_bayes(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    features: list[list[int]],
    smoothing: float,
    feature_weight: float = 0.0,
    prior: list[float] | None = None,
    gold: Mapping[int, int] | None = None,
    start: list[Matrix] | None = None,
    skip_zeros: bool = False,
) -> Trace:
    gold = gold or {}
    heard = [task for task, said in enumerate(votes) if said or task in gold]
    belief = vote_shares(votes, n_classes, gold)
    trace = Trace([], [])
    marginals: list[float] = []
    for iteration in range(iterations):
        # M-step
        before = marginals
        if start is not None and iteration == 0:
            marginals = trace.prior = prior or [1 / n_classes] * n_classes
            trace.confusion = start
            rate = [[0.5] * n_classes for _ in features[0]]
        else:
            marginals = class_shares(belief, heard, 0.0)
            trace.prior = prior or class_shares(belief, heard, smoothing)
            trace.confusion = [
                expert(votes, worker, belief, n_classes, smoothing) for worker in range(n_workers)
            ]
            rate = feature_rates(features, belief, heard, n_classes, smoothing)
        moved = math.inf
        if before:
            moved = sum(abs(now - then) for now, then in zip(marginals, before, strict=True))
        # E-step
        joint = joint_probability(votes, trace.prior, trace.confusion, gold, skip_zeros)
        for task, row in enumerate(joint):
            likely = likelihood_of_features(features[task], rate, feature_weight)
            joint[task] = [a * b for a, b in zip(row, likely, strict=True)]
        belief = [[value / sum(row) for value in row] for row in joint]
        log_likelihood = sum(math.log(sum(joint[task])) for task in heard)
        density = smoothing * sum(
            math.log(p) for matrix in trace.confusion for row in matrix for p in row
        )
        if prior is None:
            density += smoothing * sum(math.log(p) for p in trace.prior)
        log_rates = sum(math.log(p) + math.log(1 - p) for row in rate for p in row)
        density += feature_weight * smoothing * log_rates
        trace.objective.append(log_likelihood + density)
        trace.log_likelihood.append(log_likelihood)
        trace.moved.append(moved)
        trace.changed.append(0)
        trace.hard.append(False)
    trace.posterior = belief
    return trace


def expert(
    votes: Votes, worker: int, belief: Matrix, n_classes: int, smoothing: float
) -> list[list[float]]:
    """M of section 4.4."""
    matrix = []
    for truth in range(n_classes):
        row = [smoothing] * n_classes
        for task, said in enumerate(votes):
            for who, label in said:
                if who == worker:
                    row[label] += belief[task][truth]
        matrix.append([count / sum(row) for count in row])
    return matrix


def feature_rates(
    features: list[list[int]],
    belief: Matrix,
    heard: list[int],
    n_classes: int,
    smoothing: float,
) -> Matrix:
    """phi_{j|n} of section 4.4, as ``[feature][class]``."""
    rates = []
    for feature in range(len(features[0])):
        row = []
        for truth in range(n_classes):
            present = sum(belief[task][truth] * features[task][feature] for task in heard)
            tasks = sum(belief[task][truth] for task in heard)
            row.append((present + smoothing) / (tasks + 2 * smoothing))
        rates.append(row)
    return rates


def likelihood_of_features(has: list[int], rate: Matrix, weight: float) -> list[float]:
    """Eq. 1 of one task, to the power of the weight, for each class."""
    likely = []
    for truth in range(len(rate[0])):
        product = 1.0
        for feature, present in enumerate(has):
            p = rate[feature][truth]
            product *= p if present else 1 - p
        likely.append(product**weight)
    return likely
