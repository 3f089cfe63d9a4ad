"""Two kinds of tasks in every class, by variational and empirical Bayes, as loops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from tests.naive.dawid_skene import Matrix
from tests.naive.majority import Votes, vote_shares
from tests.naive.variational import digamma, divergence, geometric_means

State = tuple[int, int]  # class and kind
Belief = list[dict[State, float]]  # of each task
Rows = dict[State, list[float]]  # a number for each label


class Trace(NamedTuple):
    posterior: Matrix
    objective: list[float]
    kappa: float
    chances: list[Rows]  # of each worker


def two_kinds(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    kappa: float | None = None,
    gold: Mapping[int, int] | None = None,
) -> Trace:
    gold = gold or {}
    classes = range(n_classes)
    heard = [task for task, said in enumerate(votes) if said or task in gold]
    belief = first_belief(votes, n_classes, gold)
    precision = 8.0 if kappa is None else kappa
    objective = []
    for _ in range(iterations):
        counts = [worker_counts(votes, worker, n_classes, belief) for worker in range(n_workers)]
        crowd = crowd_counts(counts, n_classes)
        if kappa is None:
            precision = likelier_precision(counts, crowd, precision)
        weights: list[Rows] = []
        means: list[Rows] = []
        bound = 0.0
        for own in counts:
            prior = prior_rows(own, crowd, precision)
            rows = {s: [n + p for n, p in zip(own[s], prior[s], strict=True)] for s in own}
            weights.append({s: geometric_means(row) for s, row in rows.items()})
            means.append({s: [n / sum(row) for n in row] for s, row in rows.items()})
            bound -= sum(divergence(rows[s], prior[s]) for s in own)
        tasks = {s: sum(belief[task][s] for task in heard) for s in belief[0]}
        of_class = [1 + tasks[z, 0] + tasks[z, 1] for z in classes]
        share = geometric_means(of_class)
        tau = [geometric_means([1 + tasks[z, 0], 1 + tasks[z, 1]]) for z in classes]
        bound -= divergence(of_class, [1.0] * n_classes)
        bound -= sum(divergence([1 + tasks[z, 0], 1 + tasks[z, 1]], [1.0, 1.0]) for z in classes)
        for task, said in enumerate(votes):
            joint = {}
            for z, m in belief[task]:
                product = share[z] * tau[z][m] * (gold.get(task, z) == z)
                for worker, label in said:
                    product *= weights[worker][z, m][label]
                joint[z, m] = product
            total = sum(joint.values())
            belief[task] = {s: product / total for s, product in joint.items()}
            if task in heard:
                bound += math.log(total)
        objective.append(bound)
    posterior = [[q[z, 0] + q[z, 1] for z in classes] for q in belief]
    return Trace(posterior, objective, precision, means)


def first_belief(votes: Votes, n_classes: int, gold: Mapping[int, int]) -> Belief:
    """The vote, in the first kind where voters agree more than elsewhere."""
    top = [round(100 * max(row)) for row in vote_shares(votes, n_classes, {})]
    said = [top[task] for task in range(len(votes)) if votes[task]]
    best = min(range(101), key=lambda cut: abs(sum(t >= cut for t in said) - len(said) / 2))
    belief = []
    for task, row in enumerate(vote_shares(votes, n_classes, gold)):
        own = 0 if top[task] >= best else 1
        belief.append(
            {
                (z, m): row[z] * (0.85 if m == own else 0.15)
                for z in range(n_classes)
                for m in (0, 1)
            }
        )
    return belief


def worker_counts(votes: Votes, worker: int, n_classes: int, belief: Belief) -> Rows:
    counts = {state: [0.0] * n_classes for state in belief[0]}
    for task, said in enumerate(votes):
        for who, label in said:
            if who == worker:
                for state, probability in belief[task].items():
                    counts[state][label] += probability
    return counts


def crowd_counts(counts: list[Rows], n_classes: int) -> Rows:
    """Of all workers, and in each kind half of 2 + 8 for the right label and 2 for another."""
    return {
        (z, m): [
            sum(own[z, m][label] for own in counts) + (5.0 if label == z else 1.0)
            for label in range(n_classes)
        ]
        for z in range(n_classes)
        for m in (0, 1)
    }


def prior_rows(own: Rows, crowd: Rows, precision: float) -> Rows:
    prior = {}
    for z, m in own:
        n_labels = range(len(own[z, m]))
        both = [crowd[z, 0][c] + crowd[z, 1][c] for c in n_labels]
        of_class = [n / sum(both) for n in both]
        of_kind = [n / sum(crowd[z, m]) for n in crowd[z, m]]
        said = [own[z, 0][c] + own[z, 1][c] for c in n_labels]
        omega = [(said[c] + 4 * of_class[c]) / (sum(said) + 4) for c in n_labels]
        pi = [of_kind[c] * omega[c] / of_class[c] for c in n_labels]
        prior[z, m] = [precision * value / sum(pi) for value in pi]
    return prior


def likelier_precision(counts: list[Rows], crowd: Rows, precision: float) -> float:
    """Minka's fixed-point step for a precision, with a Gamma prior that is worth ten draws."""
    draws, rate = 10.0, 10 / 8
    for own in counts:
        prior = prior_rows(own, crowd, precision)
        for state, row in own.items():
            rate += digamma(sum(row) + precision) - digamma(precision)
            for n, center in zip(row, prior[state], strict=True):
                draws += center * (digamma(n + center) - digamma(center))
    return draws / rate
