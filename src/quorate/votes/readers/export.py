"""Exports of other tools as tables of votes: what their readers find, by question, and counts of
what was dropped."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from quorate.arguments import nearest
from quorate.errors import DataError
from quorate.votes.faults import listed, shown
from quorate.votes.naming import retyped
from quorate.votes.readers.opening import Opened, failing
from quorate.votes.readers.reader import Dropped, Found, Judged, Known, Reader, Vote
from quorate.words import count

# What a reader may stumble over in a record that is not as its tool writes it.
STUMBLES: tuple[type[Exception], ...] = (
    KeyError,
    TypeError,
    AttributeError,
    ValueError,
    IndexError,
)
DETAILS = ("seconds", "time")
VOTE, KNOWN = ("task", "worker", "label", *DETAILS), ("task", "label")
Called = Callable[[Any], Any]
AT_A_TIME = 1 << 16  # values that are Python objects before they are part of a column


@dataclass(frozen=True, eq=False)
class Question:
    """Answers to one question: votes in rows of task, worker, label, seconds and time (null where
    the export has none), known answers in rows of task and label, and whether some votes name
    several labels. Only then a vote may name none, in a row without a label."""

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
            f"{name or '(no name)'} ({count(len(answers.votes), 'vote')})"
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
    text = all(file.look().is_text for file in files)
    found = _Collection(tuple(keep), text)
    for file in files:
        in_archive = not reader.takes_archives and file.look().shape == "zip"
        for part in file.members() if in_archive else [file]:
            _read_into(found, reader, part)
    questions = found.questions()
    if not questions:
        dropped = ", ".join(f"{n:,} {why}" for why, n in found.dropped.items())
        raise DataError(
            f"{origin} is an export of {reader.title} without a vote"
            f"{f', of which was dropped: {dropped}' if dropped else ''}."
        )
    lost = [name for name in found.keep if name not in found.there]
    if lost:
        raise DataError(
            f"The tasks of {origin} have no field {shown(lost[0])} to keep: they have"
            f" {listed(found.fields)}."
        )
    return Export(origin, reader.title, questions, dict(found.dropped), found.kept())


def _read_into(found: _Collection, reader: Reader, file: Opened) -> None:
    """Add what the reader finds; a record that is not as its tool writes it is one sentence."""
    n = 0
    try:
        with failing(file.origin, but=STUMBLES):
            for n, one in enumerate(reader.read(file), start=1):  # noqa: B007
                found.add(one)
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

    def series(self, name: str, called: Called, text: bool) -> pl.Series:
        values = [key if isinstance(key, str) else called(key[1]) for key in self.place]
        codes = pl.Series(self.codes, dtype=pl.UInt32)
        column = _of_one_type(name, values)
        return (retyped(column) if text and column.dtype == pl.String else column).gather(codes)


class _Parts:
    """Values most of which differ, so that none is looked for among the others."""

    def __init__(self) -> None:
        self.last: list[Any] = []
        self.parts: list[pl.Series] = []

    def add(self, value: Any) -> None:
        self.last.append(value)
        if len(self.last) == AT_A_TIME:
            self.parts.append(_of_one_type("", self.last))
            self.last = []

    def series(self, name: str, called: Called, text: bool) -> pl.Series:
        parts = [*self.parts, _of_one_type("", self.last)]
        types = {part.dtype for part in parts} - {pl.Null}
        if pl.String in types and len(types) > 1:
            parts = [part.cast(pl.String) for part in parts]
        whole = pl.concat([part.to_frame() for part in parts], how="vertical_relaxed")
        return whole[""].alias(name)


class _Rows:
    """Rows of a table, in columns."""

    def __init__(self, names: Sequence[str], like: _Rows | None = None) -> None:
        shared = {} if like is None else like.columns
        self.columns: dict[str, Any] = {  # _Column or _Parts
            name: _Parts() if name in DETAILS else _Column(shared.get(name)) for name in names
        }

    def add(self, *row: Any) -> None:
        for column, value in zip(self.columns.values(), row, strict=True):
            column.add(value)

    def frame(self, called: Called, text: bool) -> pl.DataFrame:
        columns = self.columns.items()
        return pl.DataFrame([column.series(name, called, text) for name, column in columns])


class _Answers:
    """Answers to one question, as they are found."""

    def __init__(self) -> None:
        self.votes = _Rows(VOTE)
        self.known = _Rows(KNOWN, self.votes)
        self.several = False


class _Collection:
    """What has been found in an export so far; of tables of mere `text` numbers are numbers."""

    def __init__(self, keep: tuple[str, ...], text: bool) -> None:
        self.keep, self.text = keep, text
        self.answers: defaultdict[str, _Answers] = defaultdict(_Answers)
        self.dropped: Counter[str] = Counter()
        self.models: set[str] = set()
        self.items: dict[Any, tuple[Any, ...]] = {}
        self.fields: list[str] = []  # of the first task
        self.there: set[str] = set()  # fields to keep that some task has

    def add(self, found: Found) -> None:
        """Take or drop one thing that a reader found."""
        if isinstance(found, Dropped):
            self.dropped[found.reason] += 1
            return
        task = self._task(found.task)
        labels = found.label if isinstance(found.label, list) else [found.label]
        cells = [cell for cell in map(_cell, labels) if cell is not None]
        worker = _cell(found.worker) if isinstance(found, Vote) else ""
        lost = [r for r, v in (("task", task), ("worker", worker)) if v is None]
        if labels and not cells:
            lost.append("label")
        if lost:
            self.dropped[f"without a {lost[0]}"] += 1
        elif isinstance(found, Known):
            for cell in cells or [None]:
                self.answers[_text(found.question)].known.add(task, cell)
        else:
            self._add_vote(found, task, worker, cells)

    def _add_vote(self, vote: Vote, task: Any, worker: Any, labels: list[Any]) -> None:
        answers = self.answers[_text(vote.question)]
        answers.several |= len(labels) > 1
        seconds, time = _seconds(vote.seconds), _cell(vote.time)
        for label in labels or [None]:  # none of several may be an answer too
            answers.votes.add(task, worker, label, seconds, time)
        if self.keep and task not in self.items:
            self._keep(task, vote.item)

    def _keep(self, task: Any, item: Mapping[str, Any]) -> None:
        self.fields = self.fields or list(item)
        values = [field_of(item, name) for name in self.keep]
        self.there |= {n for n, value in zip(self.keep, values, strict=True) if value}
        self.items[task] = tuple(_cell(value[0]) if value else None for value in values)

    def _task(self, task: Any) -> Any:
        if not isinstance(task, Judged):
            return _cell(task)
        item = _cell(task.item)
        if item is None:
            return None
        self.models.add(task.model)
        return task._replace(item=item)

    def _called(self, task: Any) -> Any:
        """What a task is called, now that all models are known."""
        if not isinstance(task, Judged):
            return task
        return f"{task.item} ({task.model})" if len(self.models) > 1 else task.item

    def questions(self) -> dict[str, Question]:
        """Answers by question, that with most votes first. A vote for none of several options is
        one only where somebody chose several; else the question was not answered."""
        found = {}
        for name, answers in self.answers.items():
            votes = answers.votes.frame(self._called, self.text)
            known = answers.known.frame(self._called, self.text)
            given = votes if answers.several else votes.drop_nulls("label")
            if len(given) < len(votes):
                self.dropped["without a label"] += len(votes) - len(given)
            found[name] = Question(given, known, answers.several)
        with_votes = [(name, answers) for name, answers in found.items() if len(answers.votes)]
        return dict(sorted(with_votes, key=lambda item: -len(item[1].votes)))

    def kept(self) -> pl.DataFrame:
        """The tasks and the fields that are kept of them."""
        columns = zip(*self.items.values(), strict=True) if self.items else ((),) * len(self.keep)
        fields = [
            _of_one_type(n, list(values)) for n, values in zip(self.keep, columns, strict=True)
        ]
        tasks = _of_one_type("task", [self._called(task) for task in self.items])
        items = pl.DataFrame([tasks, *fields])
        return items.unique("task", keep="first", maintain_order=True)  # 1 and "1", as text


def field_of(item: Mapping[str, Any], name: str) -> tuple[Any] | tuple[()]:
    """The field of that name, or the nested one that a name with dots leads to; nothing if there is
    none.

    Examples:
        >>> field_of({"meta": {"source": "mail"}}, "meta.source"), field_of({}, "text")
        (('mail',), ())
    """
    if name in item:
        return (item[name],)
    first, _, rest = name.partition(".")
    inside = item.get(first)
    return field_of(inside, rest) if rest and isinstance(inside, Mapping) else ()


def _cell(value: Any) -> Any:
    """A value as a cell: what is nested as JSON text, what is empty or no number as None."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, str):
        return _text(value)
    return value if isinstance(value, (int, float)) else json.dumps(value, default=str)


def _text(value: str) -> str:
    """Text without halves of letters, which JSON can hold and no file can."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def _seconds(value: Any) -> float | None:
    """A duration as a number; None where it is none."""
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None


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
