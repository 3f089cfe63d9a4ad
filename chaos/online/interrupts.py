"""Ctrl-C at any moment of a step: it has happened or it has not, now and when opened again."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import polars as pl

from chaos.attack import Attack, FailureError, Outcomes
from chaos.online.script import Script, checkpoint_often, difference, known, make_script, which
from quorate import Online

INTERRUPTS = 6


def trial(seed: int, place: Path) -> Outcomes:
    """Go on after an interrupt; or leave the block that the `Online` was opened in."""
    chance = random.Random(seed)
    script = make_script(seed)
    checkpoint_often()
    signal.signal(signal.SIGALRM, _interrupt)
    pl.Series([1]).to_numpy()  # Polars panics if it is interrupted while it does this first
    done = 0
    for _ in range(INTERRUPTS):
        if chance.random() < 0.5:
            done = _gone_on(script, place / "kept", done, chance)
        else:
            done = _left(script, place / "kept", done, chance)
        yield None
        if done >= len(script.steps):
            return


_came: list[int] = []


def _interrupt(number: int, frame: FrameType | None) -> None:
    _came.append(number)
    raise KeyboardInterrupt


@contextmanager
def _cut_short() -> Iterator[None]:
    """What an interrupt may end, also where Polars makes an exception of its own of it."""
    before = len(_came)
    try:
        yield
    except KeyboardInterrupt:
        pass
    except Exception:
        if len(_came) == before:
            raise


def _soon(chance: random.Random) -> None:
    """An interrupt within some tens of steps."""
    signal.setitimer(signal.ITIMER_REAL, 1e-5 + chance.random() ** 2 * 0.01)


def _not_any_more() -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)


class _Progress:
    """How many steps have returned, also when the last one did not."""

    def __init__(self, done: int) -> None:
        self.done = done

    def go_on(self, script: Script, online: Online) -> None:
        for step in script.steps[self.done :]:
            step.do(online)
            self.done += 1

    def possible(self, script: Script) -> range:
        return range(self.done, min(self.done + 2, len(script.steps) + 1))


def _gone_on(script: Script, place: Path, done: int, chance: random.Random) -> int:
    progress = _Progress(done)
    with script.open(place) as online:
        with _cut_short():
            try:
                _soon(chance)
                progress.go_on(script, online)
            finally:
                _not_any_more()
        _not_any_more()
        now = which(script, online, progress.possible(script))
        before = known(online)
    with script.open(place) as again:
        if wrong := difference(known(again), before):
            raise FailureError(f"after an interrupt, opened again:{wrong}")
    return now


def _left(script: Script, place: Path, done: int, chance: random.Random) -> int:
    progress = _Progress(done)
    with _cut_short():
        try:
            with script.open(place) as online:
                _soon(chance)
                progress.go_on(script, online)
        finally:
            _not_any_more()
    _not_any_more()
    with script.open(place) as again:
        return which(script, again, progress.possible(script))


ATTACK = Attack("online-interrupts", "Ctrl-C at any moment of a step", trial, often=600)
