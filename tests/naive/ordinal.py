"""Thresholds of each worker on the scale of ordered grades, as loops.

The M-step is solved by Newton's method for one worker after the other, with the second derivatives
of a log-linear model: covariances of what each number changes.
"""

from __future__ import annotations

import math

from tests.naive.dawid_skene import Matrix, Trace, em
from tests.naive.majority import Votes


def ordinal(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    spread: float = 0.3,
    prior: list[float] | str | None = "uniform",
    worker_prior: list[Matrix] | None = None,
    **options: object,
) -> Trace:
    classes = range(n_classes)
    crowd = 1.0
    numbers = [[0.0] * n_classes + [1.0] for _ in range(n_workers)]
    center = crowd

    def learn(belief: Matrix) -> list[Matrix]:
        nonlocal crowd, center
        center = crowd
        for worker in range(n_workers):
            counts = [[0.0] * n_classes for _ in classes]
            for task, said in enumerate(votes):
                for who, label in said:
                    if who == worker:
                        for truth in classes:
                            counts[truth][label] += belief[task][truth]
            if worker_prior is not None:
                for truth in classes:
                    for label in classes:
                        counts[truth][label] += worker_prior[worker][truth][label]
            numbers[worker] = highest(numbers[worker], counts, center, spread)
        total = sum(own[-1] for own in numbers) / spread**2 + 1.0
        crowd = total / (n_workers / spread**2 + 1)
        return [matrix(own) for own in numbers]

    def log_density(confusion: list[Matrix]) -> float:
        total = -((crowd - 1) ** 2) / 2
        for worker, own in enumerate(numbers):
            total -= sum(leaning**2 for leaning in own[:-1]) / (2 * spread**2)
            total -= (own[-1] - crowd) ** 2 / (2 * spread**2)
            if worker_prior is not None:
                for truth in classes:
                    for label in classes:
                        chance = confusion[worker][truth][label]
                        total += worker_prior[worker][truth][label] * math.log(chance)
        return total

    shares = [1 / n_classes] * n_classes if prior == "uniform" else prior
    return em(votes, n_classes, iterations, learn, log_density, prior=shares, **options)


def matrix(numbers: list[float]) -> Matrix:
    """P(label | truth)."""
    *leanings, precision = numbers
    rows = []
    for truth in range(len(leanings)):
        odds = [
            math.exp(leaning - precision * (label - truth) ** 2 / 2)
            for label, leaning in enumerate(leanings)
        ]
        rows.append([each / sum(odds) for each in odds])
    return rows


def highest(start: list[float], counts: Matrix, crowd: float, spread: float) -> list[float]:
    """The numbers at which counts and the crowd make them likeliest; full steps do, since these
    counts are few and the crowd is strong, or half ones where the height falls."""
    numbers, n = list(start), len(start)
    center = [0.0] * (n - 1) + [crowd]

    def height(at: list[float]) -> float:
        total = -sum((a - c) ** 2 for a, c in zip(at, center, strict=True)) / (2 * spread**2)
        chances = matrix(at)
        for truth, row in enumerate(counts):
            total += sum(k * math.log(p) for k, p in zip(row, chances[truth], strict=True))
        return total

    for _ in range(60):
        gradient = [-(a - c) / spread**2 for a, c in zip(numbers, center, strict=True)]
        second = [[(i == j) / spread**2 for j in range(n)] for i in range(n)]
        chances = matrix(numbers)
        for truth, row in enumerate(counts):
            changes = [
                [float(label == i) for i in range(n - 1)] + [-((label - truth) ** 2) / 2]
                for label in range(n - 1)
            ]
            mean = [
                sum(chances[truth][label] * changes[label][i] for label in range(n - 1))
                for i in range(n)
            ]
            for i in range(n):
                for label, k in enumerate(row):
                    gradient[i] += k * (changes[label][i] - mean[i])
                for j in range(n):
                    for label, p in enumerate(chances[truth]):
                        apart = (changes[label][i] - mean[i]) * (changes[label][j] - mean[j])
                        second[i][j] += sum(row) * p * apart
        step = solve(second, gradient)
        before = height(numbers)
        while height([a + s for a, s in zip(numbers, step, strict=True)]) < before - 1e-9:
            step = [s / 2 for s in step]
        numbers = [a + s for a, s in zip(numbers, step, strict=True)]
        if max(map(abs, step)) < 1e-12:
            break
    return numbers


def solve(square: Matrix, right: list[float]) -> list[float]:
    """Gaussian elimination of a positive definite system."""
    n = len(right)
    rows = [[*row, value] for row, value in zip(square, right, strict=True)]
    for i in range(n):
        for j in range(i + 1, n):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [b - factor * a for a, b in zip(rows[i], rows[j], strict=True)]
    found = [0.0] * n
    for i in reversed(range(n)):
        known = sum(rows[i][j] * found[j] for j in range(i + 1, n))
        found[i] = (rows[i][n] - known) / rows[i][i]
    return found
