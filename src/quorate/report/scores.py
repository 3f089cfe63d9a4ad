"""What was found of numeric ratings, drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType

from quorate.report.screen import Column, facts, note, table

MOST_JUDGES = 20


def show_scores(found: Mapping[str, Any], console: Console) -> None:
    """Print how far the consensus is to be trusted, and how judges rate."""
    rows = [
        ("tasks", f"{found['tasks']:,}"),
        ("ratings", f"{found['ratings']:,} by {len(found['workers']):,} judges"),
        (
            "reliability",
            f"{found['reliability']:.3f} of the consensus, {found['single_reliability']:.3f} of one"
            " judge",
        ),
    ]
    if found["calibration"] is not None:
        line = found["calibration"]
        rows.append(
            (
                "known scores",
                f"{line['known']:,}: {line['intercept']:.3g} + {line['slope']:.3g} * consensus",
            )
        )
    console.print(facts("Scores", rows))
    console.print()
    console.print(_judges(found["workers"], found["level"], console.width))
    for text in found["notes"]:
        console.print(note(text))


def _judges(judges: Sequence[Mapping[str, Any]], level: float, width: int) -> RenderableType:
    most = sorted(judges, key=lambda row: -row["ratings"])[:MOST_JUDGES]
    rows = [
        {
            "judge": str(row["worker"]),
            "ratings": f"{row['ratings']:,}",
            "offset": f"{row['offset']:+.2f}",
            f"{level:.0%}": f"{row['offset_low']:+.2f} to {row['offset_high']:+.2f}",
            "scale": f"{row['scale']:.2f}",
            "noise": f"{row['noise']:.2f}",
            "reliability": f"{row['reliability']:.2f}",
        }
        for row in most
    ]
    columns = [Column("judge", "name"), *map(Column, list(rows[0])[1:])]
    title = "Judges" if len(judges) <= MOST_JUDGES else f"{MOST_JUDGES} of {len(judges):,} judges"
    return table(columns, rows, width, title=title)
