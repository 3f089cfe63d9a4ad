"""Exponentials and logarithms that have the same bits however they are computed.

NumPy's go number by number where a processor lacks AVX-512, and have other bits where it has it.
These are made of additions and products alone, in a given order, so that NumPy here and the loops
that numba compiles (`loops`) agree to the last bit, and the latter take several numbers at a time.
An exponential is within 1.5 units in the last place of what is right, a logarithm within 2.5.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal, localcontext
from itertools import accumulate, repeat
from operator import mul

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEW = 32  # numbers that plain Python takes less time for
AT_ONCE = 1 << 15  # numbers whose intermediate arrays stay in a cache
SHIFT = 1.5 * 2.0**52  # what is added to it is rounded to a whole number, which its last bits hold
MANTISSA, PARTS = 52, 8  # bits: of a number's fraction, and of the entries of a table
LAST_PART = (1 << PARTS) - 1
NUMBER, WORD = struct.Struct("<d"), struct.Struct("<q")

# exp(x) = 2^(n / 256) * exp(r) for the whole number n that leaves the smallest r.
LEAST_EXPONENT = -708.0  # below it the result is zero
EXP_FACTORS = (1 / 24, 1 / 6, 1 / 2)

# log(z * 2^k) = k * log(2) + log(c) + log(1 + r) for the nearest c of a table, r = (z - c) / c.
LEAST_NUMBER = float(np.finfo(np.float64).tiny)  # below it a logarithm is that of zero
LOG_FACTORS = (-1 / 6, 1 / 5, -1 / 4, 1 / 3, -1 / 2)
_step = 1 << (MANTISSA - PARTS)
FROM = int(np.float64(0.6875).view(np.int64)) - _step // 2  # so that 1 is a c
CENTRES = (FROM + _step // 2 + _step * np.arange(1 << PARTS, dtype=np.int64)).view(np.float64)
INVERSES = 1 / CENTRES


def _log_ratio(n: int) -> Decimal:
    """The logarithm of (n + 1) / n, by the series of the inverse hyperbolic tangent."""
    y = 1 / Decimal(2 * n + 1)
    return 2 * sum((y**k / k for k in range(1, 11, 2)), Decimal(0))


with localcontext(prec=34):  # decimals are the same on every machine
    _log_2 = Decimal(2).ln()
    _part = _log_2 / (1 << PARTS)
    LOG_2, PER_PART = float(_log_2), float(1 / _part)
    PART_HIGH = math.floor(_part * 2**43) / 2**43  # so few bits that n times it is exact
    PART_LOW = float(_part - Decimal(PART_HIGH))
    POWER_LIST = [float(p) for p in accumulate(repeat(_part.exp(), LAST_PART), mul, initial=1)]
    _whole = range(int(CENTRES[0] * 512), int(CENTRES[-1] * 512) + 1)  # every c is one by 512
    _logs = list(accumulate(map(_log_ratio, _whole[:-1]), initial=Decimal(0)))
    _log_of = {
        n / 512: float(log - _logs[_whole.index(512)]) for n, log in zip(_whole, _logs, strict=True)
    }
POWERS = np.array(POWER_LIST)
LOG_LIST = [(c, 1 / c, _log_of[c]) for c in CENTRES.tolist()]
LOGS = np.array([log for _, _, log in LOG_LIST])


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
    if flat.size <= FEW:
        flat[:] = [_exp_of_one(x) for x in flat.tolist()]
        return values
    for start in range(0, flat.size, AT_ONCE):
        _exp(flat[start : start + AT_ONCE])
    return values


def _exp_of_one(x: float) -> float:
    """The same in plain Python, where NumPy would take longer to be called."""
    if not x >= LEAST_EXPONENT:
        return 0.0 if x < LEAST_EXPONENT else x
    whole = (x * PER_PART + SHIFT) - SHIFT
    r = (x - whole * PART_HIGH) - whole * PART_LOW
    part = int(whole)
    power = POWER_LIST[part & LAST_PART]
    fourth, third, second = EXP_FACTORS
    more = ((r * fourth + third) * r + second) * r * r + r
    return math.ldexp(more * power + power, part >> PARTS)


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
    if flat.size <= FEW:
        flat[:] = [_log_of_one(x, at_zero) for x in flat.tolist()]
        return values
    for start in range(0, flat.size, AT_ONCE):
        _log(flat[start : start + AT_ONCE], at_zero)
    return values


def _log_of_one(x: float, at_zero: float) -> float:
    """The same in plain Python."""
    if x < LEAST_NUMBER:
        return at_zero
    (bits,) = WORD.unpack(NUMBER.pack(x))
    scale, at = (bits - FROM) >> MANTISSA, ((bits - FROM) >> (MANTISSA - PARTS)) & LAST_PART
    (z,) = NUMBER.unpack(WORD.pack(bits - (scale << MANTISSA)))
    centre, inverse, log_of_centre = LOG_LIST[at]
    r = (z - centre) * inverse
    more = 0.0
    for factor in LOG_FACTORS:
        more = more * r + factor
    more = more * r * r + r
    result: float = (scale * LOG_2 + log_of_centre) + more
    return result


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
