"""One writer and others: a second writer is refused, a reader sees what was known after a step."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from chaos.attack import Attack, FailureError, Outcomes
from chaos.children import Child, called
from chaos.online.script import (
    LABELS,
    Script,
    can_open,
    checkpoint_often,
    difference,
    make_script,
    require_same,
)
from quorate import DataError, Online

LOOKS = 12


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    checkpoint_often(chance.choice([5, 40]))
    script, kept = make_script(seed), place / "kept"
    pause = chance.choice([0.0, 0.001])
    writer = Child(lambda say: _write(script, kept, say, pause))
    writer.next()
    others = [Child(lambda say: _refused(script, kept)) for _ in range(2)]
    if can_open("read_only"):
        others += [Child(lambda say: _looks(script, kept)) for _ in range(2)]
    writer.kill(0)
    for other in others[:2]:
        other.result()
        yield None
    writer.result()
    for other in others[2:]:
        seen = other.result()
        called(partial(_require_prefixes, script, seen))
        yield None
    called(lambda: _all_there(script, kept))


def _write(script: Script, kept: Path, say: Callable[[int], None], pause: float) -> None:
    with script.open(kept) as online:
        for n, step in enumerate(script.steps, start=1):
            step.do(online)
            say(n)
            time.sleep(pause)
        time.sleep(0.3)


def _refused(script: Script, kept: Path) -> None:
    """Unless the writer has gone already, which it does some time after the last step."""
    try:
        online = script.open(kept)
    except DataError:
        return
    with online:
        if online.n_votes != script.fresh(script.steps).n_votes:
            raise FailureError("a second writer was not refused")


def _looks(script: Script, kept: Path) -> list[Any]:
    with script.open(kept, read_only=True) as online:
        return [_seen(online) for _ in range(LOOKS)]


def _seen(online: Online) -> Any:
    time.sleep(0.003)
    try:
        return online.result().labels.select(LABELS).rows()
    except DataError as error:  # no votes are left
        if "no labels" not in str(error):
            raise
        return []


def _require_prefixes(script: Script, seen: list[Any]) -> None:
    """Each look is at what was known after a step, and not before the last look."""
    online, steps = script.fresh(0), iter(script.steps)
    for look in seen:
        while difference(_by_task(look), _by_task(_labels(online))):
            step = next(steps, None)
            if step is None:
                raise FailureError("a reader has seen what was not known after any step")
            step.do(online)


def _by_task(rows: Any) -> dict[str, Any]:
    return {row[0]: tuple(row[1:]) for row in rows}


def _labels(online: Online) -> Any:
    return online.result().labels.select(LABELS).rows() if online.n_votes else []


def _all_there(script: Script, kept: Path) -> None:
    with script.open(kept) as online:
        require_same(script, online, script.steps)


ATTACK = Attack("online-two-at-once", "a second writer, and readers", trial, often=120)
