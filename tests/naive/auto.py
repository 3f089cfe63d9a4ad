"""Auto from what its members believe: weights, dependence and posterior, as loops."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from tests.naive.dawid_skene import Matrix
from tests.naive.majority import Votes, vote_shares

Chances = list[list[list[float]]]  # of each worker, label and state


class Member(NamedTuple):
    """What a model believes of each task's state and class, and the chances of its workers."""

    states: Matrix
    posterior: Matrix
    chances: Chances


class Fold(NamedTuple):
    """Votes that are kept and held out, and the members (one coin, hierarchical, MACE, two kinds)
    fitted to those that are kept."""

    kept: Votes
    held_out: Votes
    members: list[Member]


def member_weights(folds: list[Fold]) -> list[float]:
    """Of one coin, hierarchical, MACE and two kinds."""
    n_tasks = len(folds[0].kept)
    n = [sum(len(fold.held_out[task]) for fold in folds) for task in range(n_tasks)]
    for_matrices, for_kinds, for_hierarchical = ([0.0] * n_tasks for _ in range(3))
    for fold in folds:
        for task in range(n_tasks):
            for worker, label in fold.held_out[task]:
                one_coin, hierarchical, mace, kinds = (
                    predicted(member, task, worker, label) for member in fold.members
                )
                matrices = (hierarchical + mace) / 2
                for_matrices[task] += math.log(matrices / one_coin)
                for_kinds[task] += math.log(kinds / hierarchical)
                for_hierarchical[task] += math.log(hierarchical / mace)
    a = 0.2 + 0.7 * climb(for_matrices, n)
    g = 0.6 * climb(for_kinds, n)
    against = climb([-x for x in for_hierarchical], n)
    h = 0.5 + 0.25 * (climb(for_hierarchical, n) - against)
    return [1 - a, h * a * (1 - g), (1 - h) * a * (1 - g), a * g]


def without_little(weights: list[float]) -> list[float]:
    """The weights where members of hardly any are left out."""
    kept = [w if w >= 0.01 else 0.0 for w in weights]
    return [w / sum(kept) for w in kept]


def predicted(member: Member, task: int, worker: int, label: int) -> float:
    """The probability of a vote."""
    chances = member.chances[worker][label]
    return sum(q * chance for q, chance in zip(member.states[task], chances, strict=True))


def climb(x: list[float], n: list[int]) -> float:
    """How far a rung is climbed, from what speaks for it in all, and the number of votes, of each
    task: a task is one draw of the ratio of their sums."""
    mean = sum(x) / max(sum(n), 1)
    spread = sum((x[task] - mean * n[task]) ** 2 for task in range(len(x)))
    error = math.sqrt(spread) / max(sum(n), 1)
    return min(max((mean - 3 * error) / 0.02, 0), 1)


def dependence(folds: list[Fold], weights: list[float], n_classes: int, n_workers: int) -> float:
    """delta: the slope of held-out votes' leans on the mean lean of a task's kept votes."""
    n_tasks = len(folds[0].kept)
    rf, ff = [0.0] * n_tasks, [0.0] * n_tasks
    for fold in folds:
        q = mixture([member.posterior for member in fold.members], weights)
        shares = label_shares(fold.kept, q, n_classes, n_workers)
        for task in range(n_tasks):
            leans = [lean(q[task], shares[w], label) for w, label in fold.kept[task]]
            f = sum(leans) / len(leans) if leans else 0.0
            for w, label in fold.held_out[task]:
                rf[task] += lean(q[task], shares[w], label) * f
                ff[task] += f * f
    total = sum(ff) + 0.15
    slope = (sum(rf) + 0.3 * 0.15) / total
    spread = sum((rf[task] - slope * ff[task]) ** 2 for task in range(n_tasks))
    return min(max((slope - 2 * math.sqrt(spread) / total) / 0.03, 0), 1)


def mixture(posteriors: list[Matrix], weights: list[float]) -> Matrix:
    return [
        [sum(w * p for w, p in zip(weights, ps, strict=True)) for ps in zip(*rows, strict=True)]
        for rows in zip(*posteriors, strict=True)
    ]


def label_shares(votes: Votes, q: Matrix, n_classes: int, n_workers: int) -> Chances:
    """T of each worker, label and truth, with two labels of the crowd in each row."""
    classes = range(n_classes)
    counts = [[[0.0] * n_classes for _ in classes] for _ in range(n_workers)]
    for task, said in enumerate(votes):
        for worker, label in said:
            for truth in classes:
                counts[worker][label][truth] += q[task][truth]
    crowd = [[sum(own[c][t] for own in counts) + 1 / n_classes for t in classes] for c in classes]
    total = [sum(crowd[c][t] for c in classes) for t in classes]
    shares: Chances = []
    for own in counts:
        n = [sum(own[c][t] for c in classes) for t in classes]
        shares.append(
            [
                [(own[c][t] + 2 * crowd[c][t] / total[t]) / (n[t] + 2) for t in classes]
                for c in classes
            ]
        )
    return shares


def lean(q: list[float], shares: Matrix, label: int) -> float:
    """How much more a vote leans to the posterior than the posterior itself predicts."""
    expected = 0.0
    for other, of_label in enumerate(shares):
        for truth, share in enumerate(of_label):
            expected += q[other] * q[truth] * share
    return q[label] - expected


def posterior(
    posteriors: list[Matrix],
    weights: list[float],
    delta: float,
    votes: Votes,
    gold: Mapping[int, int],
) -> Matrix:
    """The mixture of the members' posteriors, softened as far as votes depend on each other."""
    n_classes = len(posteriors[0][0])
    softer = [[softened(row, delta) for row in of_model] for of_model in posteriors]
    vote = vote_shares(votes, n_classes, gold)
    mixed = []
    for task, row in enumerate(mixture(softer, weights)):
        with_vote = [
            (1 - 0.1 * delta) * p + 0.1 * delta * v for p, v in zip(row, vote[task], strict=True)
        ]
        known = [float(c == gold[task]) for c in range(n_classes)] if task in gold else None
        mixed.append(known or tempered(with_vote, 1 + 0.3 * delta))
    return mixed


def softened(row: list[float], delta: float) -> list[float]:
    """P, which becomes the mean of P, its square root and its fourth root."""
    powers = [tempered(row, worth) for worth in (1, 2, 4)]
    return [
        (1 - delta) * p + delta * sum(power[c] for power in powers) / 3 for c, p in enumerate(row)
    ]


def tempered(row: list[float], temperature: float) -> list[float]:
    powers = [share ** (1 / temperature) for share in row]
    return [power / sum(powers) for power in powers]
