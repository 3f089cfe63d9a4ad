"""Rank-one completion, as loops.

Y. Ma, A. Olshevsky, V. Saligrama and C. Szepesvari, "Gradient Descent for Sparse Rank-One Matrix
Completion for Crowd-sourced Aggregation of Sparsely Interacting Workers" (2018): algorithm 1 with
dense matrices, worker after worker, each with the step at which its own loss is least; or all at
once, half as far, and a quarter of that while a component's loss would rise. Where the loss has
several minima the order tells which is found. Known answers are those of one more worker, whose
skill is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.naive.majority import Votes

Matrix = list[list[float]]
START = 0.5


@dataclass
class Completion:
    variant: str
    skill: Matrix  # [worker][column]
    posterior: Matrix
    loss: float


def rank_one(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    *,
    variant: str = "auto",
    margin: float = 1.0,
    order: str = "together",
    gold: Mapping[int, int] | None = None,
) -> Completion:
    gold = gold or {}
    if n_classes <= 2:
        variant = "one-skill"
    if variant != "auto":
        return complete(votes, n_workers, n_classes, variant, margin, order, gold)
    ways = [
        complete(votes, n_workers, n_classes, v, margin, order, gold)
        for v in ("one-skill", "one-vs-rest", "beyond-chance")
    ]
    return max(ways, key=lambda way: predictive(votes, n_classes, way.skill))


def complete(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    variant: str,
    margin: float,
    order: str,
    gold: Mapping[int, int],
) -> Completion:
    said = [list(task) for task in votes]
    for task, answer in gold.items():
        said[task].append((n_workers, answer))
    named = [0] * n_classes
    for task in said:
        for _, label in task:
            named[label] += 1
    shares = [n / sum(named) for n in named]

    columns = []
    loss = 0.0
    for column in range(1 if variant == "one-skill" else n_classes):
        together, agreement = agreements(said, n_workers + 1, n_classes, variant, shares, column)
        met = [sum(row) for row in together]
        limit = [max(1 - margin / math.sqrt(max(n, 1)), 0.0) for n in met]
        skill = descend(together, agreement, limit, order)
        columns.append(skill[:n_workers])
        loss += squared_loss(together, agreement, skill, range(n_workers + 1))
    skills = [list(row) for row in zip(*columns, strict=True)]
    judged = [i for i in range(n_workers) if limit[i] > 0]
    weight = sum(met[i] for i in judged)
    for i in range(n_workers):
        if i not in judged:
            for c in range(len(columns)):
                total = sum(met[j] * skills[j][c] for j in judged)
                skills[i][c] = total / weight if weight > 0 else START
    posterior = [belief(said_of_task, n_classes, skills) for said_of_task in votes]
    for task, answer in gold.items():
        posterior[task] = [float(c == answer) for c in range(n_classes)]
    return Completion(variant, skills, posterior, loss)


def agreements(
    said: Votes, n: int, n_classes: int, variant: str, shares: list[float], column: int
) -> tuple[Matrix, Matrix]:
    """N_ij, and N_ij times the agreement of workers i and j beyond chance."""
    together = [[0.0] * n for _ in range(n)]
    agreement = [[0.0] * n for _ in range(n)]
    for task in said:
        for first, (i, one) in enumerate(task):
            for second, (j, other) in enumerate(task):
                if first != second and i != j:
                    together[i][j] += 1
                    if variant == "one-skill":
                        chance = 1 / n_classes
                        worth = ((one == other) - chance) / (1 - chance) if n_classes > 1 else 0.0
                    else:
                        centre = 0.5 if variant == "one-vs-rest" else shares[column]
                        spread = centre * (1 - centre)
                        product = ((one == column) - centre) * ((other == column) - centre)
                        worth = product / spread if spread > 0 else 0.0
                    agreement[i][j] += worth
    return together, agreement


def descend(together: Matrix, agreement: Matrix, limit: list[float], order: str) -> list[float]:
    n = len(limit)
    anchored = sum(together[-1]) > 0
    sign = -1 if sum(agreement[-1]) < 0 else 1
    x = [sign * min(START, bound) for bound in limit]
    x[-1] = 1.0 if anchored else 0.0

    def best(i: int) -> float:
        curvature = sum(together[i][j] * x[j] ** 2 for j in range(n))
        if curvature == 0:
            return x[i]
        slope = sum((agreement[i][j] - together[i][j] * x[i] * x[j]) * x[j] for j in range(n))
        return min(max(x[i] + slope / curvature, -limit[i]), limit[i])

    def step_in_turn() -> None:
        for i in range(n - 1):
            x[i] = best(i)

    def step_together() -> None:
        step = [(best(i) - x[i]) / 2 for i in range(n - 1)] + [0.0]
        for component in components(together):
            loss = squared_loss(together, agreement, x, component)
            while True:
                new = [a + b for a, b in zip(x, step, strict=True)]
                if squared_loss(together, agreement, new, component) <= loss + 1e-10:
                    break
                for i in component:
                    step[i] /= 4
            for i in component:
                x[i] = new[i]

    for _ in range(20_000):
        before = list(x)
        step_together() if order == "together" else step_in_turn()
        if max(abs(a - b) for a, b in zip(x, before, strict=True)) < 1e-14:
            break
    for component in components(together):
        known = anchored and n - 1 in component
        if sum(x[i] for i in component) < 0 and not known:
            for i in component:
                x[i] = -x[i]
    return x


def squared_loss(
    together: Matrix, agreement: Matrix, x: list[float], workers: Iterable[int]
) -> float:
    """Lemma 3, for the workers of a component."""
    loss = 0.0
    for i in workers:
        for j in range(i):
            if together[i][j] > 0:
                rate = agreement[i][j] / together[i][j]  # Eq. 2
                loss += together[i][j] * (rate - x[i] * x[j]) ** 2 / 2
    return loss


def components(together: Matrix) -> list[set[int]]:
    left = set(range(len(together)))
    found = []
    while left:
        component, todo = set(), [min(left)]
        while todo:
            i = todo.pop()
            if i not in component:
                component.add(i)
                todo += [j for j, n in enumerate(together[i]) if n > 0]
        left -= component
        found.append(component)
    return found


def belief(said: list[tuple[int, int]], n_classes: int, skills: Matrix) -> list[float]:
    """The softmax of the score of each class."""
    scores = []
    for c in range(n_classes):
        score = 0.0
        for worker, label in said:
            s = skills[worker][c if len(skills[worker]) > 1 else 0]
            odds = math.log((1 + s) / (1 - s))
            if len(skills[worker]) > 1:
                score += odds if label == c else -odds
            elif label == c:
                score += odds
        scores.append(math.exp(score))
    return [score / sum(scores) for score in scores]


def predictive(votes: Votes, n_classes: int, skills: Matrix) -> float:
    """The log-probability of each label of a task given the others, by a confusion matrix that all
    workers share, which is counted from the same."""
    beliefs = []
    confusion = [[0.0] * n_classes for _ in range(n_classes)]
    for said in votes:
        for i, (_, label) in enumerate(said):
            if len(said) > 1:
                others = belief(said[:i] + said[i + 1 :], n_classes, skills)
                beliefs.append((others, label))
                for c in range(n_classes):
                    confusion[c][label] += others[c]
    total = 0.0
    for others, label in beliefs:
        total += math.log(
            sum(others[c] * confusion[c][label] / sum(confusion[c]) for c in range(n_classes))
        )
    return total
