"""Exponentials and logarithms that have the same bits however they are computed.

NumPy's go number by number where a processor lacks AVX-512, and have other bits where it has it.
These are made of additions and products alone, in a given order, so that NumPy here and the loops
that numba compiles (`loops`) agree to the last bit, and the latter take several numbers at a time.
An exponential is within one unit in the last place of what is right, a logarithm within two.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

AT_ONCE = 1 << 15  # numbers whose intermediate arrays stay in a cache
SHIFT = 1.5 * 2.0**52  # what is added to it is rounded to a whole number, which its last bits hold
MANTISSA, PARTS = 52, 8  # bits: of a number's fraction, and of the entries of a table
LAST_PART = (1 << PARTS) - 1

# exp(x) = 2^(n / 256) * exp(r) for the whole number n that leaves the smallest r.
LEAST_EXPONENT = -708.0  # below it the result is zero
PER_PART = (1 << PARTS) / math.log(2.0)
LN_2 = Fraction("0.693147180559945309417232121458176568075500134360255")
_part = LN_2 / (1 << PARTS)
PART_HIGH = math.floor(_part * 2**43) / 2**43  # so few bits that n times it is exact
PART_LOW = float(_part - Fraction(PART_HIGH))
EXP_FACTORS = (1 / 24, 1 / 6, 1 / 2)


def _exact_exp(x: Fraction) -> float:
    """The exponential of a number between 0 and 1, by its series."""
    total = term = Fraction(1)
    for k in range(1, 30):
        term = (term * x / k).limit_denominator(10**40)
        total += term
    return float(total)


POWERS = np.array([_exact_exp(_part * i) for i in range(1 << PARTS)])

# log(z * 2^k) = k * log(2) + log(c) + log(1 + r) for the nearest c of a table, r = (z - c) / c.
LEAST_NUMBER = float(np.finfo(np.float64).tiny)  # below it a logarithm is that of zero
FROM = int(np.float64(0.6875).view(np.int64)) - (1 << (MANTISSA - PARTS - 1))  # c = 1 is an entry
_step = 1 << (MANTISSA - PARTS)
CENTRES = (FROM + _step // 2 + _step * np.arange(1 << PARTS, dtype=np.int64)).view(np.float64)
INVERSES, LOGS = 1 / CENTRES, np.array([math.log(c) for c in CENTRES.tolist()])
LOG_FACTORS = (-1 / 6, 1 / 5, -1 / 4, 1 / 3, -1 / 2)
LOG_2 = math.log(2.0)


def exp(values: Floats) -> Floats:
    """Exponentials of numbers that are not above zero, in place.

    Examples:
        >>> exp(np.array([0.0, -1.0, -1e9])).round(3)
        array([1.   , 0.368, 0.   ])
    """
    if not values.flags.c_contiguous:
        values[...] = exp(values.copy(order="C"))
        return values
    flat = values.reshape(-1)
    for start in range(0, flat.size, AT_ONCE):
        _exp(flat[start : start + AT_ONCE])
    return values


def _exp(x: Floats) -> None:
    vanishing = x < LEAST_EXPONENT if x.min() < LEAST_EXPONENT else None
    shifted = x * PER_PART
    shifted += SHIFT
    bits = shifted.view(np.int64)
    whole = shifted - SHIFT
    r = whole * PART_HIGH
    np.subtract(x, r, out=r)
    whole *= PART_LOW
    r -= whole
    power = np.take(POWERS, bits & LAST_PART, mode="wrap")
    more = _polynomial(EXP_FACTORS, r, out=whole)
    more *= r
    more *= r
    more += r
    more *= power
    more += power
    bits >>= PARTS
    bits <<= MANTISSA
    np.add(more.view(np.int64), bits, out=x.view(np.int64))
    if vanishing is not None:
        x[vanishing] = 0.0


def log(values: Floats, at_zero: float) -> Floats:
    """Logarithms of numbers that are not below zero, in place, with `at_zero` for that of zero.

    Examples:
        >>> log(np.array([1.0, 0.5, 0.0]), -1e9).round(3).tolist()
        [0.0, -0.693, -1000000000.0]
    """
    flat = values.reshape(-1)  # in order, as all logarithms here are taken of
    for start in range(0, flat.size, AT_ONCE):
        _log(flat[start : start + AT_ONCE], at_zero)
    return values


def _log(x: Floats, at_zero: float) -> None:
    zero = x < LEAST_NUMBER if x.min() < LEAST_NUMBER else None
    bits = x.view(np.int64)
    scale = bits - FROM
    at = (scale >> (MANTISSA - PARTS)) & LAST_PART
    scale >>= MANTISSA
    result = scale.astype(np.float64)
    scale <<= MANTISSA
    z = (bits - scale).view(np.float64)
    z -= np.take(CENTRES, at, mode="wrap")
    z *= np.take(INVERSES, at, mode="wrap")
    more = _polynomial(LOG_FACTORS, z, out=scale.view(np.float64))
    more *= z
    more *= z
    more += z
    result *= LOG_2
    result += np.take(LOGS, at, mode="wrap")
    np.add(result, more, out=x)
    if zero is not None:
        x[zero] = at_zero


def _polynomial(factors: tuple[float, ...], r: Floats, out: Floats) -> Floats:
    """By Horner's rule, the factor of the highest power first."""
    out = np.multiply(r, factors[0], out=out)
    for factor in factors[1:-1]:
        out += factor
        out *= r
    out += factors[-1]
    return out
