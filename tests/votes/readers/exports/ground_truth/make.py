"""Write what SageMaker Ground Truth leaves in its bucket, after AWS's documentation.

python -m tests.votes.readers.exports.ground_truth.make
"""

from __future__ import annotations

import json
import zipfile
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
ONE, SEVERAL = "crowd-classifier", "crowd-classifier-multi-select"
JOB = "reviews"
Content = dict[str, Any]


def worker(name: str) -> str:
    return f"private.us-east-1.{name}0123456789"


def answer(name: str, place: int) -> Content:
    """What a form with two elements sends."""
    return {ONE: {"label": SENTIMENT[name][place]}, SEVERAL: {"labels": list(ABOUT[name][place])}}


def annotation(name: str, place: int) -> Content:
    """An answer as requests and custom jobs have it: JSON in a string."""
    content = json.dumps(answer(name, place))
    return {"workerId": worker(name), "annotationData": {"content": content}}


def request() -> list[Content]:
    """A request to consolidate the answers."""
    return [
        {
            "datasetObjectId": str(place),
            "dataObject": {"content": text},
            "annotations": [annotation(name, place) for name in PEOPLE],
        }
        for place, text in enumerate(TEXTS)
    ]


def manifest() -> list[Content]:
    """The output of a custom job that hands over what everybody said."""
    meta = {"type": "groundtruth/custom", "job-name": JOB, "human-annotated": "yes"}
    return [
        {
            "source": text,
            JOB: {"annotationsFromAllWorkers": [annotation(name, place) for name in PEOPLE]},
            f"{JOB}-metadata": meta,
        }
        for place, text in enumerate(TEXTS)
    ]


def consolidated() -> list[Content]:
    """The output of a job of a built-in kind: one answer, and nobody's name."""
    lines = []
    for place in range(len(TEXTS)):
        meta = {"class-name": SENTIMENT["ann"][place], "confidence": 0.9, "job-name": JOB}
        meta |= {"type": "groundtruth/text-classification", "human-annotated": "yes"}
        lines.append({"source": TEXTS[place], JOB: 0, f"{JOB}-metadata": meta})
    return lines


def responses() -> None:
    """A file of answers for each object, in directories of their numbers."""
    with zipfile.ZipFile(HERE / "worker-response.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for place in range(len(TEXTS)):
            answers = [
                {
                    "acceptanceTime": f"2021-03-08T23:0{place}:00.000Z",
                    "answerContent": answer(name, place),
                    "submissionTime": f"2021-03-08T23:0{place}:20.000Z",
                    "timeSpentInSeconds": 20.5,
                    "workerId": worker(name),
                }
                for name in PEOPLE
            ]
            path = f"worker-response/iteration-1/{place}/2021-03-08_23:06:49.json"
            archive.writestr(zipfile.ZipInfo(path), json.dumps({"answers": answers}))


def lines(file: str, records: list[Content]) -> None:
    (HERE / file).write_text("".join(f"{json.dumps(record)}\n" for record in records))


def main() -> None:
    """Write the files, and what was entered."""
    (HERE / "request.json").write_text(json.dumps(request()))
    lines("custom.manifest", manifest())
    lines("consolidated.manifest", consolidated())
    responses()
    numbered = [
        found
        for place in range(len(TEXTS))
        for name in PEOPLE
        for found in (
            vote(ONE, str(place), worker(name), SENTIMENT[name][place]),
            vote(SEVERAL, str(place), worker(name), list(ABOUT[name][place])),
        )
    ]
    by_source = [v | {"task": TEXTS[int(v["task"])]} for v in numbered]
    files = {
        "request.json": entered(numbered),
        "custom.manifest": entered(by_source),
        "worker-response.zip": entered(numbered),
    }
    write_entered(HERE, files)


if __name__ == "__main__":
    main()
