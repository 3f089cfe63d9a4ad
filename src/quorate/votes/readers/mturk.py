"""Amazon Mechanical Turk: batches as requesters download them, an assignment in each row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.crowd_form import answers
from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote

INPUT, ANSWER = "Input.", "Answer."
WHOLE_FORM = "taskAnswers"
NUMBERED = re.compile(r"(.*?)_?(\d+)")
TICKED = {"true": True, "false": False}
BETWEEN = "|"  # boxes that are ticked, in one cell
Row = Mapping[str, Any]


class MTurk(Reader):
    """A task is a HIT or, where a HIT holds several items with numbers (`Input.x1` and
    `Answer.x1`), an item. Rejected assignments are no votes."""

    name = "mturk"
    title = "Amazon Mechanical Turk"
    signatures = (("HITId", "WorkerId", "AssignmentStatus"),)

    def read(self, export: Opened) -> Iterator[Found]:
        for row in export.records():
            if row["AssignmentStatus"] == "Rejected":
                yield Dropped("rejected")
                continue
            yield from _votes(row)


def _votes(row: Row) -> Iterator[Found]:
    seconds, time = row.get("WorkTimeInSeconds") or None, row.get("SubmitTime")
    item = {key.removeprefix(INPUT): row[key] for key in row if key.startswith(INPUT)}
    for name, label in answers(_form(row)):
        task, question = _about(name, row["HITId"], item)
        if label is None:
            yield Dropped("answers that are no choices")
        else:
            yield Vote(task, row["WorkerId"], label, question, seconds, time, item)


def _form(row: Row) -> dict[str, Any]:
    """The answers as a form sends them: `Answer.mood.good` and `Answer.mood.bad` are options of
    `mood`."""
    form: dict[str, Any] = {}
    for key, cell in row.items():
        name = key.removeprefix(ANSWER)
        question, _, option = name.rpartition(".")
        if name == key:
            continue
        if name == WHOLE_FORM:
            for part in json.loads(cell or "[]"):
                form |= part
        elif question:
            form.setdefault(question, {})[option] = TICKED.get(cell, cell)
        else:
            several = isinstance(cell, str) and BETWEEN in cell
            form[name] = cell.split(BETWEEN) if several else cell
    return form


def _about(name: str, hit: Any, item: Row) -> tuple[Any, str]:
    """The task and the question that an answer is about: the input with the answer's number, where
    inputs have numbers, else the HIT."""
    numbered = NUMBERED.fullmatch(name)
    if numbered:
        question, number = numbered.groups()
        inputs = [key for key in item if _number(key) == number]
        told = [key for key in inputs if "id" in key.lower()] or inputs
        if told:
            return item[told[0]], question
    return hit, name


def _number(name: str) -> str | None:
    found = NUMBERED.fullmatch(name)
    return found.group(2) if found else None
