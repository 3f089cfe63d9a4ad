"""Squared extrapolation: the same fixed points with fewer sweeps, and never a worse objective."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate.errors import UsageError
from quorate.model import Phase, Step
from quorate.models.squarem import LEAST, SHORTEST, Leap, beyond, step_length


def sums(*values: float) -> tuple[np.ndarray, ...]:
    return (np.array(values),)


def test_a_step_beyond_three_on_a_line_that_slows_down_is_their_limit() -> None:
    """With differences that halve, |r|/|v| is 2, and 4 + 2 + 1 + ... = 8 is reached at once."""
    three = sums(0.0, 10.0), sums(4.0, 6.0), sums(6.0, 4.0)
    assert step_length(*three) == 2
    assert beyond(*three, 2.0)[0].tolist() == [8.0, 2.0]
    assert beyond(*three, 1.0)[0].tolist() == [6.0, 4.0]  # the third itself


def test_counts_keep_their_sum_and_never_reach_zero() -> None:
    three = sums(0.0, 10.0), sums(4.0, 6.0), sums(6.0, 4.0)
    assert beyond(*three, 1.7)[0].sum() == pytest.approx(10)
    falling = sums(0.0, 10.0), sums(5.0, 5.0), sums(9.0, 1.0)  # 10 - 10 length + length**2
    assert beyond(*falling, 3.0)[0].tolist() == [21.0, LEAST]


def test_where_nothing_moves_there_is_nothing_beyond() -> None:
    assert step_length(sums(1.0), sums(1.0), sums(1.0)) == 1


@dataclass
class Halving(Phase[float, None, float]):
    """Each sweep halves the number; the objective is told from outside."""

    def sweep(self, block: Any, params: float, local: None) -> tuple[None, float]:
        return None, params / 2

    def estimate(self, stats: float, params: float) -> float:
        return stats

    def sums(self, stats: float) -> tuple[np.ndarray, ...]:
        return (np.array([stats]),)

    def with_sums(self, stats: float, sums: tuple[np.ndarray, ...]) -> float:
        return float(sums[0][0])


def after_three(objective: float) -> tuple[float, Leap]:
    params, leap = 16.0, Leap()
    for _ in range(3):
        params, leap = leap.next(Halving(), params / 2, params, Step(objective, None))
    return params, leap


def test_a_step_that_makes_it_worse_is_taken_back_and_the_next_are_shorter() -> None:
    params, leap = after_three(-5.0)
    assert params < 2.0 and leap.back == 2.0  # plain: 8, 4, 2
    assert leap.fell(Step(-5.1, None)) and leap.fell(Step(np.nan, None))
    assert not leap.fell(Step(-5.0, None))
    longer = leap._replace(longest=16 * SHORTEST)
    assert longer.taken_back().longest == 4 * SHORTEST
    assert longer.taken_back().back is None and not longer.taken_back().fell(Step(-9.0, None))


def test_a_step_as_long_as_allowed_allows_longer_ones() -> None:
    _, leap = after_three(-5.0)
    tried = leap._replace(length=leap.longest)
    assert tried.next(Halving(), 1.0, 1.0, Step(-4.0, None))[1].longest == 4 * SHORTEST
    assert leap.next(Halving(), 1.0, 1.0, Step(-4.0, None))[1].longest == SHORTEST


@pytest.mark.parametrize("method", ["dawid-skene", "spectral"])
def test_the_same_fixed_point_with_fewer_sweeps(method: str) -> None:
    crowd = quorate.simulate(30, 300, 4, n_classes=3, low=0.3, high=0.95, seed=3)
    how = {"tol": 1e-13, "max_iter": 5000, "smoothing": 0.5}
    plain = quorate.aggregate(crowd.votes, quorate.models.make(method, **how))
    model = quorate.models.make(method, acceleration="squarem", **how)
    fast = quorate.aggregate(crowd.votes, model)
    assert plain.converged and fast.converged
    assert fast.iterations < 0.7 * plain.iterations
    assert fast.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-8)
    np.testing.assert_allclose(fast.posterior, plain.posterior, atol=1e-4)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 4, 5, 6, 7])
def test_the_answers_are_of_the_last_objective_wherever_it_stops(max_iter: int) -> None:
    crowd = quorate.simulate(10, 60, 4, n_classes=3, low=0.2, seed=5)
    how = {"tol": 0.0, "max_iter": max_iter}
    fast = quorate.DawidSkene(acceleration="squarem", **how).fit(crowd.votes)
    assert np.diff(fast.objective).min(initial=0) >= -1e-9
    assert fast.objective[-1] == pytest.approx(fast.log_likelihood)
    assert fast.iterations <= max_iter
    plain = quorate.DawidSkene(**how).fit(crowd.votes)
    assert fast.objective[-1] >= plain.objective[-1] - 0.02 * abs(plain.objective[-1])


def test_resumed_it_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    votes, store = tmp_path / "votes.parquet", tmp_path / "store"
    quorate.simulate(10, 200, 4, n_classes=3, low=0.2, seed=5).votes.write_parquet(votes)
    model = quorate.DawidSkene(acceleration="squarem", tol=0.0, max_iter=12)
    whole = quorate.aggregate(votes, model, store=store).labels.collect()
    for iteration in range(2, 11):

        def stop(what: str, done: float, *_: Any, at: int = iteration) -> None:
            if what.startswith("iteration") and done == at:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            quorate.aggregate(votes, model, store=store, progress=stop)
        again = quorate.aggregate(votes, model, store=store, resume=True)
        assert any("was resumed" in note for note in again.notes)
        assert again.labels.collect().equals(whole)


def test_hard_answers_are_not_extrapolated() -> None:
    with pytest.raises(UsageError, match="acceleration has an effect only where harden is never"):
        quorate.DawidSkene(acceleration="squarem", harden="always")
