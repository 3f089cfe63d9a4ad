"""Exponentials that have the same bits however they are computed.

NumPy's go number by number where a processor lacks AVX-512, and have other bits where it has it.
These are made of additions and products alone, in a given order, so that NumPy here and the loops
that numba compiles (`loops`) agree to the last bit, and the latter take several numbers at a time.
What is relatively wrong of the exponential of x is less than (2 + |x|) times 2^-52, no more than
comes of the rounding of x itself; the least numbers there are, below 1e-308, have fewer digits.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import accumulate, repeat
from operator import mul

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEW = 32  # numbers that plain Python takes less time for
AT_ONCE = 1 << 14  # numbers whose intermediate arrays stay in a cache
MANTISSA, PARTS = 52, 11  # bits: of a number's fraction, and of the entries of the table
LAST_PART = (1 << PARTS) - 1
UP = 128  # powers of two by which results are too large at first, for the least to be rounded right
DOWN = 2.0**-UP
# What is added to it is rounded to a whole number, which its last bits hold.
SHIFT = 1.5 * 2.0**52 + (UP << PARTS)

# exp(x) = 2^(n / 2048) * exp(r) for the whole number n that leaves the smallest r.
LEAST_EXPONENT = -746.0  # from here on the result is zero
SIXTH, HALF = 1 / 6, 1 / 2  # of r^3 and r^2: the next power would not show
with localcontext(prec=34):  # decimals are the same on every machine
    _part = Decimal(2).ln() / (1 << PARTS)
    PART, PER_PART = float(_part), float(1 / _part)
    POWER_LIST = [float(p) for p in accumulate(repeat(_part.exp(), LAST_PART), mul, initial=1)]
POWERS = np.array(POWER_LIST)


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
    scratch = np.empty((4, min(flat.size, AT_ONCE)))  # once, since clean memory takes time
    for start in range(0, flat.size, AT_ONCE):
        some = flat[start : start + AT_ONCE]
        _exp(some, *scratch[:, : some.size])
    return values


def _exp(x: Floats, shifted: Floats, r: Floats, power: Floats, more: Floats) -> None:
    if x.min() < LEAST_EXPONENT:
        np.maximum(x, LEAST_EXPONENT, out=x)
    np.multiply(x, PER_PART, out=shifted)
    shifted += SHIFT
    np.subtract(shifted, SHIFT, out=r)
    r *= PART
    np.subtract(x, r, out=r)
    bits, at = shifted.view(np.int64), more.view(np.int64)
    np.bitwise_and(bits, LAST_PART, out=at)
    np.take(POWERS, at, out=power, mode="wrap")
    np.multiply(r, SIXTH, out=more)
    more += HALF
    more *= r
    more *= r
    more += r
    more *= power
    more += power
    bits >>= PARTS
    bits <<= MANTISSA
    np.add(at, bits, out=x.view(np.int64))
    x *= DOWN


def _exp_of_one(x: float) -> float:
    """The same in plain Python, where NumPy would take longer to be called."""
    if not x >= LEAST_EXPONENT:
        return 0.0 if x < LEAST_EXPONENT else x
    whole = (x * PER_PART + SHIFT) - SHIFT
    r = x - whole * PART
    part = int(whole)
    power = POWER_LIST[part & LAST_PART]
    more = (r * SIXTH + HALF) * r * r + r
    return math.ldexp(more * power + power, part >> PARTS)
