"""An experiment's results drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

DECIMALS = 3


def show_experiment(result: Mapping[str, Any], console: Console) -> None:
    """Print the tables, what the paper claims and whether it holds, and what was left out."""
    console.print(Text(f"{result['title']}", style="bold").append(f"  {result['paper']}", "dim"))
    for table in result["tables"]:
        console.print()
        console.print(_table(table))
    if result["claims"]:
        console.print()
    for claim in result["claims"]:
        mark = Text("holds      ", "green") if claim["holds"] else Text("does not   ", "red")
        console.print(mark.append(f"{claim['text']} ({claim['detail']})", "default"))
    for sentence in result["absent"]:
        console.print(Text("Left out: ", "yellow").append(sentence, "default"))


def _table(table: Mapping[str, Any]) -> Table:
    shown = Table(title=table["title"], title_justify="left", box=None, pad_edge=False)
    columns = list(table["rows"][0]) if table["rows"] else []
    for column in columns:
        words = any(isinstance(row[column], str) for row in table["rows"])
        shown.add_column(column, justify="left" if words else "right", overflow="fold")
    for row in table["rows"]:
        shown.add_row(*(Text(cell(row[c], table["decimals"].get(c, DECIMALS))) for c in columns))
    return shown


def cell(value: Any, decimals: int) -> str:
    """A value as a table shows it.

    Examples:
        >>> cell(0.12345, 2), cell(12_000, 2), cell(None, 2), cell(True, 2)
        ('0.12', '12,000', '-', 'yes')
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.{decimals}f}" if isinstance(value, float) else str(value)
