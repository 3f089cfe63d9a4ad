"""Votes weighted by skills, and measures of agreement, as loops over rows (task, worker, label)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

Row = tuple[Hashable, Hashable, Hashable]
Skills = Mapping[Hashable, float]


def weighted_vote(rows: Sequence[Row], skills: Skills) -> dict[Hashable, dict[Hashable, float]]:
    """For each task the sum of the skills of those who gave a label."""
    votes: dict[Hashable, dict[Hashable, float]] = {}
    for task, worker, label in rows:
        of_task = votes.setdefault(task, {})
        of_task[label] = of_task.get(label, 0.0) + skills[worker]
    return votes


def winners(votes: Mapping[Hashable, Mapping[Hashable, float]]) -> dict[Hashable, Hashable]:
    """The label of the greatest weight; of several the one that sorts first."""
    return {
        task: min(of_task, key=lambda label: (-of_task[label], label))  # type: ignore[arg-type,return-value]
        for task, of_task in votes.items()
    }


def agreement(rows: Sequence[Row], right: Mapping[Hashable, object]) -> dict[Hashable, float]:
    """The share of a worker's labels that are right, of tasks whose right label is known."""
    given: dict[Hashable, list[bool]] = {}
    for task, worker, label in rows:
        if task in right:
            given.setdefault(worker, []).append(right[task] == label)
    return {worker: sum(marks) / len(marks) for worker, marks in given.items()}


def stepwise_skills(rows: Sequence[Row], rates: Sequence[float], first: float) -> dict:
    """Skills that begin alike, and move to the agreement with the weighted vote by each rate."""
    skills = {worker: first for _, worker, _ in rows}
    for rate in rates:
        agrees = agreement(rows, winners(weighted_vote(rows, skills)))
        skills = {w: skill + rate * (agrees[w] - skill) for w, skill in skills.items()}
    return skills


def probability_of(
    rows: Sequence[Row], task: Hashable, answer: Hashable, skills: Skills, labels: set[Hashable]
) -> float:
    """The posterior of an answer, by workers who otherwise give any of the other labels."""
    joint = {}
    for truth in labels:
        joint[truth] = 1.0
        for of, worker, label in rows:
            if of == task:
                wrong = (1 - skills[worker]) / (len(labels) - 1)
                joint[truth] *= skills[worker] if label == truth else wrong
    total = sum(joint.values())
    return joint[answer] / total if total else 0.0


def label_entropy(rows: Sequence[Row], skills: Skills, labels: set[Hashable]) -> float:
    """The entropy of the mean, over rows, of what each says of the labels."""
    mean = dict.fromkeys(labels, 0.0)
    for _, worker, said in rows:
        for label in labels:
            wrong = (1 - skills[worker]) / (len(labels) - 1)
            mean[label] += (skills[worker] if label == said else wrong) / len(rows)
    return -sum(share * math.log(share) for share in mean.values() if share > 0)


def alpha(rows: Sequence[Row], distance: Callable[[Hashable, Hashable], float]) -> float:
    """Krippendorff's alpha: one minus the distance of labels of the same task, each label paired
    with the others and weighted by one over their number, over the distance of any two labels."""
    units: dict[Hashable, list[Hashable]] = {}
    for task, _, label in rows:
        units.setdefault(task, []).append(label)
    pairable = [unit for unit in units.values() if len(unit) > 1]
    every = [label for unit in pairable for label in unit]
    observed = 0.0
    for unit in pairable:
        pairs = [(i, j) for i in range(len(unit)) for j in range(len(unit)) if i != j]
        observed += sum(distance(unit[i], unit[j]) for i, j in pairs) / (len(unit) - 1)
    pairs = [(i, j) for i in range(len(every)) for j in range(len(every)) if i != j]
    expected = sum(distance(every[i], every[j]) for i, j in pairs) / (len(every) - 1)
    return 1 - observed / expected
