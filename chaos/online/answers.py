"""The table of answers in the database: of every task with votes, however sessions ended."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from chaos.attack import Attack, FailureError, Outcomes
from chaos.children import Child, called
from chaos.online.script import Script, can_open, checkpoint_often, difference, known, make_script


def trial(seed: int, place: Path) -> Outcomes:
    """Sessions that end with or without closing; after one that was closed the table is right."""
    if not can_open("read_only"):  # a version without a database
        return
    chance = random.Random(seed)
    checkpoint_often(chance.choice([5, 15, 10_000]))
    script, done = make_script(seed), 0
    while done < len(script.steps):
        until = done + chance.randint(1, 25)
        closing_it = chance.random() < 0.5
        Child(partial(_session, script, place, slice(done, until), closing_it)).wait()
        done = until
        if closing_it:
            yield called(partial(_wrong, script, place, script.steps[:done]))


def _session(script: Script, place: Path, steps: slice, closing_it: bool, say: Any) -> None:
    online = script.open(place / "kept")
    for step in script.steps[steps]:
        step.do(online)
    if closing_it:
        online.close()


def _wrong(script: Script, place: Path, steps: Any) -> str | None:
    with closing(sqlite3.connect(place / "kept" / "votes.db")) as connection:
        rows = connection.execute("SELECT task, label, confidence FROM answers_by_name").fetchall()
    now = known(script.fresh(steps))
    tasks = {task: now["tasks"][task] for task in now["labels"]}
    found = {row[0]: row[1] for row in rows}
    if len(found) < len(rows):
        raise FailureError("a task has two answers")
    if found.keys() != tasks.keys():
        return f"answers of {len(found)} tasks after {len(steps)} steps: {len(tasks)} have votes"
    if steps[-1].kind in ("settle", "remove"):  # then all answers are written
        return difference(
            {row[0]: tuple(row[1:]) for row in rows}, tasks, f"after {steps[-1].kind}"
        )
    return None


ATTACK = Attack("online-answers", "the table of answers in the database", trial, often=100)
