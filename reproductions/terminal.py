"""Experiments, their progress and their results on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from quorate.datasets import State
from reproductions.experiment import Experiment
from reproductions.running import Progress

DECIMALS = 3
UNDER_WAY = 60  # columns of the bar for what is under way


def show_list(experiments: Sequence[Experiment]) -> None:
    """Print the experiments' names, what they show, and their papers."""
    table = Table(box=None, pad_edge=False)
    for column in ("experiment", "what it shows", "paper"):
        table.add_column(column, overflow="fold", no_wrap=column == "experiment")
    for experiment in experiments:
        table.add_row(experiment.name, experiment.summary, experiment.paper)
    Console().print(table)


def show_left_out(lacking: Mapping[str, State], directory: Path) -> None:
    """Say on standard error which data sets cannot be used, why, and what to do."""
    absent = [name for name, each in lacking.items() if each.status == "absent"]
    reasons = [each.reason for each in lacking.values() if each.status != "absent"]
    if absent:
        are = "is" if len(absent) == 1 else "are"
        reasons.append(
            f"{', '.join(absent)} {are} not in {directory}: `quorate data get {' '.join(absent)}`"
            " fetches what is missing."
        )
    for reason in reasons:
        Console(stderr=True).print(Text("Left out: ", "yellow").append(reason, "default"))


def show_experiment(result: Mapping[str, Any]) -> None:
    """Print the tables, what the paper claims and whether it holds, and what was left out."""
    console = Console()
    console.print(Text(f"{result['title']}", style="bold").append(f"  {result['paper']}", "dim"))
    for table in result["tables"]:
        if table["rows"]:
            _show_table(table, console)
    if result["claims"]:
        console.print()
    for claim in result["claims"]:
        mark = Text("holds      ", "green") if claim["holds"] else Text("does not   ", "red")
        console.print(mark.append(f"{claim['text']} ({claim['detail']})", "default"))
    if result["absent"]:
        n_absent = len(result["absent"])
        sets = "data set" if n_absent == 1 else "data sets"
        console.print(Text("Left out: ", "yellow").append(f"{n_absent} {sets}", "default"))
    console.print()


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar of the pieces of work, on a terminal and beyond a second; None where there is none."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = Bar(
        TextColumn("{task.fields[under_way]}"),
        BarColumn(),
        TimeRemainingColumn(compact=True),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    began = time.monotonic()
    shown: list[Any] = []

    def progress(done: float, total: float, under_way: Sequence[str]) -> None:
        if time.monotonic() - began < 1:
            return
        names = ", ".join(under_way)
        names = names if len(names) <= UNDER_WAY else f"{names[: UNDER_WAY - 3]}..."
        if not shown:
            bar.start()
            shown.append(bar.add_task("", total=total, under_way=names))
        bar.update(shown[0], completed=done, total=total, under_way=names)

    try:
        yield progress
    finally:
        bar.stop()


def _show_table(table: Mapping[str, Any], console: Console) -> None:
    """Print a table, in parts where it is wider than the terminal."""
    columns = list(table["rows"][0])
    cells = [shown_row(table, row) for row in table["rows"]]
    width = {c: max(len(c), *(len(row[c]) for row in cells)) + 2 for c in columns}
    for i, part in enumerate(_parts(columns, width, console.width)):
        title = table["title"] if i == 0 else None
        shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for column in part:
            words = any(isinstance(row[column], str) for row in table["rows"])
            shown.add_column(column, justify="left" if words else "right", overflow="fold")
        for row in cells:
            shown.add_row(*(Text(row[c], "bold" if row[c].endswith("*") else "") for c in part))
        console.print()
        console.print(shown)


def _parts(columns: list[str], width: Mapping[str, int], room: int) -> list[list[str]]:
    """Runs of columns that fit, each led by the first column."""
    if sum(width.values()) <= room:
        return [columns]
    first, parts = columns[0], [[columns[0]]]
    for column in columns[1:]:
        if len(parts[-1]) > 1 and sum(width[c] for c in [*parts[-1], column]) > room:
            parts.append([first])
        parts[-1].append(column)
    return parts


def shown_row(table: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, str]:
    """A row as it is read, its lowest value with a star.

    Examples:
        >>> table = {"decimals": {}, "lowest_of": ["a", "b"]}
        >>> shown_row(table, {"set": "rte", "a": 1.5, "b": 2.5})
        {'set': 'rte', 'a': '1.500*', 'b': '2.500'}
    """
    decimals = table["decimals"]
    cells = {name: cell(value, decimals.get(name, DECIMALS)) for name, value in row.items()}
    judged = [name for name in table["lowest_of"] if isinstance(row.get(name), (int, float))]
    lowest = min((row[name] for name in judged), default=None)
    return {
        name: f"{text}*" if name in judged and row[name] == lowest else text
        for name, text in cells.items()
    }


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
