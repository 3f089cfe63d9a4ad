"""When to keep a checkpoint of the state, and which of them to keep."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

FEWEST, SHARE = 5_000, 1 / 100


def next_due(votes: int) -> int:
    """After how many votes the next one is due: so many more, or this share of all."""
    return max(votes + FEWEST, int(votes * (1 + SHARE)))


def thinned(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of some checkpoints, the newest first, that can go: without one, the next older one is
    at most twice as far back as the next newer one.

    Examples:
        >>> thinned([(100, 0), (90, 0), (80, 0), (70, 0), (60, 0), (50, 0), (40, 0)])
        [(50, 0), (60, 0)]
    """
    gone, newest = [], places[0][0]
    older, *rest = reversed(places)
    for place, newer in pairwise(rest):
        if newest - older[0] <= 2 * (newest - newer[0]):
            gone.append(place)
        else:
            older = place
    return gone
