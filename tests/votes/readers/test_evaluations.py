"""Exports of evaluation tools, most of them written by the tools themselves, are read as what was
entered. `exports/<tool>/make.py` enters it, and says in entered.json what it was."""

import json
from collections import Counter
from pathlib import Path

import pytest

from quorate.votes.readers import reader_named, recognised
from quorate.votes.readers.export import read_export
from quorate.votes.readers.opening import opened

EXPORTS = Path(__file__).parent / "exports"
TOOLS = {
    "inspect_ai": "inspect",
    "promptfoo": "promptfoo",
    "deepeval": "deepeval",
    "lm_eval": "lm-eval",
    "mt_bench": "mt-bench",
    "phoenix": "phoenix",
    "mlflow": "mlflow",
    "langsmith": "langsmith",
    "langfuse": "langfuse",
}
TEXT = ("frame.csv of phoenix", "experiment.csv of langsmith", "stored.csv of langfuse")
FILES = [
    (tool, file)
    for tool in TOOLS
    for file in json.loads((EXPORTS / tool / "entered.json").read_text())
]


def entered(tool, file):
    return json.loads((EXPORTS / tool / "entered.json").read_text())[file]


def read(tool, file):
    return read_export(reader_named(TOOLS[tool]), [opened(str(EXPORTS / tool / file))])


def counted(rows, tool, file):
    """How often each row is there; in a table of text numbers and truth values are text."""
    cells = (map(str, row) if f"{file} of {tool}" in TEXT else row for row in rows)
    return Counter(map(tuple, cells))


@pytest.mark.parametrize(("tool", "file"), FILES)
def test_an_export_is_read_as_what_was_entered(tool, file):
    export = read(tool, file)
    votes = [
        (name, *row)
        for name, question in export.questions.items()
        for row in question.votes.select("task", "worker", "label").rows()
    ]
    expected = entered(tool, file)
    rows = (vote.values() for vote in expected["votes"])
    assert counted(votes, tool, file) == counted(rows, tool, file)
    assert export.dropped == expected["dropped"]


@pytest.mark.parametrize(("tool", "file"), FILES)
def test_what_people_say_in_an_export_is_known(tool, file):
    questions = read(tool, file).questions.items()
    known = [(name, *row) for name, question in questions for row in question.known.rows()]
    rows = (answer.values() for answer in entered(tool, file)["gold"])
    assert counted(known, tool, file).keys() == counted(rows, tool, file).keys()


@pytest.mark.parametrize(("tool", "file"), FILES)
def test_an_export_is_known_by_its_content(tool, file):
    assert recognised(opened(str(EXPORTS / tool / file)).look()) is reader_named(TOOLS[tool])
