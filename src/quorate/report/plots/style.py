"""The one look of all figures, those of results as those of papers and benchmarks."""

from __future__ import annotations

from typing import Any

# The palette of Okabe and Ito, from dark to light and back, so that neighbours differ in grey too.
COLOURS = (
    *("#000000", "#E69F00", "#0072B2", "#56B4E9"),
    *("#D55E00", "#009E73", "#CC79A7", "#7F7F7F"),
)
BLUE, RED, GREY = "#0072B2", "#D55E00", "#7F7F7F"

STYLE: dict[Any, Any] = {
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
    "figure.dpi": 100,
}
