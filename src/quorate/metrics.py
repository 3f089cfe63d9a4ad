"""How far answers are from the truth, and intervals for shares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Floats


def error(posterior: Floats, truth: NDArray[np.integer]) -> float:
    """The expected share of wrong answers over tasks whose truth is known (not -1), when ties for
    the highest belief are broken evenly.

    Examples:
        >>> error(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0, 0]))
        0.25
    """
    known = np.flatnonzero(truth >= 0)
    best = kernels.tied(posterior[known])
    right = best[np.arange(len(known)), truth[known]] / best.sum(axis=1)
    return float(1 - right.mean())


def wilson_interval(
    successes: Floats, trials: Floats, z: float = 1.959964
) -> tuple[Floats, Floats]:
    """Wilson's 95 % interval for a share; all of [0, 1] where nothing was tried.

    Examples:
        >>> low, high = wilson_interval(np.array([8.0]), np.array([10.0]))
        >>> low.round(3), high.round(3)
        (array([0.49]), array([0.943]))
    """
    n = np.maximum(trials, 1e-12)
    share = successes / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
