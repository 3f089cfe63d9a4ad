"""Agreement on grades, beside other libraries and published tables."""

from __future__ import annotations

from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from quorate import metrics
from quorate.errors import DataError, UsageError

NONE = np.nan
# The twelve units and four observers of Krippendorff (2011), section C.
TWELVE_UNITS = np.array(
    [
        *([1, 1, NONE, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4]),
        *([4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [NONE, 5, 5, 5], [NONE, NONE, 1, 1]),
        [NONE, NONE, 3, NONE],
    ]
)
# The six targets and four judges of Shrout and Fleiss (1979), table 2.
SIX_TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def votes_of(ratings: Any, values: Any) -> Any:
    return np.stack([(np.asarray(ratings) == value).sum(axis=1) for value in values], axis=1)


@pytest.mark.parametrize(
    ("level", "published"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_alphas_that_krippendorff_published(level: Any, published: float) -> None:
    values = [1, 2, 3, 4, 5]
    alpha = metrics.krippendorff_alpha(votes_of(TWELVE_UNITS, values), None, level, values)
    assert alpha == pytest.approx(published, abs=0.0005)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_that_of_the_krippendorff_package(level: Any, seed: int) -> None:
    random = np.random.default_rng(seed)
    values = np.array([0.5, 1.0, 2.5, 4.0])
    ratings = values[random.integers(4, size=(40, 5))]
    ratings[random.random(ratings.shape) < 0.3] = NONE
    votes = votes_of(ratings, values)
    known = krippendorff.alpha(value_counts=votes, value_domain=values, level_of_measurement=level)
    alpha = metrics.krippendorff_alpha(votes, None, level, values)
    assert alpha == pytest.approx(known, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "printed"),
    [("identity", 0.77544), ("linear", 0.85874), ("quadratic", 0.914), ("ordinal", 0.89894)],
)
def test_gwets_coefficients_are_what_irrcac_prints(weights: Any, printed: float) -> None:
    """irrCAC 0.4.4 on the twelve units, which Gwet's handbook has too (AC1 0.775)."""
    ac = metrics.gwet_ac(votes_of(TWELVE_UNITS, [1, 2, 3, 4, 5]), weights=weights)
    assert ac == pytest.approx(printed, abs=5e-6)


@pytest.mark.parametrize(
    ("weights", "theirs"), [("identity", None), ("linear",) * 2, ("quadratic",) * 2]
)
def test_cohens_kappa_is_that_of_scikit_learn(weights: Any, theirs: Any) -> None:
    random = np.random.default_rng(0)
    first = random.integers(4, size=100)
    second = np.where(random.random(100) < 0.5, first, random.integers(4, size=100))
    known = cohen_kappa_score(first, second, weights=theirs)
    assert metrics.cohen_kappa(first, second, weights) == pytest.approx(known, abs=1e-12)
    missing = metrics.cohen_kappa([*first, -1], [*second, 2], weights)
    assert missing == pytest.approx(known, abs=1e-12)


def test_weighted_kappas_of_two_raters_are_near_each_other_and_ordered() -> None:
    first, second = [0, 1, 2, 2, 1, 0, 2], [0, 2, 2, 1, 1, 0, 2]
    votes = votes_of(np.stack([first, second], axis=1), range(3))
    for weights in ("identity", "quadratic"):
        cohen = metrics.cohen_kappa(first, second, weights)  # type: ignore[arg-type]
        fleiss = metrics.fleiss_kappa(votes, weights=weights)  # type: ignore[arg-type]
        assert cohen == pytest.approx(fleiss, abs=0.03)


@pytest.mark.parametrize(
    ("form", "average", "published", "low", "high"),
    [
        (1, False, 0.17, -0.133, 0.723),
        (2, False, 0.29, 0.019, 0.761),
        (3, False, 0.71, 0.342, 0.946),
        (1, True, 0.44, -0.884, 0.912),
        (2, True, 0.62, 0.071, 0.927),
        (3, True, 0.91, 0.676, 0.986),
    ],
)
def test_intraclass_correlations_that_shrout_and_fleiss_published(
    form: int, average: bool, published: float, low: float, high: float
) -> None:
    """The bounds are those that pingouin 0.6.1 prints, to its two digits."""
    found = metrics.icc(SIX_TARGETS, form, average=average)
    assert found is not None
    assert found.value == pytest.approx(published, abs=0.005)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.001)


def test_the_first_form_takes_missing_ratings_and_the_others_refuse_them() -> None:
    ratings = np.array(SIX_TARGETS, dtype=float)
    ratings[0, 0] = ratings[3, 2] = NONE
    assert metrics.icc(ratings, 1) is not None
    for form in (2, 3):
        with pytest.raises(DataError, match="2 of 6 tasks lack a rating"):
            metrics.icc(ratings, form)
    with pytest.raises(UsageError, match="form is one of"):
        metrics.icc(ratings, 4)


def test_unequal_numbers_of_ratings_of_a_known_correlation() -> None:
    random = np.random.default_rng(1)
    ratings = random.normal(size=(3000, 1)) + random.normal(size=(3000, 5))
    ratings[random.random(ratings.shape) < 0.4] = NONE
    found = metrics.icc(ratings, 1)
    assert found is not None
    assert found.low < 0.5 < found.high
    assert found.value == pytest.approx(0.5, abs=0.03)


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=1, max_size=6))
def test_any_votes_give_a_number_up_to_one_or_none(rows: list[list[int]]) -> None:
    votes = np.array(rows)
    found = [metrics.gwet_ac(votes, weights=w) for w in ("identity", "linear", "ordinal")]  # type: ignore[arg-type]
    found += [metrics.krippendorff_alpha(votes, None, level) for level in ("ordinal", "ratio")]  # type: ignore[arg-type]
    found += [metrics.fleiss_kappa(votes, weights="quadratic")]
    assert all(value is None or -np.inf < value <= 1 + 1e-12 for value in found)


def test_all_alike_is_full_agreement_or_undefined() -> None:
    apart, alike = np.array([[3, 0], [0, 3]]), np.array([[3, 0], [3, 0]])
    assert metrics.gwet_ac(apart) == metrics.fleiss_kappa(apart) == 1
    assert metrics.krippendorff_alpha(apart, None, "ordinal") == 1
    assert metrics.krippendorff_alpha(alike, None, "ordinal") is None
    assert metrics.icc([[1, 1], [1, 1]], 2) is None
    assert metrics.icc([[1, 1], [2, 2]], 3) == (1, 1, 1, 2, 2)
