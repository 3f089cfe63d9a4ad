"""Exponentials: close to what is right, and the same bits on every way."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from quorate import compiled, elementary, kernels

RANDOM = np.random.default_rng(4)
EXPONENTS = np.concatenate(
    [
        [0.0, -0.0, -1e-300, -1e-9, -707.9, -708.0],
        -RANDOM.random(3000) * 3,
        -RANDOM.random(3000) * 700,
        -RANDOM.random(3000) * 800,
    ]
)


def test_they_are_right() -> None:
    large = EXPONENTS[EXPONENTS > -708]
    found = elementary.exp(large.copy()).tolist()
    with localcontext(prec=40):
        for x, exponential in zip(large.tolist(), found, strict=True):
            right = Decimal(x).exp()
            assert abs(Decimal(exponential) / right - 1) < Decimal((2 - x) * 2.0**-52)


def test_the_least_numbers_are_right() -> None:
    low = -np.linspace(700, 747, 1000)
    for found in (elementary.exp(low.copy()), [elementary.exp(low[[i]])[0] for i in range(1000)]):
        np.testing.assert_allclose(found, np.exp(low), rtol=1e-12, atol=5e-324)


def test_what_vanishes_is_zero_and_what_is_certain_is_one() -> None:
    for more in (0, elementary.FEW):
        ends = np.array([0.0, -746.1, -1e9, -np.inf] + more * [-1.0])
        assert elementary.exp(ends)[:4].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_few_numbers_have_the_bits_of_many() -> None:
    many = elementary.exp(EXPONENTS.copy())
    each = [float(elementary.exp(np.array([x]))[0]) for x in EXPONENTS]
    assert many.tolist() == each


@pytest.mark.parametrize("order", ["F", "C"])
def test_arrays_may_be_laid_out_in_any_way(order: str) -> None:
    table = EXPONENTS[:6000].reshape(1000, 6)
    laid_out = np.array(table, order=order)  # type: ignore[call-overload]
    assert elementary.exp(laid_out) is laid_out
    np.testing.assert_array_equal(laid_out, elementary.exp(table.copy()))
    np.testing.assert_array_equal(
        elementary.exp(np.repeat(table, 2, axis=1)[:, ::2]), elementary.exp(table.copy())
    )


def test_compiled_ones_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    rows = np.concatenate([EXPONENTS[:9000].reshape(-1, 3), np.full((7, 3), -1e9)])
    monkeypatch.setenv(compiled.VARIABLE, "1")
    by_loops = kernels.normalise(rows.copy())
    assert compiled._built["compile_near", 3] is not None
    monkeypatch.setenv(compiled.VARIABLE, "0")
    plain = kernels.normalise(rows.copy())
    assert [each.tobytes() for each in by_loops] == [each.tobytes() for each in plain]
