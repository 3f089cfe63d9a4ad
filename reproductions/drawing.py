"""Figures in a style fit for a paper: lines named where they end, bands for their uncertainty, and
colours, dashes and marks that can be told apart in grey and by colour-blind readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from quorate.errors import UsageError
from quorate.report.plots.style import COLOURS, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

DASHES = ("solid", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Inches; a figure of three panels is as wide as a page, with letters as large as small print.
PANEL_WIDTH, PANEL_HEIGHT, LETTER_WIDTH = 2.6, 2.3, 0.077
WIDEST = 9.6
LARGER = {"font.size": 9, "axes.titlesize": 9.5, "xtick.labelsize": 8, "ytick.labelsize": 8}
LOOK = {**STYLE, **LARGER}


@contextmanager
def drawn(figure: Mapping[str, Any]) -> Iterator[Callable[[str, IO[bytes]], None]]:
    """Draw a figure (as `reproductions.results` keeps it) once, and give a function that saves it
    as SVG or PNG."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise UsageError("Figures need matplotlib: pip install 'quorate[papers]'.") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels = figure["panels"]
    looks = _looks(panels)
    margin = LETTER_WIDTH * max(map(len, looks)) + 0.3
    columns = min(figure["columns"], len(panels))
    while _width(panels, columns, margin) > WIDEST and columns > 1:
        columns -= 1
    rows = -(-len(panels) // columns)
    named = _named_panels(panels, columns)
    every_column = len(named) > rows
    width = _width(panels, columns, margin)
    with mpl.rc_context(LOOK):
        drawing, grid = plt.subplots(
            rows, columns, figsize=(width, PANEL_HEIGHT * rows), squeeze=False
        )
        for axes in grid.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw_panel(axes, panel, looks)
        # In font sizes; the margins are for the lines' names.
        pad = 72 / LOOK["font.size"] * margin if every_column else 1.2
        drawing.tight_layout(rect=(0, 0, 1 - margin / width, 1), w_pad=pad, h_pad=1.5)
        for i in named:
            _name_lines(grid.flat[i], panels[i]["series"], looks)

        def save(kind: str, file: IO[bytes]) -> None:
            metadata = {"Date": None} if kind == "svg" else {"Software": None}
            drawing.savefig(file, format=kind, dpi=200, metadata=metadata)

        yield save
        plt.close(drawing)


def _width(panels: Sequence[Mapping[str, Any]], columns: int, margin: float) -> float:
    """Inches of a figure with so many columns, with room for the lines' names beside the last
    column, or beside each."""
    rows = -(-len(panels) // columns)
    named = len(_named_panels(panels, columns)) > rows
    return PANEL_WIDTH * columns + margin * (columns if named else 1)


def _named_panels(panels: Sequence[Mapping[str, Any]], columns: int) -> list[int]:
    """The last panel of each row if all of a row have the same lines, else every panel."""
    names = [frozenset(series["name"] for series in panel["series"]) for panel in panels]
    rows = [range(i, min(i + columns, len(panels))) for i in range(0, len(panels), columns)]
    if all(names[i] <= names[row[-1]] for row in rows for i in row):
        return [row[-1] for row in rows]
    return list(range(len(panels)))


def _looks(panels: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """A line of the same name looks the same in every panel."""
    names = dict.fromkeys(series["name"] for panel in panels for series in panel["series"])
    return {
        name: {
            "color": COLOURS[i % len(COLOURS)],
            "linestyle": DASHES[i % len(DASHES)],
            "marker": MARKS[i % len(MARKS)],
        }
        for i, name in enumerate(names)
    }


def _draw_panel(axes: Axes, panel: Mapping[str, Any], looks: Mapping[str, dict[str, Any]]) -> None:
    from matplotlib.ticker import MaxNLocator

    for series in panel["series"]:
        look = looks[series["name"]]
        values = [float("nan") if y is None else y for y in series["y"]]
        axes.plot(series["x"], values, **look)
        if series["low"] is not None:
            axes.fill_between(
                series["x"], series["low"], series["high"], color=look["color"], alpha=0.13, lw=0
            )
    axes.margins(y=0.08)
    axes.set_xscale(panel["x_scale"])
    axes.set_yscale(panel["y_scale"])
    for axis, scale in ((axes.xaxis, panel["x_scale"]), (axes.yaxis, panel["y_scale"])):
        if scale == "log":
            _tick_logarithmically(axis)
    if panel["x_scale"] == "linear" and all(x == int(x) for x in _all_x(panel)):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(panel["title"], loc="left")
    axes.set_xlabel(panel["x"])
    axes.set_ylabel(panel["y"])


def _all_x(panel: Mapping[str, Any]) -> list[float]:
    return [x for series in panel["series"] for x in series["x"]]


def _tick_logarithmically(axis: Axis) -> None:
    """Few ticks with plain numbers where the axis spans less than three powers of ten."""
    from matplotlib import ticker

    low, high = axis.get_view_interval()
    axis.set_minor_locator(ticker.NullLocator())
    if low > 0 and high / low < 1_000:
        steps = (1, 2, 5) if high / low < 60 else (1, 3)
        axis.set_major_locator(ticker.LogLocator(subs=steps))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _short(value)))


def _short(number: float) -> str:
    """A number that leaves room for its neighbour.

    Examples:
        >>> _short(0.05), _short(3000), _short(30_000)
        ('0.05', '3,000', '30k')
    """
    return f"{number / 1000:,g}k" if number >= 10_000 else f"{number:,g}"


def _name_lines(
    axes: Axes, lines: Sequence[Mapping[str, Any]], looks: Mapping[str, dict[str, Any]]
) -> None:
    """Each line's name beside its end, moved up or down until no two overlap."""
    letters = axes.bbox.height / (100 / 72 * LOOK["font.size"])  # at the 100 dots of a screen
    needed = 1.25 / letters
    ends = [(_end(axes, series), series["name"]) for series in lines]
    ends.sort()
    places = _within_axes(_spread([end for end, _ in ends], needed), needed)
    for (end, name), place in zip(ends, places, strict=True):
        axes.annotate(
            name,
            xy=(1.0, end),
            xytext=(1.08, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=looks[name]["color"],
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": looks[name]["color"],
                "lw": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 1,
            },
        )


def _within_axes(places: Sequence[float], apart: float) -> list[float]:
    """The same as far as there is room between 0 and 1, and still so far apart.

    Examples:
        >>> _within_axes([-0.2, 0.0, 0.9], 0.2)
        [0.0, 0.2, 0.9]
    """
    last = len(places) - 1
    return [
        min(max(place, i * apart), max(1 - (last - i) * apart, i * apart))
        for i, place in enumerate(places)
    ]


def _end(axes: Axes, series: Mapping[str, Any]) -> float:
    """Height of a line's right end, as a share of the axes."""
    points = [(x, y) for x, y in zip(series["x"], series["y"], strict=True) if y is not None]
    pixel = axes.transData.transform(max(points)) if points else axes.bbox.min
    return float(axes.transAxes.inverted().transform(pixel)[1])


def _spread(places: Sequence[float], apart: float) -> list[float]:
    """The nearest places (in order) that are so far apart: groups that would overlap are spread
    about their middle.

    Examples:
        >>> _spread([0.0, 0.5, 0.5], 0.2)
        [0.0, 0.4, 0.6]
    """
    groups: list[list[float]] = []
    for place in places:
        groups.append([place])
        while len(groups) > 1 and _overlap(groups[-2], groups[-1], apart):
            last = groups.pop()
            groups[-1] += last
    return [
        place + apart * (i - (len(group) - 1) / 2)
        for group in groups
        for place in [sum(group) / len(group)]
        for i in range(len(group))
    ]


def _overlap(below: Sequence[float], above: Sequence[float], apart: float) -> bool:
    middles = sum(above) / len(above) - sum(below) / len(below)
    return middles < apart * (len(below) + len(above)) / 2
