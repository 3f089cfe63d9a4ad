"""A ranking drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType

from quorate.report.screen import Column, facts, note, table

MOST_SYSTEMS, MOST_JUDGES = 30, 12
Row = Mapping[str, Any]


def show_ranking(ranking: Mapping[str, Any], console: Console) -> None:
    """Print the systems, the best first, and the judges, those who count most first."""
    console.print(facts("Ranking", _facts(ranking)))
    console.print()
    console.print(_systems(ranking["systems"], ranking["level"], console.width))
    if len(ranking["workers"]) > 1:
        console.print()
        console.print(_judges(ranking["workers"], console.width))
    for text in ranking["notes"]:
        console.print(note(text))


def _facts(ranking: Mapping[str, Any]) -> list[tuple[str, str]]:
    ties, comparisons = ranking["ties"], ranking["comparisons"]
    tied = f", {ties / comparisons:.1%} of them ties" if ties else ""
    rows = [
        ("systems", f"{len(ranking['systems']):,}"),
        ("comparisons", f"{comparisons:,}{tied}"),
    ]
    if ranking["position_bias"] is not None:
        named = f"of equals the left is named {ranking['position_bias']:.1%} of the time"
        rows.append(("position bias", named))
    return rows


def _systems(systems: Sequence[Row], level: float, width: int) -> RenderableType:
    between = f"{level:.0%}"
    rows = [
        {
            "rank": str(row["rank"]),
            "ranks": f"{row['rank_low']}-{row['rank_high']}",
            "tier": str(row["tier"]),
            "system": str(row["system"]),
            "strength": f"{row['strength']:+.3f}",
            between: f"{row['low']:+.2f} to {row['high']:+.2f}",
            "win rate": f"{row['win_rate']:.1%}",
            "comparisons": f"{row['comparisons']:,}",
            "group": str(row.get("group", "")),
        }
        for row in systems[:MOST_SYSTEMS]
    ]
    numbers = ("strength", between, "win rate", "comparisons")
    columns = [Column("rank"), Column("system", "name"), Column("ranks"), Column("tier")]
    columns += [*map(Column, numbers), *([Column("group")] if "group" in systems[0] else [])]
    more = len(systems) - MOST_SYSTEMS
    title = f"The first {MOST_SYSTEMS} of {len(systems):,} systems" if more > 0 else "Systems"
    return table(columns, rows, width, title=title, lead=2)


def _judges(judges: Sequence[Row], width: int) -> RenderableType:
    by_weight = sorted(judges, key=lambda row: -row.get("weight", row["comparisons"]))
    formats = {
        "comparisons": "{:,}",
        "reliability": "{:.2f}",
        "left": "{:.1%}",
        "ties": "{:.1%}",
        "agreement": "{:.1%}",
        "weight": "{:.1%}",
    }
    shown = {name: how for name, how in formats.items() if name in judges[0]}
    rows = [
        {"judge": str(row["worker"])}
        | {name: "" if row[name] is None else how.format(row[name]) for name, how in shown.items()}
        for row in by_weight[:MOST_JUDGES]
    ]
    title = "Judges" if len(judges) <= MOST_JUDGES else f"{MOST_JUDGES} of {len(judges):,} judges"
    return table([Column("judge", "name"), *map(Column, shown)], rows, width, title=title)
