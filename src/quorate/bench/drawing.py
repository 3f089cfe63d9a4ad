"""Figures in a style fit for a paper: lines named where they end, bands for their uncertainty, and
colours, dashes and marks that can be told apart in grey and by colour-blind readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from quorate.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The palette of Okabe and Ito, from dark to light and back, so that neighbours differ in grey too.
COLOURS = (
    *("#000000", "#E69F00", "#0072B2", "#56B4E9"),
    *("#D55E00", "#009E73", "#CC79A7", "#7F7F7F"),
)
DASHES = ("solid", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
# Inches.
PANEL_WIDTH, PANEL_HEIGHT, NAME_WIDTH = 2.5, 2.1, 1.1

STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "lines.linewidth": 1.3,
    "lines.markersize": 3,
    "svg.fonttype": "path",
    # The same figure gives the same file.
    "svg.hashsalt": "quorate",
}


def draw(figure: Mapping[str, Any], file: IO[bytes], kind: str) -> None:
    """Draw a figure (as `quorate.bench.results` keeps it) as SVG or PNG."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise UsageError("Figures need matplotlib: pip install 'quorate[bench]'.") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    panels = figure["panels"]
    columns = min(figure["columns"], len(panels))
    rows = -(-len(panels) // columns)
    looks = _looks(panels)
    with mpl.rc_context(STYLE):
        size = (PANEL_WIDTH * columns + NAME_WIDTH, PANEL_HEIGHT * rows)
        drawing, grid = plt.subplots(rows, columns, figsize=size, squeeze=False)
        for i, axes in enumerate(grid.flat):
            if i >= len(panels):
                axes.set_axis_off()
                continue
            _draw_panel(axes, panels[i], looks)
        # The margin on the right is for the names of the last panels' lines.
        drawing.tight_layout(rect=(0, 0, 1 - NAME_WIDTH / size[0], 1), w_pad=1.2, h_pad=1.5)
        for i, panel in enumerate(panels):
            if i % columns == columns - 1 or i == len(panels) - 1:
                _name_lines(grid.flat[i], panel["series"], looks)
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        drawing.savefig(file, format=kind, dpi=200, metadata=metadata)
        plt.close(drawing)


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
    for series in panel["series"]:
        look = looks[series["name"]]
        values = [float("nan") if y is None else y for y in series["y"]]
        axes.plot(series["x"], values, **look)
        if series["low"] is not None:
            axes.fill_between(
                series["x"], series["low"], series["high"], color=look["color"], alpha=0.13, lw=0
            )
    axes.set_xscale(panel["x_scale"])
    axes.set_yscale(panel["y_scale"])
    axes.set_title(panel["title"], loc="left")
    axes.set_xlabel(panel["x"])
    axes.set_ylabel(panel["y"])


def _name_lines(
    axes: Axes, lines: Sequence[Mapping[str, Any]], looks: Mapping[str, dict[str, Any]]
) -> None:
    """Each line's name beside its end, moved up or down until no two overlap."""
    height = axes.get_window_extent().height
    needed = 8 * 1.25 * axes.get_figure().dpi / 72 / height
    ends = [(_end(axes, series), series["name"]) for series in lines]
    ends.sort()
    places = _spread([end for end, _ in ends], needed)
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
            arrowprops={"arrowstyle": "-", "color": looks[name]["color"], "lw": 0.6},
        )


def _end(axes: Axes, series: Mapping[str, Any]) -> float:
    """How far up the axes a line ends."""
    y = next((y for y in reversed(series["y"]) if y is not None), axes.get_ylim()[0])
    pixel = axes.transData.transform((series["x"][-1], y))
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
