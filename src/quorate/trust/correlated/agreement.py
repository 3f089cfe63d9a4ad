"""Agreement of pairs of workers, whatever the truth: the first groups, and the tight ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from quorate import kernels, metrics
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.trust.correlated.groups import Groups, group_numbers, groups_from_pairs, leaves_a_crowd
from quorate.trust.correlated.pairs import ENOUGH_SHARED, PairCounts, count_pairs, may_share

NEARLY_ALWAYS = (0.8, 0.9, 0.95, 0.98)  # agreement beyond chance: the first that leaves a crowd
MIN_AGREEMENT = 0.2  # beyond chance
MIN_LEAD = 0.1  # of a tight group over other pairs
MOST_PAIRS = 4_000_000  # of labels, on the sampled tasks; or
PER_LABEL = 4  # pairs for each label, which take about as long as a fit


class AgreeingPairs(NamedTuple):
    """Pairs of workers, and a lower bound of their agreement beyond chance."""

    first: Codes
    second: Codes
    agreement: Floats


def pairs_to_test(labels: Labels, seed: int) -> list[PairCounts]:
    """Pairs that share enough tasks to be tested, on a random sample of tasks if there are many."""
    n_pairs = labels.n_said.astype(np.int64) ** 2
    order = kernels.hashed_uniform(labels.task_keys(), 1, seed)[:, 0].argsort(kind="stable")
    taken = np.zeros(labels.n_tasks, dtype=bool)
    most = max(MOST_PAIRS, PER_LABEL * labels.n_labels)
    taken[order[n_pairs[order].cumsum() <= most]] = True
    some = labels if taken.all() else labels.only(np.repeat(taken, labels.n_said))
    n_said = np.bincount(some.worker, minlength=labels.n_workers)
    busy = some.only((n_said >= ENOUGH_SHARED)[some.worker])
    runs = count_pairs(busy, seed)[0] if may_share(busy, ENOUGH_SHARED) else ()
    return [pairs.where(pairs.shared >= ENOUGH_SHARED) for pairs in runs]


def agreeing_pairs(labels: Labels, runs: Iterable[PairCounts]) -> AgreeingPairs:
    """Pairs that agree beyond chance."""
    share = label_shares(labels)
    found = [_no_pairs(), *(_beyond_chance(pairs, share) for pairs in runs)]
    return AgreeingPairs(*map(np.concatenate, zip(*found, strict=True)))


def first_groups(pairs: AgreeingPairs, labels: Labels) -> Groups:
    """Groups of workers who nearly always agree, too large rather than too small; none if no crowd
    is left beside them."""
    for least in NEARLY_ALWAYS:
        agreeing = pairs.agreement >= least
        copied = np.ones(agreeing.sum())
        groups = groups_from_pairs(
            pairs.first[agreeing], pairs.second[agreeing], copied, labels.n_workers
        )
        if leaves_a_crowd(groups, labels):
            return tuple(group._replace(correlation=1.0) for group in groups)
    return ()


def tight_groups(groups: Groups, pairs: AgreeingPairs, n_workers: int) -> Groups:
    """The groups whose pairs agree markedly more than the most agreeing other pairs, as many.

    Votes cannot tell which of two camps has copied, but the much tighter one more likely has."""
    number = group_numbers(groups, n_workers)
    group = np.where(number[pairs.first] == number[pairs.second], number[pairs.first], 0)
    others = np.sort(pairs.agreement[group == 0])[::-1]
    inside = np.bincount(group, pairs.agreement, minlength=len(groups) + 1)
    kept = []
    for i, one in enumerate(groups, start=1):
        n_pairs = len(one.workers) * (len(one.workers) - 1) // 2
        if inside[i] - others[:n_pairs].sum() >= MIN_LEAD * n_pairs:
            kept.append(one)
    return tuple(kept) if len(kept) == len(groups) else tight_groups(tuple(kept), pairs, n_workers)


def _no_pairs() -> tuple[Codes, Codes, Floats]:
    return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0)


def label_shares(labels: Labels) -> Floats:
    """Share of each class among a worker's labels, ``[worker, class]``."""
    count = np.bincount(labels.pair, minlength=labels.n_workers * labels.n_classes)
    count = count.reshape(labels.n_workers, labels.n_classes)
    share: Floats = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
    return share


def _beyond_chance(pairs: PairCounts, share: Floats) -> tuple[Codes, Codes, Floats]:
    """The pairs that surely agree beyond chance, and by how much at least."""
    agreed, shared = pairs.agreed.astype(np.float64), pairs.shared.astype(np.float64)
    low, _ = metrics.wilson_interval(agreed, shared)
    some = np.flatnonzero(low >= MIN_AGREEMENT)
    first, second = pairs.first[some], pairs.second[some]
    chance = np.minimum((share[first] * share[second]).sum(axis=1), 1 - 1e-12)
    agreement = (low[some] - chance) / (1 - chance)
    agree = agreement >= MIN_AGREEMENT
    return first[agree], second[agree], agreement[agree]
