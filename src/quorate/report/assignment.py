"""What the next votes are expected to buy, drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType

from quorate.report.screen import Column, facts, note, table

BAR = 30


def show_assignment(assignment: Mapping[str, Any], console: Console) -> None:
    """Print how many votes to ask for, why no more, and the curve over budgets."""
    now, after = assignment["error_now"], assignment["error_after"]
    rows = [
        ("votes to ask for", f"{assignment['votes']:,}, as {assignment['reason']}"),
        ("cost", f"{assignment['cost']:,g}"),
        ("expected error", f"{now:.2%} now, {after:.2%} after"),
        ("ranked by", f"{assignment['policy']}, on labels by {assignment['method']}"),
    ]
    console.print(facts("Next votes", rows))
    console.print()
    console.print(_curve(assignment["curve"], console.width))
    for text in assignment.get("notes", ()):
        console.print(note(text))


def _curve(curve: Sequence[Mapping[str, Any]], width: int) -> RenderableType:
    highest = max((point["error"] for point in curve), default=0) or 1.0
    rows = [
        {
            "votes": f"{point['votes']:,}",
            "expected error": f"{point['error']:.2%}",
            " ": "█" * round(BAR * point["error"] / highest),
        }
        for point in curve
    ]
    columns = [Column("votes"), Column("expected error"), Column(" ", "words")]
    return table(columns, rows, width, title="What other budgets would buy")
