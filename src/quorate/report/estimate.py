"""Estimates of shares and means, drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from quorate.estimation.facts import Difference, number, span, told_difference
from quorate.report.screen import Column, note, table
from quorate.votes import named

SHOWN_JUDGES = 10


def show_estimate(estimate: Mapping[str, Any], console: Console) -> None:
    """Print the figures beside what votes and answers alone say, and what else was asked for."""
    unit, level = estimate["unit"], estimate["level"]
    if estimate["plan"] is None:
        console.print(_figures(estimate["figures"], unit, level, console.width))
    else:
        console.print(Text(f"{estimate['plan']:,} tasks to find the answers of.", style="bold"))
        console.print(_curve(estimate["curve"], unit, console.width))
    if estimate["difference"] is not None:
        console.print()
        console.print(Text(told_difference(Difference(**estimate["difference"]), unit, level)))
    if estimate["positions"]:
        console.print()
        console.print(positions_table(estimate["positions"], console.width))
    for text in estimate["notes"]:
        console.print(note(text))


def _figures(
    figures: Sequence[Mapping[str, Any]], unit: str, level: float, width: int
) -> RenderableType:
    grouped = any(row["group"] is not None for row in figures)
    interval = f"{100 * level:.4g} % interval"
    rows = []
    for row in figures:
        alone = row["answers_low"]
        rows.append(
            {
                "group": named(row["group"]) if grouped else "",
                "what": named(row["what"]),
                "estimate": number(row["estimate"], unit),
                interval: span(row["low"], row["high"], unit),
                "votes alone": number(row["votes_alone"], unit),
                "answers alone": "" if alone is None else span(alone, row["answers_high"], unit),
                "known": f"{row['known']:,} of {row['tasks']:,}",
            }
        )
    columns = [Column("group", "name")] if grouped else []
    columns += [Column("what", "name"), Column("estimate"), Column(interval)]
    columns += [Column("votes alone"), Column("answers alone"), Column("known")]
    return table(columns, rows, width, lead=2 if grouped else 1)


def _curve(curve: Sequence[Mapping[str, Any]], unit: str, width: int) -> RenderableType:
    def shown(value: float) -> str:
        return f"{100 * value:.1f} points" if unit == "share" else f"{value:.3g}"

    rows = [
        {
            "answers": f"{point['answers']:,}",
            "drawn evenly": shown(point["even"]),
            "by plan": shown(point["planned"]),
        }
        for point in curve
    ]
    columns = [Column("answers"), Column("drawn evenly"), Column("by plan")]
    return table(columns, rows, width, title="Expected width of the interval")


def positions_table(positions: Sequence[Mapping[str, Any]], width: int) -> RenderableType:
    """The position bias of the judges whom it sways most."""
    strongest = sorted(positions, key=lambda row: -abs(row["bias"]))[:SHOWN_JUDGES]
    rows = [
        {
            "judge": named(row["judge"]),
            "pairs": f"{row['pairs']:,}",
            "changed": f"{row['changed']:.0%}",
            "for the first": f"{100 * row['bias']:+.1f} points",
            "95 %": f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f}",
        }
        for row in strongest
    ]
    columns = [Column("judge", "name"), Column("pairs"), Column("changed")]
    columns += [Column("for the first"), Column("95 %")]
    more = len(positions) - len(rows)
    title = "Position bias" + (f", the strongest of {len(positions):,}" if more > 0 else "")
    return table(columns, rows, width, title=title)
