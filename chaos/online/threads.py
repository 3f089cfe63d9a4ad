"""Several threads: no step is lost, and the state is that of the votes in the order they came."""

from __future__ import annotations

import random
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from threading import Thread

from chaos.attack import Attack, FailureError, Outcomes
from chaos.online.script import Script, Step, checkpoint_often, difference, known, make_script
from quorate import Online


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    checkpoint_often(chance.choice([40, 10_000]))
    script = make_script(seed, length=400, removing=False)
    # Another thread may have made an answer unknown that this one would.
    steps = [step for step in script.steps if step.kind not in ("settle", "forget")]
    sys.setswitchinterval(chance.choice([1e-6, 1e-5, 1e-4, 5e-3]))
    n = chance.randint(2, 4)
    with script.open(place / "kept") as online:
        errors = _together(online, [steps[i::n] for i in range(n)])
        found = known(online)
    if errors:
        yield f"{len(errors)} of {len(steps)} steps in {n} threads: {errors[0]!r}"
        return
    expected = sum(len(step.votes) for step in steps if step.kind != "gold")
    if found["votes"] != expected:
        yield f"{found['votes']} votes instead of {expected}"
        return
    yield difference(found, _counted_anew(script, place))


def _together(online: Online, parts: list[list[Step]]) -> list[Exception]:
    """Some ask meanwhile."""
    errors: list[Exception] = []

    def work(steps: list[Step]) -> None:
        for number, step in enumerate(steps):
            try:
                step.do(online)
                if number % 7 == 0 and step.kind != "gold":
                    online.label(step.votes[0][0])
                    online.worker(step.votes[0][1])
            except Exception as error:
                errors.append(error)

    threads = [Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def _counted_anew(script: Script, place: Path) -> dict[str, object]:
    """From the votes alone, in the order that they were kept in."""
    shutil.copytree(place / "kept", place / "anew")
    for snapshot in (place / "anew").glob("snapshot*"):
        snapshot.unlink()
    database = place / "anew" / "votes.db"
    if database.exists():
        with closing(sqlite3.connect(database)) as connection, connection:
            if not connection.execute("SELECT count(*) FROM votes").fetchone()[0]:
                raise FailureError("there are no votes in the database")
            connection.execute("DELETE FROM checkpoints")
    with script.open(place / "anew") as online:
        return known(online)


ATTACK = Attack("online-threads", "several threads in one Online", trial, often=60)
