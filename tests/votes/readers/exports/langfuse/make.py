"""Writes the files beside it with the classes of Langfuse's SDK. See README.md."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

from entered import Entered, write

HERE = Path(__file__).parent
WHEN = datetime(2026, 1, 1, tzinfo=UTC)
TRACES = ("trace-1", "trace-2", "trace-3", "trace-4")
OBSERVATION = "step-1"  # of the last trace, on which scores are, in place of the trace

# By name, type of data, source, and who (a model or a user): a value for each trace.
SCORES = (
    ("correct", "CATEGORICAL", "EVAL", "judge-a", ("yes", "yes", "no", "yes")),
    ("correct", "CATEGORICAL", "EVAL", None, ("yes", "no", "no", "no")),
    ("correct", "CATEGORICAL", "API", "judge-b", ("no", "no", None, "no")),
    ("correct", "CATEGORICAL", "ANNOTATION", "ann", ("yes", None, "no", None)),
    ("correct", "CATEGORICAL", "ANNOTATION", "bob", (None, None, "yes", None)),
    ("helpful", "NUMERIC", "EVAL", "judge-a", (0.5, 1.0, 0.25, 0.75)),
    ("safe", "BOOLEAN", "API", None, (True, True, False, True)),
    ("better", "CORRECTION", "ANNOTATION", "ann", ("It is 4.", None, None, None)),
    ("remark", "TEXT", "API", None, ("quick", None, None, None)),
)


def scores():
    """Each score that was entered."""
    for name, kind, source, who, values in SCORES:
        for number, (trace, value) in enumerate(zip(TRACES, values, strict=True)):
            if value is not None:
                base = {"id": f"{name}-{source}-{who}-{number}", "name": name, "source": source}
                times = {"timestamp": WHEN, "created_at": WHEN, "updated_at": WHEN}
                by = {"metadata": {"model": who} if who else {}}
                if source == "ANNOTATION":
                    by = {"author_user_id": who}
                yield kind, trace, value, {**base, **times, **by, "environment": "default"}


def second(kind, trace, value, shared):
    """A score as the second version of the API gives it."""
    from langfuse.api.commons.types import score as types

    subject = {"trace_id": trace}
    if trace == TRACES[-1]:
        subject["observation_id"] = OBSERVATION
    said = {"value": value}
    if kind in ("CATEGORICAL", "BOOLEAN", "CORRECTION", "TEXT"):
        said = {"value": float(value is True), "string_value": str(value)}
    score = getattr(types, f"Score_{kind.title()}")(**shared, **subject, **said)
    return json.loads(score.json(by_alias=True))


def third(kind, trace, value, shared):
    """A score as the third version of the API gives it."""
    from langfuse.api.scores.types import score_subject_v3, score_v3

    subject = score_subject_v3.ScoreSubjectV3_Trace(id=trace)
    if trace == TRACES[-1]:
        subject = score_subject_v3.ScoreSubjectV3_Observation(id=OBSERVATION, trace_id=trace)
    kind = getattr(score_v3, f"ScoreV3_{kind.title()}")
    score = kind(**shared, project_id="p", subject=subject, value=value)
    return json.loads(score.json(by_alias=True))


def stored(kind, trace, value, shared):
    """A score as the scheduled export to blob storage writes it."""
    numeric = kind in ("NUMERIC", "BOOLEAN")
    return {
        "id": shared["id"],
        "timestamp": str(WHEN),
        "project_id": "p",
        "trace_id": trace,
        "observation_id": OBSERVATION if trace == TRACES[-1] else "",
        "name": shared["name"],
        "value": float(value) if numeric else "",
        "source": shared["source"],
        "data_type": kind,
        "string_value": "" if kind == "NUMERIC" else str(value),
        "author_user_id": shared.get("author_user_id", ""),
        "metadata": json.dumps(shared.get("metadata", {})),
    }


def entered():
    """What was entered. People who contradict each other vote, others are right."""
    entered = Entered()
    for kind, trace, value, shared in scores():
        who = shared.get("author_user_id") or shared["metadata"].get("model") or shared["source"]
        task = f"{trace}, {OBSERVATION}" if trace == TRACES[-1] else trace
        if kind in ("CORRECTION", "TEXT"):
            entered.drop("texts and corrections")
        elif shared["source"] == "ANNOTATION" and trace != TRACES[2]:
            entered.known(task, value, shared["name"])
        else:
            entered.vote(task, who, value, shared["name"])
    return entered


if __name__ == "__main__":
    second_version = [second(*score) for score in scores()]
    (HERE / "scores.json").write_text(json.dumps(second_version))
    meta = {"page": 1, "limit": 50, "totalItems": len(second_version), "totalPages": 1}
    (HERE / "page.json").write_text(json.dumps({"data": second_version, "meta": meta}))
    third_version = (json.dumps(third(*score)) for score in scores())
    (HERE / "scores.jsonl").write_text("".join(f"{line}\n" for line in third_version))
    rows = [stored(*score) for score in scores()]
    with (HERE / "stored.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(rows)
    files = ("scores.json", "page.json", "scores.jsonl", "stored.csv")
    write(HERE, dict.fromkeys(files, entered()))
