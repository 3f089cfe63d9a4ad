"""Prodigy: JSON lines, one annotator's answer to one task on each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote

MANUAL = "_manual"  # the end of the names of views in which parts of an input are marked


class Prodigy(Reader):
    """Choices are votes for what was accepted; without options the answer itself, accept or
    reject, is the vote on whether the label fits. A task is an input, whatever was asked about it.
    """

    name = "prodigy"
    title = "Prodigy"
    signatures = (("_task_hash", "_input_hash", "answer"),)

    def read(self, export: Opened) -> Iterator[Found]:
        for record in export.records():
            yield _vote(record)


def _vote(record: dict[str, Any]) -> Found:
    answer = record.get("answer")
    if answer == "ignore":
        return Dropped("ignored")
    if str(record.get("_view_id") or "").endswith(MANUAL):
        return Dropped("spans and boxes")
    label: Any = answer
    if "options" in record:
        if answer == "reject":
            return Dropped("rejected as a whole")
        label = record.get("accept") or []
    return Vote(
        record["_input_hash"],
        record.get("_annotator_id") or record.get("_session_id"),
        label,
        question=str(record.get("label") or ""),
        time=record.get("_timestamp"),
        item=record,
    )
