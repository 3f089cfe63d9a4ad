"""Who agrees with whom, whatever the truth: groups to begin with, and how tight groups are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from quorate import metrics
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.trust.correlated.copying import ENOUGH_SHARED, Meetings, meetings
from quorate.trust.correlated.groups import Groups, groups_of, is_crowd, number_of

NEARLY_ALWAYS = (0.8, 0.9, 0.95, 0.98)  # agreement beyond chance: the first that leaves a crowd
AT_ALL = 0.2
TIGHTER = 0.1
MOST_PAIRS = 4_000_000  # of labels, on the tasks that are looked at; or
PER_LABEL = 4  # so many for each label, which takes about as long as a fit


class Alike(NamedTuple):
    """Pairs of workers, and how much they surely agree beyond chance."""

    first: Codes
    second: Codes
    surely: Floats


def meet(labels: Labels, seed: int) -> list[Meetings]:
    """The pairs that share tasks enough to be tested, on some of the tasks if there are many."""
    n_pairs = labels.n_said.astype(np.int64) ** 2
    order = np.random.default_rng(seed).permutation(labels.n_tasks)
    taken = np.zeros(labels.n_tasks, dtype=bool)
    most = max(MOST_PAIRS, PER_LABEL * labels.n_labels)
    taken[order[n_pairs[order].cumsum() <= most]] = True
    some = labels if taken.all() else labels.only(np.repeat(taken, labels.n_said))
    n_said = np.bincount(some.worker, minlength=labels.n_workers)
    busy = some.only((n_said >= ENOUGH_SHARED)[some.worker])
    runs = meetings(busy, seed)[0] if busy.n_labels else ()
    return [pairs.where(pairs.shared >= ENOUGH_SHARED) for pairs in runs]


def alike(labels: Labels, runs: Iterable[Meetings]) -> Alike:
    """The pairs that agree at all."""
    share = _label_shares(labels)
    found = [_none(), *(_beyond_chance(pairs, share) for pairs in runs)]
    return Alike(*map(np.concatenate, zip(*found, strict=True)))


def first_groups(pairs: Alike, labels: Labels) -> Groups:
    """Groups of who nearly always agree, which rather hold too many than too few; none if no crowd
    is left beside them."""
    for least in NEARLY_ALWAYS:
        near = pairs.surely >= least
        copied = np.ones(near.sum())
        groups = groups_of(pairs.first[near], pairs.second[near], copied, labels.n_workers)
        if is_crowd(groups, labels):
            return tuple(group._replace(correlation=1.0) for group in groups)
    return ()


def tight(groups: Groups, pairs: Alike, n_workers: int) -> Groups:
    """The groups whose pairs agree markedly more than as many other pairs do that agree most. Of
    two camps votes cannot tell which has copied, but that the much tighter one has is likelier."""
    number = number_of(groups, n_workers)
    group = np.where(number[pairs.first] == number[pairs.second], number[pairs.first], 0)
    others = np.sort(pairs.surely[group == 0])[::-1]
    inside = np.bincount(group, pairs.surely, minlength=len(groups) + 1)
    kept = []
    for i, one in enumerate(groups, start=1):
        n_pairs = len(one.workers) * (len(one.workers) - 1) // 2
        if inside[i] - others[:n_pairs].sum() >= TIGHTER * n_pairs:
            kept.append(one)
    return tuple(kept) if len(kept) == len(groups) else tight(tuple(kept), pairs, n_workers)


def _none() -> tuple[Codes, Codes, Floats]:
    return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)


def _label_shares(labels: Labels) -> Floats:
    """``[worker, class]``: how often each says what."""
    cell = labels.worker * np.int32(labels.n_classes) + labels.label
    count = np.bincount(cell, minlength=labels.n_workers * labels.n_classes)
    count = count.reshape(labels.n_workers, labels.n_classes)
    share: Floats = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
    return share


def _beyond_chance(pairs: Meetings, share: Floats) -> tuple[Codes, Codes, Floats]:
    agreed, shared = pairs.agreed.astype(np.float64), pairs.shared.astype(np.float64)
    low, _ = metrics.wilson_interval(agreed, shared)
    some = np.flatnonzero(low >= AT_ALL)
    first, second = pairs.first[some], pairs.second[some]
    chance = np.minimum((share[first] * share[second]).sum(axis=1), 1 - 1e-12)
    surely = (low[some] - chance) / (1 - chance)
    agree = surely >= AT_ALL
    return first[agree], second[agree], surely[agree]
