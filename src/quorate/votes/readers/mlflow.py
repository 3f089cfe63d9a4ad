"""MLflow: traces with assessments, as JSON or in the columns of what `search_traces` gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Known, Reader, Vote
from quorate.votes.readers.verdicts import ByPerson, fields, first, nested, settled

HUMAN = "HUMAN"
Assessment = Mapping[str, Any]


class MLflow(Reader):
    """A task is a trace (or one of its spans), a question the name of an assessment, and a worker
    the id of its source. What people override stays a vote, and what they say is known; so are
    expectations. What a judge itself overrides is dropped."""

    name = "mlflow"
    title = "MLflow"
    signatures = (("assessments", "trace_id"),)

    def sniff(self, look: Look) -> bool:
        traces = (fields(record.get("info")) for record in look.first)
        return super().sniff(look) or any("assessments" in trace for trace in traces)

    def read(self, export: Opened) -> Iterator[Found]:
        return settled(
            found
            for record in export.records()
            for trace in [_trace(record)]
            for found in _verdicts(trace, trace.get("assessments"))
        )


def _trace(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A trace's id and assessments. In tables the whole trace is in a cell, as JSON."""
    info = fields(record.get("info")) or fields(fields(record.get("trace")).get("info"))
    return info or {**record, "assessments": nested(record.get("assessments"))}


def _verdicts(
    trace: Mapping[str, Any], assessments: list[Assessment] | None
) -> Iterator[Found | ByPerson]:
    of_trace = assessments if assessments is not None else []
    source = {one.get("overrides"): _source(one) for one in of_trace}
    for one in of_trace:
        overrider = source.get(one.get("assessment_id"))
        if one.get("valid") is False and (overrider or {}).get("source_type") != HUMAN:
            yield Dropped("overridden")
        else:
            yield _verdict(trace, one)


def _source(assessment: Assessment) -> Mapping[str, Any]:
    return fields(assessment.get("source"))


def _verdict(trace: Mapping[str, Any], one: Assessment) -> Found | ByPerson:
    span = one.get("span_id")
    task = f"{trace['trace_id']}, {span}" if span else trace["trace_id"]
    name = str(first(one.get("assessment_name"), one.get("name")) or "")
    expected = fields(one.get("expectation"))
    if expected:
        return Known(task, expected.get("value"), name)
    feedback = fields(one.get("feedback"))
    if feedback.get("error"):
        return Dropped("failed")
    source = _source(one)
    worker = first(source.get("source_id"), source.get("source_type"))
    when = one.get("create_time")
    vote = Vote(task, worker, feedback.get("value"), name, time=when, item=trace)
    return ByPerson(vote) if source.get("source_type") == HUMAN else vote
