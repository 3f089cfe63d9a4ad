"""Groups of correlated workers, and the discount of their votes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import sparse
from quorate.kernels import Codes, Floats
from quorate.labels import Labels

ENOUGH_VOICES = 3  # independent workers that make a crowd
STRONG = 0.75  # correlation


class Group(NamedTuple):
    """Correlated workers, by code; `correlation` is the share of their labels that would have to be
    copied to explain their agreement, on average over their pairs."""

    workers: Codes
    correlation: float

    @property
    def worth(self) -> float:
        """Number of independent votes that the group's votes together count as."""
        return len(self.workers) / (1 + (len(self.workers) - 1) * self.correlation)


Groups = tuple[Group, ...]


def groups_from_pairs(first: Codes, second: Codes, copied: Floats, n_workers: int) -> Groups:
    """Connected components of the suspected pairs, each pair with the share that is copied.

    Two workers of a group who are no such pair have copied nothing."""
    if not len(first):
        return ()
    from scipy.sparse.csgraph import connected_components  # slow to import

    joined = sparse.coo_array((np.ones(len(first)), (first, second)), shape=(n_workers, n_workers))
    n_parts, part = connected_components(joined, directed=False)
    total = np.bincount(part[first], copied, minlength=n_parts)
    size = np.bincount(part, minlength=n_parts)
    inside = np.flatnonzero(size[part] > 1).astype(np.int32)
    order = inside[np.argsort(part[inside], kind="stable")]
    members = np.split(order, np.flatnonzero(np.diff(part[order])) + 1)
    shares = total / np.maximum(size * (size - 1) / 2, 1)
    return tuple(Group(workers, float(shares[part[workers[0]]])) for workers in members)


def leaves_a_crowd(groups: Groups, labels: Labels) -> bool:
    """Whether enough independent workers are left to tell skills from agreement, if each group
    counts as one."""
    present = np.bincount(labels.worker, minlength=labels.n_workers) > 0
    return bool(present.sum() - sum(len(workers) - 1 for workers, _ in groups) >= ENOUGH_VOICES)


def strong_groups(groups: Groups) -> Groups:
    """Groups with a correlation that is worth a discount.

    Some weak groups are found, some are not: a discount of the found would favour the others."""
    return tuple(group for group in groups if group.correlation >= STRONG)


def group_numbers(groups: Groups, n_workers: int) -> NDArray[np.int64]:
    """Number of each worker's group, from 1; 0 for a worker in no group."""
    number = np.zeros(n_workers, dtype=np.int64)
    for i, group in enumerate(groups, start=1):
        number[group.workers] = i
    return number


def representatives(groups: Groups, n_workers: int) -> Codes:
    """Code of the first worker of each worker's group; the worker's own code outside of groups."""
    representative = np.arange(n_workers, dtype=np.int32)
    for workers, _ in groups:
        representative[workers] = workers[0]
    return representative


def vote_weights(labels: Labels, groups: Groups) -> Floats | None:
    """Weight of each vote: 1 / (1 + (n - 1) correlation) for one of n of a group on a task."""
    if not groups:
        return None
    group = group_numbers(groups, labels.n_workers) - 1
    said = np.flatnonzero(group[labels.worker] >= 0)
    task = np.repeat(np.arange(labels.n_tasks), labels.n_said)[said]
    mine = group[labels.worker[said]]
    _, cell, size = np.unique(task * len(groups) + mine, return_inverse=True, return_counts=True)
    correlation = np.array([group.correlation for group in groups])
    weight = np.ones(labels.n_labels)
    weight[said] = 1 / (1 + (size[cell] - 1) * correlation[mine])
    return weight


def discounted(block: Labels, groups: Groups) -> Labels:
    """The block with its votes weighted by the discount."""
    return replace(block, weight=vote_weights(block, groups))


def group_column(groups: Groups, n_workers: int) -> list[int | None]:
    """Group numbers as a column of the workers' table."""
    return [number or None for number in group_numbers(groups, n_workers).tolist()]


def discount_note(groups: Groups) -> str:
    """Sentence that says how many workers are discounted."""
    if not groups:
        return "No correlated workers were found: every vote counts in full."
    n, size = len(groups), sum(len(group.workers) for group in groups)
    worth = sum(group.worth for group in groups)
    return (
        f"{size} workers are in {n} group{'s' if n > 1 else ''} of correlated workers: where all of"
        f" them vote, they count as {worth:.1f}."
    )


def same_groups(one: Groups, other: Groups) -> bool:
    """Whether the groups have the same workers and nearly the same correlations."""
    return len(one) == len(other) and all(
        np.array_equal(a.workers, b.workers) and abs(a.correlation - b.correlation) < 0.01
        for a, b in zip(one, other, strict=True)
    )
