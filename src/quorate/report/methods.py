"""The methods drawn on a terminal: all of them, or one with its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from quorate.report.screen import Column, facts, table

ABILITIES = {
    "gold": "known answers",
    "discount": "discount of correlated workers",
    "features": "features of tasks",
}


def show_methods(listing: Mapping[str, Any], console: Console) -> None:
    """Print every method with what it does and its paper."""
    rows = [
        {"method": each["name"], "what it does": each["summary"], "paper": each["paper"]}
        for each in listing["methods"]
    ]
    columns = [
        Column("method", "name"),
        Column("what it does", "words"),
        Column("paper", "words"),
    ]
    console.print(table(columns, rows, console.width))
    console.print("\n`quorate methods NAME` lists the options of one.")


def show_method(method: Mapping[str, Any], console: Console) -> None:
    """Print what a method does, its paper, what it can take, and its options."""
    console.print(Text(method["name"], style="bold"))
    console.print(Text(method["summary"]))
    console.print()
    takes = [words for key, words in ABILITIES.items() if method["takes"][key]]
    classes = "two only" if method["two_classes_only"] else "any number"
    rows = [("paper", method["paper"]), ("takes", ", ".join(takes)), ("classes", classes)]
    console.print(facts("About", [row for row in rows if row[1] not in ("", "-")]))
    console.print()
    console.print(Text("Options, each given as --set NAME=VALUE", style="bold"))
    for option in method["options"]:
        _option(option, method["shared"], console)


def _option(option: Mapping[str, Any], shared: Sequence[str], console: Console) -> None:
    head = Text(f" {option['name']}", style="cyan")
    head.append(f" = {option['default']}", style="default")
    if option["name"] in shared:
        head.append(f"  (also --{option['name'].replace('_', '-')})", style="dim")
    console.print(head)
    doc, values = option["doc"].rstrip("."), option["values"]
    lines = [f"{doc}." if doc else "", f"{values[:1].upper()}{values[1:]}." if values else ""]
    for line in filter(None, lines):
        console.print(Padding(Text(line), (0, 0, 0, 3), expand=False))
