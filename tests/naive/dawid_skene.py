"""Dawid-Skene, Fast Dawid-Skene and Hybrid, as loops.

V. B. Sinha, S. Rao and V. N. Balasubramanian, "Fast Dawid-Skene: A Fast Vote Aggregation Scheme for
Sentiment Classification" (2018): equations 5 to 8, algorithms 1 to 3. Pseudo-counts are those of a
Dirichlet prior, whose log density then belongs to what is maximised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.naive.majority import Votes, leaders, vote_shares

Matrix = list[list[float]]
Learn = Callable[[Matrix], list[Matrix]]
LogDensity = Callable[[list[Matrix]], float]


@dataclass
class Trace:
    """The last estimates, and what each iteration showed."""

    prior: list[float]
    confusion: list[Matrix]
    posterior: Matrix = field(default_factory=list)
    log_likelihood: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    moved: list[float] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    hard: list[bool] = field(default_factory=list)
    closest_call: float = 1.0  # the least lead of a hard answer: 1 - second best / best


def dawid_skene(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    smoothing: float = 0.0,
    worker_prior: list[Matrix] | None = None,
    **options: object,
) -> Trace:
    """Each worker has a confusion matrix."""

    def pseudo_count(worker: int, truth: int, label: int) -> float:
        known = worker_prior[worker][truth][label] if worker_prior else 0.0
        return smoothing + known

    def learn(belief: Matrix) -> list[Matrix]:
        confusion = []
        for worker in range(n_workers):
            matrix = []
            for truth in range(n_classes):
                row = [pseudo_count(worker, truth, label) for label in range(n_classes)]
                for task, said in enumerate(votes):
                    for who, label in said:
                        if who == worker:
                            row[label] += belief[task][truth]
                total = sum(row)
                matrix.append([n / total if total > 0 else 0.0 for n in row])  # Eq. 6
            confusion.append(matrix)
        return confusion

    def log_density(confusion: list[Matrix]) -> float:
        total = 0.0
        for worker in range(n_workers):
            for truth in range(n_classes):
                for label in range(n_classes):
                    pseudo = pseudo_count(worker, truth, label)
                    if pseudo > 0:
                        total += pseudo * math.log(confusion[worker][truth][label])
        return total

    return em(votes, n_classes, iterations, learn, log_density, smoothing=smoothing, **options)


def em(
    votes: Votes,
    n_classes: int,
    iterations: int,
    learn: Learn,
    log_density: LogDensity,
    *,
    smoothing: float = 0.0,
    prior_smoothing: float | None = None,
    prior: list[float] | None = None,
    gold: Mapping[int, int] | None = None,
    start: list[Matrix] | None = None,
    harden: str = "never",
    switch_at: float = 0.005,
    ties: str = "shared",
    skip_zeros: bool = False,
) -> Trace:
    """So many iterations from the vote, or from given confusion matrices; ``prior`` is estimated
    unless it is given."""
    gold = gold or {}
    pseudo = smoothing if prior_smoothing is None else prior_smoothing
    heard = [task for task, said in enumerate(votes) if said or task in gold]
    hard = harden == "always"

    belief = vote_shares(votes, n_classes, gold)
    if hard:
        belief = [hardened(row, ties) for row in belief]

    trace = Trace([], [])
    marginals: list[float] = []
    for iteration in range(iterations):
        # M-step
        before = marginals
        if start is not None and iteration == 0:
            marginals = trace.prior = prior or [1 / n_classes] * n_classes
            trace.confusion = start
        else:
            marginals = class_shares(belief, heard, 0.0)
            trace.prior = prior or class_shares(belief, heard, pseudo)  # Eq. 7
            trace.confusion = learn(belief)
        moved = math.inf
        if before:
            moved = sum(abs(now - then) for now, then in zip(marginals, before, strict=True))
        # E-step
        joint = joint_probability(votes, trace.prior, trace.confusion, gold, skip_zeros)
        trace.posterior = [[value / sum(row) for value in row] for row in joint]  # Eq. 8
        log_likelihood = sum(math.log(sum(row)) for row in joint)
        changed = 0
        if hard:
            answers = [hardened(row, ties) for row in trace.posterior]
            changed = sum(now != then for now, then in zip(answers, belief, strict=True))
            belief = answers
            objective = sum(math.log(max(joint[task])) for task in heard)  # Eq. 10
            for task in heard:
                ordered = sorted(joint[task])
                if n_classes > 1:
                    trace.closest_call = min(trace.closest_call, 1 - ordered[-2] / ordered[-1])
        else:
            belief = trace.posterior
            objective = log_likelihood
        objective += log_density(trace.confusion)
        if prior is None and pseudo > 0:
            objective += pseudo * sum(math.log(share) for share in trace.prior)
        trace.objective.append(objective)
        trace.log_likelihood.append(log_likelihood)
        trace.moved.append(moved)
        trace.changed.append(changed)
        trace.hard.append(hard)
        hard = hard or (harden == "settled" and moved < switch_at)  # Algorithm 3
    return trace


def class_shares(belief: Matrix, heard: list[int], pseudo: float) -> list[float]:
    """The mean belief in each class, over the tasks of which anything is known."""
    n_classes = len(belief[0])
    shares = []
    for truth in range(n_classes):
        count = pseudo
        for task in heard:
            count += belief[task][truth]
        shares.append(count / (len(heard) + n_classes * pseudo))
    return shares


def joint_probability(
    votes: Votes,
    prior: list[float],
    confusion: list[Matrix],
    gold: Mapping[int, int],
    skip_zeros: bool,
) -> Matrix:
    """p(truth, labels) of each task: the numerator of Eq. 8, zero for what is known to be false."""
    joint = []
    for task, said in enumerate(votes):
        row = []
        for truth in range(len(prior)):
            product = 1.0
            for factor in (prior[truth], *(confusion[who][truth][label] for who, label in said)):
                if factor > 0 or not skip_zeros:
                    product *= factor
            row.append(product if gold.get(task, truth) == truth else 0.0)
        joint.append(row)
    return joint


def hardened(row: list[float], ties: str) -> list[float]:
    """Eq. 2: all belief on the likeliest class, or shared evenly between those that are tied."""
    best = leaders(row)
    if ties == "first":
        best = best[:1]
    return [1 / len(best) if truth in best else 0.0 for truth in range(len(row))]
