"""Read votes by name as labels in codes: in memory, or in a store if larger than memory."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate import sparse
from quorate.card import Listing, Share, card
from quorate.errors import DataError, QuorateError, UsageError, require_choice
from quorate.labels import Codebook, Labels, NameKeys
from quorate.votes.blocks import Blocks, ClassRecoding, MemoryBlocks, all_labels
from quorate.votes.columns import detail_columns, note_of
from quorate.votes.databases import asked, is_database
from quorate.votes.factorise import BLOCK, codes_of
from quorate.votes.faults import shown
from quorate.votes.naming import find, keys, match, retyped, whole_numbers
from quorate.votes.readers import MODULES, Opened, Reader, nearly, reader_named, recognised
from quorate.votes.readers.export import Export, Question, read_export
from quorate.votes.sources import (
    FORMATS,
    MISSING,
    Kind,
    SourceTable,
    Table,
    columns_for,
    is_pandas,
    open_source,
    opened_files,
    read_once,
    series,
    table_of,
)
from quorate.votes.spelling import (
    may_be_spelt,
    merged,
    no_labels,
    note_of_no_labels,
    note_of_spellings,
    odd,
    respelt,
)
from quorate.votes.wide import Layout, shape_of, unpivoted

ROLES = ("task", "worker", "label")
Repeats = Literal["count", "first", "last"]
ALL_FORMATS = (*dict.fromkeys(FORMATS.values()), *MODULES)


class Reading(TypedDict, total=False):
    """Options of reading votes: the names of columns, what repeated answers count, the format of
    files, the cells that are missing, the question of an export, the columns of tasks that are
    kept, whether a table is wide and which of its columns are workers, whether labels that differ
    only in spaces or case are one, and the query or the table of a database."""

    task_column: str | None
    worker_column: str | None
    label_column: str | None
    repeats: Repeats
    format: str | None
    missing: str | Sequence[str] | None
    question: str | None
    keep: str | Sequence[str] | None
    query: str | None
    table: str | None
    wide: bool | None
    workers: Sequence[str] | None
    tidy: bool


@dataclass(frozen=True)
class ReadReport:
    """Counts of what was read: rows, rows dropped for a missing field, rows in which a worker
    answers a task again (kept, or dropped when only the first or last answer is wanted), and the
    rows of a matrix, tasks, that hold no vote and are left out.

    Of an export of another tool also its `format`, what was `dropped` by reason, the number of
    votes on each of its `questions`, and the `question` that was read."""

    rows: int
    missing: int
    repeated: int
    repeats_kept: bool
    tasks_without_votes: int = 0
    format: str | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    questions: Mapping[str, int] = field(default_factory=dict)
    question: str | None = None


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
    `kind` is the caller's kind of table, and `place` keeps a temporary directory. `details` are
    the seconds and the time of votes, by task and worker, where an export of another tool or a long
    table has them; `known` are the gold answers in an export. `tidy` says that labels are one where
    only spaces or case differ, and `items` has the columns that are kept of tasks.
    """

    blocks: Blocks
    codebook: Codebook
    report: ReadReport = NOTHING_READ
    kind: Kind = Kind()
    notes: tuple[str, ...] = ()
    place: object = None
    known: KnownAnswers | None = None
    details: pl.DataFrame | None = None
    tidy: bool = False
    items: pl.DataFrame | pl.LazyFrame | None = None

    @classmethod
    def of(cls, labels: Labels, codebook: Codebook | None = None, **more: Any) -> Votes:
        """Labels in memory; without a codebook codes are their own names."""
        if codebook is None:
            codebook = Codebook.numbered(labels)
        else:
            tasks, workers = (NameKeys(n, keys) for n in (codebook.tasks, codebook.workers))
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

    def votes_by_class(self) -> list[int]:
        """Number of votes for each class."""
        counts = np.zeros(len(self.codebook.classes), dtype=np.int64)
        for block in self.blocks:
            counts += np.bincount(block.label[block.label >= 0], minlength=len(counts))
        return [int(count) for count in counts]

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

    @property
    def table(self) -> Any:
        """A row for each vote: task, worker and label, the seconds and the time where an export has
        them, and the columns that are kept of tasks. In the caller's kind of table and with the
        caller's column names; of votes on disk a polars query."""
        from quorate.votes.tables import vote_table

        return self.kind.give(vote_table(self))

    def _repr_html_(self) -> str:
        shape, blocks = self.blocks.shape, self.blocks
        facts = {
            "labels": f"{blocks.n_labels:,}",
            "tasks": f"{blocks.n_tasks:,}",
            "workers": f"{shape.n_workers:,}",
            "classes": f"{shape.n_classes:,}",
        }
        listings = []
        if isinstance(blocks, MemoryBlocks):
            said = zip(self.codebook.classes, self.votes_by_class(), strict=True)
            rows = sorted(said, key=lambda each: -each[1])
            shares = [(name, n, Share(n / max(blocks.n_labels, 1))) for name, n in rows]
            listings.append(Listing("Classes", ("label", "votes", "share"), shares))
        return card("Votes", facts, listings, self.notes)

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
    gold: Any = None,
    **reading: Unpack[Reading],
) -> Votes:
    """Read votes from a file, several files, standard input (``"-"``), a database, a data frame, an
    Arrow table, an iterable of (task, worker, label), or a matrix of tasks by workers with -1 or
    NaN where there is none. A table may have a column for each worker instead.

    With a `separator` a label can hold several labels. Rows without a label are left out,
    or kept if `unlabelled`, with the code -1. A task without any vote is not among the tasks. JSON
    lines that mix numbers and text in a column give text. With a `storage` (of an engine that
    works on disk) the votes of files are spilled there and not read into memory. A column of a wide
    table that is named as `gold` is no worker.

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
    among = None if reading.get("tidy") else classes
    how = How(separator, unlabelled, among, gold if isinstance(gold, str) else None)
    votes = _read_any(read_once(asked_source(source, reading)), how, storage, reading)
    return _spelt(votes, classes, bool(reading.get("tidy")))


class How(NamedTuple):
    """What reading votes depends on beside the options of reading: what stands between several
    labels, whether rows without one are kept, the classes if they are known, and the column of a
    wide table that is gold."""

    separator: str | None = None
    unlabelled: bool = False
    classes: pl.Series | None = None
    gold: str | None = None


def _read_any(source: Any, how: How, storage: Any, reading: Reading) -> Votes:
    from quorate.votes.items import kept_names, with_items

    keep = kept_names(reading)
    export = export_of(source, reading, keep)
    if export is not None:
        read = from_export(export, how, reading)
        return replace(read, kind=Kind("pandas")) if is_pandas(source) else read
    votes = _from_table(source, how, storage, reading)
    return with_items(votes, source, keep, reading) if keep else votes


def _from_table(source: Any, how: How, storage: Any, reading: Reading) -> Votes:
    """The votes of a table, in files, in memory or in rows."""
    if storage is not None and is_database(source):
        from quorate.votes.store import stored_query

        return stored_query(source, reading, how, storage)
    if storage is not None and in_files(source):
        from quorate.votes.store import Source, stored_votes

        return stored_votes(Source.of(source, reading, how), storage)
    if isinstance(source, np.ndarray):
        plain = np.asarray(source) if isinstance(source, np.matrix) else source
        return _from_matrix(plain, how, reading)
    try:
        return _read(source, how, reading)
    except QuorateError as error:
        hints = filter(None, (nearly(file.look()) for file in opened_files(source)))
        raise type(error)(" ".join([str(error), *islice(hints, 1)])) from None


def _spelt(votes: Votes, classes: pl.Series | None, tidy: bool) -> Votes:
    """The votes with notes on how labels are spelt; with `tidy`, as one where only spaces or case
    differ, in the spelling of the classes if those are known."""
    said = votes.codebook.classes
    if said.dtype in (pl.Categorical, pl.Enum):
        said = said.cast(pl.String)
    if may_be_spelt(said) and (tidy or classes is None):
        counts = votes.votes_by_class() if odd(said) else [0] * len(said)
        notes = [
            *note_of_spellings(said, counts, tidy),
            *note_of_no_labels(said, counts, no_labels(said)),
        ]
        if tidy:
            names, code = merged(said, counts)
            change = ClassRecoding((*code, -1), len(names))  # -1 stays what it is
            book = replace(votes.codebook, classes=names)
            votes = replace(votes, blocks=votes.blocks.change(change), codebook=book)
        votes = votes.noted(*notes)
    if not tidy:
        return votes
    votes = replace(votes, tidy=True)
    if classes is None:
        return votes
    book = replace(votes.codebook, classes=respelt(votes.codebook.classes, classes))
    return replace(votes, codebook=book).in_classes(classes)


def export_of(source: Any, reading: Reading, keep: Sequence[str] = ()) -> Export | None:
    """The export of another tool, if the source is one."""
    format = reading.get("format")
    if format in FORMATS.values():
        return None
    files = opened_files(source)
    if not files:
        return None
    reader = reader_named(format) if format in MODULES else _reader_of(files)
    return None if reader is None else read_export(reader, files, keep)


def _reader_of(files: Sequence[Opened]) -> Reader | None:
    """The reader of all these files; refused where some are another tool's, or none's."""
    looks = (file.look() for file in files)
    found = [None if look.has(*ROLES) else recognised(look) for look in looks]
    if len(set(found)) > 1:
        which = dict(zip(found, files, strict=True))
        kinds = [f"{file.origin} ({r.title if r else 'a table'})" for r, file in which.items()]
        raise DataError(f"Files of different kinds are not one input: {', '.join(kinds)}.")
    return found[0]


def from_export(export: Export, how: How, reading: Reading) -> Votes:
    """The votes on one question of an export, with its known answers."""
    question = export.about(reading.get("question"))
    if question.several and not how.unlabelled:
        raise DataError(
            f"{export.origin} has answers that name several labels: say multilabel (--multilabel)."
        )
    repeats = reading.get("repeats", "count")
    rows = question.votes.select(ROLES)
    read = _read(rows, how._replace(separator=None, gold=None), {"repeats": repeats})
    votes = {name: len(answers.votes) for name, answers in export.questions.items()}
    name = next(name for name, answers in export.questions.items() if answers is question)
    report = replace(
        read.report, format=export.title, dropped=export.dropped, questions=votes, question=name
    )
    known, notes = _known_sets(question) if how.unlabelled else _known_of(question)
    return replace(
        read,
        report=report,
        known=known,
        details=_details(question, how.unlabelled, repeats),
        items=export.items if len(export.items.columns) > 1 else None,
        notes=(*read.notes, *notes),
    )


def _details(question: Question, several: bool, repeats: Repeats) -> pl.DataFrame:
    """Task, worker, seconds and time of the votes that are read, in the order of the export."""
    but = ("seconds", "time", *(["label"] if several else []))
    rows = complete_rows(Table(question.votes, "", False, Kind()), but=but).drop("label")
    if repeats == "count":
        return rows
    return rows.unique(["task", "worker"], keep=repeats, maintain_order=True)


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
    answers_are = "answer of the export is" if len(one) == 1 else "answers of the export are"
    notes.append(f"{len(one):,} known {answers_are} taken as gold.")
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


def layout_of(reading: Reading, gold: str | None = None) -> Layout:
    """What the caller says of a table's layout."""
    workers = reading.get("workers") or ()
    if isinstance(workers, str) or not all(isinstance(name, str) for name in workers):
        raise UsageError(f"workers are names of columns, in a list, not {shown(workers)}.")
    wide, given = reading.get("wide"), columns_of(reading)
    told = next((role for role in ("worker", "label") if given[role] is not None), None)
    if told and (wide or workers):
        raise UsageError(
            f"{told}_column is of tables with a vote in each row: leave it out with wide and"
            " workers."
        )
    return Layout(False if told else wide, tuple(workers), gold, given["task"])


def open_votes(
    source: Any,
    columns: Mapping[str, str | None],
    format: str | None,
    missing: Sequence[str],
    layout: Layout,
) -> SourceTable:
    """Open a table of votes, wide or long, with a vote in each row and its roles known."""
    opened = open_source(source, ROLES, format, missing)
    shape = None if layout.wide is False else shape_of(opened, layout, missing)
    if shape is not None:
        return unpivoted(opened, shape, layout, missing)
    roles = columns_for(opened, ROLES, columns)
    return replace(opened, roles=roles, notes=(*opened.notes, *note_of(roles, columns)))


def _read(source: Any, how: How, reading: Reading) -> Votes:
    missing, repeats = missing_words(reading), reading.get("repeats", "count")
    columns, layout = columns_of(reading), layout_of(reading, how.gold)
    opened = open_votes(source, columns, reading.get("format"), missing, layout)
    if "scipy.sparse" not in sys.modules:
        Thread(target=_load_what_follows).start()
    table = _with_details(opened)
    rows, beside = len(table.frame), table.frame.columns[len(ROLES) :]
    optional = (*beside, "label") if how.unlabelled else beside
    frame = complete_rows(table, missing, but=optional)
    missing_rows = rows - len(frame)
    frame = split_labels(frame, how.separator, how.unlabelled)
    if frame["label"].null_count() == len(frame):
        raise DataError(f"{table.origin} has no row with a task, a worker and a label.")
    everyone = frame["worker"].unique(maintain_order=True) if repeats == "last" else None
    if repeats != "count":
        frame = frame.unique(["task", "worker"], keep=repeats, maintain_order=True)
    dropped = rows - missing_rows - len(frame)
    details = frame.drop("label") if beside else None
    table, fields = replace(table, frame=frame.clear()), frame.select(ROLES).get_columns()
    del frame
    labels, codebook = _encode(fields, table, how.classes)
    if everyone is not None:
        labels, codebook = _in_order_of(everyone, labels, codebook, table.text)
    kept = repeats == "count"
    report = ReadReport(rows, missing_rows, len(labels.repeats()) if kept else dropped, kept)
    more = {"details": details if details is None else _typed(details, codebook)}
    votes = Votes.of(labels, codebook, report=report, kind=table.kind, notes=table.notes, **more)
    return votes if opened.silent is None else with_silent(votes, opened.silent(), "table")


def _load_what_follows() -> None:
    """Load what names become codes with, while polars reads, which needs no Python."""
    import_module("numpy.ma")  # polars asks for it when it is given an array
    sparse.load()


def _with_details(opened: SourceTable) -> Table:
    """The votes, and the seconds and the time of each in columns of their own where there are
    any."""
    beside = {} if opened.silent else detail_columns(opened.names)
    beside = {role: name for role, name in beside.items() if name not in opened.roles.values()}
    if not beside:
        return table_of(opened, opened.roles)
    try:
        table = table_of(opened, {**opened.roles, **beside})
    except DataError:  # something else than a time
        return table_of(opened, opened.roles)
    mine = {role: name for role, name in table.kind.columns.items() if role in ROLES}
    dtypes = {role: dtype for role, dtype in table.kind.dtypes.items() if role in ROLES}
    return replace(table, kind=replace(table.kind, columns=mine, dtypes=dtypes))


def _typed(details: pl.DataFrame, codebook: Codebook) -> pl.DataFrame:
    """Seconds as numbers, and tasks and workers in the types that the codebook has."""
    if "seconds" in details.columns:
        details = details.with_columns(pl.col("seconds").cast(pl.Float64, strict=False))
    names = {"task": codebook.tasks, "worker": codebook.workers}
    return details.with_columns(
        details[role] == "true" if known.dtype == pl.Boolean else details[role].cast(known.dtype)
        for role, known in names.items()
        if details.schema[role] == pl.String != known.dtype
    )


def with_silent(votes: Votes, silent: int, what: str) -> Votes:
    """The votes of a matrix or wide table with the number of rows that hold none, and a note on -1,
    which may say so of a cell."""
    classes = votes.codebook.classes
    if what == "table" and classes.dtype.is_integer() and classes[0] == -1:
        votes = votes.noted(*note_of_no_labels(classes, votes.votes_by_class(), [0]))
    if not silent:
        return votes
    votes = replace(votes, report=replace(votes.report, tasks_without_votes=silent))
    return votes.noted(f"{silent} rows of the {what} hold no vote, and are left out.")


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
    """The column with missing words, numbers and NaN as null, and whole numbers as integers again
    where a missing value had made them floats."""
    if words and column.dtype == pl.String:
        is_word = column.is_in(words)
        return column.set(is_word, None) if is_word.any() else column
    for number in whole_numbers(words) if column.dtype.is_numeric() else ():
        as_wide = pl.Int64 if column.dtype.is_integer() else pl.Float64  # as any number needs
        column = column.set(column.cast(as_wide, strict=False).eq_missing(number), None)
    if not column.dtype.is_float():
        return column
    column = column.fill_nan(None)
    whole = column.cast(pl.Int64, strict=False)
    if known_whole is not None:
        return whole if column.name in known_whole else column
    return whole if whole.eq_missing(column).all() else column


def _from_matrix(matrix: NDArray[Any], how: How, reading: Reading) -> Votes:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biufUTO":
        raise DataError(
            f"A matrix of votes has tasks as rows, workers as columns and numbers or text in it;"
            f" this one has the shape {matrix.shape} and the type {matrix.dtype}."
        )
    names = list(layout_of(reading).workers) or range(matrix.shape[1])
    if len(names) != matrix.shape[1]:
        raise UsageError(f"workers names {len(names)} columns: the matrix has {matrix.shape[1]}.")
    if matrix.dtype.kind in "UTO":
        labels = series("label", matrix.ravel().tolist())
        words = labels.is_in(missing_words(reading)) if labels.dtype == pl.String else labels == -1
        present = ~(labels.is_null() | words).to_numpy().reshape(matrix.shape)
    else:
        present = (matrix != -1) & (matrix == matrix)
    task, worker = np.nonzero(present)
    if not len(task):
        raise DataError("The matrix has no votes in it: all is -1 or NaN.")
    said = matrix[task, worker]
    label = labels.filter(present.ravel()) if matrix.dtype.kind in "UTO" else said
    workers = pl.Series(names).gather(worker)
    rows = pl.DataFrame({"task": task, "worker": workers, "label": label})
    told: Reading = {"repeats": reading.get("repeats", "count"), "wide": False}
    votes = _read(rows, How(classes=how.classes), told)
    return with_silent(votes, len(matrix) - rows["task"].n_unique(), "matrix")


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
    if len(names) <= np.iinfo(np.int8).max:
        code = code.astype(np.int8)
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
