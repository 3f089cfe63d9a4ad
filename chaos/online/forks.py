"""A fork while it is open: the child is refused, and the parent unharmed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.attack import Attack, FailureError, Outcomes
from chaos.children import Child
from chaos.online.script import Script, checkpoint_often, make_script, require_same
from quorate import DataError, Online
from quorate.errors import QuorateError


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    checkpoint_often()
    script, kept = make_script(seed, length=30), place / "kept"
    online = script.open(kept)
    half = chance.randint(1, len(script.steps) - 1)
    for step in script.steps[:half]:
        step.do(online)
    children = [Child(lambda say: _use(online, script, seed)) for _ in range(2)]
    for step in script.steps[half:]:
        step.do(online)
    for child in children:
        child.result()
    Child(lambda say: _refused(script, kept)).result()
    require_same(script, online, script.steps)
    online.close()
    with script.open(kept) as again:
        require_same(script, again, script.steps)
    yield None


def _use(online: Online, script: Script, seed: int) -> None:
    """All that a child can do with what it has inherited."""
    acts: list[Callable[[], Any]] = [
        lambda: online.add(("child", "w0", "a")),
        lambda: online.add([("child", "w0", "a"), ("child", "w1", "a")]),
        lambda: online.settle(),
        lambda: online.remove(*script.steps[0].votes[0][:2]),
    ]
    random.Random(seed).shuffle(acts)
    for act in acts:
        try:
            act()
        except QuorateError:
            continue
        raise FailureError("a forked child could write")
    online.close()


def _refused(script: Script, kept: Path) -> None:
    try:
        script.open(kept)
    except DataError:
        return
    raise FailureError("after a forked child has ended the writer has lost its lock")


ATTACK = Attack("online-forks", "a fork while it is open", trial, often=60, patience=30)
