"""Every question of an export as a run of its own, and their tables as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import polars as pl

from quorate.aggregation import AggregateArguments, Method, aggregate
from quorate.arguments import some_of
from quorate.errors import DataError, UsageError
from quorate.result import Frame, Result
from quorate.summary import summarise
from quorate.votes import Kind, Reading
from quorate.votes.conversion import stacked, votes_by_question, with_question
from quorate.votes.writers import Outcome


@dataclass(frozen=True, eq=False)
class QuestionResults:
    """The result of each question, and why others have none. Tables have the question first."""

    results: Mapping[str, Result]
    left_out: Mapping[str, str]

    @cached_property
    def labels(self) -> Frame:
        """Labels of all questions."""
        return self._together("labels")

    @cached_property
    def workers(self) -> Frame:
        """Workers of all questions, each by their votes on the question."""
        return self._together("workers")

    @cached_property
    def posterior_table(self) -> Frame:
        """Posteriors of all questions, with a column for each class of any; null for others."""
        return self._together("posterior_table")

    @cached_property
    def confusion_table(self) -> Frame:
        """Confusion matrices of all questions."""
        return self._together("confusion_table")

    def outcomes(self) -> dict[str, Outcome]:
        """What writers for other tools need of each question."""
        return {name: result.outcome() for name, result in self.results.items()}

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of each question."""
        found = {name: summarise(result) for name, result in self.results.items()}
        return {"questions": found, "left_out": dict(self.left_out)}

    def _together(self, table: str) -> Frame:
        frames = {
            name: getattr(replace(result, kind=Kind()), table)
            for name, result in self.results.items()
        }
        if any(isinstance(frame, pl.LazyFrame) for frame in frames.values()):
            frames = {name: frame.lazy() for name, frame in frames.items()}
        together: Frame = stacked(with_question(frames))
        return together


def aggregate_each(
    votes: Any, method: Method = "auto", **how: Unpack[AggregateArguments]
) -> QuestionResults:
    """Aggregate the votes on each question of an export by itself, as `aggregate` does.

    A question whose votes cannot be aggregated is left out, and it is said why."""
    if how.get("gold") is not None:
        raise UsageError("gold is of one question: name it with question (--question).")
    reading: Reading = some_of(how, Reading)
    options: Any = {name: value for name, value in how.items() if name not in reading}
    several = bool(options.pop("multilabel", False))
    results: dict[str, Result] = {}
    left_out: dict[str, str] = {}
    for name, read in votes_by_question(votes, several, reading).items():
        try:
            on_question, many = read()
            results[name] = aggregate(on_question, method, multilabel=many, **options)
        except DataError as error:
            left_out[name] = str(error)
    if not results:
        raise DataError(next(iter(left_out.values())))
    return QuestionResults(results, left_out)
