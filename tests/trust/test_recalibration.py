"""How far confidences are off, the expected error and the class shares, against plain sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

import quorate
from quorate.answers import Overview, least_confidence, stratum
from quorate.kernels import Floats
from quorate.model import Calibration
from quorate.trust import Check, ExpectedError, Shift, class_share_intervals
from quorate.trust.recalibration import GRID, _normal_cdf


def answers(confidence: Floats) -> Overview:
    posterior = np.stack([confidence, 1 - confidence], axis=1)
    return Overview.of(posterior, np.zeros(len(confidence), dtype=np.int32))


def test_the_posterior_of_the_shift_in_loops() -> None:
    check = Check(np.array([0.9, 0.8, 0.99, 0.6]), np.array([1.0, 0.0, 1.0, 0.5]))
    density = []
    for b in GRID.tolist():
        log_density = -((b - 0.3) ** 2) / (2 * 1.5**2)  # the weak prior: spread 0.4 is narrower
        for confidence, right in zip(*(part.tolist() for part in check), strict=True):
            odds = (1 - confidence) / confidence * math.exp(b)
            wrong = odds / (1 + odds)
            log_density += 0.8 * (right * math.log(1 - wrong) + (1 - right) * math.log(wrong))
        density.append(math.exp(log_density))
    expected = [each / sum(density) for each in density]
    found = Shift.of(Calibration(0.3, 0.4), check).probability
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_without_known_answers_the_error_is_what_confidences_say() -> None:
    random = np.random.default_rng(0)
    confidence = random.uniform(0.55, 0.999, size=5000)
    error, low, high = ExpectedError.of(answers(confidence), Shift.of(Calibration(0.0, 0.01)))
    assert error == pytest.approx(1 - confidence.mean(), abs=0.002)
    assert low < error < high < error + 0.02


def test_the_interval_widens_with_the_spread_and_with_few_tasks() -> None:
    few, many = answers(np.full(20, 0.9)), answers(np.full(2000, 0.9))
    narrow, wide = Shift.of(Calibration(0.0, 0.1)), Shift.of(Calibration(0.0, 1.0))

    def width(overview: Overview, shift: Shift) -> float:
        _, low, high = ExpectedError.of(overview, shift)
        return high - low

    assert width(many, narrow) < width(many, wide)
    assert width(many, narrow) < width(few, narrow)


def test_known_answers_move_the_expected_error_to_what_they_show() -> None:
    overview, calibration = answers(np.full(1000, 0.95)), Calibration(0.0, 0.5)
    right = np.arange(200) % 4 != 0  # a quarter is wrong, where a twentieth was expected
    check = Check(np.full(200, 0.95), right.astype(float))
    error, low, high = ExpectedError.of(overview, Shift.of(calibration, check))
    assert low < 0.25 < high
    assert error == pytest.approx(0.25, abs=0.03)
    before = ExpectedError.of(overview, Shift.of(calibration))
    assert before.error < 0.07


def test_known_answers_are_no_errors() -> None:
    """Their tasks are left out of the strata, and what is expected is of the others."""
    posterior = np.array([[1.0, 0.0], [0.7, 0.3], [0.7, 0.3]])
    codes = np.zeros(3, dtype=np.int32)
    overview = Overview.of(posterior, codes, gold=np.array([0, -1, -1], dtype=np.int32))
    assert overview.known == 1 and overview.tasks == 3
    assert overview.strata[:, 1:3].sum() == 2
    error, _, _ = ExpectedError.of(overview, Shift.of(Calibration(0.0, 0.01)))
    assert error == pytest.approx(0.3, abs=0.01)
    nothing = Overview.of(posterior[:1], codes[:1], gold=codes[:1])
    assert ExpectedError.of(nothing, Shift.of(Calibration())) == (0.0, 0.0, 0.0)


def test_class_shares_are_the_mean_posterior_where_confidences_are_right() -> None:
    random = np.random.default_rng(1)
    posterior = random.dirichlet([2, 1, 0.5], size=4000)
    codes = posterior.argmax(axis=1).astype(np.int32)
    rows = class_share_intervals(Overview.of(posterior, codes), Shift.of(Calibration(0.0, 0.01)))
    np.testing.assert_allclose([row.share for row in rows], posterior.mean(axis=0), atol=0.01)
    assert all(row.low < row.share < row.high for row in rows)


def test_strata_are_in_the_order_of_confidence() -> None:
    confidence = np.array([0.5, 0.9, 0.99, 0.999999, 1.0])
    places = stratum(confidence)
    assert (np.diff(places) > 0).all()
    for place, value in zip(places.tolist(), confidence.tolist(), strict=True):
        assert least_confidence(place) <= value + 1e-12


def test_overviews_of_different_tasks_add() -> None:
    random = np.random.default_rng(2)
    posterior = random.dirichlet(np.ones(3), size=50)
    codes = posterior.argmax(axis=1).astype(np.int32)
    whole = Overview.of(posterior, codes, 0.6)
    parts = [Overview.of(posterior[some], codes[some], 0.6) for some in (slice(20), slice(20, 50))]
    for one, *others in zip(whole, *parts, strict=True):
        np.testing.assert_allclose(one, sum(others))  # type: ignore[arg-type]


def test_a_table_of_class_shares_in_the_callers_kind() -> None:
    votes = [(t, w, "yes" if (t + w) % 4 else "no") for t in range(40) for w in range(5)]
    table = quorate.aggregate(votes).class_shares
    assert table["label"].to_list() == ["no", "yes"]
    assert table["share"].sum() == pytest.approx(1)
    assert (table["low"] <= table["share"]).all() and (table["share"] <= table["high"]).all()


def test_the_strata_of_answers_in_loops() -> None:
    random = np.random.default_rng(3)
    posterior = random.dirichlet([0.4, 0.3, 0.2], 50)
    posterior[0] = [1.0, 0.0, 0.0]
    chosen = posterior.argmax(axis=1).astype(np.int32)
    gold = np.where(random.random(50) < 0.2, chosen, -1)
    found = Overview.of(posterior, chosen, 0.6, gold)
    strata = np.zeros_like(found.strata)
    for row, answer, known in zip(posterior, chosen, gold, strict=True):
        if known >= 0:
            continue
        place = int(stratum(row[answer]))
        others = np.delete(row, answer)
        strata[place, 0] += 1 - row[answer]
        strata[place, 1 + answer] += 1
        left = np.insert(others / others.sum(), answer, 0.0) if others.sum() else np.full(3, 1 / 3)
        strata[place, 4:] += left
    np.testing.assert_allclose(found.strata, strata, atol=1e-12)
    second = np.sort(posterior, axis=1)[:, 1]
    assert found.near_ties == int((posterior.max(axis=1) - second < 0.1).sum())
    assert (found.undecided, found.known) == (
        int((posterior.max(axis=1) < 0.6).sum()),
        int((gold >= 0).sum()),
    )


def test_the_normal_distribution_function_is_scipys() -> None:
    scores = np.append(np.linspace(-12, 12, 2401), [-np.inf, np.inf, 9.0]).reshape(-1, 2)
    np.testing.assert_allclose(_normal_cdf(scores), ndtr(scores), rtol=0, atol=1e-15)
