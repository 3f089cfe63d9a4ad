"""Write batches as MTurk's requester site gives them, after its documentation.

python -m tests.votes.readers.exports.mturk.make
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

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

HERE = Path(__file__).parent
WORKERS = {"ann": "A1EXAMPLEANN", "bob": "A2EXAMPLEBOB", "cyd": "A3EXAMPLECYD"}
REJECTED = ("cyd", 5)
BEFORE = [
    "HITId",
    "HITTypeId",
    "Title",
    "Description",
    "Keywords",
    "Reward",
    "CreationTime",
    "MaxAssignments",
    "RequesterAnnotation",
    "AssignmentDurationInSeconds",
    "AutoApprovalDelayInSeconds",
    "Expiration",
    "NumberOfSimilarHITs",
    "LifetimeInSeconds",
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "AutoApprovalTime",
    "ApprovalTime",
    "RejectionTime",
    "RequesterFeedback",
    "WorkTimeInSeconds",
    "LifetimeApprovalRate",
    "Last30DaysApprovalRate",
    "Last7DaysApprovalRate",
]
TIME = "Wed Nov 17 10:{:02}:00 PST 2021"


def hit(number: int) -> str:
    return f"3HIT{number:04}EXAMPLE"


def assignment(name: str, number: int, status: str) -> dict[str, Any]:
    """What a batch says of every assignment."""
    return {
        "HITId": hit(number),
        "HITTypeId": "3TYPE",
        "Title": "Reviews",
        "Reward": "$0.05",
        "MaxAssignments": 3,
        "AssignmentId": f"3ASG{number:04}{name.upper()}",
        "WorkerId": WORKERS[name],
        "AssignmentStatus": status,
        "AcceptTime": TIME.format(number),
        "SubmitTime": TIME.format(number + 1),
        "WorkTimeInSeconds": 37 + number,
        "LifetimeApprovalRate": "100% (3/3)",
    }


def write(file: str, rows: Sequence[Mapping[str, Any]]) -> None:
    given = [key for key in rows[0] if key not in BEFORE]
    with (HERE / file).open("w", newline="") as output:
        writer = csv.DictWriter(
            output, [*BEFORE, *given, "Approve", "Reject"], quoting=csv.QUOTE_ALL
        )
        writer.writeheader()
        writer.writerows(rows)


def batch(file: str, answers: Callable[[str, int], Mapping[str, Any]]) -> None:
    """A batch of a review in each HIT."""
    rows = [
        assignment(name, place, "Rejected" if (name, place) == REJECTED else "Approved")
        | {"Input.text": TEXTS[place]}
        | {f"Answer.{key}": value for key, value in answers(name, place).items()}
        for place in range(len(TEXTS))
        for name in PEOPLE
    ]
    write(file, rows)


def of_hits(question: str, said: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Votes on HITs, but for the one that is rejected."""
    return [
        vote(question, hit(place), WORKERS[name], label)
        for name in PEOPLE
        for place, label in enumerate(said[name])
        if (name, place) != REJECTED
    ]


def ticked(question: str, options: Sequence[str], chosen: Sequence[str]) -> dict[str, str]:
    """A column for each option, as of radio buttons and boxes to tick."""
    return {f"{question}.{option}": str(option in chosen).lower() for option in options}


def as_json(name: str, place: int) -> dict[str, str]:
    """All answers in one column, as of `crowd-form`."""
    sentiment = {option: option == SENTIMENT[name][place] for option in OPTIONS}
    topics = {option: option in ABOUT[name][place] for option in TOPICS}
    return {"taskAnswers": json.dumps([{"sentiment": sentiment, "topics": topics}])}


def several_a_hit() -> list[dict[str, Any]]:
    """A batch of four reviews in each HIT, and the votes in it."""
    rows, votes = [], []
    for number in range(2):
        for name in PEOPLE:
            row = assignment(name, number, "Submitted")
            row |= {f"Input.x{k + 1}": f"review-{4 * number + k}" for k in range(4)}
            said = SENTIMENT[name][4 * number : 4 * number + 4]
            rows.append(row | {f"Answer.x{k + 1}": label for k, label in enumerate(said)})
            votes += [
                vote("x", f"review-{4 * number + k}", WORKERS[name], label)
                for k, label in enumerate(said)
            ]
    write("several.csv", rows)
    return votes


def main() -> None:
    """Write the files, and what was entered."""
    batch(
        "radio.csv",
        lambda name, place: (
            ticked("sentiment", OPTIONS, [SENTIMENT[name][place]])
            | ticked("topics", TOPICS, ABOUT[name][place])
        ),
    )
    batch(
        "label.csv",
        lambda name, place: {
            "sentiment.label": SENTIMENT[name][place],
            "topics.labels": json.dumps(ABOUT[name][place]),
        },
    )
    batch("json.csv", as_json)
    batch(
        "plain.csv",
        lambda name, place: {
            "sentiment": SENTIMENT[name][place],
            "topics": "|".join(ABOUT[name][place]),
        },
    )
    sentiment, topics = of_hits("sentiment", SENTIMENT), of_hits("topics", ABOUT)
    named = [v for v in topics if v["label"]]  # the others cannot be told from no answer
    rejected = {"rejected": 1}
    unanswered = {"without a label": len(topics) - len(named)}
    files = {
        "radio.csv": entered([*sentiment, *topics], dropped=rejected),
        "label.csv": entered([*sentiment, *topics], dropped=rejected),
        "json.csv": entered([*sentiment, *topics], dropped=rejected),
        "plain.csv": entered([*sentiment, *named], dropped=rejected | unanswered),
        "several.csv": entered(several_a_hit()),
    }
    write_entered(HERE, files)


if __name__ == "__main__":
    main()
