"""Trials in processes of their own, so that whatever happens in them is only counted.

The process that starts them has imported everything and used none of it: forking is then quick and
safe. What a trial starts dies with it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import quorate
from chaos.attack import Attack, FailureError

LONG_RUN = 300  # seconds, from which on attacks that take long are tried


@dataclass(frozen=True)
class Failed:
    """A thing that did not hold, and the trial it was in."""

    attack: Attack
    seed: int
    why: str

    @property
    def command(self) -> str:
        return f"python -m chaos {self.attack.name} --seed {self.seed} --times 1"


@dataclass
class Tally:
    """What was tried of each attack, and what failed."""

    tried: Counter[str] = field(default_factory=Counter)
    failed: list[Failed] = field(default_factory=list)

    def n_failed(self, attack: Attack) -> int:
        return sum(each.attack is attack for each in self.failed)


@dataclass
class _Trial:
    attack: Attack
    seed: int
    process: int
    pipe: int
    place: Path
    until: float
    said: bytes = b""


@dataclass(frozen=True)
class Limits:
    """When to stop: after so many seconds, each attack tried at least once, or so many trials of
    each."""

    seconds: float | None = None
    times: int | None = None
    seed: int = 0
    processes: int = 2


def run(attacks: Sequence[Attack], limits: Limits, failed: Callable[[Failed], None]) -> Tally:
    """Try attacks in turn, each as often as the others by what a full run tries of it."""
    import_everything()
    tally, running = Tally(), list[_Trial]()
    started: Counter[str] = Counter()
    end = None if limits.seconds is None else time.monotonic() + limits.seconds
    try:
        while True:
            while len(running) < limits.processes:
                attack = _next(attacks, started, tally, limits, end)
                if attack is None:
                    break
                running.append(_start(attack, limits.seed + started[attack.name]))
                started[attack.name] += 1
            if not running:
                return tally
            for trial in [trial for trial in running if _ended(trial)]:
                running.remove(trial)
                for failure in _count(trial, tally):
                    failed(failure)
            time.sleep(0.002)
    finally:
        for trial in running:
            _end(trial)


def import_everything() -> None:
    for module in pkgutil.walk_packages(quorate.__path__, "quorate."):
        if not module.name.endswith(("__main__", ".ray")):
            importlib.import_module(module.name)


def _next(
    attacks: Sequence[Attack],
    started: Counter[str],
    tally: Tally,
    limits: Limits,
    end: float | None,
) -> Attack | None:
    left = [a for a in attacks if limits.times is None or started[a.name] < limits.times]
    if end is not None and time.monotonic() >= end:
        left = [attack for attack in left if not started[attack.name]]
    if limits.seconds is not None and limits.seconds < LONG_RUN and len(attacks) > 1:
        left = [attack for attack in left if not attack.long]

    def share(attack: Attack) -> tuple[float, int]:
        return max(tally.tried[attack.name], started[attack.name]) / attack.often, -attack.often

    return min(left, key=share, default=None)


def _start(attack: Attack, seed: int) -> _Trial:
    place = Path(tempfile.mkdtemp(prefix="chaos-"))
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        _try(attack, seed, place, writing)
    os.close(writing)
    os.set_blocking(reading, False)
    with contextlib.suppress(OSError):
        os.setpgid(process, process)
    return _Trial(attack, seed, process, reading, place, time.monotonic() + attack.patience)


def _try(attack: Attack, seed: int, place: Path, pipe: int) -> None:
    """In the trial's process: say a line for each thing tried."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def say(what: str | None) -> None:
        os.write(pipe, json.dumps(what).encode() + b"\n")

    try:
        for outcome in attack.trial(seed, place):
            say(outcome)
    except FailureError as failure:
        say(str(failure))
    except BaseException:
        say("".join(traceback.format_exc(limit=-4))[-2_000:])
    finally:
        os._exit(0)


def _ended(trial: _Trial) -> bool:
    with contextlib.suppress(BlockingIOError):
        while part := os.read(trial.pipe, 2**16):
            trial.said += part
    if time.monotonic() > trial.until:
        trial.said += json.dumps(f"not done in {trial.attack.patience:g} s").encode() + b"\n"
        _end(trial)
        return True
    done, status = os.waitpid(trial.process, os.WNOHANG)
    if not done:
        return False
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        trial.said += json.dumps(f"the process died of {name}").encode() + b"\n"
    trial.process = 0
    _end(trial)
    return True


def _end(trial: _Trial) -> None:
    """Whatever is left of a trial."""
    with contextlib.suppress(BlockingIOError, OSError):
        trial.said += os.read(trial.pipe, 2**20)
    os.close(trial.pipe)
    if trial.process:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(trial.process, signal.SIGKILL)
        os.waitpid(trial.process, 0)
    shutil.rmtree(trial.place, ignore_errors=True)


def _count(trial: _Trial, tally: Tally) -> Iterator[Failed]:
    for line in trial.said.splitlines():
        tally.tried[trial.attack.name] += 1
        why = json.loads(line)
        if why is not None:
            failure = Failed(trial.attack, trial.seed, why)
            tally.failed.append(failure)
            yield failure
