"""One-coin Dawid-Skene with a prior on accuracy, as loops.

P. Maginnis and T. Gupta, "Adaptive Crowdsourcing via EM with Prior" (2015), section 1. The paper
has two classes; with more, a wrong label is any of the others evenly. The M-step follows the slope
of the objective to where it is zero, whatever the prior's bounds.
"""

from __future__ import annotations

import math

from tests.naive.dawid_skene import Matrix, Trace, em
from tests.naive.majority import Votes, right_and_wrong


def one_coin(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    beta: tuple[float, float] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    smoothing: float = 0.0,
    worker_prior: list[Matrix] | None = None,
    start: list[Matrix] | None = None,
    **options: object,
) -> Trace:
    """Each worker is right with one probability, which ``confusion`` has on its diagonal."""

    def pseudo_counts(worker: int) -> tuple[float, float]:
        right = wrong = smoothing
        for truth in range(n_classes):
            for label in range(n_classes):
                known = worker_prior[worker][truth][label] if worker_prior else 0.0
                if truth == label:
                    right += known
                else:
                    wrong += known
        return right, wrong

    def learn(belief: Matrix) -> list[Matrix]:
        counts = []
        for worker, (right, wrong) in enumerate(right_and_wrong(votes, n_workers, belief)):
            more_right, more_wrong = pseudo_counts(worker)
            counts.append((right + more_right, wrong + more_wrong))
        all_right = sum(right for right, _ in counts)
        all_wrong = sum(wrong for _, wrong in counts)
        confusion = []
        for right, wrong in counts:
            if beta is not None:
                accuracy = likeliest_accuracy(right, wrong, *beta, low, high)
            elif right + wrong > 0:
                accuracy = min(max(right / (right + wrong), low), high)
            else:  # nothing is known of this worker, who then is like the crowd
                accuracy = min(max(all_right / (all_right + all_wrong), low), high)
            confusion.append(one_coin_matrix(accuracy, n_classes))
        return confusion

    def log_density(confusion: list[Matrix]) -> float:
        total = 0.0
        for worker in range(n_workers):
            accuracy = confusion[worker][0][0]
            right, wrong = pseudo_counts(worker)
            a, b = beta or (1.0, 1.0)
            for weight, value in (
                (right, accuracy),
                (wrong, 1 - accuracy),
                (a - 1, accuracy - low),
                (b - 1, high - accuracy),
            ):
                if weight != 0:
                    total += weight * math.log(value)
        return total

    if start is not None:
        start = [
            one_coin_matrix(sum(m[c][c] for c in range(n_classes)) / n_classes, n_classes)
            for m in start
        ]
    return em(
        votes,
        n_classes,
        iterations,
        learn,
        log_density,
        smoothing=smoothing,
        start=start,
        **options,
    )


def one_coin_matrix(accuracy: float, n_classes: int) -> Matrix:
    wrong = (1 - accuracy) / (n_classes - 1) if n_classes > 1 else 0.0
    return [
        [accuracy if truth == label else wrong for label in range(n_classes)]
        for truth in range(n_classes)
    ]


def likeliest_accuracy(
    right: float, wrong: float, a: float, b: float, low: float, high: float
) -> float:
    """Where dQ/dp of the paper changes sign, for a and b of at least 1, when it only ever falls."""
    assert a >= 1 and b >= 1

    def slope(p: float) -> float:
        return right / p - wrong / (1 - p) + (a - 1) / (p - low) - (b - 1) / (high - p)

    below, above = low, high
    for _ in range(200):
        middle = (below + above) / 2
        if middle in (below, above):
            break
        if slope(middle) > 0:
            below = middle
        else:
            above = middle
    return (below + above) / 2
