"""One bit that has changed: what is opened is right, or it is refused in a sentence."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

from chaos.attack import Attack, FailureError, Outcomes
from chaos.children import called
from chaos.online.kills import killed
from chaos.online.script import (
    Known,
    Script,
    can_open,
    checkpoint_often,
    difference,
    known,
    make_script,
)
from quorate.errors import QuorateError

FLIPS = 25
HEADER, FRAME, SALTS = 32, 24, slice(8, 16)  # of SQLite's write-ahead log


def after_closing(seed: int, place: Path) -> Outcomes:
    """In any file of a directory that was closed."""
    chance = random.Random(seed)
    checkpoint_often()
    script = make_script(seed)
    with script.open(place / "kept") as online:
        for step in script.steps:
            step.do(online)
        right = known(online)
    for _ in range(FLIPS):
        yield _tried(script, place, chance, [right], _any_file(place / "kept", chance))


def after_a_kill(seed: int, place: Path) -> Outcomes:
    """In any file that a writer has left that was killed: most of it is in the log."""
    chance = random.Random(seed)
    checkpoint_often()
    script = make_script(seed)
    last = killed(script, place / "kept", 0, chance, sync=False)
    if not last:  # there may be nothing yet
        return
    states = called(lambda: states_after(script, place, last))
    right = as_known(states[-1])
    earlier = [as_known(state) for state in states]
    for _ in range(FLIPS):
        path = _any_file(place / "kept", chance)
        yield _tried(script, place, chance, [right], path, earlier)


def states_after(script: Script, place: Path, last: int) -> list[Known]:
    """What was known after each step that is there, by a copy."""
    copy(place / "kept", place / "copy")
    with script.open(place / "copy") as online:
        found = known(online)
    states = [known(script.fresh(n)) for n in range(min(last + 2, len(script.steps) + 1))]
    while states and difference(found, states[-1]):
        states.pop()
    if len(states) < last + 1:
        raise FailureError(f"after a kill only {len(states)} of {last} steps are there")
    return states


def as_known(state: Any) -> Known:
    """What went through JSON, with its tuples."""

    def tuples(x: Any) -> Any:
        if isinstance(x, dict):
            return {name: tuples(value) for name, value in x.items()}
        return tuple(x) if isinstance(x, list) else x

    return {name: tuples(value) for name, value in state.items()}


def _any_file(place: Path, chance: random.Random) -> Path:
    """Each as often as it is large, the log at least every second time."""
    files = sorted(path for path in place.iterdir() if path.stat().st_size)
    logs = [path for path in files if path.name.endswith(("-wal", ".log"))]
    if logs and chance.random() < 0.5:
        return logs[0]
    return chance.choices(files, [path.stat().st_size for path in files])[0]


def copy(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def _tried(
    script: Script,
    place: Path,
    chance: random.Random,
    right: list[Known],
    path: Path,
    earlier: list[Known] | None = None,
) -> str | None:
    """What is wrong with opening a copy that has one bit of a file flipped."""
    content = bytearray(path.read_bytes())
    at, bit = chance.randrange(len(content)), chance.randrange(8)
    content[at] ^= 1 << bit
    copy(path.parent, place / "flipped")
    (place / "flipped" / path.name).write_bytes(content)
    what = f"bit {bit} of byte {at:,} of {len(content):,} of {path.name}"
    try:
        with script.open(place / "flipped") as online:
            found, notes = known(online), list(online.notes)
    except QuorateError:
        return _recovered(script, place, path, bytes(content), earlier, what)
    except Exception as error:
        return f"{what}: {type(error).__name__}: {error}"
    wrong = difference(found, right[-1])
    if wrong is None:
        return None
    if notes and earlier is not None and _in_last_frame(path, at):
        before = earlier[-2:-1] or [known(script.fresh(0))]
        return difference(found, before[0])
    return f"{what}: opened, and{wrong}; notes {notes}"


def _recovered(
    script: Script,
    place: Path,
    path: Path,
    content: bytes,
    earlier: list[Known] | None,
    what: str,
) -> str | None:
    """What was refused is opened with `recover` as it was after some step, or refused again."""
    if earlier is None or not can_open("recover"):
        return None
    copy(path.parent, place / "flipped")
    (place / "flipped" / path.name).write_bytes(content)
    try:
        with script.open(place / "flipped", recover=True) as online:
            found, notes = known(online), list(online.notes)
    except QuorateError:
        return None
    except Exception as error:
        return f"{what}, with recover: {type(error).__name__}: {error}"
    if not any(difference(found, state) is None for state in earlier):
        return f"{what}, with recover: not the state after any step"
    return None if notes else f"{what}, with recover: opened without a note"


def _in_last_frame(path: Path, at: int) -> bool:
    """Whether a byte of SQLite's log is in the last frame that belongs to it."""
    if not path.name.endswith("-wal"):
        return False
    content = path.read_bytes()
    size = FRAME + int.from_bytes(content[8:12], "big")
    starts = range(HEADER, len(content) - size + 1, size)
    ours = [i for i in starts if content[i:][SALTS] == content[16:24]]
    return bool(ours) and ours[-1] <= at < ours[-1] + size


CLOSED = Attack("online-flips", "a flipped bit after closing", after_closing, often=2_000)
KILLED = Attack("online-flips-killed", "a flipped bit after a kill", after_a_kill, often=1_000)
