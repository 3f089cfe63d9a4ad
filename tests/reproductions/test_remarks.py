"""Remarks: figures that fit their text, and committed results that are made of today's text."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from string import Formatter

import pytest

from reproductions import EXPERIMENTS, results
from reproductions.remarks import Remarks

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


def test_a_figure_that_is_lacking_or_left_over_is_refused() -> None:
    remarks = Remarks({"Votes": "There are {n:,} votes."})
    assert remarks.fill("Votes", n=1_000) == "There are 1,000 votes."
    with pytest.raises(ValueError, match=r"'Votes' and its figures differ in n\."):
        remarks.fill("Votes")
    with pytest.raises(ValueError, match=r"differ in tasks\."):
        remarks.fill("Votes", n=1, tasks=2)


def test_sections_are_found_by_their_headings() -> None:
    text = "# Title\n\nLeft out.\n\n## One\n\nA b\nc.\n\n## Two, and {more}\n\nD.\n"
    assert Remarks.parsed(text).sections == {"One": "A b c.", "Two, and {more}": "D."}


def pattern(section: str) -> str:
    """What a section with any figures looks like."""
    parts, named = [], set()
    for literal, name, _, _ in Formatter().parse(section):
        parts.append(re.escape(literal))
        if name:
            parts.append(f"(?P={name})" if name in named else f"(?P<{name}>.+?)")
            named.add(name)
    return "".join(parts) + "(?: |$)"


def made_of(text: str, sections: dict[str, str]) -> list[str] | None:
    """The sections that a remark is made of, one after the other; None where it is not."""
    if not text:
        return []
    for heading, section in sections.items():
        match = re.match(pattern(section), text)
        rest = made_of(text[match.end() :], sections) if match else None
        if rest is not None:
            return [heading, *rest]
    return None


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_committed_remarks_are_made_of_todays_sections(name: str) -> None:
    sections = Remarks.beside(str(import_module(EXPERIMENTS[name]).__file__)).sections
    (result,) = (each for each in results.read(RESULTS) if each["experiment"] == name)
    used = set()
    for remark in result["remarks"]:
        parts = made_of(remark, sections)
        assert parts, remark
        used.update(parts)
    assert set(sections) - used <= {"Error on the ring at a size"}  # which is part of another


def test_a_remark_that_says_something_else_is_not_made_of_them() -> None:
    sections = {"A": "There are {n} votes.", "B": "They agree."}
    assert made_of("There are 12 votes. They agree.", sections) == ["A", "B"]
    assert made_of("There are 12 tasks.", sections) is None
