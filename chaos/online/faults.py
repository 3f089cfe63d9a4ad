"""An exception at any line of the code, of any step: it has happened or it has not."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from chaos.attack import Attack, FailureError, Outcomes
from chaos.online.script import Script, checkpoint_often, difference, known, make_script, which
from quorate import Online

FAULTS = 12


class Fault:
    """Raises at the n-th line that is run in files whose path has a part; counts them."""

    def __init__(self, part: str, at: int = 0, error: type[BaseException] = KeyboardInterrupt):
        self.part, self.at, self.error = part, at, error
        self.n = 0
        self.where = ""

    def __enter__(self) -> Fault:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if self.part in frame.f_code.co_filename else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.n += 1
            if self.n == self.at:
                sys.settrace(None)
                self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                raise self.error("a fault")
        return self._line


def _trial_of(part: str, error: type[BaseException]) -> Callable[[int, Path], Outcomes]:
    def trial(seed: int, place: Path) -> Outcomes:
        chance = random.Random(seed)
        checkpoint_often(6)
        script = make_script(seed, length=chance.randint(5, 40))
        kept = chance.random() < 0.75
        for number in range(FAULTS):
            done = chance.randint(0, len(script.steps) - 1)
            here = place / f"{number}" if kept else None
            lines = _n_lines(script, done, place / f"{number}-counted" if kept else None, part)
            fault = Fault(part, chance.randint(1, lines), error)
            try:
                _struck(script, done, here, fault)
                yield None
            except FailureError as failure:
                yield _told(fault, script, done, kept, str(failure))
            except BaseException as raised:
                yield _told(fault, script, done, kept, f"{type(raised).__name__}: {raised}")

    return trial


def _told(fault: Fault, script: Script, done: int, kept: bool, why: str) -> str:
    kind = script.steps[done].kind
    where = "in a directory" if kept else "in memory"
    return f"{fault.error.__name__} at {fault.where} in {kind}, {where}: {why}"


def _begun(script: Script, done: int, place: Path | None) -> Online:
    online = Online(**script.settings) if place is None else script.open(place)
    for step in script.steps[:done]:
        step.do(online)
    return online


def _step_and_question(script: Script, done: int, online: Online) -> None:
    """A question, since votes that were taken back are counted anew only then."""
    script.steps[done].do(online)
    _ = online.n_votes


def _n_lines(script: Script, done: int, place: Path | None, part: str) -> int:
    online, counter = _begun(script, done, place), Fault(part)
    with counter:
        _step_and_question(script, done, online)
        online.close()
    return counter.n


def _struck(script: Script, done: int, place: Path | None, fault: Fault) -> None:
    """The fault may come in the step, in the question after it, or when it is closed."""
    online = _begun(script, done, place)
    possible = range(done, done + 2)
    try:
        with fault:
            _step_and_question(script, done, online)
            possible = range(done + 1, done + 2)
            online.close()
    except fault.error:
        pass
    now = which(script, online, possible)
    _require_whole(script, online, now, place)


def _require_whole(script: Script, online: Online, now: int, place: Path | None) -> None:
    """It goes on, and is the same when opened again."""
    if place is None:
        _finish(script, online, now)
        return
    online.close()
    del online
    gc.collect()
    with script.open(place) as again:
        if wrong := difference(known(again), known(script.fresh(now))):
            raise FailureError(f"opened again:{wrong}")
        _finish(script, again, now)


def _finish(script: Script, online: Online, now: int) -> None:
    for step in script.steps[now:]:
        step.do(online)
    which(script, online, [len(script.steps)])


ATTACK = Attack(
    "online-faults",
    "an interrupt at any line of the code",
    _trial_of("quorate/online", KeyboardInterrupt),
    often=900,
)
MEMORY = Attack(
    "online-memory",
    "no more memory at any line of the code",
    _trial_of("quorate/", MemoryError),
    often=300,
)
