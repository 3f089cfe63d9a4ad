"""The list of known data sets drawn on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from quorate.report.screen import Column, table

Entry = dict[str, Any]
NUMBERS = ("tasks", "workers", "labels", "classes", "gold")
FOUND = {"here": ("here", ""), "absent": ("not here", "dim"), "damaged": ("damaged", "red")}


def show_data_sets(listing: dict[str, Any], console: Console) -> None:
    """Print what is known of each data set, whether it is here, and what to do if it is not."""
    entries = listing["datasets"]
    console.print(_counts(entries, console.width))
    for (source, licence), group in _grouped(entries, "source", "licence"):
        console.print()
        console.print(Text(source, style="bold"), soft_wrap=True)
        console.print(Text(f"licence: {licence}", style="dim"))
        console.print(_questions(group))
    console.print()
    for (tried,), group in _grouped(entries, "tried"):
        console.print(Text(f"Conversion {tried}: {_names(group)}."))
    console.print()
    console.print(Text(f"Looked for in {listing['directory']}."), soft_wrap=True)
    for entry in entries:
        if entry["status"] == "damaged":
            console.print(Text(entry["reason"], style="red"), soft_wrap=True)
        elif entry["note"]:
            console.print(Text(f"{entry['name']} is here {entry['note']}."), soft_wrap=True)
    absent = [entry for entry in entries if entry["status"] == "absent"]
    if absent:
        console.print(Text(f"Not here: {_names(absent)}."))
        console.print("`quorate data get NAME` fetches one from its address above.")


def _counts(entries: Sequence[Entry], width: int) -> RenderableType:
    names = (*NUMBERS, "features")
    rows = []
    for entry in entries:
        numbers = (entry[column] for column in (*NUMBERS, "n_features"))
        shown = (f"{number:,}" if number else "-" for number in numbers)
        found, _ = FOUND[entry["status"]]
        cells = dict(zip(names, shown, strict=True))
        rows.append({"data set": entry["name"], " ": found} | cells)
    columns = [Column("data set", "name"), *map(Column, names), Column(" ", "name")]
    styles = [FOUND[entry["status"]][1] for entry in entries]
    return table(columns, rows, width, styles=styles)


def _questions(entries: Sequence[Entry]) -> Table:
    table = Table(box=None, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for entry in entries:
        table.add_row(entry["name"], Text(entry["summary"]))
    return table


def _grouped(entries: Sequence[Entry], *keys: str) -> list[tuple[tuple[Any, ...], list[Entry]]]:
    groups: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(tuple(entry[key] for key in keys), []).append(entry)
    return list(groups.items())


def _names(entries: Sequence[Entry]) -> str:
    return ", ".join(entry["name"] for entry in entries)
