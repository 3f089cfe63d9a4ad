"""When to keep a checkpoint of the state, and which of them to keep."""

from __future__ import annotations

from collections.abc import Sequence

FEWEST, SHARE = 5_000, 1 / 40


def is_due(votes: int, last: int) -> bool:
    """Whether there are enough votes since the last one, of all."""
    return votes - last >= max(FEWEST, votes * SHARE)


def thinned(places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of some checkpoints, the newest first, that can go: each that stays is half as far
    back again as the one after it.

    Examples:
        >>> thinned([(100, 0), (90, 0), (80, 0), (70, 0), (60, 0), (50, 0), (0, 0)])
        [(70, 0), (50, 0)]
    """
    gone, newest, last = [], places[0][0], -1
    for place in places:
        back = newest - place[0]
        if last > 0 and back < 1.5 * last:
            gone.append(place)
        else:
            last = back
    return gone
