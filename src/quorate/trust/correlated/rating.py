"""Rating of a group by the other workers: those who agree because they are right are no duplicates.

Votes inside a group cannot tell experts from duplicates, since both nearly always agree. The others
can, with no model of anybody. Workers who know the truth agree with whoever knows it better than
with each other: if labels are right with skills s (accuracy beyond chance), two others agree by
s s', and one of them with a member of the group by s times the member's skill. So where the others
agree with each other clearly more than with the group, its labels are worse than theirs, and where
they agree with the group clearly more, better. Known answers tell the same more directly.

The standard error of the difference is that of a ratio estimator over tasks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.trust.correlated.agreement import label_shares
from quorate.trust.correlated.groups import (
    Group,
    Groups,
    group_numbers,
    representatives,
    vote_weights,
)

ENOUGH_TASKS = 30  # of the group, for anything to be told from votes
ENOUGH_GOLD = 15  # tasks of the group with known answers, for these to decide
LEAST_LEAD = 0.1  # in agreement beyond chance, or in accuracy
CLEARLY = 2.0  # standard errors
IDENTICAL = 0.9  # correlation


class Rating(NamedTuple):
    """The agreement beyond chance of others with each other and with the group, or the accuracies
    of both on known answers; and the standard error of the difference."""

    others: float
    group: float
    error: float

    @property
    def better(self) -> bool:
        """Whether the group's labels are clearly better than the others'."""
        return self.group - self.others >= CLEARLY * self.error

    @property
    def worse(self) -> bool:
        """Whether the group's labels are clearly worse than the others'."""
        return self.others - self.group >= max(CLEARLY * self.error, LEAST_LEAD)

    def blames(self, group: Group) -> bool:
        """Whether the others know enough to say that the group shares errors."""
        if self.others < LEAST_LEAD:
            return False
        return self.worse or (group.correlation >= IDENTICAL and not self.better)


NOTHING_KNOWN = Rating(others=0.0, group=0.0, error=np.inf)


class TaskSums(NamedTuple):
    """Sums over each task: what is compared, and the most that it could be."""

    found: Floats
    most: Floats

    @property
    def ratio(self) -> float:
        return float(self.found.sum() / max(self.most.sum(), 1e-12))

    @property
    def influence(self) -> Floats:
        """How much each task moves the ratio."""
        moved: Floats = (self.found - self.ratio * self.most) / max(self.most.sum(), 1e-12)
        return moved


def groups_at_fault(groups: Groups, labels: Labels) -> Groups:
    """The groups that share errors: those clearly worse than the others; and of those who are
    identical in all but name, who can hardly all be right by themselves, any not clearly better."""
    if not groups:
        return ()
    share = label_shares(labels)
    kept = []
    for i, group in enumerate(groups):
        if rate(i, groups, labels, share).blames(group):
            kept.append(group)
    return tuple(kept)


def rate(which: int, groups: Groups, labels: Labels, share: Floats) -> Rating:
    """Rate one of the groups by the others, each of the other groups as one voice.

    ``share[worker, class]`` is how often a worker gives a label. Nobody labels a task twice."""
    theirs = group_numbers(groups, labels.n_workers) == which + 1
    task = np.repeat(np.arange(labels.n_tasks), labels.n_said)
    labels = labels.only_tasks(np.bincount(task, theirs[labels.worker], labels.n_tasks) > 0)
    voices = Voices.of(groups, labels, theirs)
    if labels.gold is not None and (labels.gold >= 0).sum() >= ENOUGH_GOLD:
        return _rating(*_accuracies(voices, labels))
    if labels.n_tasks < ENOUGH_TASKS:
        return NOTHING_KNOWN
    return _rating(*_agreements(voices, labels, share))


class Voices(NamedTuple):
    """Votes of a task by voices, of which a group is one: for each label its voice, its weight in
    that and whether it is of the group that is rated (1, else 0); and the task of each voice."""

    indptr: NDArray[np.integer]
    voice: NDArray[np.integer]
    weight: Floats
    inside: Floats
    task: NDArray[np.integer]

    @classmethod
    def of(cls, groups: Groups, labels: Labels, theirs: NDArray[np.bool_]) -> Voices:
        task = np.repeat(np.arange(labels.n_tasks), labels.n_said)
        speaker = representatives(groups, labels.n_workers)[labels.worker]
        each, voice = np.unique(task * labels.n_workers + speaker, return_inverse=True)
        whole = tuple(group._replace(correlation=1.0) for group in groups)
        weight = vote_weights(labels, whole)
        assert weight is not None
        inside = theirs[labels.worker].astype(np.float64)
        return cls(labels.indptr, voice, weight, inside, each // labels.n_workers)

    def sums(self, value: Floats) -> tuple[Floats, Floats]:
        """Weighted sums over the group's and over the others' labels of each task."""
        weighted = value * self.weight
        group = kernels.task_sums(self.indptr, weighted * self.inside)
        return group, kernels.task_sums(self.indptr, weighted * (1 - self.inside))

    def products(self, value: Floats) -> tuple[Floats, Floats]:
        """Sums of products over pairs of voices: two of the others, and the group with another."""
        group, others = self.sums(value)
        voice = np.bincount(self.voice, value * self.weight * (1 - self.inside))
        squares = np.bincount(self.task, voice**2, len(group))
        return others**2 - squares, group * others


def _agreements(voices: Voices, labels: Labels, share: Floats) -> tuple[TaskSums, TaskSums]:
    """Agreement beyond chance: products of what labels say beyond how often their workers say it,
    summed over classes, and of its standard deviations."""
    spread = np.sqrt(np.maximum(1 - (share**2).sum(axis=1), 0))
    found = np.zeros((2, labels.n_tasks))
    for c in range(labels.n_classes):
        found += voices.products((labels.label == c) - share[labels.worker, c])
    most = voices.products(spread[labels.worker])
    return TaskSums(found[0], most[0]), TaskSums(found[1], most[1])


def _accuracies(voices: Voices, labels: Labels) -> tuple[TaskSums, TaskSums]:
    """Right labels on tasks with known answers, and all labels there."""
    assert labels.gold is not None
    gold = np.repeat(labels.gold, labels.n_said)
    right, known = (voices.sums(value.astype(float)) for value in (gold == labels.label, gold >= 0))
    return TaskSums(right[1], known[1]), TaskSums(right[0], known[0])


def _rating(others: TaskSums, group: TaskSums) -> Rating:
    error = float(np.sqrt(((others.influence - group.influence) ** 2).sum()))
    return Rating(others.ratio, group.ratio, error)
