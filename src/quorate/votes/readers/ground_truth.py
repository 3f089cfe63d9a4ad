"""SageMaker Ground Truth: requests to consolidate, workers' responses, and the manifests of custom
jobs that hand over all annotations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from quorate.votes.readers.crowd_form import answers
from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Reader, Vote

ALL = "annotationsFromAllWorkers"
Row = Mapping[str, Any]


class GroundTruth(Reader):
    """Every element of a form is a question. A task is the number of its object or, in a manifest,
    its source."""

    name = "ground-truth"
    title = "SageMaker Ground Truth"
    signatures = (("datasetObjectId", "annotations"),)

    def sniff(self, look: Look) -> bool:
        others = any(_is_response(row) or _custom(row) is not None for row in look.first)
        return super().sniff(look) or others

    def lacks(self, look: Look) -> list[str]:
        if any(_is_consolidated(row) for row in look.first):
            return ["workers: read annotations/consolidation-request or worker-response beside it"]
        return super().lacks(look)

    def read(self, export: Opened) -> Iterator[Found]:
        for row in export.records():
            if _is_response(row):
                task = PurePath(export.origin).parent.name  # a directory for each object
                for answer in row["answers"]:
                    yield from _votes(task, answer, answer["answerContent"], row)
                continue
            task = row["datasetObjectId"] if "datasetObjectId" in row else _source(row)
            for one in row.get("annotations", _custom(row)) or ():
                yield from _votes(task, one, json.loads(one["annotationData"]["content"]), row)


def _is_response(row: Row) -> bool:
    given = row.get("answers")
    return isinstance(given, list) and any(
        isinstance(one, dict) and {"workerId", "answerContent"} <= one.keys() for one in given
    )


def _custom(row: Row) -> Any:
    """The annotations in a line of a custom job's manifest, if it is one."""
    return next(
        (part[ALL] for part in row.values() if isinstance(part, dict) and ALL in part), None
    )


def _is_consolidated(row: Row) -> bool:
    meta = (value for key, value in row.items() if key.endswith("-metadata"))
    return any(isinstance(value, dict) and "job-name" in value for value in meta)


def _source(row: Row) -> Any:
    return row.get("source-ref", row.get("source"))


def _votes(task: Any, by: Row, form: Row, row: Row) -> Iterator[Found]:
    seconds, time = by.get("timeSpentInSeconds"), by.get("submissionTime")
    for question, label in answers(form):
        if label is None:
            yield Dropped("answers that are no choices")
        else:
            yield Vote(task, by["workerId"], label, question, seconds, time, row)
