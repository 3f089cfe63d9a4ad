"""What an experiment is: pieces of work that can run alone, and a report of what they found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Plan:
    """Which data sets may be used, where they are, how thorough to be, and the seed."""

    directory: Path
    here: frozenset[str]
    quick: bool = False
    seed: int = 0

    def pick(self, full: Any, quick: Any) -> Any:
        """One of two sizes of an experiment."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Cell:
    """A piece of work: a function of a module here and arguments that JSON can hold. What the
    function returns JSON can hold too, so that it outlives the process. Its cost (about seconds)
    only matters for the progress bar and for what runs first."""

    key: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0


@dataclass(frozen=True)
class Table:
    """Rows with the same columns; a number has its column's decimals (three by default), and the
    lowest of `lowest_of` in each row is marked."""

    name: str
    title: str
    rows: Sequence[Mapping[str, Any]]
    decimals: Mapping[str, int] = field(default_factory=dict)
    lowest_of: Sequence[str] = ()


@dataclass(frozen=True)
class Series:
    """A line of a figure, with a band of its uncertainty where `low` and `high` are given."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Panel:
    """Lines that share axes, each of which has a label with its unit."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    x_scale: str = "linear"
    y_scale: str = "linear"


@dataclass(frozen=True)
class Figure:
    """Panels side by side, in rows of `columns`."""

    name: str
    title: str
    panels: Sequence[Panel]
    columns: int = 3


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper on its results, whether it holds here, and the figures for that."""

    text: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Report:
    """The findings of an experiment; `remarks` are paragraphs on each difference and its cause."""

    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    claims: Sequence[Claim] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True)
class Experiment:
    """`cells` says what is to be done; `report` makes tables and figures of the cells' results,
    given by their keys."""

    name: str
    title: str
    paper: str
    summary: str
    data_sets: Sequence[str]
    cells: Callable[[Plan], Sequence[Cell]]
    report: Callable[[Plan, Mapping[str, Any]], Report]


def joined(parts: Sequence[Any]) -> dict[str, Any]:
    """The `cells` and `report` of an experiment whose parts are modules with such functions."""

    def cells(plan: Plan) -> list[Cell]:
        return [cell for part in parts for cell in part.cells(plan)]

    def report(plan: Plan, found: Mapping[str, Any]) -> Report:
        reports = [part.report(plan, found) for part in parts]
        return Report(
            *(
                [item for report in reports for item in getattr(report, field.name)]
                for field in fields(Report)
            )
        )

    return {"cells": cells, "report": report}


def compared(rows: Sequence[Mapping[str, Any]], decimals: int) -> list[dict[str, Any]]:
    """The rows, each with the difference of `ours` from `paper`: none where the paper's printed
    figure is ours rounded (of a half, either way).

    Examples:
        >>> compared([{"set": "rte", "paper": 7.12, "ours": 7.125}], decimals=2)
        [{'set': 'rte', 'paper': 7.12, 'ours': 7.125, 'difference': 0.0}]
    """
    return [{**row, "difference": _difference(row["paper"], row["ours"], decimals)} for row in rows]


def _difference(paper: float | None, ours: float | None, decimals: int) -> float | None:
    if paper is None or ours is None:
        return None
    rounding = 0.5 * 10**-decimals + 1e-9
    return 0.0 if abs(ours - paper) <= rounding else round(ours - paper, decimals)
