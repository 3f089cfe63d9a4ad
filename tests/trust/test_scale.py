"""Whether numbers that are labels lie on a scale, by votes that differ."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from quorate import Labels
from quorate.trust import scale_of


def graded(n_classes: int, seed: int, n_votes: int = 4) -> Labels:
    random = np.random.default_rng(seed)
    truth = random.integers(n_classes, size=300)
    grade = np.rint(truth[:, None] + random.normal(0, 1, size=(300, n_votes)))
    return _labels(np.clip(grade, 0, n_classes - 1))


def named(n_classes: int, seed: int, n_votes: int = 4) -> Labels:
    """Classes of which some are alike, whatever their numbers."""
    random = np.random.default_rng(seed)
    truth = random.integers(n_classes, size=300)
    others = random.dirichlet(np.ones(n_classes), size=n_classes).cumsum(axis=1)
    wrong = (random.random((300, n_votes, 1)) > others[truth][:, None, :-1]).sum(axis=2)
    return _labels(np.where(random.random((300, n_votes)) < 0.6, truth[:, None], wrong))


def _labels(label: Any) -> Labels:
    task, worker = np.divmod(np.arange(label.size), label.shape[1])
    return Labels.from_codes(task, worker, label.ravel().astype(int))


@pytest.mark.parametrize("n_classes", [4, 5, 8])
def test_scales_are_found_and_names_hardly_ever_taken_for_one(n_classes: int) -> None:
    scales = [scale_of(graded(n_classes, seed)) for seed in range(10)]
    names = [scale_of(named(n_classes, seed)) for seed in range(10)]
    assert sum(scale is not None and scale.is_one for scale in scales) >= 9
    assert sum(name is not None and name.is_one for name in names) <= 2


def test_the_distance_of_votes_that_differ_is_that_of_all_pairs() -> None:
    labels = graded(4, seed=0, n_votes=3)
    met = np.zeros((4, 4))
    for start, end in zip(labels.indptr[:-1], labels.indptr[1:], strict=True):
        for one, other in combinations(labels.label[start:end].tolist(), 2):
            if one != other:
                met[one, other] += 1 / (end - start - 1)
                met[other, one] += 1 / (end - start - 1)
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    found = scale_of(labels)
    assert found is not None
    # Chance has the same sums of rows, and no association of classes that differ.
    c = np.ones(4)
    for _ in range(2000):
        c = np.sqrt(c * met.sum(axis=1) / (c.sum() - c))
    chance = np.outer(c, c) * (1 - np.eye(4))
    np.testing.assert_allclose(chance.sum(axis=1), met.sum(axis=1), rtol=1e-6)
    assert found.ratio == pytest.approx((met * distance).sum() / (chance * distance).sum())


def test_an_order_and_its_reverse_are_the_same_and_another_is_not() -> None:
    labels = graded(5, seed=1)
    there, back, mixed = (
        scale_of(labels.with_classes(np.array(code, dtype=np.int32), 5))
        for code in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3])
    )
    assert there is not None and back is not None and mixed is not None
    assert there.ratio == pytest.approx(back.ratio)
    assert there.as_good == back.as_good == pytest.approx(2 / 120)
    assert mixed.ratio > 1 and not mixed.is_one


def test_nothing_can_be_told_of_three_classes_or_of_votes_that_agree() -> None:
    three = scale_of(graded(3, seed=0))
    assert three is not None and not three.is_one
    assert three.ratio == pytest.approx(1)
    assert scale_of(Labels.from_codes([0, 0, 1], [0, 1, 0], [2, 2, 3], n_classes=5)) is None
