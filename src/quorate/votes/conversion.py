"""Votes of any source as one long table, and exports of other tools question by question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import polars as pl

from quorate.errors import DataError, UsageError
from quorate.votes.batches import Batches, open_batches
from quorate.votes.databases import is_database
from quorate.votes.items import kept_names, require_new, with_columns_of
from quorate.votes.naming import retyped_columns
from quorate.votes.readers.export import Export, Question
from quorate.votes.reading import (
    ROLES,
    How,
    Reading,
    ReadReport,
    Votes,
    asked_source,
    columns_of,
    export_of,
    from_export,
    in_files,
    missing_words,
    read_votes,
)
from quorate.votes.sources import read_once
from quorate.votes.tables import vote_table

ALL = "all"  # what `question` calls all of them
Frame = pl.DataFrame | pl.LazyFrame


@dataclass(frozen=True, eq=False)
class Conversion:
    """A long table of votes (a query where they need not be in memory), the gold answers of an
    export, what was read and dropped, and the number of votes."""

    table: Frame
    gold: pl.DataFrame | None
    report: ReadReport
    votes: int
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """What `quorate convert --json` prints."""
        return {
            "format": self.report.format,
            "rows": self.report.rows,
            "votes": self.votes,
            "columns": self.table.lazy().collect_schema().names(),
            "questions": dict(self.report.questions),
            "dropped_missing": self.report.missing,
            "dropped_repeats": 0 if self.report.repeats_kept else self.report.repeated,
            "dropped_of_export": dict(self.report.dropped),
            "gold": 0 if self.gold is None else len(self.gold),
            "notes": list(self.notes),
        }


def convert(source: Any, **reading: Unpack[Reading]) -> Conversion:
    """Votes of any source as a table of task, worker and label, with the question where there are
    several, seconds and time where they are known, and the columns that are kept of tasks.

    Files of tables are not read into memory: their table is a query.

    Examples:
        >>> convert([("a", "ann", 1), ("a", "bob", 2)]).table.rows()
        [('a', 'ann', 1), ('a', 'bob', 2)]
    """
    keep, source = kept_names(reading), read_once(asked_source(source, reading))
    export = export_of(source, reading, keep)
    if export is not None:
        return _of_export(export, reading)
    streams = in_files(source) and not is_database(source)
    if streams and reading.get("repeats", "count") == "count":
        batches = _long_table(source, keep, reading)
        if batches is not None:
            return _of_files(batches, keep, missing_words(reading))
    reading = {**reading, "query": None, "table": None}  # which have been asked
    votes = read_votes(source, **reading)
    return Conversion(vote_table(votes), None, votes.report, votes.blocks.n_labels, votes.notes)


def questions(source: Any, **reading: Unpack[Reading]) -> dict[str, int]:
    """Names of the questions that the export of another tool holds, each with its number of votes,
    that with most votes first; none of a table of votes, which holds one without a name."""
    export = export_of(read_once(source), reading)
    return {} if export is None else _counts(export.questions)


def votes_by_question(
    source: Any, several: bool, reading: Reading
) -> dict[str, Callable[[], tuple[Votes, bool]]]:
    """The votes on each question of an export, and whether they name several labels, by functions
    that raise what is wrong with them."""
    export = export_of(read_once(source), reading, kept_names(reading))
    if export is None:
        raise DataError(
            "The votes are a table, which holds one question: leave question (--question) out."
        )

    read = partial(_on_question, export, several, reading)
    return {name: partial(read, name) for name in export.questions}


def _on_question(export: Export, several: bool, reading: Reading, name: str) -> tuple[Votes, bool]:
    many = several or export.questions[name].several
    return from_export(export, How(unlabelled=many), {**reading, "question": name}), many


def _of_export(export: Export, reading: Reading) -> Conversion:
    """The votes on one question, or on all with a column that says which."""
    name = reading.get("question")
    names = list(export.questions) if name in (None, ALL) else [name]
    if name == ALL and ALL in export.questions:
        names = [ALL]
    chosen = {name: export.about(name) for name in names}
    repeats = reading.get("repeats", "count")
    frames = {}
    for name, question in chosen.items():
        frame = question.votes
        if repeats != "count" and not question.several:
            frame = frame.unique(["task", "worker"], keep=repeats, maintain_order=True)
        frames[name] = frame
    table = _together(frames, len(names) > 1)
    empty = [n for n in ("seconds", "time") if table[n].null_count() == len(table)]
    items = export.items if len(export.items.columns) > 1 else None
    gold = _together({name: q.known for name, q in chosen.items()}, len(names) > 1)
    rows = sum(len(question.votes) for question in chosen.values())
    report = ReadReport(
        rows,
        0,
        rows - len(table),
        repeats == "count",
        format=export.title,
        dropped=export.dropped,
        questions=_counts(export.questions),
    )
    return Conversion(
        with_columns_of(items, table.drop(empty)), gold if len(gold) else None, report, len(table)
    )


def _counts(questions: Mapping[str, Question]) -> dict[str, int]:
    return {name: len(question.votes) for name, question in questions.items()}


def _together(frames: Mapping[Any, pl.DataFrame], with_names: bool) -> pl.DataFrame:
    """Tables of several questions as one, with the question first."""
    if not with_names:
        return next(iter(frames.values()))
    together: pl.DataFrame = stacked(with_question(frames))
    return together


def with_question(frames: Mapping[str, Any]) -> list[Any]:
    """The tables with their question first."""
    return [f.select(pl.lit(name).alias("question"), pl.all()) for name, f in frames.items()]


def stacked(frames: Sequence[Any]) -> Any:
    """Tables below each other; columns that are of several types become text."""
    schemas = [frame.lazy().collect_schema() for frame in frames]
    types: dict[str, set[pl.DataType]] = {}
    for schema in schemas:
        for name, dtype in schema.items():
            types.setdefault(name, set()).add(dtype)
    as_text = [name for name, of in types.items() if len({_family(t) for t in of} - {"none"}) > 1]
    text = [
        frame.with_columns(pl.col(n).cast(pl.String) for n in as_text if n in schema)
        for frame, schema in zip(frames, schemas, strict=True)
    ]
    return pl.concat(text, how="diagonal_relaxed")


def _family(dtype: pl.DataType) -> str:
    """Types that one column can hold."""
    if dtype == pl.Null:
        return "none"
    return "number" if dtype.is_numeric() else str(dtype)


def _long_table(source: Any, keep: Sequence[str], reading: Reading) -> Batches | None:
    """The files as a long table of votes; None where they are none, whatever else they are."""
    if reading.get("wide") or reading.get("workers"):
        return None
    columns = {**columns_of(reading), **{name: name for name in keep}}
    files = source if isinstance(source, list) else str(source)
    how = (reading.get("format"), missing_words(reading))
    try:
        batches = open_batches(files, (*ROLES, *keep), columns, *how)
    except (DataError, UsageError):
        return None
    require_new(keep, [batches.columns[role] for role in ROLES])
    return batches


def _of_files(batches: Batches, keep: Sequence[str], missing: Sequence[str]) -> Conversion:
    """The complete rows of files, as a query."""
    rows = batches.query(missing)
    complete = rows.drop_nulls(ROLES)
    ask = batches.files[0].ask
    n_rows, n_complete = ask(partial(_count, rows)), ask(partial(_count, complete))
    if not n_complete:
        raise DataError(f"{batches.origin} has no row with a task, a worker and a label.")
    if batches.text:
        complete = ask(lambda: retyped_columns(complete, (*ROLES, *keep)))
    report = ReadReport(n_rows, n_rows - n_complete, 0, True)
    return Conversion(complete, None, report, n_complete)


def _count(rows: pl.LazyFrame) -> int:
    n: int = rows.select(pl.len()).collect(engine="streaming").item()
    return n
