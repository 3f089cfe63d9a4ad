"""Exports of other tools as tables of votes: what their readers find, by question, and counts of
what was dropped."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from quorate.arguments import nearest
from quorate.errors import DataError
from quorate.votes.faults import shown
from quorate.votes.readers.opening import Opened
from quorate.votes.readers.reader import Dropped, Found, Judged, Known, Reader, Vote

# What a reader may stumble over in a record that is not as its tool writes it.
STUMBLES = (KeyError, TypeError, AttributeError, ValueError, IndexError)
VOTE, KNOWN = ("task", "worker", "label", "seconds", "time"), ("task", "label")


@dataclass(frozen=True, eq=False)
class Question:
    """Answers to one question: votes in rows of task, worker, label, seconds and time (null where
    the export has none), known answers in rows of task and label, and whether some votes name
    several labels or none."""

    votes: pl.DataFrame
    known: pl.DataFrame
    several: bool


@dataclass(frozen=True, eq=False)
class Export:
    """What an export holds: answers by question, what was dropped by reason, and the tasks with
    those of their own fields that are kept."""

    origin: str
    title: str
    questions: Mapping[str, Question]
    dropped: Mapping[str, int]
    items: pl.DataFrame

    def about(self, question: str | None) -> Question:
        """The answers to one question, which has to be named if there are several."""
        if question is None and len(self.questions) == 1:
            return next(iter(self.questions.values()))
        if question is not None and question in self.questions:
            return self.questions[question]
        counts = ", ".join(
            f"{name or '(no name)'} ({len(answers.votes):,} votes)"
            for name, answers in self.questions.items()
        )
        if question is None:
            raise DataError(
                f"{self.origin} holds {len(self.questions)} questions: {counts}; say which with"
                " question (--question)."
            )
        meant = nearest(question, self.questions)
        hint = f", did you mean {shown(meant)}?" if meant else ":"
        raise DataError(f"{self.origin} has no question {shown(question)}{hint} It holds {counts}.")


def read_export(reader: Reader, files: Sequence[Opened], keep: Sequence[str] = ()) -> Export:
    """Read the files of an export, of which only votes and the fields to `keep` stay in memory."""
    origin = files[0].origin if len(files) == 1 else f"{files[0].origin} and {len(files) - 1} more"
    found = _Collection(tuple(keep))
    for file in files:
        for one in _guarded(reader, file):
            found.add(one)
    questions = found.questions()
    if not questions:
        dropped = ", ".join(f"{n:,} {why}" for why, n in found.dropped.items())
        raise DataError(
            f"{origin} is an export of {reader.title} without a vote"
            f"{f', of which was dropped: {dropped}' if dropped else ''}."
        )
    return Export(origin, reader.title, questions, dict(found.dropped), found.kept())


def _guarded(reader: Reader, file: Opened) -> Iterator[Found]:
    """What the reader finds; a record that is not as its tool writes it is one sentence."""
    n = 0
    try:
        for n, found in enumerate(reader.read(file), start=1):  # noqa: B007
            yield found
    except DataError:
        raise
    except STUMBLES as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        where = f", after {n:,} answers," if n else ""
        raise DataError(
            f"{file.origin}{where} is not as {reader.title} writes it ({shown(what)[1:-1]}): export"
            " it again, or name another format (--format)."
        ) from None


class _Column:
    """Values in codes, so that each is kept once; columns that share their values are of one
    type."""

    def __init__(self, shared: _Column | None = None) -> None:
        self.codes = array("i")
        self.place: dict[Any, int] = {} if shared is None else shared.place

    def add(self, value: Any) -> None:
        key = value if isinstance(value, str) else (type(value), value)
        self.codes.append(self.place.setdefault(key, len(self.place)))

    def series(self, name: str, called: Callable[[Any], Any]) -> pl.Series:
        values = [key if isinstance(key, str) else called(key[1]) for key in self.place]
        codes = pl.Series(self.codes, dtype=pl.UInt32)
        return _of_one_type(name, values).gather(codes)


class _Rows:
    """Rows of a table, in columns."""

    def __init__(self, names: Sequence[str], like: _Rows | None = None) -> None:
        shared = {} if like is None else like.columns
        self.columns: dict[str, _Column] = {name: _Column(shared.get(name)) for name in names}

    def add(self, *row: Any) -> None:
        for column, value in zip(self.columns.values(), row, strict=True):
            column.add(value)

    def frame(self, called: Callable[[Any], Any]) -> pl.DataFrame:
        columns = self.columns.items()
        return pl.DataFrame([column.series(name, called) for name, column in columns])


class _Answers:
    """Answers to one question, as they are found."""

    def __init__(self) -> None:
        self.votes = _Rows(VOTE)
        self.known = _Rows(KNOWN, self.votes)
        self.several = False


class _Collection:
    """What has been found in an export so far."""

    def __init__(self, keep: tuple[str, ...]) -> None:
        self.keep = keep
        self.answers: dict[str, _Answers] = {}
        self.dropped: Counter[str] = Counter()
        self.models: set[str] = set()
        self.items: dict[Any, tuple[Any, ...]] = {}

    def add(self, found: Found) -> None:
        """Take or drop one thing that a reader found."""
        if isinstance(found, Dropped):
            self.dropped[found.reason] += 1
            return
        lost = _lost(found)
        if lost:
            self.dropped[f"without a {lost}"] += 1
            return
        answers = self.answers.setdefault(found.question, _Answers())
        task = self._task(found.task)
        labels = found.label if isinstance(found.label, list) else [found.label]
        if isinstance(found, Known):
            for label in labels:
                answers.known.add(task, _cell(label))
            return
        answers.several |= len(labels) != 1
        row = (task, _cell(found.worker))
        when = (None if found.seconds is None else float(found.seconds), _cell(found.time))
        for label in labels or [None]:  # none of several is an answer too
            answers.votes.add(*row, _cell(label), *when)
        if self.keep and task not in self.items:
            self.items[task] = tuple(_cell(found.item.get(name)) for name in self.keep)

    def _task(self, task: Any) -> Any:
        if not isinstance(task, Judged):
            return _cell(task)
        self.models.add(task.model)
        return task._replace(item=_cell(task.item))

    def _called(self, task: Any) -> Any:
        """What a task is called, now that all models are known."""
        if not isinstance(task, Judged):
            return task
        return f"{task.item} ({task.model})" if len(self.models) > 1 else task.item

    def questions(self) -> dict[str, Question]:
        """Answers by question, that with most votes first."""
        found = {
            name: Question(
                answers.votes.frame(self._called),
                answers.known.frame(self._called),
                answers.several,
            )
            for name, answers in self.answers.items()
        }
        with_votes = [(name, answers) for name, answers in found.items() if len(answers.votes)]
        return dict(sorted(with_votes, key=lambda item: -len(item[1].votes)))

    def kept(self) -> pl.DataFrame:
        """The tasks and the fields that are kept of them."""
        columns = zip(*self.items.values(), strict=True) if self.items else ((),) * len(self.keep)
        fields = [
            _of_one_type(n, list(values)) for n, values in zip(self.keep, columns, strict=True)
        ]
        tasks = _of_one_type("task", [self._called(task) for task in self.items])
        return pl.DataFrame([tasks, *fields])


def _lost(found: Vote | Known) -> str | None:
    """The field without which this is no vote and no known answer."""
    roles = ("task", "worker", "label") if isinstance(found, Vote) else ("task", "label")
    cells = ((role, getattr(found, role)) for role in roles)
    return next((role for role, value in cells if value != [] and _cell(value) is None), None)


def _cell(value: Any) -> Any:
    """A value as a cell: what is nested as JSON text, what is empty or no number as None."""
    if isinstance(value, Judged):
        value = value.item
    if value is None or value == "" or value != value:
        return None
    return value if isinstance(value, (str, int, float)) else json.dumps(value, default=str)


def _of_one_type(name: str, values: list[Any]) -> pl.Series:
    """Values as a column of their type; those of several types, or too large, as text."""
    types = {type(value) for value in values if value is not None}
    if types == {int, float}:
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    if len(types) > 1 or (types == {int} and not _fit(values)):
        values = [None if value is None else str(value) for value in values]
    return pl.Series(name, values)


def _fit(values: list[Any]) -> bool:
    """Whether whole numbers fit in 64 bits."""
    return all(value is None or -(2**63) <= value < 2**63 for value in values)
