"""Lines through the means of trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproductions.experiment import Series


def line(name: str, x: Sequence[float], samples: Sequence[Sequence[float]]) -> Series:
    """Means, with two standard errors where there is more than one trial.

    Examples:
        >>> line("error", [1, 2], [[3.0, 5.0], [2.0, 2.0]])
        Series(name='error', x=[1, 2], y=[4.0, 2.0], low=[2.0, 2.0], high=[6.0, 2.0])
    """
    mean = [float(np.mean(values)) for values in samples]
    if min(len(values) for values in samples) < 2:
        return Series(name, list(x), mean)
    error = [2 * standard_error(values) for values in samples]
    low = [m - e for m, e in zip(mean, error, strict=True)]
    high = [m + e for m, e in zip(mean, error, strict=True)]
    return Series(name, list(x), mean, low, high)


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Slope of a line on logarithmic axes.

    Examples:
        >>> round(slope([1, 4, 16], [1, 0.5, 0.25]), 6)
        -0.5
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
