"""Charts as inline SVG, in colours of the page's own style, so that they follow light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

LEFT, RIGHT, TOP, BOTTOM = 44, 28, 10, 34  # room for what stands around a chart


def bar(value: float, low: float | None = None, high: float | None = None) -> Markup:
    """A bar from 0 to 1 with the line of its interval."""
    line = ""
    if low is not None and high is not None:
        line = f'<path class="interval" d="M{_x(low)} 6h{_x(high - low)}"/>'
    return _svg(
        f'<rect class="track" width="100" height="8" y="2" rx="2"/>'
        f'<rect class="fill" width="{_x(value)}" height="8" y="2" rx="2"/>{line}',
        100,
        12,
        "bar",
        f"{value:.1%}",
    )


def histogram(counts: Sequence[int], label: str) -> Markup:
    """Columns over equal parts of 0 to 1."""
    width, height = 560, 160
    most = max(max(counts, default=0), 1)
    step = (width - LEFT - RIGHT) / max(len(counts), 1)
    room = height - TOP - BOTTOM
    columns = "".join(
        f'<rect class="fill" x="{LEFT + i * step + 1:.1f}" width="{step - 2:.1f}"'
        f' y="{TOP + room * (1 - n / most):.1f}" height="{room * n / most:.1f}">'
        f"<title>{i / len(counts):.0%} to {(i + 1) / len(counts):.0%}: {n:,} tasks</title></rect>"
        for i, n in enumerate(counts)
    )
    axes = _axes(width, height, (0, 1), (0, most), _percent, _count)
    return _svg(axes + columns, width, height, "chart", label)


def funnel(rows: Sequence[Mapping[str, Any]], label: str) -> Markup:
    """Workers by their number of labels and accuracy, with intervals; a dot leads to its row."""
    width, height = 560, 260
    counts = [max(row["labels"], 1) for row in rows] or [1]
    first = math.floor(math.log10(min(counts)))
    last = max(math.ceil(math.log10(max(counts))), first + 1)
    across = _scale(first, last, LEFT, width - RIGHT)
    down = _scale(0, 1, height - BOTTOM, TOP)
    dots = "".join(_dot(row, across, down) for row in rows)
    ticks = [(10**p, across(p)) for p in range(first, last + 1)]
    lines = "".join(
        f'<text class="tick" x="{x:.1f}" y="{height - 18}" text-anchor="middle">{n:,}</text>'
        for n, x in ticks
    )
    axes = _frame(width, height) + _ticks_down(down, (0, 0.25, 0.5, 0.75, 1), width, _percent)
    names = _named(width, height, "labels", "accuracy")
    return _svg(axes + lines + names + dots, width, height, "chart", label)


def _dot(
    row: Mapping[str, Any], across: Callable[[float], float], down: Callable[[float], float]
) -> str:
    x = across(math.log10(max(row["labels"], 1)))
    flag = "flagged" if row["flag"] in ("spammer", "inverted") else "fill"
    title = _escape(f"{row['worker']}: {row['accuracy']:.1%} of {row['labels']:,} labels")
    return (
        f'<g class="{flag}"><path class="whisker" d="M{x:.1f} {down(row["low"]):.1f}V'
        f'{down(row["high"]):.1f}"/><circle cx="{x:.1f}" cy="{down(row["accuracy"]):.1f}" r="3">'
        f"<title>{title}</title></circle></g>"
    )


def matrix(names: Sequence[Any], shares: Sequence[Sequence[float | None]], label: str) -> Markup:
    """A heat map with a row and a column for each name; a darker cell is a larger share."""
    cell = max(10, min(34, 520 // max(len(names), 1)))
    margin = min(140, 8 + 7 * max((len(_short(name)) for name in names), default=0))
    size = margin + cell * len(names) + 6
    cells = "".join(
        _cell(i, j, value, names, cell, margin)
        for i, row in enumerate(shares)
        for j, value in enumerate(row)
    )
    place = [margin + cell * (i + 0.5) for i in range(len(names))]
    heads = "".join(
        f'<text class="tick" text-anchor="end" x="{margin - 4}" y="{at + 4:.1f}">'
        f"{_escape(_short(name))}</text>"
        f'<text class="tick" transform="translate({at + 4:.1f},{margin - 4}) rotate(-90)">'
        f"{_escape(_short(name))}</text>"
        for name, at in zip(names, place, strict=True)
    )
    return _svg(heads + cells, size, size, "chart matrix", label)


def _cell(i: int, j: int, value: float | None, names: Sequence[Any], cell: int, margin: int) -> str:
    if value is None:
        return ""
    title = _escape(f"{names[i]}, {names[j]}: {value:.1%}")
    text = ""
    if cell >= 26:
        dark = " dark" if value > 0.5 else ""
        text = (
            f'<text class="cell{dark}" text-anchor="middle" x="{margin + cell * (j + 0.5):.1f}"'
            f' y="{margin + cell * (i + 0.5) + 4:.1f}">{100 * value:.0f}</text>'
        )
    return (
        f'<rect class="heat" fill-opacity="{value:.3f}" x="{margin + cell * j}"'
        f' y="{margin + cell * i}" width="{cell - 1}" height="{cell - 1}"><title>{title}</title>'
        f"</rect>{text}"
    )


def curve(points: Sequence[tuple[float, float]], label: str, across: str, down: str) -> Markup:
    """A line through points, the second of which is a share."""
    width, height = 560, 200
    most_x = max((x for x, _ in points), default=1) or 1
    most_y = max((y for _, y in points), default=1) or 1
    x, y = _scale(0, most_x, LEFT, width - RIGHT), _scale(0, most_y, height - BOTTOM, TOP)
    path = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in points)
    dots = "".join(
        f'<circle class="fill" r="3" cx="{x(a):.1f}" cy="{y(b):.1f}"><title>{a:,.0f}: {b:.2%}'
        "</title></circle>"
        for a, b in points
    )
    axes = _axes(width, height, (0, most_x), (0, most_y), _count, _percent)
    names = _named(width, height, across, down)
    line = f'<path class="line" d="M{path}"/>' if points else ""
    return _svg(axes + names + line + dots, width, height, "chart", label)


# What charts are made of


def _svg(inside: str, width: float, height: float, kind: str, label: str) -> Markup:
    from markupsafe import Markup  # slow to import

    return Markup(
        f'<svg class="{kind}" role="img" aria-label="{_escape(label)}" width="{width}"'
        f' height="{height}" viewBox="0 0 {width} {height}">{inside}</svg>'
    )


def _escape(text: str) -> str:
    from html import escape

    return escape(text)


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= 18 else f"{text[:17]}…"


def _x(share: float) -> str:
    return f"{100 * min(max(share, 0), 1):.1f}"


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    room = (high - low) or 1
    return lambda value: start + (end - start) * (value - low) / room


def _frame(width: float, height: float) -> str:
    down = height - BOTTOM
    return f'<path class="axis" d="M{LEFT} {TOP}V{down}H{width - RIGHT}"/>'


def _ticks_down(
    down: Callable[[float], float], at: Sequence[float], width: float, say: Callable[[float], str]
) -> str:
    return "".join(
        f'<path class="grid" d="M{LEFT} {down(v):.1f}H{width - RIGHT}"/>'
        f'<text class="tick" text-anchor="end" x="{LEFT - 5}" y="{down(v) + 4:.1f}">{say(v)}</text>'
        for v in at
    )


def _axes(
    width: float,
    height: float,
    across: tuple[float, float],
    down: tuple[float, float],
    say_across: Callable[[float], str],
    say_down: Callable[[float], str],
) -> str:
    """Both axes with three ticks each."""
    x, y = _scale(*across, LEFT, width - RIGHT), _scale(*down, height - BOTTOM, TOP)
    ticks = "".join(
        f'<text class="tick" text-anchor="middle" x="{x(v):.1f}" y="{height - 18}">'
        f"{say_across(v)}</text>"
        for v in _thirds(*across)
    )
    return _frame(width, height) + _ticks_down(y, list(_thirds(*down)), width, say_down) + ticks


def _thirds(low: float, high: float) -> Iterator[float]:
    return (low + (high - low) * i / 2 for i in range(3))


def _named(width: float, height: float, across: str, down: str) -> str:
    """The names of the axes."""
    middle = (height - BOTTOM + TOP) / 2
    return (
        f'<text class="tick" text-anchor="middle" x="{(width + LEFT) / 2:.0f}" y="{height - 3}">'
        f"{_escape(across)}</text>"
        f'<text class="tick" text-anchor="middle" transform="translate(10,{middle:.0f})'
        f' rotate(-90)">{_escape(down)}</text>'
    )


def _percent(value: float) -> str:
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"


def _count(value: float) -> str:
    return f"{value:,.0f}"
