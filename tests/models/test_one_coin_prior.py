"""The M-step of the one-coin model against a maximiser that knows nothing of quadratics or cubics.

The slope of the log density is followed over a fine grid, and each place where it turns from rising
to falling is narrowed down by Brent's method.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import brentq
from tests.checks import Problem, assert_sound, problems, random_problem

from quorate import OneCoin, fit
from quorate.models.one_coin import best_accuracy

COUNTS = (0.0, 0.3, 1.0, 5.0, 40.0)
BETAS = (0.5, 1.0, 1.5, 2.0, 5.0)
RIGHT_AND_WRONG = tuple(itertools.product(COUNTS, COUNTS))

# Thick near the bounds, where a maximum may hide.
STEPS = np.concatenate([np.logspace(-12, -2, 300), np.linspace(0.01, 0.5, 1000)])
GRID = np.unique(np.concatenate([STEPS, 1 - STEPS]))


def slope(
    p: float, right: float, wrong: float, a: float, b: float, low: float, high: float
) -> float:
    """The derivative of the log density, without the terms that are not there."""
    total = 0.0 * p
    for weight, distance in ((right, p), (-wrong, 1 - p), (a - 1, p - low), (1 - b, high - p)):
        if weight != 0:
            total = total + weight / distance
    return total


@pytest.mark.parametrize("high", [0.8, 0.95, 1.0])
@pytest.mark.parametrize("low", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("b", BETAS)
@pytest.mark.parametrize("a", BETAS)
def test_best_accuracy_is_where_the_density_peaks(
    a: float, b: float, low: float, high: float
) -> None:
    right, wrong = np.array(RIGHT_AND_WRONG).T
    found = best_accuracy(right, wrong, a, b, low, high)
    expected = [peaks(r, w, a, b, low, high) for r, w in RIGHT_AND_WRONG]
    off = {
        counts: (p, allowed)
        for counts, p, allowed in zip(RIGHT_AND_WRONG, found.tolist(), expected, strict=True)
        if not any(abs(p - peak) <= 1e-9 for peak in allowed)
    }
    assert not off, "(right, wrong): (found, where it peaks)"


def peaks(
    right: float, wrong: float, a: float, b: float, low: float, high: float
) -> tuple[float, ...]:
    """The last local maximum inside; without one the bound that the density rises to, or both
    bounds where it rises to either (or is flat), of which any may then be taken."""
    p = low + (high - low) * GRID
    counts = (right, wrong, a, b, low, high)
    slopes = slope(p, *counts)
    turns = np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] <= 0))
    if len(turns):
        at = turns[-1]
        return (brentq(slope, p[at], p[at + 1], args=counts, xtol=1e-15),)
    if (slopes > 0).all():
        return (high,)
    if (slopes < 0).all():
        return (low,)
    return (low, high)


@pytest.mark.parametrize("high", [0.8, 0.95, 1.0])
@pytest.mark.parametrize("low", [0.0, 0.1, 0.5])
def test_without_a_prior_it_is_the_share_of_right_labels_within_the_bounds(
    low: float, high: float
) -> None:
    random = np.random.default_rng(0)
    labels, share = random.uniform(0.1, 50, 5000), random.uniform(0, 1, 5000)
    found = best_accuracy(labels * share, labels * (1 - share), 1.0, 1.0, low, high)
    np.testing.assert_allclose(found, np.clip(share, low, high), rtol=0, atol=1e-9)


def test_unbounded_at_the_low_end_the_peak_inside_is_taken() -> None:
    """alpha below 1 makes the density infinite at low, where 40 right of 45 labels do not point."""
    found = best_accuracy(np.array([40.0]), np.array([5.0]), 0.5, 2.0, 0.1, 1.0)
    assert 0.8 < found[0] < 0.9


def test_unbounded_at_the_high_end_the_peak_inside_is_taken() -> None:
    """beta below 1 makes the density infinite at high, where 5 right of 45 labels do not point."""
    found = best_accuracy(np.array([5.0]), np.array([40.0]), 2.0, 0.5, 0.0, 0.8)
    assert 0.1 < found[0] < 0.2


def test_nothing_inside_and_only_one_end_rising() -> None:
    """No labels: Beta(1/2, 1) only falls, Beta(1, 1/2) only rises."""
    none = np.zeros(1)
    for low, high in ((0.0, 1.0), (0.1, 1.0), (0.1, 0.8)):
        assert best_accuracy(none, none, 0.5, 1.0, low, high)[0] == pytest.approx(low, abs=1e-9)
        assert best_accuracy(none, none, 1.0, 0.5, low, high)[0] == pytest.approx(high, abs=1e-9)


def test_an_infinite_density_does_not_pass_for_convergence() -> None:
    """A worker whose likeliest accuracy is where the density is infinite adds the same to the
    objective at every step, which is no reason to stop."""
    labels = random_problem(65, n_classes=2, n_tasks=40).labels(with_gold=False)
    stopped = fit(OneCoin(beta=(2.0, 0.5), tol=1e-9), labels)
    settled = fit(OneCoin(beta=(2.0, 0.5), tol=0.0, max_iter=500), labels)
    assert (settled.params.accuracy == 1.0).any()
    np.testing.assert_allclose(stopped.posterior, settled.posterior, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.1, 1.0), (0.1, 0.95)])
@pytest.mark.parametrize("beta", [(0.5, 0.5), (0.5, 2.0), (2.0, 0.5)])
def test_an_infinite_density_never_makes_a_nan(
    beta: tuple[float, float], low: float, high: float
) -> None:
    @given(problems())
    def holds(problem: Problem) -> None:
        assert_sound(fit(OneCoin(beta=beta, low=low, high=high), problem.labels(with_gold=True)))

    holds()
