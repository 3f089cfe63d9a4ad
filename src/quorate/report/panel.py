"""A panel of judges, drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from quorate.judging.judges import told_cheaper, told_worth
from quorate.report.estimate import positions_table
from quorate.report.screen import Column, note, table
from quorate.votes import named

SHOWN_JUDGES, SHOWN_NAMES, SHOWN_BIASES = 30, 8, 12
SURE = 0.01  # p-value from which on a bias is shown


def show_panel(panel: Mapping[str, Any], console: Console) -> None:
    """Print what the panel is worth, each judge, biases, and a cheaper panel."""
    worth = told_worth(panel["effective"], panel["against"])
    console.print(Text(f"{worth}.", style="bold"))
    console.print()
    console.print(_judges(panel["judges"], console.width))
    if panel["biases"]:
        console.print()
        console.print(_biases(panel["biases"], console.width))
    if panel["positions"]:
        console.print()
        console.print(positions_table(panel["positions"], console.width))
    if panel["cheaper"] is not None:
        dropped = panel["cheaper"]["dropped"]
        names = ", ".join(map(named, dropped[:SHOWN_NAMES]))
        more = f" and {len(dropped) - SHOWN_NAMES:,} more" if len(dropped) > SHOWN_NAMES else ""
        said = told_cheaper(panel["cheaper"])
        console.print()
        console.print(Text(f"A cheaper panel: {said} ({names}{more})."))
    for text in panel["notes"]:
        console.print(note(text))


def _judges(judges: Sequence[Mapping[str, Any]], width: int) -> RenderableType:
    best = sorted(judges, key=lambda row: -row["accuracy"])
    two = "sensitivity" in judges[0]
    rows = [
        {
            "judge": named(row["judge"]),
            "votes": f"{row['votes']:,}",
            "accuracy": _share(row["accuracy"], row["low"], row["high"]),
            **({"sensitivity": _of(row, "sensitivity")} if two else {}),
            **({"specificity": _of(row, "specificity")} if two else {}),
            "errors most like": "" if row["most_like"] is None else named(row["most_like"]),
            "r": "" if row["correlation"] is None else f"{row['correlation']:.2f}",
            "adds": f"{row['adds']:+.2f}",
        }
        for row in best[:SHOWN_JUDGES]
    ]
    columns = [Column("judge", "name"), Column("votes"), Column("accuracy")]
    columns += [Column("sensitivity"), Column("specificity")] if two else []
    columns += [Column("errors most like", "name"), Column("r"), Column("adds")]
    more = len(judges) - len(rows)
    title = "Judges" + (f", the best {len(rows)} of {len(judges):,}" if more > 0 else "")
    return table(columns, rows, width, title=title)


def _of(row: Mapping[str, Any], name: str) -> str:
    return _share(row[name], row[f"{name}_low"], row[f"{name}_high"])


def _share(share: float | None, low: float, high: float) -> str:
    return "" if share is None else f"{100 * share:.1f} ({100 * low:.0f}-{100 * high:.0f})"


def _biases(biases: Sequence[Mapping[str, Any]], width: int) -> RenderableType:
    everybody = [row for row in biases if row["judge"] == "all judges"]
    clear = [row for row in biases if row["p_value"] < SURE and row not in everybody]
    strongest = sorted(clear, key=lambda row: -abs(row["effect"]))[:SHOWN_BIASES]
    rows = [
        {
            "judge": named(row["judge"]),
            "by": row["column"] if row["value"] is None else f"{row['column']} = {row['value']}",
            "effect": f"{100 * row['effect']:+.1f} points",
            "95 %": f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f}",
            "p": f"{row['p_value']:.2g}" if row["p_value"] >= 1e-4 else "<1e-4",
        }
        for row in [*everybody, *strongest]
    ]
    columns = [Column("judge", "name"), Column("by", "name"), Column("effect")]
    return table([*columns, Column("95 %"), Column("p")], rows, width, title="Bias by column")
