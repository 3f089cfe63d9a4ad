"""What became of votes that were converted, drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from quorate.report.screen import facts, note
from quorate.report.summary import dropped_rows
from quorate.votes import listed, named


def show_conversion(found: Mapping[str, Any], console: Console) -> None:
    """Print what was recognised, taken and dropped."""
    rows = [
        ("format", found["format"] or "a table of votes"),
        ("columns", listed(found["columns"], 40)),
        ("votes", f"{found['votes']:,} of {found['rows']:,} rows"),
    ]
    if found["questions"]:
        counts = [f"{named(q) or '(no name)'} ({n:,})" for q, n in found["questions"].items()]
        rows.append(("questions", ", ".join(counts)))
    if found["format"]:
        dropped = [f"{n:,} {why}" for why, n in found["dropped_of_export"].items()]
        rows.append(("dropped", ", ".join(dropped) or "nothing"))
        rows.append(("known answers", f"{found['gold']:,}"))
    rows.append(("dropped rows", dropped_rows(found)))
    console.print(facts("Converted", rows))
    for text in found["notes"]:
        console.print(note(text))
