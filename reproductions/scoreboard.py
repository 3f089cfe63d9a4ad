"""How many of the papers' printed figures come out, and how many of their claims hold: counted from
the results, never written by hand.

A printed figure may stand beside several of ours, where the paper leaves open how it was made. It
counts once, and the first of ours is the one that is meant to be the paper's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# From the best to the worst that can be said of a printed figure.
VERDICTS = {
    "equal": "equal to the printed digit",
    "reading": "equal by another reading of the paper",
    "spread": "within two standard deviations of random draws",
    "differs": "different",
}
# Columns of what was found. All others say which figure of the paper it is, but for READING.
VALUES = ("paper", "ours", "difference", "deviation", "trials", "all trials", "skills held")
READING = "set-up"
STRICT = ", strict"  # zeros rule a class out: a reading of the same method
STANDS_FOR = {"dog_min40": "dog"}  # workers with fewer than 40 labels left out


@dataclass(frozen=True)
class Score:
    """How many figures got which verdict, and how many claims there are and hold."""

    figures: Mapping[str, int]
    claims: int
    hold: int

    @property
    def n_figures(self) -> int:
        return sum(self.figures.values())

    def __add__(self, other: Score) -> Score:
        figures = Counter(self.figures) + Counter(other.figures)
        return Score(figures, self.claims + other.claims, self.hold + other.hold)


def of_a_paper(result: Mapping[str, Any]) -> bool:
    """Whether it reproduces a paper, whose name ends with its year."""
    return re.search(r"\(\d{4}\)$", result["paper"]) is not None


def score(result: Mapping[str, Any]) -> Score:
    """The score of one experiment's results.

    Examples:
        >>> rows = [{"data": "rte", "paper": 7.1, "ours": 7.12, "difference": 0.0}]
        >>> table = {"name": "table-1", "rows": rows}
        >>> found = score({"tables": [table], "claims": [{"holds": True}, {"holds": False}]})
        >>> found.figures["equal"], found.n_figures, found.claims, found.hold
        (1, 1, 2, 1)
    """
    figures: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for key, row in _compared(result["tables"]):
        figures.setdefault(key, []).append(row)
    verdicts = Counter(verdict(readings) for readings in figures.values())
    return Score(verdicts, len(result["claims"]), sum(c["holds"] for c in result["claims"]))


def _compared(tables: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Rows with a figure of the paper and one of ours, each with what the paper's figure is."""
    for table in tables:
        printed = "-".join(table["name"].split("-")[:2])  # "table-1-set-ups" is of table 1
        for row in table["rows"]:
            if row.get("paper") is not None and row.get("difference") is not None:
                yield (printed, *_key(row)), row


def _key(row: Mapping[str, Any]) -> Iterator[Any]:
    for column, value in row.items():
        if column not in VALUES and column != READING:
            plain = value.removesuffix(STRICT) if isinstance(value, str) else value
            yield STANDS_FOR.get(plain, plain)


def verdict(readings: Sequence[Mapping[str, Any]]) -> str:
    """What can be said of a printed figure beside one or several of ours."""
    first = readings[0]
    if first["difference"] == 0:
        return "equal"
    if any(row["difference"] == 0 for row in readings):
        return "reading"
    if abs(first["difference"]) <= 2 * (first.get("deviation") or 0):
        return "spread"
    return "differs"
