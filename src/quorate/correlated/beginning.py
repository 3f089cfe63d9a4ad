"""Groups to begin with: workers who nearly always agree, whatever the truth."""

from __future__ import annotations

import numpy as np

from quorate import metrics
from quorate.correlated.groups import Groups, groups_of, is_crowd
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.pairs import Meetings, meetings

ALIKE = (0.8, 0.9, 0.95, 0.98)  # agreement beyond chance, surely: the first that leaves a crowd
ENOUGH = 16  # labels of a worker: with fewer, nobody surely agrees so often


def first_groups(labels: Labels, seed: int) -> Groups:
    """Groups that rather hold too many than too few; none if no crowd is left beside them."""
    n_said = np.bincount(labels.worker, minlength=labels.n_workers)
    busy = labels.only((n_said >= ENOUGH)[labels.worker])
    if not busy.n_labels:
        return ()
    share = _label_shares(labels)
    found = [_much_alike(pairs, share) for pairs in meetings(busy, seed)[0]]
    first, second, beyond = (np.concatenate(column) for column in zip(*found, strict=True))
    for least in ALIKE:
        alike = beyond >= least
        groups = groups_of(first[alike], second[alike], np.ones(alike.sum()), labels.n_workers)
        if is_crowd(groups, labels):
            return tuple(group._replace(correlation=1.0) for group in groups)
    return ()


def _label_shares(labels: Labels) -> Floats:
    """``[worker, class]``: how often each says what."""
    cell = labels.worker * np.int32(labels.n_classes) + labels.label
    count = np.bincount(cell, minlength=labels.n_workers * labels.n_classes)
    count = count.reshape(labels.n_workers, labels.n_classes)
    share: Floats = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
    return share


def _much_alike(pairs: Meetings, share: Floats) -> tuple[Codes, Codes, Floats]:
    """The pairs that surely agree at least so often beyond chance, and how often."""
    low, _ = metrics.wilson_interval(pairs.agreed, pairs.shared)
    some = np.flatnonzero(low >= ALIKE[0])
    first, second = pairs.first[some], pairs.second[some]
    chance = np.minimum((share[first] * share[second]).sum(axis=1), 1 - 1e-12)
    beyond = (low[some] - chance) / (1 - chance)
    return first, second, beyond
