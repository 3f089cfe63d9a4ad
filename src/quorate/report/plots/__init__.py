"""Figures of a result, by matplotlib: `result.plot.workers()` and the like."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import metrics
from quorate.errors import DataError, UsageError
from quorate.report.plots.style import BLUE, GREY, RED, STYLE
from quorate.report.views.crowd import clustered
from quorate.report.views.survey import survey
from quorate.result import Result
from quorate.votes import find, read_answers, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORKERS = 40  # in the figure of agreement


@dataclass(frozen=True, eq=False, repr=False)
class Plots:
    """Figures of a result; each method returns a matplotlib figure, to show or to save."""

    result: Result

    def __repr__(self) -> str:
        return "Plots: .workers()  .confusion(worker)  .calibration(gold)  .agreement()  .budget()"

    def workers(self) -> Figure:
        """Accuracy of each worker with its 95 % interval, over the number of labels."""
        frame = self.result.workers_frame
        accuracy = frame["accuracy"].to_numpy()
        spread = np.stack([accuracy - frame["low"].to_numpy(), frame["high"].to_numpy() - accuracy])
        with _drawn("labels", "accuracy") as (figure, axes):
            axes.errorbar(
                frame["labels"].to_numpy(),
                accuracy,
                np.maximum(spread, 0),
                fmt="o",
                color=BLUE,
                ecolor="#B8CFE0",
                elinewidth=0.8,
            )
            axes.set_xscale("log")
            axes.set_ylim(0, 1.02)
        return figure

    def confusion(self, worker: Any = None) -> Figure:
        """What is said of each class, of a worker or of all: shares in each row of the truth."""
        counts = self._counts(worker)
        given = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, given, out=np.zeros_like(counts), where=given > 0)
        return _matrix(self.result.classes, self.result.classes, shares, ("label", "truth"))

    def _counts(self, worker: Any) -> Any:
        if worker is None:
            return survey(self.result, np.zeros(0, dtype=np.int32)).confusion
        import polars as pl

        code = find(pl.Series([worker]), self.result.codebook.workers)[0]
        if code is None:
            raise DataError(f"There is no worker {shown(worker)} among the votes.")
        return survey(self.result, np.array([code], dtype=np.int32)).matrices[0]

    def calibration(self, gold: Any) -> Figure:
        """The share of right answers over confidence, where `gold` holds answers that the result
        did not know."""
        answers = read_answers(gold)
        part, book = self.result.tasks.whole, self.result.codebook
        task = find(answers.tasks, book.tasks)
        truth = find(answers.labels, book.classes)
        both = task.is_not_null() & truth.is_not_null()
        if not both.any():
            raise DataError("None of the known answers is of a task with votes.")
        at, known = task.filter(both).to_numpy(), truth.filter(both).to_numpy()
        right = (part.codes[at] == known).astype(float)
        rows = metrics.reliability_of(part.confidence[at], right)
        with _drawn("confidence", "share that is right") as (figure, axes):
            axes.plot([0, 1], [0, 1], color=GREY, linestyle="dashed", linewidth=0.8)
            size = [8 + 120 * row["tasks"] / len(at) for row in rows]
            sure = [row["confidence"] for row in rows]
            axes.scatter(sure, [row["right"] for row in rows], s=size, color=BLUE)
            axes.set_xlim(0, 1.02)
            axes.set_ylim(0, 1.02)
        return figure

    def agreement(self) -> Figure:
        """How often the most active workers agree on a task, those who do side by side."""
        labels = self.result.tally.sum(axis=1)
        active = np.argsort(-labels, kind="stable")[:WORKERS].astype(np.int32)
        counts = survey(self.result, active)
        order = clustered(counts.shared, counts.agreed)
        names = self.result.codebook.workers.gather(active[order]).to_list()
        shared = counts.shared[np.ix_(order, order)]
        agreed = counts.agreed[np.ix_(order, order)]
        share = np.divide(agreed, shared, out=np.full_like(agreed, np.nan), where=shared > 0)
        return _matrix(names, names, share, ("", ""))

    def budget(self, votes: float | None = None) -> Figure:
        """Expected error over the number of further votes, up to three times `votes`."""
        from quorate.assignment import assign

        budget = votes or max(10, self.result.overview.tasks // 10)
        curve = assign(self.result, budget=budget).curve_frame
        with _drawn("further votes", "expected error") as (figure, axes):
            axes.plot(curve["votes"], curve["error"], color=RED, marker="o")
            axes.set_ylim(bottom=0)
        return figure


@contextmanager
def _drawn(across: str, up: str) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one panel, in the style of all figures."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("Figures need matplotlib: pip install 'quorate[plot]'.") from None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.8, 3.2), layout="constrained")
        axes = figure.subplots()
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        yield figure, axes


def _matrix(
    rows: Sequence[Any], columns: Sequence[Any], shares: Any, names: tuple[str, str]
) -> Figure:
    """A heat map of shares; numbers in the cells where there is room."""
    with _drawn(*names) as (figure, axes):
        figure.set_size_inches(3 + 0.16 * len(columns), 2.4 + 0.16 * len(rows))
        axes.grid(visible=False)
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_xticks(range(len(columns)), [str(name) for name in columns], rotation=90)
        axes.set_yticks(range(len(rows)), [str(name) for name in rows])
        if len(rows) <= 12:
            for (i, j), share in np.ndenumerate(shares):
                if share == share:
                    colour = "white" if share > 0.55 else "black"
                    axes.text(j, i, f"{share:.2f}", ha="center", va="center", color=colour)
    return figure
