"""Write exports as Labelbox gives them, with the fields that its SDK's examples read.

python -m tests.votes.readers.exports.labelbox.make
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.votes.readers.exports.crowd import (
    ABOUT,
    PEOPLE,
    SENTIMENT,
    TEXTS,
    entered,
    vote,
    write_entered,
)

HERE = Path(__file__).parent
SKIPPED = ("cyd", 5)


def option(name: str) -> dict[str, Any]:
    """A chosen option: its name, its value, and questions that it opens."""
    return {"name": name, "value": name.lower(), "classifications": []}


def classifications(name: str, place: int) -> list[dict[str, Any]]:
    """A radio question, a checklist that is left out if nothing is checked, and a free text."""
    radio = option(SENTIMENT[name][place])
    if radio["name"] == "Negative":
        sure = {"name": "Sure?", "value": "sure", "radio_answer": option("Yes")}
        radio["classifications"] = [sure]
    found = [{"name": "Sentiment", "value": "sentiment", "radio_answer": radio}]
    topics = [option(topic) for topic in ABOUT[name][place]]
    if topics:
        found.append({"name": "Topics", "value": "topics", "checklist_answers": topics})
    remark = {"content": f"{name} on {place}"}
    return [*found, {"name": "Remark", "value": "remark", "text_answer": remark}]


def label(name: str, place: int, with_details: bool) -> dict[str, Any]:
    """Somebody's label of a data row."""
    skipped = (name, place) == SKIPPED
    given = [] if skipped else classifications(name, place)
    found: dict[str, Any] = {
        "label_kind": "Default",
        "version": "1.0.0",
        "id": f"label-{place}-{name}",
        "annotations": {"objects": [], "classifications": given, "relationships": []},
    }
    if with_details:
        when = f"2024-04-08T16:2{place}:26.000+00:00"
        by = {"created_at": when, "updated_at": when, "created_by": f"{name}@example.com"}
        found["label_details"] = by | {"reviews": []}
        found["performance_details"] = {"seconds_to_create": 7 + place, "skipped": skipped}
    return found


def row(place: int, with_details: bool) -> dict[str, Any]:
    """A data row with the labels that a project has of it."""
    names = [n for n in PEOPLE if with_details or (n, place) != SKIPPED]
    labels = [label(name, place, with_details) for name in names]
    data = {"id": f"row-{place}", "global_key": f"review-{place}", "row_data": TEXTS[place]}
    project = {"name": "Reviews", "labels": labels}
    return {"data_row": data, "media_attributes": {}, "projects": {"project-1": project}}


def lines(file: str, with_details: bool) -> None:
    rows = (json.dumps(row(place, with_details)) for place in range(len(TEXTS)))
    (HERE / file).write_text("".join(f"{line}\n" for line in rows))


def main() -> None:
    """Write the files, and what was entered."""
    lines("export.ndjson", with_details=True)
    lines("without_details.ndjson", with_details=False)
    votes = []
    for place in range(len(TEXTS)):
        for name in PEOPLE:
            task, who, said = f"review-{place}", f"{name}@example.com", SENTIMENT[name][place]
            if (name, place) == SKIPPED:
                continue
            votes.append(vote("Sentiment", task, who, said))
            if said == "Negative":
                votes.append(vote("Sure?", task, who, "Yes"))
            if ABOUT[name][place]:
                votes.append(vote("Topics", task, who, list(ABOUT[name][place])))
    dropped = {"skipped": 1, "free text": len(PEOPLE) * len(TEXTS) - 1}
    write_entered(HERE, {"export.ndjson": entered(votes, dropped=dropped)})


if __name__ == "__main__":
    main()
