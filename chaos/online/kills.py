"""A writer that is killed: every vote that was acknowledged is there, and nothing else changed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from chaos.attack import Attack, Outcomes
from chaos.children import Child, called
from chaos.online.script import Script, checkpoint_often, make_script, which


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    script = make_script(seed, length=80)
    checkpoint_often(chance.choice([5, 15, 40]))
    sync = chance.random() < 0.2
    done = 0
    while done < len(script.steps):
        last = killed(script, place / "kept", done, chance, sync)
        done = called(partial(_opened, script, place / "kept", last))
        yield None


def killed(script: Script, place: Path, done: int, chance: random.Random, sync: bool) -> int:
    """Go on after so many steps, and be killed; how many were acknowledged."""

    def write(say: Callable[[int], None]) -> None:
        online = script.open(place, sync=sync)
        for n, step in enumerate(script.steps[done:], start=done + 1):
            step.do(online)
            say(n)
        if chance.random() < 0.5:
            online.close()

    child, said = Child(write), done
    for _ in range(chance.randint(0, 30)):
        number = child.next()
        if number is None:
            break
        said = number
    time.sleep(chance.random() ** 3 * 0.01)
    child.kill()
    child.wait()
    return child.rest() or said


def _opened(script: Script, place: Path, acknowledged: int) -> int:
    """After how many steps it is; not fewer than were acknowledged."""
    with script.open(place) as online:
        return which(
            script, online, range(acknowledged, min(acknowledged + 2, len(script.steps) + 1))
        )


ATTACK = Attack("online-kills", "SIGKILL of a writer at any moment", trial, often=550)
