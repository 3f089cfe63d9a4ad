"""Two groups against each other: the difference, its interval, and the p-value of none.

The interval of a difference comes from those of the two (Zou and Donner 2008): with estimates e and
f and bounds (l, u) and (m, v),

    e - f - sqrt((e - l)² + (v - f)²)   to   e - f + sqrt((u - e)² + (f - m)²)

so that it is as lopsided as they are. The p-value is that of the distance to zero, in units of the
side of the interval that points there. Where the tasks of the two groups are of the same items, the
differences within pairs are estimated themselves, whose interval is narrower.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quorate.errors import DataError
from quorate.estimation.facts import Difference
from quorate.estimation.figures import Interval
from quorate.special import ndtr, ndtri


def between(first: str, second: str, one: Interval, other: Interval, level: float) -> Difference:
    """The difference of two estimates that are independent of each other.

    Examples:
        >>> found = between("a", "b", Interval(0.7, 0.6, 0.8), Interval(0.5, 0.4, 0.6), 0.95)
        >>> round(found.low, 3), round(found.p_value, 4)
        (0.059, 0.0056)
    """
    gap = one.estimate - other.estimate
    below = float(np.hypot(one.estimate - one.low, other.high - other.estimate))
    above = float(np.hypot(one.high - one.estimate, other.estimate - other.low))
    side = below if gap > 0 else above
    z = float(ndtri(0.5 + level / 2))
    p_value = 1.0 if gap == 0 else float(2 * ndtr(-abs(gap) / max(side, 1e-12) * z))
    return Difference(first, second, gap, gap - below, gap + above, p_value)


def paired(
    item: NDArray[np.intp], group: NDArray[np.intp], places: Sequence[int]
) -> NDArray[np.intp] | None:
    """Pairs of tasks ``[pair, 2]`` of the same item, one of each group; None where there are
    none."""
    by_item: list[dict[int, int]] = []
    for place in places:
        tasks = np.flatnonzero((group == place) & (item >= 0))
        if len(np.unique(item[tasks])) < len(tasks):
            raise DataError("An item has several tasks of one group: pairs need one of each.")
        by_item.append(dict(zip(item[tasks].tolist(), tasks.tolist(), strict=True)))
    shared = [(task, by_item[1][key]) for key, task in by_item[0].items() if key in by_item[1]]
    return np.array(shared, dtype=np.intp) if shared else None
