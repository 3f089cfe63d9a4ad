"""Logs that end otherwise than they were written, as a power cut leaves them: cut off, or followed
by zeros."""

from __future__ import annotations

import random
from pathlib import Path

from chaos.attack import Attack, Outcomes
from chaos.children import called
from chaos.online.flips import as_known, copy, states_after
from chaos.online.kills import killed
from chaos.online.script import Known, Script, checkpoint_often, difference, known, make_script
from quorate.errors import QuorateError

TAILS = 10


def trial(seed: int, place: Path) -> Outcomes:
    """Nothing is lost by what follows; what was cut off is, and all before it is there."""
    chance = random.Random(seed)
    checkpoint_often(10_000)
    script = make_script(seed)
    last = killed(script, place / "kept", 0, chance, sync=False)
    if not last:  # there may be nothing yet
        return
    states = [as_known(s) for s in called(lambda: states_after(script, place, last))]
    logs = [p for p in (place / "kept").iterdir() if p.name.endswith(("-wal", ".log"))]
    for log in logs[:1]:
        content = log.read_bytes()
        for _ in range(TAILS):
            if chance.random() < 0.5:
                n = chance.choice([1, 8, 16, 4_096, 100_000])
                end = bytes(n)
                wrong = _opened(script, place, log, content + end, states[-1:])
                yield wrong and f"{n} zeros after {log.name}: {wrong}"
            else:
                n = chance.randint(0, len(content))
                wrong = _opened(script, place, log, content[:n], states)
                yield wrong and f"{log.name} cut to {n:,} of {len(content):,} bytes: {wrong}"


def _opened(
    script: Script, place: Path, log: Path, content: bytes, possible: list[Known]
) -> str | None:
    copy(log.parent, place / "other")
    (place / "other" / log.name).write_bytes(content)
    try:
        with script.open(place / "other") as online:
            found = known(online)
    except QuorateError as error:
        return str(error) if len(possible) == 1 else None
    except Exception as error:
        return repr(error)
    if any(difference(found, state) is None for state in possible):
        return None
    return f"not the state after any step:{difference(found, possible[-1])}"


ATTACK = Attack("online-tails", "logs cut off, or followed by zeros", trial, often=200)
