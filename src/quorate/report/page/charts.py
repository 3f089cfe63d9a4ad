"""Charts as inline SVG, in colours of the page's own style, so that they follow light and dark.

Each says of which part of the dictionary it is drawn (`data-at`); marks have titles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from quorate.errors import printable

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH = 640
LEFT, RIGHT, TOP, BOTTOM = 84, 30, 16, 60  # room for what stands around a chart
Row = Mapping[str, Any]
Scale = Callable[[float], float]
Z = 1.96  # of a 95 % interval


class Axis(NamedTuple):
    """Where values begin and end, its name, ticks, and how these are written."""

    low: float
    high: float
    name: str
    ticks: Sequence[float]
    say: Callable[[float], str]

    def scale(self, start: float, end: float) -> Scale:
        """The place of each value between start and end."""
        room = (self.high - self.low) or 1
        return lambda value: start + (end - start) * (value - self.low) / room


def bar(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A small bar from 0 to 1 with the line of its interval."""
    filled = "" if value is None else f'<path class="fill" d="M0 6h{_part(value)}"/>'
    line = ""
    if low is not None and high is not None:
        line = f'<path class="interval" d="M{_part(low)} 6h{_part(max(high - low, 0.01))}"/>'
    return (
        '<svg class="bar" aria-hidden="true" viewBox="0 0 100 12">'
        f'<path class="track" d="M0 6h100"/>{filled}{line}</svg>'
    )


def histogram(counts: Sequence[int], at: str, label: str) -> Markup:
    """Columns over equal parts of 0 to 1, from the first part that holds something."""
    height, n = 220, len(counts)
    first = next((i for i, count in enumerate(counts) if count), 0)
    across = Axis(first / n, 1, "confidence", _ticks(first / n, 1, 5), _percent)
    up = _from_zero(max(counts, default=0), "tasks")
    x, y = across.scale(LEFT, WIDTH - RIGHT), up.scale(height - BOTTOM, TOP)
    columns = "".join(
        f'<g data-at="{at}.{i}"><path class="fill" d="M{x(i / n) + 1:.1f} {y(0):.1f}V{y(count):.1f}'
        f'H{x((i + 1) / n) - 1:.1f}V{y(0):.1f}z"><title>{count:,}</title></path></g>'
        for i, count in enumerate(counts)
        if count
    )
    return _chart(columns, across, up, height, at, label)


def funnel(rows: Sequence[Row], chance: float, at: str, label: str) -> Markup:
    """Workers by their number of labels and accuracy with intervals, and the zone in which workers
    cannot be told from one who guesses."""
    height = 320
    counts = [max(row["labels"], 1) for row in rows] or [1]
    across = _powers_of_ten(min(counts), max(counts), "labels")
    up = Axis(0, 1, "accuracy", (0, 0.25, 0.5, 0.75, 1), _percent)
    x, y = across.scale(LEFT, WIDTH - RIGHT), up.scale(height - BOTTOM, TOP)
    zone = _zone(chance, across, x, y)
    seen = Counter[int]()
    dots = []
    for i, row in enumerate(rows):
        beside = (seen[row["labels"]] + 6) % 13 - 6  # workers with as many labels, side by side
        seen[row["labels"]] += 1
        at_x = x(math.log10(max(row["labels"], 1))) + 1.8 * beside
        dots.append(_worker(row, f"{at}.{i}", at_x, y))
    return _chart(zone + "".join(dots), across, up, height, at, label)


def _zone(chance: float, across: Axis, x: Scale, y: Scale) -> str:
    """The zone around chance that narrows with the number of labels."""
    places = [across.low + (across.high - across.low) * i / 40 for i in range(41)]
    reach = [Z * math.sqrt(chance * (1 - chance) / 10**place) for place in places]
    above = [f"{x(p):.1f} {y(min(chance + r, 1)):.1f}" for p, r in zip(places, reach, strict=True)]
    below = [f"{x(p):.1f} {y(max(chance - r, 0)):.1f}" for p, r in zip(places, reach, strict=True)]
    return (
        f'<path class="zone" d="M{"L".join([*above, *reversed(below)])}z"/>'
        f'<text class="note" x="{x(across.low) + 8:.1f}" y="{y(chance) + 4:.1f}">guessing</text>'
    )


def _worker(row: Row, at: str, x: float, y: Scale) -> str:
    title = f"{_short(row['worker'], 60)}: {row['accuracy']:.1%} of {row['labels']:,} labels"
    middle = y(row["accuracy"])
    dot = f'<circle cx="{x:.1f}" cy="{middle:.1f}" r="3.2">'
    kind, close = "ok", "</circle>"
    if row["flag"] in ("spammer", "inverted"):  # told apart by its shape too
        kind, close = "flagged", "</path>"
        dot = f'<path class="mark" d="M{x:.1f} {middle - 5:.1f}l5 5l-5 5l-5 -5z">'
        title += f", {row['flag']}"
    return (
        f'<g class="{kind}" data-at="{at}"><path class="whisker" d="M{x:.1f} {y(row["low"]):.1f}V'
        f'{y(row["high"]):.1f}"/>{dot}<title>{escape(title)}</title>{close}</g>'
    )


def speeds(rows: Sequence[Row], at: str, label: str) -> Markup:
    """Workers by their median seconds and agreement."""
    height = 280
    seconds = [row["seconds"] for row in rows] or [1]
    across = _powers_of_ten(min(seconds), max(seconds), "median seconds")
    least = min((row["agreement"] for row in rows), default=0)
    low = 0.5 if least >= 0.5 else 0.0
    up = Axis(low, 1, "agreement", _ticks(low, 1, 4), _percent)
    x, y = across.scale(LEFT, WIDTH - RIGHT), up.scale(height - BOTTOM, TOP)
    dots = "".join(
        f'<g class="{"flagged" if row["flag"] else "ok"}" data-at="{at}.{i}">'
        f'<circle cx="{x(math.log10(row["seconds"])):.1f}" cy="{y(row["agreement"]):.1f}" r="3.6">'
        f"<title>{escape(_short(row['worker'], 60))}: {row['seconds']:,.1f} seconds,"
        f" {row['agreement']:.1%}</title></circle></g>"
        for i, row in enumerate(rows)
    )
    return _chart(dots, across, up, height, at, label)


def days(rows: Sequence[Row], at: str, label: str) -> Markup:
    """Votes of each day as columns, and above them the day's agreement."""
    height, n, middle = 330, len(rows), 160
    every = max(1, math.ceil(n / 4))
    across = Axis(0, n, "", (), str)
    up = Axis(0, 1, "agreement", (0, 0.5, 1), _percent)
    votes = _from_zero(max((row["votes"] for row in rows), default=1), "votes", 2)
    x, y = across.scale(LEFT, WIDTH - RIGHT), up.scale(middle - 30, TOP)
    columns = votes.scale(height - BOTTOM, middle)
    ends = [(x(i), x(i + 1)) for i in range(n)]
    marks = "".join(_day(row, f"{at}.{i}", ends[i], y, columns) for i, row in enumerate(rows))
    line = "L".join(f"{x(i + 0.5):.1f} {y(row['agreement']):.1f}" for i, row in enumerate(rows))
    names = "".join(
        f'<text class="tick" text-anchor="middle" x="{x(i + 0.5):.1f}" y="{height - 32}">'
        f"{row['day']}</text>"
        for i, row in enumerate(rows)
        if i % every == 0
    )
    inside = (
        _side(up, y) + _side(votes, columns) + f'<path class="line" d="M{line}"/>' + marks + names
    )
    return _svg(inside, WIDTH, height, "chart", at, label)


def _day(row: Row, at: str, ends: tuple[float, float], y: Scale, columns: Scale) -> str:
    left, right = ends
    gap = min(1.5, (right - left) / 6)
    title = f"<title>{row['day']}: {row['votes']:,} votes, {row['agreement']:.1%}</title>"
    return (
        f'<g data-at="{at}"><path class="fill soft-fill" d="M{left + gap:.1f} {columns(0):.1f}V'
        f'{columns(row["votes"]):.1f}H{right - gap:.1f}V{columns(0):.1f}z">{title}</path>'
        f'<circle class="fill" r="3" cx="{(left + right) / 2:.1f}" cy="{y(row["agreement"]):.1f}">'
        f"{title}</circle></g>"
    )


def curve(rows: Sequence[Row], at: str, label: str) -> Markup:
    """Expected error over the number of further votes."""
    height = 260
    points = [(row["votes"], row["error"]) for row in rows]
    most = max((x for x, _ in points), default=1) or 1
    across = Axis(0, most, "further votes", _ticks(0, most, 5), _count)
    highest = max((y for _, y in points), default=1) or 1
    up = _from_zero(highest, "expected error")._replace(say=_percent)
    x, y = across.scale(LEFT, WIDTH - RIGHT), up.scale(height - BOTTOM, TOP)
    path = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in points)
    dots = "".join(
        f'<g data-at="{at}.{i}"><circle class="fill" r="4" cx="{x(a):.1f}" cy="{y(b):.1f}">'
        f"<title>{a:,.0f}: {b:.2%}</title></circle></g>"
        for i, (a, b) in enumerate(points)
    )
    line = f'<path class="line" d="M{path}"/>' if points else ""
    return _chart(line + dots, across, up, height, at, label)


def reliability(parts: Sequence[Row], at: str, label: str) -> Markup:
    """The share of right answers over confidence; on the dashed line confidences are right."""
    height = 280
    low = 0.1 * math.floor(10 * min([0.5, *(min(p["confidence"], p["right"]) for p in parts)]))
    across = Axis(low, 1, "confidence", _ticks(low, 1, 5), _percent)
    up = Axis(low, 1, "right", _ticks(low, 1, 5), _percent)
    x, y = across.scale(LEFT, WIDTH - RIGHT), up.scale(height - BOTTOM, TOP)
    most = max((part["tasks"] for part in parts), default=1)
    dots = "".join(
        f'<g data-at="{at}.{i}"><circle class="fill" cx="{x(part["confidence"]):.1f}"'
        f' cy="{y(part["right"]):.1f}" r="{3 + 7 * math.sqrt(part["tasks"] / most):.1f}"><title>'
        f"{part['tasks']:,} tasks: {part['right']:.1%} right, confidence {part['confidence']:.1%}"
        "</title></circle></g>"
        for i, part in enumerate(parts)
    )
    even = f'<path class="even" d="M{x(low):.1f} {y(low):.1f}L{x(1):.1f} {y(1):.1f}"/>'
    return _chart(even + dots, across, up, height, at, label)


class Cells(NamedTuple):
    """What a heat map shows: the names of rows and of columns, and a share for each two."""

    rows: Sequence[Any]
    columns: Sequence[Any]
    shares: Sequence[Sequence[float | None]]


def matrix(cells: Cells, at: str, label: str) -> Markup:
    """A heat map: a darker cell is a larger share; numbers where there is room."""
    size = max(11, min(46, 760 // max(len(cells.columns), 1)))
    left = 12 + max((_width(_short(name)) for name in cells.rows), default=0)
    top = 12 + max((_width(_short(name)) for name in cells.columns), default=0)
    drawn = "".join(
        f'<g data-at="{at}.{i}">'
        + "".join(
            _cell(cells, (i, j), (left + size * j, top + size * i, size))
            for j, value in enumerate(row)
            if value is not None
        )
        + "</g>"
        for i, row in enumerate(cells.shares)
    )
    beside = "".join(
        f'<text class="tick" text-anchor="end" x="{left - 6:.1f}"'
        f' y="{top + size * (i + 0.5) + 4:.1f}">{escape(_short(name))}</text>'
        for i, name in enumerate(cells.rows)
    )
    above = "".join(
        f'<text class="tick" transform="translate({left + size * (j + 0.5) + 4:.1f},{top - 6:.1f})'
        f' rotate(-90)">{escape(_short(name))}</text>'
        for j, name in enumerate(cells.columns)
    )
    width, height = left + size * len(cells.columns) + 2, top + size * len(cells.rows) + 2
    return _svg(beside + above + drawn, round(width), round(height), "chart matrix", at, label)


def _cell(cells: Cells, place: tuple[int, int], box: tuple[float, float, int]) -> str:
    (i, j), (x, y, size) = place, box
    value = cells.shares[i][j] or 0.0
    title = f"{_short(cells.rows[i], 60)}, {_short(cells.columns[j], 60)}: {value:.1%}"
    text = ""
    if size >= 24:
        text = (
            f'<text class="cell" text-anchor="middle" x="{x + size / 2 - 0.5:.1f}"'
            f' y="{y + size / 2 + 3.5:.1f}">{100 * value:.0f}</text>'
        )
    return (
        f'<rect class="heat" fill-opacity="{0.04 + 0.66 * value:.2f}" x="{x:.1f}" y="{y:.1f}"'
        f' width="{size - 1}" height="{size - 1}"><title>{escape(title)}</title></rect>{text}'
    )


# What charts are made of


def _svg(inside: str, width: float, height: float, kind: str, at: str, label: str) -> Markup:
    from markupsafe import Markup  # slow to import

    moves = f' tabindex="0" role="region" aria-label="{escape(label)}"' if "matrix" in kind else ""
    return Markup(
        f'<div class="figure {kind}"{moves}><svg class="{kind}" role="img"'
        f' aria-label="{escape(label)}" data-at="{escape(at)}" width="{width}"'
        f' height="{height}" viewBox="0 0 {width} {height}">'
        f"{inside}</svg></div>"
    )


def _chart(inside: str, across: Axis, up: Axis, height: int, at: str, label: str) -> Markup:
    """A chart with both axes."""
    x, y = across.scale(LEFT, WIDTH - RIGHT), up.scale(height - BOTTOM, TOP)
    bottom = "".join(
        f'<text class="tick" text-anchor="middle" x="{x(at):.1f}" y="{height - 32}">'
        f"{across.say(at)}</text>"
        for at in across.ticks
    )
    name = (
        f'<text class="tick" text-anchor="middle" x="{(WIDTH - RIGHT + LEFT) / 2:.0f}"'
        f' y="{height - 6}">{escape(across.name)}</text>'
    )
    base = f'<path class="axis" d="M{LEFT} {height - BOTTOM}H{WIDTH - RIGHT}"/>'
    return _svg(_side(up, y) + base + inside + bottom + name, WIDTH, height, "chart", at, label)


def _side(up: Axis, y: Scale) -> str:
    """Ticks and name of an axis at the left, with lines across the chart."""
    ticks = "".join(
        f'<path class="grid" d="M{LEFT} {y(v):.1f}H{WIDTH - RIGHT}"/>'
        f'<text class="tick" text-anchor="end" x="{LEFT - 7}" y="{y(v) + 4:.1f}">{up.say(v)}</text>'
        for v in up.ticks
    )
    middle = (y(up.low) + y(up.high)) / 2
    return (
        f'{ticks}<text class="tick" text-anchor="middle" transform="translate(20,{middle:.0f})'
        f' rotate(-90)">{escape(up.name)}</text>'
    )


def _short(name: Any, longest: int = 18) -> str:
    text = printable(str(name))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _width(text: str) -> float:
    """About the width of a text in the type of ticks, rather too much than too little."""
    wide = sum(c in "mwMW@%" or ord(c) > 0x2E80 for c in text)
    return 7.6 * len(text) + 3.6 * wide


def _part(share: float) -> str:
    return f"{100 * min(max(share, 0), 1):.0f}"


def _powers_of_ten(low: float, high: float, name: str) -> Axis:
    """An axis of logarithms, from the power of ten below the lowest to that above the highest."""
    first = math.floor(math.log10(max(low, 1e-3)))
    last = max(math.ceil(math.log10(max(high, 1e-3))), first + 1)
    return Axis(first, last, name, range(first, last + 1), lambda power: f"{10.0**power:,g}")


def _from_zero(most: float, name: str, n: int = 4) -> Axis:
    """An axis from zero to a round number that is no less than the most."""
    step = _round_step((most or 1) / max(n - 1, 1))
    ticks = [i * step for i in range(math.ceil((most or 1) / step - 1e-9) + 1)]
    return Axis(0, ticks[-1], name, ticks, _count)


def _ticks(low: float, high: float, n: int) -> list[float]:
    """Round numbers from low to high, about n of them."""
    step = _round_step((high - low) / max(n - 1, 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def _round_step(wanted: float) -> float:
    """The next round number that is no less."""
    power = 10.0 ** math.floor(math.log10(max(wanted, 1e-9)))
    return next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= wanted * 0.999)


def _percent(value: float) -> str:
    return f"{100 * value:.3g}%"


def _count(value: float) -> str:
    """A number on an axis, such as 20, 2.5, 50k or 3M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= 10 * size or (value >= size and unit == "M"):
            return f"{value / size:g}{unit}"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"
