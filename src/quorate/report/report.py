"""The first lines of a report, and the queue for review, drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from quorate.report.screen import Column, note, table
from quorate.votes import named


def show_report(report: Mapping[str, Any], console: Console) -> None:
    """Print the sentences that the page begins with."""
    console.print(Text(report["title"], style="bold"))
    for sentence in report["headline"]:
        console.print(Text(f" {sentence}"))
    for text in report["notes"]:
        console.print(note(text))


def show_review(found: Mapping[str, Any], console: Console) -> None:
    """Print the tasks to look at, the least certain first."""
    columns = [
        Column("task", "words"),
        Column("posterior", "words"),
        Column("why", "words"),
        Column("votes", "words"),
        Column("settled by", "words"),
    ]
    rows = [
        {
            "task": _task(row),
            "posterior": ", ".join(map(_probability, row["posterior"])),
            "why": row["why"],
            "votes": _votes(row),
            "settled by": row["settled_by"],
        }
        for row in found["tasks"]
    ]
    title = f"{found['shown']:,} of {found['of']:,} tasks to look at, the least certain first"
    console.print(table(columns, rows, console.width, title=title))


def _task(row: Mapping[str, Any]) -> str:
    """Its name, and what is kept of it."""
    kept = [named(value) for value in row["item"].values() if value is not None]
    return ": ".join([named(row["task"]), *kept])


def _probability(each: Mapping[str, Any]) -> str:
    return f"{named(each['label'])} {each['probability']:.3f}"


def _votes(row: Mapping[str, Any]) -> str:
    counts: dict[str, int] = {}
    for vote in row["said"]:
        counts[named(vote["label"])] = counts.get(named(vote["label"]), 0) + 1
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    return ", ".join(f"{n} {label}" for label, n in ordered)
