"""Votes by name become labels in codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError, require_choice
from quorate.io.coding import BLOCK, codes_of
from quorate.io.faults import listed, shown
from quorate.io.sources import MISSING, Kind, Table, read_table
from quorate.labels import Codebook, Labels

ROLES = ("task", "worker", "label")
Repeats = Literal["count", "first", "last"]


@dataclass(frozen=True)
class ReadReport:
    """What was read: rows, those dropped for a missing field, rows in which a worker answers a
    task again (kept, or dropped when only the first or last answer is wanted), and the rows of a
    matrix, tasks, that hold no vote and are left out."""

    rows: int
    missing: int
    repeated: int
    repeats_kept: bool
    tasks_without_votes: int = 0


@dataclass(frozen=True, eq=False)
class Votes:
    """Labels in codes, their names, and how they were read."""

    labels: Labels
    codebook: Codebook
    report: ReadReport
    kind: Kind

    @classmethod
    def none(cls, classes: pl.Series) -> Votes:
        """No votes at all, on classes that are known."""
        labels = Labels.from_codes([], [], [], n_classes=len(classes))
        nobody = pl.Series("worker", [], dtype=pl.String)
        book = Codebook(nobody.alias("task"), nobody, classes)
        return cls(labels, book, ReadReport(0, 0, 0, True), Kind())


def read_votes(
    source: Any,
    *,
    task_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    repeats: Repeats = "count",
    format: str | None = None,
    missing: Sequence[str] = MISSING,
    separator: str | None = None,
    unlabelled: bool = False,
    classes: pl.Series | None = None,
) -> Votes:
    """Read votes from a file, standard input (``"-"``), a data frame, an Arrow table, an iterable
    of (task, worker, label), or a matrix of tasks by workers with -1 or NaN where there is none.
    A label is several, where a `separator` stands between them. Rows without a label are left out,
    or kept if `unlabelled`, with the code -1. A task without any vote is not among the tasks. JSON
    lines that mix numbers and text in a column give text.

    Examples:
        >>> votes = read_votes([("a", "ann", True), ("a", "bob", False), ("b", "ann", True)])
        >>> votes.labels.n_tasks, votes.codebook.classes.to_list()
        (2, [False, True])
    """
    require_choice("repeats", repeats, ("count", "first", "last"))
    if isinstance(source, Votes):
        return source if classes is None else in_classes(source, classes)
    silent = 0
    if isinstance(source, np.ndarray):
        matrix, source = source, _from_matrix(source)
        silent = len(matrix) - source["task"].n_unique()
    columns = {"task": task_column, "worker": worker_column, "label": label_column}
    table = read_table(source, ROLES, columns=columns, format=format, missing=missing)
    rows = len(table.frame)
    frame = complete_rows(table, missing, but=("label",) if unlabelled else ())
    missing_rows = rows - len(frame)
    if separator is not None:
        split = split_labels(frame, separator)
        frame = split if unlabelled else split.drop_nulls()
    if frame["label"].null_count() == len(frame):
        raise DataError(f"{table.origin} has no row with a task, a worker and a label.")
    everyone = frame["worker"].unique(maintain_order=True) if repeats == "last" else None
    if repeats != "count":
        frame = frame.unique(["task", "worker"], keep=repeats, maintain_order=True)
    dropped = rows - missing_rows - len(frame)
    table, fields = replace(table, frame=frame.clear()), frame.get_columns()
    del frame
    labels, codebook = _encode(fields, table, classes)
    if everyone is not None:  # who stand in the order of all rows, not of those that are left
        workers = retyped(everyone) if table.text else everyone
        code = find(codebook.workers, workers).to_numpy()
        labels = labels.with_workers(code, len(workers))
        codebook = replace(codebook, workers=workers)
    kept = repeats == "count"
    repeated = len(labels.repeats()) if kept else dropped
    report = ReadReport(rows, missing_rows, repeated, kept, silent)
    return Votes(labels, codebook, report, table.kind)


@dataclass(frozen=True, eq=False)
class Answers:
    """Known answers: a task and its label in each row; and how many rows lacked either."""

    tasks: pl.Series
    labels: pl.Series
    missing: int


def read_answers(
    source: Any,
    *,
    columns: Mapping[str, str | None] | None = None,
    missing: Sequence[str] = MISSING,
) -> Answers:
    """Known answers from a table of task and label, or a mapping from task to label. `columns` are
    the names these have in the votes, and may have here.

    Examples:
        >>> read_answers({"a": "cat", "b": "dog"}).labels.to_list()
        ['cat', 'dog']
    """
    table = read_table(source, ("task", "label"), columns=columns, missing=missing, strict=False)
    frame = complete_rows(table, missing)
    answers = frame.unique(maintain_order=True)
    if answers["task"].is_duplicated().any():
        twice = answers["task"].filter(answers["task"].is_duplicated())[0]
        raise DataError(f"{table.origin} gives task {shown(twice)} more than one answer.")
    tasks, labels = answers["task"], answers["label"]
    if table.text:
        tasks, labels = retyped(tasks), retyped(labels)
    return Answers(tasks, labels, len(table.frame) - len(frame))


def split_labels(frame: pl.DataFrame, separator: str) -> pl.DataFrame:
    """A row for each of the labels that stand joined in a row; null where there are none."""
    parts = pl.col("label").cast(pl.String).str.split(separator)
    label = pl.col("label").str.strip_chars()
    return frame.with_columns(parts).explode("label").with_columns(label.replace("", None))


def read_gold(source: Any, reading: Mapping[str, Any]) -> Answers:
    """Known answers that come with votes, whose options of reading hold for them as well."""
    columns = {role: reading.get(f"{role}_column") for role in ("task", "label")}
    return read_answers(source, columns=columns, missing=reading.get("missing", MISSING))


def complete_rows(
    table: Table,
    missing: Sequence[str] = MISSING,
    but: Sequence[str] = (),
    whole: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The rows that have all fields, `but` for some. The words for a missing one are known to the
    reader of text files, and looked for here in other tables. Of a table that is only a part of
    one, `whole` says which columns of floating-point numbers are whole everywhere."""
    words = [] if table.text else [missing] if isinstance(missing, str) else list(missing)
    frame = table.frame.select(_present(column, words, whole) for column in table.frame)
    return frame.drop_nulls([name for name in frame.columns if name not in but])


def _present(column: pl.Series, words: list[str], known_whole: Sequence[str] | None) -> pl.Series:
    """NaN is missing too; whole numbers that a missing one had made floats are whole again."""
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


def _from_matrix(matrix: NDArray[Any]) -> pl.DataFrame:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"A matrix of votes has tasks as rows, workers as columns and numbers in it; this one"
            f" has the shape {matrix.shape} and the type {matrix.dtype}."
        )
    task, worker = np.nonzero((matrix != -1) & (matrix == matrix))
    if not len(task):
        raise DataError("The matrix has no votes in it: all is -1 or NaN.")
    return pl.DataFrame({"task": task, "worker": worker, "label": matrix[task, worker]})


def in_classes(votes: Votes, classes: pl.Series) -> Votes:
    """The same votes, with the codes of these classes."""
    code = match(votes.codebook.classes, classes, "The votes have the label").to_numpy()
    return replace(
        votes,
        labels=votes.labels.with_classes(code, len(classes)),
        codebook=replace(votes.codebook, classes=classes),
    )


def _encode(
    fields: list[pl.Series], table: Table, classes: pl.Series | None
) -> tuple[Labels, Codebook]:
    """Labels of columns of tasks, workers and labels, which are let go of once they are coded."""
    (task, tasks), (worker, workers), (label, said) = _coded(fields)
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


def _coded(fields: list[pl.Series]) -> Iterator[tuple[NDArray[np.signedinteger], pl.Series]]:
    """Two at a time, which is as fast as three and holds less; a few rows without threads."""
    if len(fields[0]) <= BLOCK:
        return map(codes_of, fields)
    with ThreadPoolExecutor(2) as pool:
        coded = [pool.submit(codes_of, fields.pop(0)) for _ in ROLES]
    return (field.result() for field in coded)


def match(names: pl.Series, known: pl.Series, what: str) -> pl.Series:
    """The codes of names that must all be known."""
    codes = find(names, known)
    if codes.null_count():
        stranger = names.filter(codes.is_null())[0]
        raise DataError(f"{what} {shown(stranger)}, which is none of {listed(known, 12)}.")
    return codes


def find(names: pl.Series, known: pl.Series) -> pl.Series:
    """The codes of names, null for those not known; text is compared with text."""
    if names.dtype != known.dtype:
        names, known = names.cast(pl.String), known.cast(pl.String)
    codes = pl.arange(0, len(known), dtype=pl.Int32, eager=True)
    return names.replace_strict(known, codes, default=None, return_dtype=pl.Int32)


def retyped(names: pl.Series) -> pl.Series:
    """Names that were read as text, as whole numbers or truth values if they all are such, to the
    letter: 7 becomes a number, 007 stays text."""
    for dtype in (pl.Int64, pl.Boolean):
        if dtype == pl.Boolean and not names.is_in(["true", "false"]).all():
            continue
        typed = names == "true" if dtype == pl.Boolean else names.cast(dtype, strict=False)
        if typed.cast(pl.String).eq_missing(names).all():
            return typed
    return names
