"""LangSmith: records of feedback, and the table of an experiment, in which each judge has a
column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote
from quorate.votes.readers.verdicts import ByPerson, fields, first, model_of, settled

JUDGE = "feedback."  # with which the name of a judge's column begins
PEOPLE = "app"  # the source of what is entered in LangSmith's page
Row = Mapping[str, Any]


class LangSmith(Reader):
    """Of feedback a task is a run, a question a key, and a worker the model or user who is its
    source, else the kind of source. In the table of an experiment a task is an example, and a
    worker a column of feedback."""

    name = "langsmith"
    title = "LangSmith"
    signatures = (("feedback_source", "run_id", "key"),)

    def sniff(self, look: Look) -> bool:
        return super().sniff(look) or any(map(_is_of_experiment, look.first))

    def read(self, export: Opened) -> Iterator[Found]:
        return settled(found for row in export.records() for found in _found(row))


def _is_of_experiment(row: Row) -> bool:
    return "example_id" in row and any(key.startswith(JUDGE) for key in row)


def _found(row: Row) -> Iterator[Found | ByPerson]:
    if not _is_of_experiment(row):
        yield _feedback(row)
        return
    for column, score in row.items():
        if column.startswith(JUDGE):
            task, judge = row["example_id"], column.removeprefix(JUDGE)
            missing = first(score) is None
            yield Dropped("without a score") if missing else Vote(task, judge, score, item=row)


def _feedback(row: Row) -> Found | ByPerson:
    label = first(row.get("value"), row.get("score"))
    if label is None:
        return Dropped("without a value or score")
    source = fields(row.get("feedback_source"))
    user = first(source.get("user_name"), source.get("user_id"))
    worker = first(model_of(source.get("metadata")), user, source.get("type"), row["key"])
    task = first(row.get("run_id"), row.get("trace_id"))
    vote = Vote(task, worker, label, str(row["key"]), time=row.get("created_at"), item=row)
    return ByPerson(vote) if source.get("type") == PEOPLE else vote
