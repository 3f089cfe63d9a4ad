"""What the next votes are expected to buy, drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from quorate.report.terminal import facts

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
    console.print(_curve(assignment["curve"]))


def _curve(curve: list[dict[str, Any]]) -> Table:
    table = Table(
        title="What other budgets would buy", title_justify="left", title_style="bold", box=None
    )
    for column in ("votes", "expected error", ""):
        table.add_column(column, justify="right" if column else "left")
    highest = max(point["error"] for point in curve) or 1.0
    for point in curve:
        bar = "█" * round(BAR * point["error"] / highest)
        table.add_row(f"{point['votes']:,}", f"{point['error']:.2%}", bar)
    return table
