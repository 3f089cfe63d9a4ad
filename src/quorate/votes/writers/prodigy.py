"""Prodigy: a task for each input, with what each annotator said and the answer as accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import polars as pl

from quorate.votes.readers.opening import Opened
from quorate.votes.writers.writer import Answer, Outcome, Writer, as_json, records, require_some

BINARY = ("accept", "reject")
# What one annotator said or did, which is not the task's.
SAID = ("accept", "answer", "_session_id", "_annotator_id", "_timestamp", "config")


class Prodigy(Writer):
    """JSON lines for `prodigy review` and `db-in`: the task as it was asked, its hashes, what was
    said as `versions`, and the consensus in the place of an annotator's answer."""

    name = "prodigy"
    title = "Prodigy"

    def write(
        self,
        outcomes: Mapping[str, Outcome],
        export: Sequence[Opened],
        file: BinaryIO,
        **options: Any,
    ) -> None:
        for row in self._rows(outcomes, export):
            file.write(as_json(row) + b"\n")

    def _rows(
        self, outcomes: Mapping[str, Outcome], export: Sequence[Opened]
    ) -> Iterator[dict[str, Any]]:
        votes = {question: _votes(outcome) for question, outcome in outcomes.items()}
        done: set[tuple[str, str]] = set()
        for record in records(self, export, "_input_hash", "_task_hash"):
            question = "" if "" in outcomes else str(record.get("label") or "")
            task = str(record["_input_hash"])
            if (task, question) in done or question not in outcomes:
                continue
            done.add((task, question))
            outcome = outcomes[question]
            answer = outcome.answer(task)
            if task in outcome.answers:
                yield _row(record, answer, votes[question].get(task, {}), outcome)
        require_some(self, bool(done), export, next(iter(outcomes.values())).answers)


def _votes(outcome: Outcome) -> dict[str, dict[tuple[Any, ...], list[Any]]]:
    """Who gave which answer, by task; an answer is all labels that an annotator chose."""
    rows = outcome.votes().group_by("task", "worker", maintain_order=True).agg(pl.col("label"))
    found: dict[str, dict[tuple[Any, ...], list[Any]]] = {}
    for task, worker, labels in rows.iter_rows():
        chosen = _chosen([label for label in labels if label is not None])
        found.setdefault(str(task), {}).setdefault(chosen, []).append(worker)
    return found


def _row(
    record: Mapping[str, Any],
    answer: Answer | None,
    votes: Mapping[tuple[Any, ...], Sequence[Any]],
    outcome: Outcome,
) -> dict[str, Any]:
    task = {key: value for key, value in record.items() if key not in SAID}
    choice = "options" in record
    decided = () if answer is None else _chosen(answer.label)
    versions = [
        {**_said(said, choice), "sessions": list(workers), "default": said == decided}
        for said, workers in votes.items()
    ]
    meta = record.get("meta")
    known = {} if answer is None else {"confidence": round(answer.confidence, 6)}
    return {
        **task,
        "meta": {**(meta if isinstance(meta, Mapping) else {}), **known},
        **(_said(decided, choice) if answer is not None else {"answer": "ignore"}),
        "versions": versions,
        "_annotator_id": outcome.agent,
        "_session_id": outcome.agent,
    }


def _chosen(label: Any) -> tuple[Any, ...]:
    """The labels of an answer, in an order that does not depend on who gave it."""
    return tuple(sorted(label, key=str)) if isinstance(label, list) else (label,)


def _said(chosen: tuple[Any, ...], choice: bool) -> dict[str, Any]:
    """An answer as Prodigy keeps it: the options that are accepted, or accept or reject."""
    if choice:
        return {"accept": list(chosen), "answer": "accept"}
    return {"answer": next((each for each in chosen if each in BINARY), "ignore")}
