"""Do numbers that are labels lie on a scale? Two votes that differ would differ by little.

With O[a, b] how often classes a and b meet in the votes of a task (a pair of votes counts 1 / (n -
1) of a task's n), and E the table with the same sums in which classes that differ meet by chance
(quasi-independence, E[a, b] = c[a] c[b]), an order of the classes is the better, the smaller is

    sum of O[a, b] |a - b|  /  sum of E[a, b] |a - b|,

the mean distance of votes that differ to that by chance. The numbers are taken for a scale if
hardly any other order of the classes is as good (of the 12 of four classes, none), and their ratio
is surely below 1, a task being one draw. Of three classes nothing can be told so: every table of
three is one of quasi-independence.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.models.ladder import Ratio

ALL_ORDERS = 6  # classes of which every order is looked at; of more, a sample of them
SAMPLE = 2000
FEW_AS_GOOD, SURE = 0.05, 3.0
SCALINGS = 100  # steps in which the table of chance is found, far more than it takes


class Scale(NamedTuple):
    """The mean distance of votes that differ, as a share of that by chance; the share of all orders
    of the classes that are as good; and how many standard errors the distance is below chance."""

    ratio: float
    as_good: float
    errors_below: float
    n_orders: int

    @property
    def is_one(self) -> bool:
        few = max(FEW_AS_GOOD, 2 / self.n_orders)  # an order and its reverse are the same
        return self.as_good <= few and self.errors_below >= SURE


def scale_of(labels: Labels) -> Scale | None:
    """What votes that differ say of the classes in the order of their codes; None if none do.

    Examples:
        >>> random = np.random.default_rng(0)
        >>> truth = random.integers(5, size=300)
        >>> grade = np.clip(truth[:, None] + random.integers(-1, 2, size=(300, 4)), 0, 4)
        >>> task, worker = np.divmod(np.arange(1200), 4)
        >>> scale_of(Labels.from_codes(task, worker, grade.ravel())).is_one
        True
        >>> mixed = np.array([3, 0, 4, 1, 2])[grade]
        >>> scale_of(Labels.from_codes(task, worker, mixed.ravel())).is_one
        False
    """
    n_classes = labels.n_classes
    given = np.arange(n_classes)
    met, apart, pairs = _meetings(labels, _distance(given))
    if not met.sum():
        return None
    chance = _by_chance(met)
    orders = _orders(n_classes)
    far = np.array([_distance(order) for order in orders])
    ratios = (far * met).sum(axis=(1, 2)) / (far * chance).sum(axis=(1, 2))
    ratio = float((_distance(given) * met).sum() / (_distance(given) * chance).sum())
    observed = Ratio.of(apart, pairs)
    below = (observed.value / ratio - observed.value) / max(observed.error, 1e-12)
    as_good = float((ratios <= ratio * (1 + 1e-9)).mean())
    return Scale(ratio, as_good, below, len(orders))


def _distance(place: NDArray[np.intp]) -> Floats:
    distance: Floats = np.abs(place[:, None] - place).astype(np.float64)
    return distance


def _meetings(labels: Labels, distance: Floats) -> tuple[Floats, Floats, Floats]:
    """O, and for each task with several votes the sum of the distances of pairs that differ, and
    their number."""
    votes = kernels.weighted_votes(
        labels.indptr, labels.label, np.ones(labels.n_labels), labels.n_classes
    )
    votes = votes[labels.n_said > 1]
    scaled = votes / (votes.sum(axis=1, keepdims=True) - 1)
    differ = 1 - np.eye(labels.n_classes)
    met = np.einsum("ta,tb->ab", scaled, votes) * differ
    apart, pairs = (((scaled @ table) * votes).sum(axis=1) for table in (distance, differ))
    return met, apart, pairs


def _by_chance(met: Floats) -> Floats:
    """E, by iterative proportional scaling."""
    sums, c = met.sum(axis=1), np.ones(len(met))
    for _ in range(SCALINGS):
        c = np.sqrt(c * sums / np.maximum(c.sum() - c, 1e-300))
    chance: Floats = np.outer(c, c) * (1 - np.eye(len(c)))
    return chance


def _orders(n_classes: int) -> list[NDArray[np.intp]]:
    if n_classes <= ALL_ORDERS:
        return [np.array(order) for order in permutations(range(n_classes))]
    random = np.random.default_rng(0)
    return [np.arange(n_classes), *(random.permutation(n_classes) for _ in range(SAMPLE - 1))]
