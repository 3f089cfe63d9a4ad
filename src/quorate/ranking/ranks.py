"""Ranks with intervals that hold for all systems at once, and tiers that cannot be told apart.

Two systems differ if the interval of the difference of their strengths is without 0, all such
intervals being made to hold at once: by the distribution of the largest error among all
differences, drawn from the normal distribution of the strengths (as M. Mogstad, J. P. Romano,
A. M. Shaikh and D. Wilhelm, "Inference for Ranks with Applications to Mobility across
Neighbourhoods and Academic Achievement across Countries", Review of Economic Studies, 2024, do by
the bootstrap). A system's rank is then at best one below those that surely beat it, and at worst
one above those that it surely beats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Floats

DRAWS, MOST_NUMBERS, LEAST_DRAWS = 2000, 300_000_000, 300
JITTER = 1e-9
EQUAL = 1e-9  # difference up to which systems share a rank


class Ranks(NamedTuple):
    """Of each system the rank, the least and the greatest that it can have with all the others',
    and its tier: the systems of a tier are not surely below the first of them."""

    rank: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    tier: NDArray[np.int64]


def ranks_of(strength: Floats, covariance: Floats, level: float, seed: int) -> Ranks:
    """Ranks of systems that are all connected.

    Examples:
        >>> found = ranks_of(np.array([2.0, 0.1, 0.0]), np.eye(3) * 0.01, 0.95, seed=0)
        >>> found.rank.tolist(), found.low.tolist(), found.high.tolist(), found.tier.tolist()
        ([1, 2, 3], [1, 2, 2], [1, 3, 3], [1, 2, 2])
    """
    above = surely_above(strength, covariance, level, seed)
    order = np.lexsort((np.arange(len(strength)), -strength))
    rank = 1 + np.searchsorted(-strength[order], -strength - EQUAL)
    low = 1 + above.sum(axis=0)
    high = len(strength) - above.sum(axis=1)
    tier = np.zeros(len(strength), dtype=np.int64)
    first, number = order[0], 1
    for system in order:
        if above[first, system]:
            first, number = system, number + 1
        tier[system] = number
    return Ranks(rank, np.minimum(low, rank), np.maximum(high, rank), tier)


def surely_above(
    strength: Floats, covariance: Floats, level: float, seed: int
) -> NDArray[np.bool_]:
    """``[system, system]``: whether the first is above the second, all such statements holding at
    once with the probability `level`."""
    n = len(strength)
    if n < 2:
        return np.zeros((n, n), dtype=bool)
    variance = np.diag(covariance)
    error = np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0.0))
    apart = strength[:, None] - strength
    above: NDArray[np.bool_] = apart > critical_value(covariance, error, level, seed) * error
    return above & (error > 0)


def critical_value(covariance: Floats, error: Floats, level: float, seed: int) -> float:
    """Number of standard errors within which all differences are at once."""
    n = len(covariance)
    draws = int(np.clip(MOST_NUMBERS / n**2, LEAST_DRAWS, DRAWS))
    scale = float(np.diag(covariance).mean()) or 1.0
    root = np.linalg.cholesky(covariance / scale + JITTER * np.eye(n))  # centred, so singular
    random = np.random.default_rng([seed, n])
    inverse = np.divide(np.sqrt(scale), error, out=np.zeros_like(error), where=error > 0)
    inverse = inverse.astype(np.float32)
    apart = np.empty((n, n), dtype=np.float32)
    largest = np.empty(draws)
    for i, drawn in enumerate((root @ random.standard_normal((n, draws))).T.astype(np.float32)):
        np.subtract.outer(drawn, drawn, out=apart)
        largest[i] = np.multiply(apart, inverse, out=apart).max()
    return float(np.quantile(largest, level))
