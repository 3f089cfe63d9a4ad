"""What the scoreboard counts, and how tables of the papers' figures are turned."""

from __future__ import annotations

from typing import Any

import pytest

from reproductions.page import page, scoreboard
from reproductions.scoreboard import score, verdict

MADE = {"python": "3", "versions": {}, "seed": 0, "processor": "p", "cores": 1, "system": "s"}


def row(data: str, method: str, paper: float | None, ours: float, **more: Any) -> dict[str, Any]:
    difference = None if paper is None else round(ours - paper, 2)
    found = {"data": data, "method": method, "paper": paper, "ours": ours, "difference": difference}
    return {**found, **more}


ROWS = [
    row("rte", "vote", 10.31, 10.31),
    row("rte", "EM", 7.12, 7.25),
    row("rte", "EM, strict", 7.12, 7.12),
    row("dog", "vote", 19.58, 17.78),
    row("dog_min40", "vote", 19.58, 17.91),
    row("dog", "EM", None, 16.0),
]


def result(rows: list[dict[str, Any]], paper: str = "A paper (2014)") -> dict[str, Any]:
    table = {"name": "table-2", "title": "T", "decimals": {}, "lowest_of": [], "rows": rows}
    claims = [{"text": "Yes.", "holds": True, "detail": ""}] * 2
    return {
        "experiment": "spectral",
        "title": "A title",
        "paper": paper,
        "summary": "S",
        "tables": [table],
        "figures": [],
        "claims": claims,
        "remarks": [],
        "absent": [],
        "made": {**MADE, "quick": False},
        "seconds": 60.0,
    }


def test_a_printed_figure_counts_once_however_many_of_ours_stand_beside_it() -> None:
    found = score(result(ROWS))
    assert dict(found.figures) == {"equal": 1, "reading": 1, "differs": 1}
    assert (found.n_figures, found.claims, found.hold) == (3, 2, 2)


def test_the_same_table_by_other_set_ups_is_another_reading_of_it() -> None:
    first = result([row("rte", "KOS", 0.4, 0.5, **{"set-up": ""})])
    other = {"name": "table-2-set-ups", "rows": [row("rte", "KOS", 0.4, 0.4, **{"set-up": "b"})]}
    first["tables"].append(other)
    assert dict(score(first).figures) == {"reading": 1}


@pytest.mark.parametrize(
    ("difference", "deviation", "expected"),
    [(0.0, 0.0, "equal"), (1.9, 1.0, "spread"), (2.1, 1.0, "differs"), (0.1, None, "differs")],
)
def test_random_draws_explain_two_standard_deviations(
    difference: float, deviation: float | None, expected: str
) -> None:
    assert verdict([{"difference": difference, "deviation": deviation}]) == expected


def test_only_papers_are_in_the_total() -> None:
    board = scoreboard([result(ROWS), {**result([], "Every method"), "title": "The field"}])
    assert "<strong>1 of 3</strong>figures equal" in board
    assert "<strong>2 of 2</strong>claims" in board
    assert "| [The field](#the-field) | - |  | 2 of 2 |" in board


def test_methods_are_columns_and_the_paper_stands_where_it_differs() -> None:
    text = page([result(ROWS)], "results")
    assert "| data | vote | EM | EM, strict |" in text
    differs = '<span class="off">7.250 (7.120)</span>'
    assert f"| rte | 10.310&nbsp;✓ | {differs} | 7.120&nbsp;✓ |" in text
    assert '| dog | <span class="off">17.780 (19.580)</span> | 16.000 | - |' in text
