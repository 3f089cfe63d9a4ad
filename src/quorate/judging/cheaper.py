"""A cheaper panel: whom to drop, what that saves, and what it costs in answers.

Judges are dropped one after the other, each time the one whose votes cost most for what they
add: the answers are those of a vote weighted by the log-odds of each judge's accuracy, and what is
lost is measured against the known answers, or the consensus where there are none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate.kernels import Floats
from quorate.labels import Labels

MOST_JUDGES = 200


class Step(NamedTuple):
    """A panel without some judges: who was dropped last, how many are left, the share of the cost
    that is saved, and the accuracy of the weighted vote."""

    dropped: int
    left: int
    saved: float
    accuracy: float


def cheaper_panels(labels: Labels, truth: Floats, rate: Floats, cost: Floats) -> list[Step]:
    """Panels from all judges but one down to a single one."""
    n_judges, n_classes = labels.n_workers, labels.n_classes
    accuracy = np.clip(1 - rate, 0.02, 0.98)
    weight = np.log(accuracy * max(n_classes - 1, 1) / (1 - accuracy))
    task, votes = labels.task_of_label(), np.bincount(labels.worker, minlength=n_judges)
    points = np.zeros((n_judges, labels.n_tasks, n_classes))
    np.add.at(points, (labels.worker, task, labels.label), weight[labels.worker])
    spent = cost * votes
    total, whole = points.sum(axis=0), float(spent.sum())
    left, steps = list(range(n_judges)), []
    saved = 0.0
    while len(left) > 1:
        scores = [_accuracy(total - points[judge], truth) for judge in left]
        before = _accuracy(total, truth)
        # The least lost for what is saved; a judge whose votes do harm goes first.
        lost = np.array(
            [(before - score) / max(spent[j], 1e-12) for score, j in zip(scores, left, strict=True)]
        )
        place = int(lost.argmin())
        judge = left.pop(place)
        total = total - points[judge]
        saved += float(spent[judge])
        steps.append(Step(judge, len(left), saved / max(whole, 1e-12), scores[place]))
    return steps


def _accuracy(points: Floats, truth: Floats) -> float:
    """The share of answers that are right; ties are shared."""
    best = points >= points.max(axis=1, keepdims=True) - 1e-9
    return float(((best / best.sum(axis=1, keepdims=True)) * truth).sum(axis=1).mean())


def full_accuracy(labels: Labels, truth: Floats, rate: Floats) -> float:
    """The accuracy of the weighted vote of all judges."""
    accuracy = np.clip(1 - rate, 0.02, 0.98)
    weight = np.log(accuracy * max(labels.n_classes - 1, 1) / (1 - accuracy))
    return _accuracy(labels.weighted_votes(weight), truth)


def advised(steps: list[Step], full: float, most_lost: float) -> int | None:
    """How many to drop: as many as save most while at most that much accuracy is lost."""
    bearable = [k for k, step in enumerate(steps) if full - step.accuracy <= most_lost]
    return max(bearable, key=lambda k: steps[k].saved) + 1 if bearable else None
