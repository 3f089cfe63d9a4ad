"""Exports of labelling tools: readers find in them exactly what was entered into the tool."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from quorate.votes.readers import reader_named, readers, recognised
from quorate.votes.readers.export import read_export
from quorate.votes.readers.opening import opened

EXPORTS = Path(__file__).parent / "exports"
TOOLS = {
    "label_studio": "label-studio",
    "prodigy": "prodigy",
    "argilla": "argilla",
    "labelbox": "labelbox",
    "doccano": "doccano",
    "mturk": "mturk",
    "toloka": "toloka",
    "appen": "appen",
    "ground_truth": "ground-truth",
    "cvat": "cvat",
}
FILES = [
    (tool, file)
    for tool in TOOLS
    for file in json.loads((EXPORTS / tool / "entered.json").read_text())
]
every_file = pytest.mark.parametrize(("tool", "file"), FILES, ids=[f"{t}/{f}" for t, f in FILES])


def entered(tool: str, file: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((EXPORTS / tool / "entered.json").read_text())[file]
    return found


def rows(answers: Iterable[Mapping[str, Any]], *keys: str) -> Counter[tuple[str, ...]]:
    """Answers as rows of text, one for each label of several, and one for none of them."""
    return Counter(
        tuple(spelt(cell) for cell in (*(answer[key] for key in keys), label))
        for answer in answers
        for label in (answer["label"] if isinstance(answer["label"], list) else [answer["label"]])
        or [None]
    )


def spelt(cell: Any) -> str:
    """A cell as tables spell it, in which truth values are small."""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


@every_file
def test_the_votes_entered_are_the_votes_read(tool: str, file: str) -> None:
    export = read_export(reader_named(TOOLS[tool]), [opened(str(EXPORTS / tool / file))])
    truth = entered(tool, file)
    votes = [
        {"question": name} | row
        for name, question in export.questions.items()
        for row in question.votes.to_dicts()
    ]
    known = [
        {"question": name} | row
        for name, question in export.questions.items()
        for row in question.known.to_dicts()
    ]
    keys = ("question", "task", "worker")
    assert rows(votes, *keys) == rows(truth["votes"], *keys)
    assert set(rows(known, "question", "task")) == set(rows(truth["gold"], "question", "task"))
    assert export.dropped == truth["dropped"]


@every_file
def test_a_file_is_known_by_its_signature_alone(tool: str, file: str) -> None:
    look = opened(str(EXPORTS / tool / file)).look()
    assert [reader.name for reader in readers() if reader.sniff(look)] == [TOOLS[tool]]
    reader = recognised(look)
    assert reader is not None and reader.name == TOOLS[tool]
