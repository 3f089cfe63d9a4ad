"""Argilla: records with the responses of people and the suggestions of models, nested or
flattened, by row or by column, and the tables of Argilla 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote

USERS, STATUS = ".responses.users", ".responses.status"
SUGGESTED = "-suggestion"  # after a question's name, in Argilla 1
NO_VOTE = {"draft": "drafts", "discarded": "discarded"}
UNKNOWN_AGENT = "suggestion"
Row = Mapping[str, Any]


class Argilla(Reader):
    """Submitted responses are votes, and suggestions those of their agent."""

    name = "argilla"
    title = "Argilla"
    signatures = (("responses", "fields", "suggestions"),)

    def sniff(self, look: Look) -> bool:
        return any(map(_form, look.first))

    def read(self, export: Opened) -> Iterator[Found]:
        in_words = {
            question
            for row in export.look().first
            for question in _questions(row)
            if any(isinstance(value, str) for value in row.get(f"{question}.responses") or ())
        }
        for number, row in enumerate(_rows(export)):
            form = _form(row)
            if form == "nested":
                yield from _nested(row)
            elif form == "feedback":
                yield from _feedback(row, number)
            else:
                yield from _flat(row, in_words)


def _form(row: Row) -> str | None:
    """Which form a record has, if it is Argilla's."""
    if isinstance(row.get("responses"), (dict, list)) and {"fields", "suggestions"} <= row.keys():
        return "nested"
    if any(key.endswith(USERS) for key in row):
        return "flat"
    if any(f"{key}{SUGGESTED}" in row for key in row) and "external_id" in row:
        return "feedback"
    values = list(row.values())[:1]
    return "index" if values and isinstance(values[0], dict) and _form(values[0]) else None


def _rows(export: Opened) -> Iterator[Row]:
    """The records, of one object also by column or by id."""
    for row in export.records():
        if _form(row) == "index":
            yield from row.values()
        elif isinstance(row.get("id"), list):
            columns = {key: value for key, value in row.items() if isinstance(value, list)}
            for cells in zip(*columns.values(), strict=True):
                yield dict(zip(columns, cells, strict=True))
        else:
            yield row


def _questions(row: Row) -> list[str]:
    return [key.removesuffix(USERS) for key in row if key.endswith(USERS)]


def _nested(row: Row) -> Iterator[Found]:
    item = row["fields"] or {}
    for question, responses in (row["responses"] or {}).items():
        for response in responses:
            yield _vote(row["id"], response["user_id"], response["value"], question, item)
    for question, suggestion in (row["suggestions"] or {}).items():
        agent = suggestion.get("agent") or UNKNOWN_AGENT
        yield _vote(row["id"], agent, suggestion["value"], question, item)


def _flat(row: Row, in_words: set[str]) -> Iterator[Found]:
    for question in _questions(row):
        values, users = row[f"{question}.responses"] or [], row[f"{question}{USERS}"] or []
        states = row.get(f"{question}{STATUS}") or [None] * len(users)
        for value, user, state in zip(values, users, states, strict=True):
            yield _response(row["id"], user, value, state, question, row)
    for key, value in row.items():
        question = key.removesuffix(".suggestion")
        if question == key or value is None:
            continue
        if isinstance(value, int) and question in in_words:
            yield Dropped("suggestions in codes without names")
        else:
            yield _vote(row["id"], row.get(f"{key}.agent") or UNKNOWN_AGENT, value, question, row)


def _feedback(row: Row, number: int) -> Iterator[Found]:
    task = row["external_id"] or number
    for key in row:
        question = key.removesuffix(SUGGESTED)
        if question == key:
            continue
        for response in _listed(row.get(question) or []):
            user, value, state = (response[name] for name in ("user_id", "value", "status"))
            yield _response(task, user, value, state, question, row)
        if row[key] is not None:
            agent = (row.get(f"{key}-metadata") or {}).get("agent") or UNKNOWN_AGENT
            yield _vote(task, agent, row[key], question, row)


def _listed(responses: Any) -> list[Row]:
    """Responses as a list, also where they are in an object of lists."""
    if not isinstance(responses, dict):
        return list(responses)
    names = list(responses)
    return [dict(zip(names, cells, strict=True)) for cells in zip(*responses.values(), strict=True)]


def _response(
    task: Any, user: Any, value: Any, state: str | None, question: str, item: Row
) -> Found:
    if state in NO_VOTE:
        return Dropped(NO_VOTE[state])
    return _vote(task, user, value, question, item)


def _vote(task: Any, worker: Any, value: Any, question: str, item: Row) -> Found:
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return Dropped("spans and rankings")
    return Vote(task, worker, value, question, item=item)
