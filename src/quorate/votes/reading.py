"""Read votes by name as labels in codes: in memory, or in a store if larger than memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.card import card
from quorate.errors import DataError, QuorateError, UsageError, require_choice
from quorate.labels import Codebook, Labels
from quorate.votes.blocks import Blocks, ClassRecoding, MemoryBlocks, all_labels
from quorate.votes.databases import asked, is_database
from quorate.votes.factorise import BLOCK, codes_of
from quorate.votes.faults import shown
from quorate.votes.naming import find, keys, match, retyped
from quorate.votes.readers import MODULES, Opened, Reader, nearly, reader_named, recognised
from quorate.votes.readers.export import Export, Question, read_export
from quorate.votes.sources import (
    FORMATS,
    MISSING,
    Kind,
    Table,
    is_pandas,
    opened_files,
    read_once,
    read_table,
)

ROLES = ("task", "worker", "label")
Repeats = Literal["count", "first", "last"]
ALL_FORMATS = (*dict.fromkeys(FORMATS.values()), *MODULES)


class Reading(TypedDict, total=False):
    """Options of reading votes: the names of columns, what repeated answers count, the format of
    files, and the cells that are missing; of a database, the query or the table."""

    task_column: str | None
    worker_column: str | None
    label_column: str | None
    repeats: Repeats
    format: str | None
    missing: str | Sequence[str] | None
    question: str | None
    query: str | None
    table: str | None


@dataclass(frozen=True)
class ReadReport:
    """Counts of what was read: rows, rows dropped for a missing field, rows in which a worker
    answers a task again (kept, or dropped when only the first or last answer is wanted), and the
    rows of a matrix, tasks, that hold no vote and are left out.

    Of an export of another tool also its `format`, what was `dropped` by reason, and the number of
    votes on each of its `questions`."""

    rows: int
    missing: int
    repeated: int
    repeats_kept: bool
    tasks_without_votes: int = 0
    format: str | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    questions: Mapping[str, int] = field(default_factory=dict)


NOTHING_READ = ReadReport(0, 0, 0, True)


@dataclass(frozen=True, eq=False)
class KnownAnswers:
    """Gold answers: a task and its label in each row; `missing` is the number of incomplete
    rows."""

    tasks: pl.Series
    labels: pl.Series
    missing: int

    @property
    def rows(self) -> pl.DataFrame:
        """The answers as a table of task and label."""
        return pl.DataFrame({"task": self.tasks, "label": self.labels})


@dataclass(frozen=True, eq=False)
class Votes:
    """Blocks of labels in codes, the names of the codes, and what was read and dropped.

    The names of tasks are in the codebook where the blocks are in memory, else beside the blocks.
    `kind` is the caller's kind of table, and `place` keeps a temporary directory. Of an export of
    another tool, `known` are the gold answers in it, and `details` the seconds and the time of
    votes, by task and worker.
    """

    blocks: Blocks
    codebook: Codebook
    report: ReadReport = NOTHING_READ
    kind: Kind = Kind()
    notes: tuple[str, ...] = ()
    place: object = None
    known: KnownAnswers | None = None
    details: pl.DataFrame | None = None

    @classmethod
    def of(cls, labels: Labels, codebook: Codebook | None = None, **more: Any) -> Votes:
        """Labels in memory; without a codebook codes are their own names."""
        if codebook is None:
            codebook = Codebook.numbered(labels)
        else:
            tasks, workers = keys(codebook.tasks), keys(codebook.workers)
            labels = replace(labels, task_key=tasks, worker_key=workers)
        return cls(MemoryBlocks(labels, codebook.tasks), codebook, **more)

    @classmethod
    def none(cls, classes: pl.Series) -> Votes:
        """Votes without any vote, on given classes."""
        nobody = pl.Series("worker", [], dtype=pl.String)
        labels = Labels.from_codes([], [], [], n_classes=len(classes))
        return cls.of(labels, Codebook(nobody.alias("task"), nobody, classes))

    @property
    def labels(self) -> Labels:
        """All labels, in memory."""
        return all_labels(self.blocks)

    def noted(self, *notes: str) -> Votes:
        """The same votes with more notes."""
        return replace(self, notes=(*self.notes, *notes)) if notes else self

    def in_classes(self, classes: pl.Series) -> Votes:
        """The same votes with the codes of these classes."""
        code = match(self.codebook.classes, classes, "The votes have the label").to_list()
        return replace(
            self,
            blocks=self.blocks.change(ClassRecoding(tuple(code), len(classes))),
            codebook=replace(self.codebook, classes=classes),
        )

    def with_blocks(self, blocks: Blocks) -> Votes:
        """The same votes with other blocks of the same workers and classes."""
        if isinstance(blocks, MemoryBlocks):
            book = replace(self.codebook, tasks=blocks.tasks)
            return replace(self, blocks=blocks, codebook=book)
        return replace(self, blocks=blocks)

    def _repr_html_(self) -> str:
        shape, blocks = self.blocks.shape, self.blocks
        facts = {
            "labels": f"{blocks.n_labels:,}",
            "tasks": f"{blocks.n_tasks:,}",
            "workers": f"{shape.n_workers:,}",
            "classes": f"{shape.n_classes:,}",
        }
        return card("Votes", facts, notes=self.notes)

    def __repr__(self) -> str:
        shape, blocks = self.blocks.shape, self.blocks
        return (
            f"Votes({blocks.n_labels:,} labels of {blocks.n_tasks:,} tasks by {shape.n_workers:,}"
            f" workers in {shape.n_classes:,} classes)"
        )


def read_votes(
    source: Any,
    *,
    separator: str | None = None,
    unlabelled: bool = False,
    classes: pl.Series | None = None,
    storage: Any = None,
    **reading: Unpack[Reading],
) -> Votes:
    """Read votes from a file, several files, standard input (``"-"``), a database, a data frame, an
    Arrow table, an iterable of (task, worker, label), or a matrix of tasks by workers with -1 or
    NaN where there is none.

    With a `separator` a label can hold several labels. Rows without a label are left out,
    or kept if `unlabelled`, with the code -1. A task without any vote is not among the tasks. JSON
    lines that mix numbers and text in a column give text. With a `storage` (of an engine that
    works on disk) the votes of files are spilled there and not read into memory.

    Examples:
        >>> votes = read_votes([("a", "ann", True), ("a", "bob", False), ("b", "ann", True)])
        >>> votes.labels.n_tasks, votes.codebook.classes.to_list()
        (2, [False, True])
    """
    require_choice("repeats", reading.get("repeats", "count"), ("count", "first", "last"))
    if reading.get("format") is not None:
        require_choice("format", reading["format"], ALL_FORMATS)
    if isinstance(source, Votes):
        return source if classes is None else source.in_classes(classes)
    if isinstance(source, Labels):
        return Votes.of(source)
    source = read_once(asked_source(source, reading))
    export = _export_of(source, reading)
    if export is not None:
        read = _from_export(export, unlabelled, classes, reading)
        return replace(read, kind=Kind("pandas")) if is_pandas(source) else read
    if storage is not None and is_database(source):
        from quorate.votes.store import stored_query

        return stored_query(source, reading, separator, unlabelled, storage)
    if storage is not None and in_files(source):
        from quorate.votes.store import Source, stored_votes

        return stored_votes(Source.of(source, reading, separator, unlabelled), storage)
    if isinstance(source, np.ndarray):
        plain = np.asarray(source) if isinstance(source, np.matrix) else source
        return _from_matrix(plain, reading)
    try:
        return _read(source, separator, unlabelled, classes, reading)
    except QuorateError as error:
        hints = filter(None, (nearly(file.look()) for file in opened_files(source)))
        raise type(error)(" ".join([str(error), *islice(hints, 1)])) from None


def _export_of(source: Any, reading: Reading) -> Export | None:
    """The export of another tool, if the source is one."""
    format = reading.get("format")
    if format in FORMATS.values():
        return None
    files = opened_files(source)
    if not files:
        return None
    reader = reader_named(format) if format in MODULES else _reader_of(files)
    return None if reader is None else read_export(reader, files)


def _reader_of(files: Sequence[Opened]) -> Reader | None:
    """The reader of all these files; refused where some are another tool's, or none's."""
    looks = (file.look() for file in files)
    found = [None if look.has(*ROLES) else recognised(look) for look in looks]
    if len(set(found)) > 1:
        which = dict(zip(found, files, strict=True))
        kinds = [f"{file.origin} ({r.title if r else 'a table'})" for r, file in which.items()]
        raise DataError(f"Files of different kinds are not one input: {', '.join(kinds)}.")
    return found[0]


def _from_export(
    export: Export, several: bool, classes: pl.Series | None, reading: Reading
) -> Votes:
    """The votes on one question of an export, with its known answers."""
    question = export.about(reading.get("question"))
    if question.several and not several:
        raise DataError(
            f"{export.origin} has answers that name several labels: say multilabel (--multilabel)."
        )
    rows = question.votes.select(ROLES)
    read = _read(rows, None, several, classes, {"repeats": reading.get("repeats", "count")})
    votes = {name: len(answers.votes) for name, answers in export.questions.items()}
    report = replace(read.report, format=export.title, dropped=export.dropped, questions=votes)
    known, notes = _known_sets(question) if several else _known_of(question)
    return replace(
        read,
        report=report,
        known=known,
        details=question.votes.drop("label"),
        notes=(*read.notes, *notes),
    )


def _known_sets(question: Question) -> tuple[KnownAnswers | None, list[str]]:
    """The known answers of an export where several may be right, a row for each of them."""
    answers = question.known.unique(maintain_order=True)
    if not len(answers):
        return None, []
    note = f"Known answers of the export to {answers['task'].n_unique():,} tasks are taken as gold."
    return KnownAnswers(answers["task"], answers["label"], 0), [note]


def _known_of(question: Question) -> tuple[KnownAnswers | None, list[str]]:
    """The known answers of an export, but for tasks with several different ones."""
    answers = question.known.drop_nulls().unique(maintain_order=True)
    one = answers.filter(~pl.col("task").is_duplicated())
    several = answers["task"].n_unique() - len(one)
    notes = []
    if several:
        notes.append(f"{several:,} tasks have several known answers, which are left out.")
    if not len(one):
        return None, notes
    notes.append(f"{len(one):,} known answers of the export are taken as gold.")
    return KnownAnswers(one["task"], one["label"], 0), notes


def asked_source(source: Any, reading: Reading) -> Any:
    """The source of votes, with what is asked of it if it is a database."""
    return asked(source, reading.get("query"), reading.get("table"))


def in_files(source: Any) -> bool:
    """Whether the votes are in files, and not in memory or on standard input."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(path, (str, Path)) for path in source)
    return isinstance(source, (str, Path)) and str(source) != "-"


def columns_of(reading: Reading) -> dict[str, str | None]:
    """Names that the caller gave for columns, by role."""
    return {
        "task": reading.get("task_column"),
        "worker": reading.get("worker_column"),
        "label": reading.get("label_column"),
    }


def missing_words(reading: Reading) -> Sequence[str]:
    """Cells that are missing: those that the caller named, or the usual ones."""
    given = reading.get("missing")
    words = [given] if isinstance(given, str) else MISSING if given is None else given
    if not (isinstance(words, Collection) and all(isinstance(word, str) for word in words)):
        raise UsageError(f"missing is a text or several, not {shown(given)}.")
    return list(words)


def _read(
    source: Any,
    separator: str | None,
    unlabelled: bool,
    classes: pl.Series | None,
    reading: Reading,
) -> Votes:
    missing, repeats = missing_words(reading), reading.get("repeats", "count")
    table = read_table(
        source, ROLES, columns=columns_of(reading), format=reading.get("format"), missing=missing
    )
    rows = len(table.frame)
    frame = complete_rows(table, missing, but=("label",) if unlabelled else ())
    missing_rows = rows - len(frame)
    frame = split_labels(frame, separator, unlabelled)
    if frame["label"].null_count() == len(frame):
        raise DataError(f"{table.origin} has no row with a task, a worker and a label.")
    everyone = frame["worker"].unique(maintain_order=True) if repeats == "last" else None
    if repeats != "count":
        frame = frame.unique(["task", "worker"], keep=repeats, maintain_order=True)
    dropped = rows - missing_rows - len(frame)
    table, fields = replace(table, frame=frame.clear()), frame.get_columns()
    del frame
    labels, codebook = _encode(fields, table, classes)
    if everyone is not None:
        labels, codebook = _in_order_of(everyone, labels, codebook, table.text)
    kept = repeats == "count"
    repeated = len(labels.repeats()) if kept else dropped
    return Votes.of(
        labels, codebook, report=ReadReport(rows, missing_rows, repeated, kept), kind=table.kind
    )


def _in_order_of(
    everyone: pl.Series, labels: Labels, codebook: Codebook, text: bool
) -> tuple[Labels, Codebook]:
    """The labels with workers in the order of all rows, not only of the rows that are kept."""
    workers = retyped(everyone) if text else everyone
    code = find(codebook.workers, workers).to_numpy()
    return labels.with_workers(code, len(workers)), replace(codebook, workers=workers)


def split_labels(frame: pl.DataFrame, separator: str | None, unlabelled: bool) -> pl.DataFrame:
    """Split joined labels into a row each; a row without labels is left out, or kept as null if
    `unlabelled`."""
    if separator is None:
        return frame
    parts = pl.col("label").cast(pl.String).str.split(separator)
    label = pl.col("label").str.strip_chars()
    split = frame.with_columns(parts).explode("label").with_columns(label.replace("", None))
    return split if unlabelled else split.drop_nulls()


def complete_rows(
    table: Table,
    missing: Sequence[str] = MISSING,
    but: Sequence[str] = (),
    whole: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Rows without missing fields, other than those in `but`.

    The reader of text files already knows the words for a missing field; in other tables they are
    looked for here. For a part of a table `whole` names the columns of floats that hold whole
    numbers everywhere."""
    words = [] if table.text else [missing] if isinstance(missing, str) else list(missing)
    frame = table.frame.select(_present(column, words, whole) for column in table.frame)
    return frame.drop_nulls([name for name in frame.columns if name not in but])


def _present(column: pl.Series, words: list[str], known_whole: Sequence[str] | None) -> pl.Series:
    """The column with missing words and NaN as null, and whole numbers as integers again where a
    missing value had made them floats."""
    if words and column.dtype == pl.String:
        is_word = column.is_in(words)
        return column.set(is_word, None) if is_word.any() else column
    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    whole = column.cast(pl.Int64, strict=False)
    if known_whole is not None:
        return whole if column.name in known_whole else column
    return whole if whole.eq_missing(column).all() else column


def _from_matrix(matrix: NDArray[Any], reading: Reading) -> Votes:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"A matrix of votes has tasks as rows, workers as columns and numbers in it; this one"
            f" has the shape {matrix.shape} and the type {matrix.dtype}."
        )
    task, worker = np.nonzero((matrix != -1) & (matrix == matrix))
    if not len(task):
        raise DataError("The matrix has no votes in it: all is -1 or NaN.")
    rows = pl.DataFrame({"task": task, "worker": worker, "label": matrix[task, worker]})
    votes = _read(rows, None, False, None, reading)
    silent = len(matrix) - rows["task"].n_unique()
    if not silent:
        return votes
    votes = replace(votes, report=replace(votes.report, tasks_without_votes=silent))
    return votes.noted(f"{silent} rows of the matrix hold no vote, and are left out.")


def _encode(
    fields: list[pl.Series], table: Table, classes: pl.Series | None
) -> tuple[Labels, Codebook]:
    """Encode columns of tasks, workers and labels, each of which is released once it is coded."""
    (task, tasks), (worker, workers), (label, said) = _codes_of_columns(fields)
    if table.text:
        tasks, workers, said = retyped(tasks), retyped(workers), retyped(said)
    names = said.drop_nulls().sort()
    if classes is not None:
        match(names, classes, f"{table.origin} has the label")
        names = classes
    code = find(said, names).fill_null(-1).to_numpy()
    labels = Labels.from_codes(
        task,
        worker,
        code[label],
        n_tasks=len(tasks),
        n_workers=len(workers),
        n_classes=len(names),
    )
    return labels, Codebook(tasks, workers, names)


def _codes_of_columns(
    fields: list[pl.Series],
) -> Iterator[tuple[NDArray[np.signedinteger], pl.Series]]:
    """Codes and names of the columns, two columns at a time, which is as fast as three and takes
    less memory; a few rows without threads."""
    if len(fields[0]) <= BLOCK:
        return map(codes_of, fields)
    with ThreadPoolExecutor(2) as pool:
        coded = [pool.submit(codes_of, fields.pop(0)) for _ in ROLES]
    return (field.result() for field in coded)
