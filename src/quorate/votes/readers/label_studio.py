"""Label Studio: JSON (tasks with annotations and predictions), JSON-MIN and CSV."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Dropped, Found, Known, Reader, Vote
from quorate.votes.readers.varying import varying_columns

OF_TASK = ("start", "end", "x", "y")  # keys of an answer that is about a part of the task only
FLAT = ("annotation_id", "annotator", "id")
ABOUT = (*FLAT, "created_at", "updated_at", "lead_time", "agreement")
UNKNOWN_MODEL = "prediction"
OURS = "quorate"  # what Quorate's own predictions have as the start of their model's version


class LabelStudio(Reader):
    """An annotation is a vote on each question that it answers, unless it was cancelled or is the
    ground truth, which is known then. Predictions are their model's votes."""

    name = "label-studio"
    title = "Label Studio"
    signatures = (FLAT,)

    def sniff(self, look: Look) -> bool:
        return super().sniff(look) or any(map(_is_task, look.first))

    def read(self, export: Opened) -> Iterator[Found]:
        if export.look().has(*FLAT):
            yield from _flat(export)
            return
        for record in export.records():
            yield from _task(record)


def _is_task(record: Mapping[str, Any]) -> bool:
    """Whether a record is a task; the first one may be cut short before its data."""
    given = record.get("annotations", record.get("completions"))
    if not isinstance(given, list) or "id" not in record:
        return False
    return isinstance(record.get("data"), dict) or any(
        isinstance(one, dict) and {"result", "completed_by"} <= one.keys() for one in given
    )


def _task(record: Mapping[str, Any]) -> Iterator[Found]:
    for annotation in record.get("annotations", record.get("completions")) or ():
        yield from _annotation(record, annotation)
    for prediction in record.get("predictions") or ():
        yield from _prediction(record, prediction)
    for _ in record.get("drafts") or ():
        yield Dropped("drafts")


def _annotation(record: Mapping[str, Any], annotation: Any) -> Iterator[Found]:
    if not isinstance(annotation, dict):
        yield Dropped("annotations without their answers")
        return
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        yield Dropped("cancelled")
        return
    if not annotation["result"]:
        yield Dropped("empty")
    worker = _person(annotation.get("completed_by", annotation.get("created_username")))
    for result in annotation["result"]:
        question, label = str(result.get("from_name", "")), _label(result)
        if isinstance(label, Dropped):
            yield label
        elif annotation.get("ground_truth"):
            yield Known(record["id"], label, question)
        else:
            seconds, time = annotation.get("lead_time"), annotation.get("created_at")
            item = record.get("data") or {}
            yield Vote(record["id"], worker, label, question, seconds, time, item)


def _prediction(record: Mapping[str, Any], prediction: Any) -> Iterator[Found]:
    if not isinstance(prediction, dict):
        yield Dropped("predictions without their answers")
        return
    model = str(prediction.get("model_version") or UNKNOWN_MODEL)
    if model.lower().startswith(OURS):
        yield Dropped("predictions of Quorate")
        return
    for result in prediction.get("result") or ():
        label = _label(result)
        if isinstance(label, Dropped):
            yield label
            continue
        time, item = prediction.get("created_at"), record.get("data") or {}
        question = str(result.get("from_name", ""))
        yield Vote(record["id"], model, label, question, time=time, item=item)


def _person(given: Any) -> Any:
    """Who made an annotation: a number, or the address if there is one."""
    return given.get("email") or given.get("id") if isinstance(given, dict) else given


def _label(result: Mapping[str, Any]) -> Any:
    """What a result says of the task; what is no answer to a question about it is dropped."""
    kind = result.get("type")
    if kind == "textarea":
        return Dropped("free text")
    label = _value(result.get("value") or {})
    return Dropped(f"regions ({kind})") if label is None else label


def _value(value: Mapping[str, Any]) -> Any:
    """The label in a value that is about the task as a whole, or None."""
    if any(key in value for key in OF_TASK):
        return None
    if "taxonomy" in value:
        return [" / ".join(map(str, path)) for path in value["taxonomy"]]
    return next((value[k] for k in ("choices", "rating", "number", "selected") if k in value), None)


# JSON-MIN and CSV: an annotation in each row


def _flat(export: Opened) -> Iterator[Found]:
    questions: Collection[str] | None = None
    if export.look().shape == "table":
        questions = _questions(export)
    for row in export.records():
        asked = _between(row) if questions is None else questions
        for question in asked:
            label = _cell(row.get(question))
            if isinstance(label, Dropped):
                yield label
            elif label is not None:
                seconds, time = row.get("lead_time") or None, row.get("created_at")
                worker = _person(row["annotator"])
                yield Vote(row["id"], worker, label, question, seconds, time, row)


def _between(row: Mapping[str, Any]) -> list[str]:
    """The questions of a JSON-MIN row, which stand between the task's number and the annotator."""
    keys = list(row)
    return [k for k in keys[keys.index("id") + 1 : keys.index("annotator")] if k not in ABOUT]


def _questions(export: Opened) -> list[str]:
    """The questions of a table, which has the task's own fields as columns too."""
    first = export.look().first
    names = [name for name in first[0] if name not in ABOUT]
    told = [n for n in names if any(str(row.get(n) or "")[:2] in ('{"', "[{") for row in first)]
    others = [name for name in names if name not in told]
    varying = varying_columns(export.records(), "id", others)
    found = [name for name in names if name in told or name in varying]
    if not found:
        raise ValueError("nobody disagrees, so that questions look like fields of tasks")
    return found


def _cell(value: Any) -> Any:
    """The label in a flattened answer: a choice as it is, several in an object, others in a list
    of objects; None where there is no answer."""
    if isinstance(value, str) and value[:2] in ('{"', "[{"):
        value = json.loads(value)
    if isinstance(value, list):
        found = [_value(part) for part in value if isinstance(part, dict)]
        return found[0] if len(found) == 1 and found[0] is not None else Dropped("regions")
    return _value(value) if isinstance(value, dict) else value or None
