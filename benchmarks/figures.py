"""Figures of speed and scale, from the results that are kept in docs/results.

python benchmarks/figures.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quorate.report.plots.style import BLUE, COLOURS, GREY, RED, STYLE

RESULTS = Path(__file__).parents[1] / "docs" / "results"
LARGER: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
# Who is who in the race from file to file: colour and dash by the contestant, not by its options.
LOOKS = {
    "Quorate": (BLUE, "solid"),
    "Crowd-Kit": (RED, "solid"),
    "vote by DuckDB": (GREY, "dashed"),
    "vote by polars": (GREY, "dotted"),
}
STEPS = {
    "reading": COLOURS[3],
    "putting task by task": BLUE,
    "writing blocks": COLOURS[5],
    "iterations": COLOURS[1],
    "labels": GREY,
}


@contextmanager
def figure(path: Path, height: float) -> Iterator[Any]:
    """The axes of a figure in the style of all figures, which is then saved."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({**STYLE, **LARGER}):
        drawing = Figure(figsize=(7.2, height), layout="constrained")
        yield drawing.subplots()
        drawing.savefig(path, metadata={"Date": None})


def draw_files(runs: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Seconds from file to file by the number of votes, of Parquet and of Crowd-Kit's CSV."""
    shown = [r for r in runs if "parquet" in r["name"] or r["name"].startswith("Crowd-Kit")]
    with figure(path, 3.6) as axes:
        for name in dict.fromkeys(run["name"] for run in shown):
            points = [(r["rows"], r["seconds"]) for r in shown if r["name"] == name]
            colour, dash = next(look for who, look in LOOKS.items() if name.startswith(who))
            mark = "s" if name.endswith("GB") else "o"
            line = {"color": colour, "linestyle": dash, "marker": mark}
            axes.loglog(*zip(*points, strict=True), label=name, **line)
        axes.set(xlabel="votes", ylabel="seconds from file to file")
        axes.legend()


def draw_billion(runs: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Seconds by the number of votes, of each method, with the votes on disk."""
    shown = [run for run in runs if not run["killed"]]
    with figure(path, 3.2) as axes:
        for method, colour in zip(dict.fromkeys(r["method"] for r in shown), COLOURS, strict=False):
            points = [(r["votes"], r["seconds"]) for r in shown if r["method"] == method]
            axes.loglog(*zip(*points, strict=True), label=method, color=colour, marker="o")
        axes.set(xlabel="votes", ylabel="seconds from Parquet to Parquet, in 4 GB")
        axes.legend()


def draw_cost(runs: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Nanoseconds of a vote in each step on disk, side by side for each number of votes."""
    with figure(path, 2.4) as axes:
        start = [0.0] * len(runs)
        names = [f"{run['rows'] / 1e6:g} million votes" for run in runs]
        for step, colour in STEPS.items():
            cost = [run["cpu"][step] / run["rows"] * 1e9 for run in runs]
            axes.barh(names, cost, left=start, color=colour, label=step, height=0.6)
            start = [a + b for a, b in zip(start, cost, strict=True)]
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set_axisbelow(True)
        axes.set(xlabel="nanoseconds of processor time for each vote, 20 iterations in all")
        axes.legend(ncols=len(STEPS), loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False)


def draw_race(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """How many times faster than Crowd-Kit each method is: the range over data sets, and its
    median."""
    with figure(path, 2.6) as axes:
        for row in sorted(rows, key=lambda row: -row["median"]):
            name = f"{row['method']}, {row['sets']} sets"
            axes.plot([row["least"], row["most"]], [name, name], color="#9CC7E3", linewidth=5)
            axes.plot([row["median"]], [name], color=BLUE, marker="o", markersize=6)
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.set_xlim(1, None)
        axes.xaxis.set_major_formatter("{x:g} times")
        axes.set(xlabel="Crowd-Kit's time over ours: least, median and most of the data sets")


def draw_field(tables: Sequence[Sequence[Mapping[str, Any]]], path: Path) -> None:
    """How many points each method is behind the best of all on each public data set."""
    rows = [row for table in tables for row in table if row["data"] != "mean"]
    methods = [name for name in tables[-1][0] if name != "data"]
    behind: dict[str, list[float]] = {name: [] for name in methods}
    for row in rows:
        best = min(row[name] for name in methods if row[name] is not None)
        for name in methods:
            if row[name] is not None:
                behind[name].append(row[name] - best)
    mean = {name: sum(points) / len(points) for name, points in behind.items()}
    with figure(path, 4.6) as axes:
        for name in sorted(methods, key=lambda name: mean[name]):
            shown = name if len(behind[name]) == len(rows) else f"{name}, {len(behind[name])} sets"
            axes.plot(behind[name], [shown] * len(behind[name]), "o", color=BLUE, alpha=0.35)
            axes.plot([mean[name]], [shown], "|", color=RED, markersize=12, markeredgewidth=2)
        axes.invert_yaxis()
        axes.set_xscale("symlog", linthresh=2)
        axes.set_xticks([0, 1, 2, 5, 10, 20, 50], ["best", "1", "2", "5", "10", "20", "50"])
        axes.set_xlim(-0.2, None)
        axes.set(
            xlabel="points behind the best method: a dot for each data set, a line for the mean"
        )


def kept(name: str) -> Any:
    return json.loads((RESULTS / name / "results.json").read_text())


def main() -> None:
    draw_files(kept("files")["runs"], RESULTS / "files" / "files.svg")
    draw_cost(kept("cost")["runs"], RESULTS / "cost" / "cost.svg")
    draw_billion(kept("billion")["runs"], RESULTS / "billion" / "billion.svg")
    field = {table["name"]: table["rows"] for table in kept("field")["tables"]}
    draw_race(field["race"], RESULTS / "field" / "race.svg")
    draw_field([field["error"], field["error-second"]], RESULTS / "field" / "behind.svg")


if __name__ == "__main__":
    main()
