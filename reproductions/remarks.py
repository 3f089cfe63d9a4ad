"""Remarks on results: prose in Markdown beside each paper's code, with figures that a run fills in.

A paper's `remarks.md` has a section of one paragraph for each remark, or part of one. Figures are
named in braces, with the format they are shown in: `{error:.2f} %`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any

NAME = "remarks.md"
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)


class Remarks:
    """The sections of a Markdown file, by heading."""

    def __init__(self, sections: Mapping[str, str]) -> None:
        self.sections = dict(sections)

    @classmethod
    def beside(cls, module: str) -> Remarks:
        """The remarks of the paper whose code is in the file of that name."""
        return cls.parsed(Path(module).with_name(NAME).read_text(encoding="utf-8"))

    @classmethod
    def parsed(cls, text: str) -> Remarks:
        """The sections of a text, each as one line; what stands before the first is left out.

        Examples:
            >>> Remarks.parsed("# Title\\n\\n## Votes\\n\\nThere are\\n{n} votes.\\n").sections
            {'Votes': 'There are {n} votes.'}
        """
        _, *parts = HEADING.split(text)
        headings, bodies = parts[::2], parts[1::2]
        return cls(
            {
                heading: " ".join(body.split())
                for heading, body in zip(headings, bodies, strict=True)
            }
        )

    def fill(self, heading: str, **figures: Any) -> str:
        """A section with its figures, of which none may be lacking and none left over.

        Examples:
            >>> Remarks({"Votes": "There are {n:,} votes."}).fill("Votes", n=12_345)
            'There are 12,345 votes.'
        """
        text = self.sections[heading]
        named = {name.split("[")[0] for _, name, _, _ in Formatter().parse(text) if name}
        if named != set(figures):
            apart = ", ".join(sorted(named ^ set(figures)))
            raise ValueError(f"The remark {heading!r} and its figures differ in {apart}.")
        return text.format(**figures)
