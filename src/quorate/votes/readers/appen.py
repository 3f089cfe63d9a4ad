"""Appen, before that Figure Eight and CrowdFlower: full reports, a judgment in each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Known, Reader, Vote
from quorate.votes.readers.varying import varying_columns

TASK, WORKER = "_unit_id", "_worker_id"
GOLD = "_gold"
Row = Mapping[str, Any]


class Appen(Reader):
    """Judgments of contributors who failed the test questions (tainted) are no votes, and the
    answers to test questions are known."""

    name = "appen"
    title = "Appen"
    signatures = ((TASK, WORKER),)

    def read(self, export: Opened) -> Iterator[Found]:
        questions = _questions(export)
        for row in export.records():
            for question in questions:
                if _yes(row.get("_golden")) and row.get(f"{question}{GOLD}"):
                    yield Known(row[TASK], _labels(row[f"{question}{GOLD}"]), question)
            if _yes(row.get("_tainted")):
                yield Dropped("tainted")
                continue
            for question in questions:
                label, time = _labels(row[question]), row.get("_created_at")
                yield Vote(row[TASK], row[WORKER], label, question, time=time, item=row)


def _questions(export: Opened) -> list[str]:
    """The columns of answers: those with a column of gold, else those that differ within a unit."""
    first = next(export.records())
    told = [name for name in first if f"{name}{GOLD}" in first]
    others = [name for name in first if not name.startswith("_")]
    found = told or [n for n in others if n in varying_columns(export.records(), TASK, others)]
    if not found:
        raise ValueError("nobody disagrees, so that questions look like fields of units")
    return found


def _yes(cell: Any) -> bool:
    return str(cell).lower() == "true"


def _labels(cell: Any) -> Any:
    """What a cell says, of which several are on a line each."""
    lines = str(cell or "").split("\n")
    return lines if len(lines) > 1 else cell
