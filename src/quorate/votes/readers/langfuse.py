"""Langfuse: scores, as its API gives them or as its scheduled export writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote
from quorate.votes.readers.verdicts import ByPerson, fields, first, model_of, settled

PEOPLE = "ANNOTATION"  # the source of what is entered in Langfuse's page
NO_VERDICTS = ("TEXT", "CORRECTION")
Row = Mapping[str, Any]


class Langfuse(Reader):
    """A task is a trace (with the observation, if the score is of one) or a session, and a question
    the name of a score. A worker is the model in its metadata, its evaluator or its author, else
    its source."""

    name = "langfuse"
    title = "Langfuse"
    signatures = (
        ("dataType", "name", "value", "source"),
        ("data_type", "name", "value", "source", "trace_id"),
    )

    def sniff(self, look: Look) -> bool:
        return super().sniff(look) or any(map(_is_page, look.first))

    def read(self, export: Opened) -> Iterator[Found]:
        is_page = any(map(_is_page, export.look().first))
        rows = export.within("data") if is_page else export.records()
        return settled(map(_verdict, rows))


def _is_page(record: Row) -> bool:
    """Whether a record is an answer of the API, with scores in it."""
    data = record.get("data")
    return isinstance(data, list) and any("dataType" in fields(row) for row in data)


def _verdict(row: Row) -> Found | ByPerson:
    kind = first(row.get("dataType"), row.get("data_type"))
    if kind in NO_VERDICTS:
        return Dropped("texts and corrections")
    source = row["source"]
    author = first(row.get("authorUserId"), row.get("author_user_id"), row.get("evaluator_id"))
    worker = first(model_of(row.get("metadata")), author, source)
    label, when = _label(row, kind), row.get("timestamp")
    vote = Vote(_task(row), worker, label, str(row["name"]), time=when, item=row)
    return ByPerson(vote) if source == PEOPLE else vote


def _label(row: Row, kind: Any) -> Any:
    """The value, where a text stands for a category or a truth value."""
    text = first(row.get("stringValue"), row.get("string_value"))
    if kind == "NUMERIC" or text is None:
        return row["value"]
    return text == "True" if kind == "BOOLEAN" else text


def _task(row: Row) -> Any:
    subject = fields(row.get("subject"))
    is_observation = subject.get("kind") == "observation"
    of_subject = first(subject.get("traceId"), subject.get("trace_id"))
    observation = first(
        row.get("observationId"),
        row.get("observation_id"),
        subject.get("id") if is_observation else None,
    )
    trace = first(row.get("traceId"), row.get("trace_id"), of_subject)
    if observation is not None:
        return observation if trace is None else f"{trace}, {observation}"
    return first(trace, row.get("sessionId"), row.get("session_id"), subject.get("id"))
