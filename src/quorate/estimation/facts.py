"""What is estimated, and what is said of it: the rows of an `Estimate`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from quorate.card import Listing, card
from quorate.votes import Kind, named


@dataclass(frozen=True)
class Figure:
    """The share of a class, or the mean of values, over all tasks or those of a group: with the
    bounds of its interval, those that hold for all rows at once (`low_all`, `high_all`), what the
    votes alone and the known answers alone say, and how many tasks and known answers there are."""

    group: str | None
    what: str
    estimate: float
    low: float
    high: float
    low_all: float
    high_all: float
    votes_alone: float
    answers_alone: float | None
    answers_low: float | None
    answers_high: float | None
    tasks: int
    known: int

    @property
    def bias(self) -> float:
        """How far the votes alone are off."""
        return self.votes_alone - self.estimate

    @property
    def is_biased(self) -> bool:
        """Whether the interval excludes what the votes alone say."""
        return not self.low <= self.votes_alone <= self.high


@dataclass(frozen=True)
class Difference:
    """The difference between two groups, or how much more often one class wins than another:
    with the bounds of its interval, and the p-value of no difference."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    paired: int | None = None


@dataclass(frozen=True)
class PositionBias:
    """How often a judge changes its answer when the two that it compares change places, and how
    much more often it names the one that comes first, with a 95 % interval."""

    judge: str
    pairs: int
    changed: float
    bias: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """What is true of all tasks, from votes and known answers.

    `table` has a row for each class, or one for the mean of the values, of all tasks or of each
    group. `difference` is what was asked for by `compare`, `positions` the position bias of judges,
    `plan` the table of tasks to find the answers of, and `curve` how wide the interval would be.
    """

    figures: tuple[Figure, ...]
    level: float
    population: str
    unit: str
    difference: Difference | None = None
    positions: tuple[PositionBias, ...] = ()
    plan_frame: pl.DataFrame | None = None
    curve_frame: pl.DataFrame | None = None
    weights: dict[str, float] | None = None
    kind: Kind = Kind()
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> Any:
        """A row for each figure, in the caller's kind of table."""
        rows = [asdict(figure) | {"bias": figure.bias} for figure in self.figures]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        grouped = any(figure.group is not None for figure in self.figures)
        return self.kind.give(frame if grouped else frame.drop("group"))

    @property
    def plan(self) -> Any:
        """The tasks whose answers to find, each with the probability with which it was drawn; None
        unless a plan was asked for."""
        return None if self.plan_frame is None else self.kind.give(self.plan_frame)

    @property
    def curve(self) -> Any:
        """Expected width of the interval by number of answers, drawn evenly and by the plan."""
        return None if self.curve_frame is None else self.kind.give(self.curve_frame)

    def __getitem__(self, what: Any) -> Figure:
        """The figure of a class or a group; of a group with several classes, (group, class)."""
        group, name = what if isinstance(what, tuple) else (None, what)
        for figure in self.figures:
            alone = group is None and str(name) in (figure.what, figure.group)
            if alone or (figure.group == str(group) and figure.what == str(name)):
                return figure
        known = ", ".join(dict.fromkeys(figure.what for figure in self.figures))
        raise KeyError(f"There is no figure of {what}: there are {known}.")

    def as_dict(self) -> dict[str, Any]:
        """What `quorate estimate --json` prints."""
        return {
            "level": self.level,
            "population": self.population,
            "unit": self.unit,
            "figures": [
                asdict(f) | {"bias": f.bias, "is_biased": f.is_biased} for f in self.figures
            ],
            "difference": None if self.difference is None else asdict(self.difference),
            "positions": [asdict(position) for position in self.positions],
            "weights": self.weights,
            "plan": None if self.plan_frame is None else self.plan_frame.height,
            "curve": None if self.curve_frame is None else self.curve_frame.to_dicts(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines = [f"  {line}" for figure in self.figures for line in told(figure, self.unit)]
        if self.difference is not None:
            lines.append(f"  {told_difference(self.difference, self.unit, self.level)}")
        head = f"Estimate with {self.level:.0%} intervals"
        return "\n".join([head, *lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        rows = [
            (figure.group or "", figure.what, *shown_interval(figure, self.unit))
            for figure in self.figures
        ]
        columns = ("group", "what", "estimate", "interval", "votes alone", "answers alone")
        facts = {"interval": f"{self.level:.0%}", "tasks": f"{_n_tasks(self.figures):,}"}
        if self.difference is not None:
            facts["difference"] = told_difference(self.difference, self.unit, self.level)
        return card("Estimate", facts, [Listing("Figures", columns, rows)], self.notes)


def _n_tasks(figures: tuple[Figure, ...]) -> int:
    groups = {figure.group: figure.tasks for figure in figures}
    return sum(groups.values())


def number(value: float, unit: str) -> str:
    """A share in per cent, or a value with three digits.

    Examples:
        >>> number(0.1234, "share"), number(3.14159, "mean")
        ('12.3 %', '3.142')
    """
    return f"{100 * value:.1f} %" if unit == "share" else f"{value:.4g}"


def span(low: float, high: float, unit: str) -> str:
    """An interval in words."""
    if unit == "share":
        return f"{100 * low:.1f} to {100 * high:.1f} %"
    return f"{number(low, unit)} to {number(high, unit)}"


def shown_interval(figure: Figure, unit: str) -> tuple[str, str, str, str]:
    """Estimate, interval, what the votes alone say and what the answers alone, as text."""
    alone = ""
    if figure.answers_low is not None and figure.answers_high is not None:
        alone = span(figure.answers_low, figure.answers_high, unit)
    interval = span(figure.low, figure.high, unit)
    return number(figure.estimate, unit), interval, number(figure.votes_alone, unit), alone


def told(figure: Figure, unit: str) -> list[str]:
    """A figure in a line, and how far the votes alone are off in another."""
    estimate, interval, votes, alone = shown_interval(figure, unit)
    name = named(figure.what) if figure.group is None else f"{figure.group}, {named(figure.what)}"
    beside = f"; answers alone {alone}" if alone else ""
    return [f"{name}: {estimate} ({interval}); votes alone {votes}{beside}"]


def told_bias(figure: Figure, unit: str) -> str:
    """By how much the votes alone are off, in words."""
    votes = number(figure.votes_alone, unit)
    if not figure.known:
        return "Without known answers nobody can say how far the votes are off."
    if not figure.is_biased:
        return f"What the votes alone say, {votes}, is within the interval: no bias is seen."
    how = "too high" if figure.bias > 0 else "too low"
    size = number(abs(figure.bias), unit)
    if unit == "share":
        size = f"{100 * abs(figure.bias):.1f} points"
    return f"The votes alone say {votes}, which is {size} {how}."


def told_difference(difference: Difference, unit: str, level: float) -> str:
    """A difference in words."""
    value, low, high = difference.difference, difference.low, difference.high
    p = f"p = {difference.p_value:.2g}" if difference.p_value >= 1e-4 else "p < 0.0001"
    if unit == "share":
        shown = f"{100 * value:+.1f} points ({level:.0%}: {100 * low:+.1f} to {100 * high:+.1f})"
    else:
        shown = f"{value:+.4g} ({level:.0%}: {low:+.4g} to {high:+.4g})"
    pairs = f", {difference.paired:,} pairs" if difference.paired is not None else ""
    return f"{difference.first} against {difference.second}: {shown}, {p}{pairs}"
