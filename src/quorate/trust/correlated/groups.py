"""Groups of workers, and what a vote of one of them counts."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from quorate.kernels import Codes, Floats
from quorate.labels import Labels

A_CROWD = 3
STRONG = 0.5  # correlation


class Group(NamedTuple):
    """Workers, by code, whose errors move together; `correlation` is the share of their labels that
    would have to be copied for that, on average over their pairs."""

    workers: Codes
    correlation: float

    @property
    def worth(self) -> float:
        """How many independent votes all of theirs together count as."""
        return len(self.workers) / (1 + (len(self.workers) - 1) * self.correlation)


Groups = tuple[Group, ...]


def groups_of(first: Codes, second: Codes, copied: Floats, n_workers: int) -> Groups:
    """Of workers who are joined by pairs, each with the share that is copied; two of a group who
    are no such pair have copied nothing."""
    if not len(first):
        return ()
    from scipy.sparse.csgraph import connected_components  # slow to import

    joined = coo_array((np.ones(len(first)), (first, second)), shape=(n_workers, n_workers))
    n_parts, part = connected_components(joined, directed=False)
    total = np.bincount(part[first], copied, minlength=n_parts)
    size = np.bincount(part, minlength=n_parts)
    inside = np.flatnonzero(size[part] > 1).astype(np.int32)
    order = inside[np.argsort(part[inside], kind="stable")]
    members = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    shares = total / np.maximum(size * (size - 1) / 2, 1)
    return tuple(Group(workers, float(shares[part[workers[0]]])) for workers in members)


def is_crowd(groups: Groups, labels: Labels) -> bool:
    """Whether there are voices enough for their agreement to tell how good each is, if each group
    is one."""
    present = np.bincount(labels.worker, minlength=labels.n_workers) > 0
    return bool(present.sum() - sum(len(workers) - 1 for workers, _ in groups) >= A_CROWD)


def strong(groups: Groups) -> Groups:
    """Those that are worth a discount. Of weak groups some are found and some are not, and to weigh
    down those that are is to side with the others."""
    return tuple(group for group in groups if group.correlation >= STRONG)


def number_of(groups: Groups, n_workers: int) -> NDArray[np.int64]:
    """The number of each worker's group, from 1; 0 for who is in none."""
    number = np.zeros(n_workers, dtype=np.int64)
    for i, group in enumerate(groups, start=1):
        number[group.workers] = i
    return number


def voices(groups: Groups, n_workers: int) -> Codes:
    """A number for each worker, the same within a group."""
    voice = np.arange(n_workers, dtype=np.int32)
    for workers, _ in groups:
        voice[workers] = workers[0]
    return voice


def vote_weights(labels: Labels, groups: Groups) -> Floats | None:
    """What each vote counts: 1 / (1 + (n - 1) correlation) for one of n of a group on a task."""
    if not groups:
        return None
    group = number_of(groups, labels.n_workers) - 1
    said = np.flatnonzero(group[labels.worker] >= 0)
    task = np.repeat(np.arange(labels.n_tasks), labels.n_said)[said]
    mine = group[labels.worker[said]]
    _, cell, size = np.unique(task * len(groups) + mine, return_inverse=True, return_counts=True)
    correlation = np.array([group.correlation for group in groups])
    weight = np.ones(labels.n_labels)
    weight[said] = 1 / (1 + (size[cell] - 1) * correlation[mine])
    return weight


def discounted(block: Labels, groups: Groups) -> Labels:
    """The block with its votes weighted by what they count."""
    return replace(block, weight=vote_weights(block, groups))


def group_column(groups: Groups, n_workers: int) -> list[int | None]:
    """The groups as a column of the workers."""
    return [number or None for number in number_of(groups, n_workers).tolist()]


def note_on(groups: Groups) -> str:
    """Who counts for less, as a sentence."""
    if not groups:
        return "No workers were found whose errors move together: every vote counts in full."
    n, size = len(groups), sum(len(group.workers) for group in groups)
    worth = sum(group.worth for group in groups)
    return (
        f"{size} workers are in {n} group{'s' if n > 1 else ''} whose errors move together: where"
        f" all of them vote, they count as {worth:.1f}."
    )


def unchanged(one: Groups, other: Groups) -> bool:
    """Whether they are the same groups, as strongly correlated but for a little."""
    return len(one) == len(other) and all(
        np.array_equal(a.workers, b.workers) and abs(a.correlation - b.correlation) < 0.01
        for a, b in zip(one, other, strict=True)
    )
