"""Exponentials and logarithms: close to what is right, and the same bits on every way."""

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
    ]
)
NUMBERS = np.concatenate(
    [
        [1.0, np.nextafter(1, 0), np.nextafter(1, 2), 0.5, 2.0, 0.6875, 1.375, 1e300, 2.3e-308],
        RANDOM.random(3000),
        1 + RANDOM.normal(size=3000) * 0.01,
        np.exp(RANDOM.normal(size=3000) * 100),
    ]
)


def units_off(found: np.ndarray, right: list[Decimal]) -> float:
    """How many units in the last place numbers are off at most."""
    off = [
        abs(Decimal(float(number)) - exact) / Decimal(float(np.spacing(abs(float(exact)))))
        for number, exact in zip(found, right, strict=True)
    ]
    return float(max(off))


def test_exponentials_are_right() -> None:
    found = elementary.exp(EXPONENTS.copy())
    with localcontext(prec=40):
        assert units_off(found, [Decimal(x).exp() for x in EXPONENTS.tolist()]) < 1.5


def test_logarithms_are_right() -> None:
    found = elementary.log(NUMBERS.copy(), kernels.LOG_ZERO)
    with localcontext(prec=40):
        assert units_off(found, [Decimal(x).ln() for x in NUMBERS.tolist()]) < 2.5


def test_what_vanishes_is_zero_and_what_is_certain_is_one() -> None:
    for more in (0, elementary.FEW):
        ends = np.array([0.0, -708.1, -1e9] + more * [-1.0])
        assert elementary.exp(ends)[:3].tolist() == [1.0, 0.0, 0.0]
        ends = np.array([1.0, 0.0, 5e-324] + more * [0.3])
        assert elementary.log(ends, -1e9)[:3].tolist() == [0.0, -1e9, -1e9]


def test_few_numbers_have_the_bits_of_many() -> None:
    many = elementary.exp(EXPONENTS.copy())
    each = [float(elementary.exp(np.array([x]))[0]) for x in EXPONENTS]
    assert many.tolist() == each
    many = elementary.log(NUMBERS.copy(), -1e9)
    each = [float(elementary.log(np.array([x]), -1e9)[0]) for x in NUMBERS]
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
    monkeypatch.setenv(compiled.VARIABLE, "1")
    loop = compiled.logs(len(NUMBERS))
    assert loop is not None
    found = NUMBERS.copy()
    loop(found, -1e9)
    assert found.tobytes() == elementary.log(NUMBERS.copy(), -1e9).tobytes()
    rows = np.concatenate([EXPONENTS[:6000].reshape(-1, 3), np.full((7, 3), -1e9)])
    by_loops = kernels.normalise(rows.copy())
    monkeypatch.setenv(compiled.VARIABLE, "0")
    plain = kernels.normalise(rows.copy())
    assert [each.tobytes() for each in by_loops] == [each.tobytes() for each in plain]
