"""Names of any kind: refused in a sentence, or there when it is opened again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np

from chaos.attack import Attack, Outcomes
from quorate import Online
from quorate.errors import QuorateError

ODD: tuple[Any, ...] = (
    ("site", "ann"),
    ["site"],
    frozenset("a"),
    None,
    float("nan"),
    float("inf"),
    -0.0,
    1e300,
    2**63,
    2**200,
    -(2**63),
    True,
    b"bytes",
    "",
    " ",
    "\0",
    "\ud800",
    "\x1b[2J",
    "é" * 5_000,
    "'; DROP TABLE votes; --",
    np.int64(7),
    np.float32(0.5),
    np.str_("text"),
    object(),
    complex(1, 2),
)


def trial(seed: int, place: Path) -> Outcomes:
    """One odd name for each role and each way to add it, among usual ones or at the beginning."""
    chance = random.Random(seed)
    for number, name in enumerate(ODD):
        vote: list[Any] = ["t0", "w0", "a"]
        vote[chance.randrange(3)] = name
        kept = place / f"{number}"
        yield _kept(kept, vote, chance.random() < 0.5, chance.random() < 0.5)


def _kept(place: Path, vote: list[Any], usual_first: bool, together: bool) -> str | None:
    what = f"{vote!r:.200}"
    try:
        with Online.open(place) as online:
            n = 0
            if usual_first:
                online.add([("t1", "w1", "a"), ("t1", "w2", "b")])
                n = 2
            try:
                online.add([vote, vote] if together else tuple(vote))
                n += 1 + together
            except QuorateError:
                pass
            before = online.n_votes
        with Online.open(place) as again:
            after = again.n_votes
    except Exception as error:
        return f"{what}: {error!r:.300}"
    return None if before == after == n else f"{what}: {n} votes, then {before}, then {after}"


ATTACK = Attack("online-names", "names of any kind", trial, often=250)
