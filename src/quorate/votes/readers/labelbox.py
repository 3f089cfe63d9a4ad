"""Labelbox: JSON lines, a data row with the labels of all projects on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote

Row = Mapping[str, Any]


class Labelbox(Reader):
    """Answers to radio questions and checklists are votes of who created the label, as those to
    questions that an answer opens are. A task is told by its global key, if it has one."""

    name = "labelbox"
    title = "Labelbox"
    signatures = (("data_row", "projects"),)

    def read(self, export: Opened) -> Iterator[Found]:
        for row in export.records():
            for project in row["projects"].values():
                for label in project["labels"]:
                    yield from _label(row["data_row"], label)


def _label(data: Row, label: Row) -> Iterator[Found]:
    details, performance = label.get("label_details"), label.get("performance_details") or {}
    if performance.get("skipped"):
        yield Dropped("skipped")
        return
    if not details or not details.get("created_by"):
        yield Dropped("without created_by (export it with label_details)")
        return
    task = data.get("global_key") or data["id"]
    for _ in label["annotations"].get("objects") or ():
        yield Dropped("objects")
    for question, answer in _answers(label["annotations"].get("classifications") or ()):
        if answer is None:
            yield Dropped("free text")
        else:
            seconds, time = performance.get("seconds_to_create"), details.get("created_at")
            yield Vote(task, details["created_by"], answer, question, seconds, time, data)


def _answers(classifications: Any) -> Iterator[tuple[str, Any]]:
    """Questions and what was chosen, None for a text, with those that an answer opens."""
    for one in classifications:
        chosen = one.get("checklist_answers") or []
        if "radio_answer" in one:
            chosen = [one["radio_answer"]]
            yield one["name"], chosen[0]["name"]
        elif "checklist_answers" in one:
            yield one["name"], [option["name"] for option in chosen]
        else:
            yield one["name"], None
        for option in chosen:
            yield from _answers(option.get("classifications") or ())
