"""Phoenix: annotations of spans, as its client gives them or in the columns of its DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote
from quorate.votes.readers.verdicts import ByPerson, fields, first, model_of, settled

SUBJECTS = ("span_id", "trace_id", "session_id")


class Phoenix(Reader):
    """A task is a span (or a trace, a session, a document of a span), and a question the name of an
    annotation. The worker is its identifier, else the model in its metadata, else its kind."""

    name = "phoenix"
    title = "Phoenix"
    signatures = tuple(("annotator_kind", subject) for subject in SUBJECTS)

    def read(self, export: Opened) -> Iterator[Found]:
        return settled(map(_verdict, export.records()))


def _verdict(row: Mapping[str, Any]) -> Found | ByPerson:
    result = fields(row.get("result"))
    said = (result.get(f"{kind}", row.get(f"result.{kind}")) for kind in ("label", "score"))
    label = first(*said)
    if label is None:
        return Dropped("without a label or score")
    kind = row["annotator_kind"]
    judge = first(row.get("identifier"), model_of(row.get("metadata")), row.get("user_id"), kind)
    task = first(*(row.get(subject) for subject in SUBJECTS))
    document = first(row.get("document_position"))
    task = task if document is None else f"{task}, document {document}"
    question = first(row.get("name"), row.get("annotation_name"))
    vote = Vote(task, judge, label, str(question or ""), time=row.get("created_at"), item=row)
    return ByPerson(vote) if kind == "HUMAN" else vote
