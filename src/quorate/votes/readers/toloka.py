"""Toloka: assignments in tab-separated rows, a task of a page in each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Known, Reader, Vote

INPUT, OUTPUT, GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
WORKER, STATUS, TASK = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:task_id"
GIVEN = ("APPROVED", "ACCEPTED", "SUBMITTED")
Row = Mapping[str, Any]


class Toloka(Reader):
    """Every output is a question, and golden answers are known. A task is its input or, of several
    inputs, its number."""

    name = "toloka"
    title = "Toloka"
    signatures = ((WORKER, STATUS),)

    def read(self, export: Opened) -> Iterator[Found]:
        for row in export.records():
            if any(row.values()):
                yield from _row(row)


def _row(row: Row) -> Iterator[Found]:
    item, task = _part(row, INPUT), _task(row)
    for question, label in _part(row, GOLDEN).items():
        if label:
            yield Known(task, label, question)
    status = row[STATUS]
    if status and status not in GIVEN:
        yield Dropped(status.lower())
        return
    time = row.get("ASSIGNMENT:submitted") or row.get("ASSIGNMENT:started")
    for question, label in _part(row, OUTPUT).items():
        yield Vote(task, row[WORKER], label, question, time=time, item=item)


def _part(row: Row, start: str) -> dict[str, Any]:
    return {key.removeprefix(start): cell for key, cell in row.items() if key.startswith(start)}


def _task(row: Row) -> Any:
    inputs = _part(row, INPUT)
    if len(inputs) == 1:
        return next(iter(inputs.values()))
    return row.get(TASK) or json.dumps(inputs, ensure_ascii=False)
