"""Write records with the classes of Argilla 1, the `FeedbackDataset` of which is a table.

    python -m tests.votes.readers.exports.argilla.make_feedback

Run it after `make`, for it adds to what that one writes down.
"""

from __future__ import annotations

import json
from typing import Any

from tests.votes.readers.exports.argilla.make import AGENT, HERE, STATUS, SUGGESTED, USERS, votes
from tests.votes.readers.exports.crowd import (
    ABOUT,
    OPTIONS,
    PEOPLE,
    SENTIMENT,
    TEXTS,
    TOPICS,
    entered,
    vote,
    write_entered,
)


def response(name: str, place: int) -> dict[str, Any]:
    """Somebody's response to a record."""
    return {
        "user_id": USERS[name],
        "values": {
            "sentiment": {"value": SENTIMENT[name][place]},
            "topics": {"value": list(ABOUT[name][place])},
        },
        "status": STATUS.get((name, place), "submitted"),
    }


def main() -> None:
    """Write the files, and what was entered."""
    import argilla
    from argilla.client.feedback.dataset.local.dataset import FeedbackDataset

    data = FeedbackDataset(
        fields=[argilla.TextField(name="text")],
        questions=[
            argilla.LabelQuestion(name="sentiment", labels=list(OPTIONS)),
            argilla.MultiLabelQuestion(name="topics", labels=list(TOPICS)),
        ],
    )
    suggested = {"question_name": "sentiment", "agent": AGENT, "score": 0.5}
    records = [
        argilla.FeedbackRecord(
            external_id=f"review-{place}",
            fields={"text": text},
            responses=[response(name, place) for name in PEOPLE],
            suggestions=[suggested | {"value": SUGGESTED[place]}],
        )
        for place, text in enumerate(TEXTS)
    ]
    data.add_records(records)
    data.format_as("datasets").to_json(HERE / "feedback.jsonl")
    submitted = votes(range(len(TEXTS)), with_all=False)
    said = [vote("sentiment", f"review-{i}", AGENT, label) for i, label in enumerate(SUGGESTED)]
    found = entered([*submitted, *said], dropped={"drafts": 2, "discarded": 2})
    files = json.loads((HERE / "entered.json").read_text())
    write_entered(HERE, files | {"feedback.jsonl": found})


if __name__ == "__main__":
    main()
