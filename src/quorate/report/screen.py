"""Where reports are drawn, and tables that fit there without a number being cut."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from quorate.errors import printable

UNLIMITED = 100_000  # columns: where no terminal is, no line is too long
GAP = 2
NARROW = 12  # columns that words can do with


class Screen(Console):
    """The one way to the terminal: text is data there. What a name holds is neither markup nor a
    command of the terminal, whoever draws it.

    What to do when nobody reads any more is left to the command. Lines that go to no terminal have
    no spaces behind them."""

    def __init__(self, **how: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            is_text = not segment.control
            yield segment._replace(text=printable(segment.text)) if is_text else segment

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def print(self, *objects: Any, **how: Any) -> None:
        if self.is_terminal:
            super().print(*objects, **how)
            return
        with self.capture() as drawn:
            super().print(*objects, **how)
        lines = drawn.get().splitlines()
        self.file.write("".join(f"{line.rstrip()}\n" for line in lines))
        self.file.flush()


def screen(*, to_stdout: bool = True) -> Screen:
    """Standard output or error, as wide as the terminal; without one, as wide as COLUMNS says, or
    as need be."""
    stream = sys.stdout if to_stdout else sys.stderr
    free = not stream.isatty() and not os.environ.get("COLUMNS", "").isdigit()
    return Screen(stderr=not to_stdout, width=UNLIMITED if free else None)


class Column(NamedTuple):
    """A column of numbers, or of names, which are never cut, or of words, which may be folded."""

    name: str
    kind: Literal["number", "name", "words"] = "number"


Row = Mapping[str, str]


def table(
    columns: Sequence[Column],
    rows: Sequence[Row],
    width: int,
    *,
    title: str = "",
    lead: int = 1,
    styles: Sequence[str] = (),
) -> RenderableType:
    """A table of these columns; where they are wider than `width`, in parts below each other, each
    led by the first columns. `styles` are those of the rows."""
    rows = [{name: printable(cell) for name, cell in row.items()} for row in rows]
    needed = {column.name: _needed(column, rows) for column in columns}
    parts = [
        _part(part, rows, styles, needed, width) for part in _parts(columns, needed, width, lead)
    ]
    spaced = [item for part in parts for item in (Text(""), part)][1:]
    return Group(Text(title, style="bold"), *spaced) if title else Group(*spaced)


def _needed(column: Column, rows: Sequence[Row]) -> int:
    """The width below which a column would be cut, or words be folded too narrowly."""
    cells = [column.name, *(row.get(column.name, "") for row in rows)]
    widest = max(map(cell_len, cells))
    return min(widest, NARROW) if column.kind == "words" else widest


def _parts(
    columns: Sequence[Column], needed: Mapping[str, int], width: int, lead: int
) -> list[list[Column]]:
    """Runs of columns that fit, each led by the first."""
    first, parts = list(columns[:lead]), [list(columns[:lead])]
    for column in columns[lead:]:
        room = sum(needed[c.name] + GAP for c in [*parts[-1], column]) - GAP
        if room > width and len(parts[-1]) > lead:
            parts.append(list(first))
        parts[-1].append(column)
    return parts


def _part(
    columns: Sequence[Column],
    rows: Sequence[Row],
    styles: Sequence[str],
    needed: Mapping[str, int],
    width: int,
) -> Table:
    drawn = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for column in columns:
        drawn.add_column(
            column.name.strip(),
            justify="right" if column.kind == "number" else "left",
            overflow="fold",
            no_wrap=column.kind != "words",
            min_width=min(needed[column.name], width),
        )
    for i, row in enumerate(rows):
        cells = (Text(row.get(column.name, "")) for column in columns)
        drawn.add_row(*cells, style=styles[i] if styles else "")
    return drawn


def facts(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    """A titled table of names and values."""
    heading = Text(printable(title), style="bold")
    drawn = Table(title=heading, title_justify="left", show_header=False, box=None)
    drawn.add_column(style="dim", min_width=16)
    drawn.add_column(justify="left", overflow="fold")
    for name, value in rows:
        drawn.add_row(Text(printable(name)), Text(printable(value)))
    return drawn


def note(text: str) -> Text:
    """What a user should know, marked as such."""
    return Text("Note: ", style="yellow").append(text, style="default")
