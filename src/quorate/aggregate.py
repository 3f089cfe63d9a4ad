"""Votes in, trusted labels out: read, give codes to what has names, fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import polars as pl

from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError
from quorate.fit import Progress, fit
from quorate.heldout import weighed
from quorate.io import (
    Answers,
    Votes,
    complete_rows,
    find,
    in_classes,
    listed,
    match,
    read_answers,
    read_features,
    read_table,
    read_votes,
    shown,
    with_features,
)
from quorate.kernels import Floats
from quorate.labels import Codebook
from quorate.model import STARTS
from quorate.models import Ordered, make, method_named
from quorate.multilabel import Multilabel, known_answers, questions, read_answer_sets
from quorate.result import Result, load

RESULT_SUFFIX = ".quorate"


@overload
def aggregate(
    votes: Any, method: str = ..., *, multilabel: Literal[False] = ..., **options: Any
) -> Result: ...
@overload
def aggregate(
    votes: Any, method: str = ..., *, multilabel: Literal[True], **options: Any
) -> Multilabel: ...
def aggregate(
    votes: Any,
    method: str = "dawid-skene",
    *,
    gold: Any = None,
    ordered: bool | Sequence[Any] = False,
    features: Any = None,
    multilabel: bool = False,
    separator: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    task_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    repeats: str = "count",
    format: str | None = None,
    missing: Sequence[str] = ("", "NaN", "nan"),
    **options: Any,
) -> Result | Multilabel:
    """Turn votes into labels with confidences and workers with qualities.

    `votes` is a path (CSV, TSV, JSON lines or Parquet; ``"-"`` for standard input), a pandas or
    polars frame, an Arrow table, an iterable of (task, worker, label), or a matrix of tasks by
    workers with -1 or NaN where there is no vote. Columns are task, worker and label unless
    `task_column`, `worker_column` and `label_column` say otherwise. A worker's repeated answers to
    a task all count, or only the first or last with `repeats`. Cells in `missing` are missing.

    `gold` holds known answers (a table of task and label, or a mapping), which are kept fixed.
    `ordered` says that classes have an order: True for that in which they sort, or a list of them.
    The method then runs on each threshold between them: see `quorate.Ordered`.

    `features` holds binary features of tasks, for a method that learns from them: a table of task
    and feature, or of task and a column of 0 and 1 for each feature. Tasks that have features and
    no votes are labelled too.

    With `multilabel` a task may have several right answers. A worker's labels of a task, in rows of
    their own or in one with a `separator` between them, are all the options that the worker chose
    (a row without a label: none); each option is a question of its own, yes or no, to which the
    method is put.

    The other `options` are the method's: see `quorate.methods()`. Where they concern workers or
    classes they may be given by name: `prior` as a mapping of class to share; `init` (values are
    of `probability`) and `worker_prior` (of `count`) as a table of worker, truth, label and value,
    a mapping of worker to matrix, or an earlier result.

    Examples:
        >>> votes = [("1.jpg", "ann", "cat"), ("1.jpg", "bob", "cat"), ("1.jpg", "eve", "dog"),
        ...          ("2.jpg", "ann", "dog"), ("2.jpg", "bob", "dog"), ("2.jpg", "eve", "dog")]
        >>> aggregate(votes, method="majority").labels["label"].to_list()
        ['cat', 'dog']
    """
    if separator is not None and not multilabel:
        raise UsageError("separator is for several right answers: say multilabel (--multilabel).")
    if separator == "":
        raise UsageError("separator is empty: say what stands between a worker's labels.")
    if repeats != "count" and multilabel:
        raise UsageError("repeats cannot be told from several right answers: leave it at count.")
    if ordered is not False and multilabel:
        raise UsageError("ordered is for one right answer: options of several have no order.")
    if "feature_weight" not in method_named(method).options and features is not None:
        raise UsageError(f"{method} does not learn from features: naive-bayes does.")
    read = read_votes(
        votes,
        task_column=task_column,
        worker_column=worker_column,
        label_column=label_column,
        repeats=repeats,  # type: ignore[arg-type]
        format=format,
        missing=missing,
        separator=separator,
        unlabelled=multilabel,
    )
    notes: list[str] = []
    if read.report.tasks_without_votes:
        notes.append(
            f"{read.report.tasks_without_votes} rows of the matrix hold no vote, and are left out."
        )
    columns = {"task": task_column, "label": label_column}
    if features is not None:
        features = read_features(features, columns=columns, missing=missing)
    if multilabel:
        if gold is not None:
            gold = read_answer_sets(gold, separator=separator, columns=columns, missing=missing)
        options |= {"features": features, "threads": threads, "progress": progress}
        return replace(_each_option(read, method, gold, notes, options), separator=separator)
    if features is not None:
        read = with_features(read, features, notes)
    if gold is not None:
        read = with_gold(read, read_answers(gold, columns=columns, missing=missing), notes)
    if not isinstance(ordered, bool):
        read = _classes_in_order(read, ordered)
    if read.labels.n_classes == 1:
        only = shown(read.codebook.classes[0])
        notes.append(f"All votes say {only}: there is nothing to decide.")
    engine = Threads(threads)
    model = make(method, **_in_codes(options, read.codebook, notes))
    model = weighed(model, read.labels, engine, notes)
    if ordered is not False:
        model, method = Ordered(model), f"{method}, ordered"
    result = fit(model, read.labels, codebook=read.codebook, engine=engine, progress=progress)
    notes += result.notes
    return replace(result, method=method, kind=read.kind, read=read.report, notes=tuple(notes))


def _each_option(
    read: Votes, method: str, gold: pl.DataFrame | None, notes: list[str], options: dict[str, Any]
) -> Multilabel:
    """The method put to every option by itself."""
    names = read.codebook.classes
    answers = repeat(None) if gold is None else known_answers(gold, names, notes)
    results = {
        name: aggregate(votes, method, gold=known, **options)
        for name, votes, known in zip(names, questions(read), answers, strict=False)
    }
    notes.extend(note for result in results.values() for note in result.notes)
    return Multilabel(
        results,
        int((read.labels.label >= 0).sum()),
        method,
        read.kind,
        replace(read.report, repeated=0),
        notes=tuple(dict.fromkeys(notes)),
    )


def with_gold(votes: Votes, answers: Answers, notes: list[str]) -> Votes:
    """The votes with the known answers, some of which may be classes that nobody voted for."""
    if answers.missing:
        rows = answers.missing + len(answers.tasks)
        notes.append(f"{answers.missing} of {rows} gold answers lack a field, and are left out.")
    task = find(answers.tasks, votes.codebook.tasks)
    if not len(task):
        notes.append("There are no gold answers.")
    known = task.is_not_null()
    if not known.all():
        notes.append(
            f"{task.null_count()} of {len(task)} gold answers are of tasks without votes,"
            " and are left out."
        )
    votes = _with_classes(votes, answers.labels.filter(known))
    answer = find(answers.labels, votes.codebook.classes).filter(known)
    codes = np.full(votes.labels.n_tasks, -1, dtype=np.int32)
    codes[task.filter(known).to_numpy()] = answer.to_numpy()
    return replace(votes, labels=replace(votes.labels, gold=codes))


def _with_classes(votes: Votes, names: pl.Series) -> Votes:
    """The votes with these classes among theirs."""
    known = votes.codebook.classes
    new = names.filter(find(names, known).is_null()).unique()
    if not len(new):
        return votes
    if known.dtype in (pl.Categorical, pl.Enum):  # which may have no place for a new class
        known = known.cast(pl.String)
    if known.dtype.is_integer() and new.dtype.is_integer():
        known, new = known.cast(pl.Int64), new.cast(pl.Int64)
    if new.dtype != known.dtype:
        raise DataError(
            f"The gold label {shown(new[0])} is of another type than the votes' labels,"
            f" such as {shown(known[0])}."
        )
    return in_classes(votes, pl.concat([known, new.alias(known.name)]).sort())


def _classes_in_order(votes: Votes, names: Sequence[Any]) -> Votes:
    """The votes with classes in the order of their names."""
    known = votes.codebook.classes
    classes = pl.Series(known.name, list(names), strict=False)
    if classes.cast(pl.String).n_unique() < len(classes):
        raise UsageError(f"ordered names a class more than once: {listed(names)}.")
    match(known, classes, "The votes have the class")
    return in_classes(votes, _typed_like(known, classes))


def _typed_like(known: pl.Series, names: pl.Series) -> pl.Series:
    """The names, which the known ones are among, in the type of the known."""
    if names.dtype == known.dtype:
        return names
    if len(names) == len(known):
        return known.gather(match(names, known, "The order has the class"))
    typed = names.cast(known.dtype, strict=False) if known.dtype.is_numeric() else None
    if typed is None or typed.null_count():
        raise UsageError(f"ordered names a class that the votes do not have: {listed(known, 12)}.")
    return typed


def _in_codes(options: Mapping[str, Any], book: Codebook, notes: list[str]) -> dict[str, Any]:
    """Options that name workers or classes, as arrays in code order."""
    coded = dict(options)
    if "prior" in coded:
        coded["prior"] = _shares(coded["prior"], book)
    for option, value in (("init", "probability"), ("worker_prior", "count")):
        given = coded.get(option)
        by_name = option == "init" and isinstance(given, str) and given in ("vote", *STARTS)
        if given is not None and not by_name:
            coded[option] = _matrices(option, value, given, book, notes)
    return coded


def _shares(prior: Any, book: Codebook) -> Any:
    if isinstance(prior, str):
        if prior in ("estimated", "uniform"):
            return prior
        prior = _parse_shares(prior)
    try:
        shares = np.asarray(_in_order(prior, book) if hasattr(prior, "items") else prior, float)
    except (TypeError, ValueError):
        shares = np.empty(0)
    fits = shares.shape == (len(book.classes),) and np.isfinite(shares).all()
    if not fits or (shares < 0).any() or not shares.sum() > 0:
        raise UsageError(
            f"prior needs a share of at least 0 for each of the {len(book.classes)} classes"
            f" ({listed(book.classes)}), not {shown(prior)}."
        )
    return shares / shares.sum()


def _in_order(shares: Any, book: Codebook) -> list[Any]:
    """Shares by name in the order of the classes; none at all if the names are not the classes."""
    named = list(shares.items())
    where = find(book.classes, pl.Series([name for name, _ in named]))
    if where.null_count() or len(where) != len(named):
        return []
    return [named[i][1] for i in where]


def _parse_shares(text: str) -> list[float] | dict[str, float]:
    try:
        parts = [part.rpartition("=") for part in text.split(",")]
        if not any(equals for _, equals, _ in parts):
            return [float(share) for _, _, share in parts]
        shares = {name.strip(): float(share) for name, equals, share in parts if equals}
        if len(shares) < len(parts):
            raise ValueError
        return shares
    except ValueError:
        raise UsageError(
            f"prior is estimated, uniform, or shares such as yes=0.7,no=0.3; not {text!r}."
        ) from None


def _matrices(option: str, value: str, given: Any, book: Codebook, notes: list[str]) -> Any:
    """``[worker, truth, label]`` from an array, a table, a mapping, or an earlier result."""
    if isinstance(given, np.ndarray):
        return _checked(option, given)
    if isinstance(given, (str, Path)) and str(given).endswith(RESULT_SUFFIX):
        given = load(given)
    if isinstance(given, Result):
        given = _as_table(option, value, given)
    if isinstance(given, Mapping):
        return _from_mapping(option, given, book, notes)
    table = read_table(given, ("worker", "truth", "label", value))
    number = pl.col(value).cast(pl.Float64, strict=False)
    frame = complete_rows(table).with_columns(number).drop_nulls()
    rows = len(table.frame)
    if len(frame) < rows:
        lacking = rows - len(frame)
        notes.append(f"{lacking} of {rows} rows of {option} lack a field, and are left out.")
    worker = find(frame["worker"], book.workers)
    truth, label = (
        match(frame[role], book.classes, f"{option} has the {role}") for role in ("truth", "label")
    )
    matrices = np.zeros((len(book.workers), len(book.classes), len(book.classes)))
    known = worker.is_not_null()
    at = tuple(c.filter(known).to_numpy() for c in (worker, truth, label))
    np.add.at(matrices, at, frame[value].filter(known).to_numpy())
    strangers = frame["worker"].filter(~known).n_unique()
    return _complete(option, matrices, strangers, frame["worker"].n_unique(), notes)


def _as_table(option: str, value: str, result: Result) -> pl.DataFrame:
    if option == "init":
        return result.confusion_frame
    history = result.history
    if history is None:
        raise UsageError(
            f"{option} cannot come from {result.method}, which does not weigh workers."
        )
    return result.by_worker(history, value)


def _from_mapping(
    option: str, given: Mapping[Any, Any], book: Codebook, notes: list[str]
) -> Floats:
    shape = (len(book.classes), len(book.classes))
    matrices = np.zeros((len(book.workers), *shape))
    workers = read_table([(name,) for name in given], ("worker",)).frame["worker"]
    code = find(workers, book.workers)
    for i, (name, matrix) in zip(code, given.items(), strict=True):
        matrix = _checked(option, matrix)
        if matrix.shape != shape:
            raise UsageError(
                f"{option} for {shown(name)} has the shape {matrix.shape}, where {shape} was"
                " expected."
            )
        if i is not None:
            matrices[i] = matrix
    return _complete(option, matrices, code.null_count(), len(given), notes)


def _complete(option: str, matrices: Floats, strangers: int, of: int, notes: list[str]) -> Floats:
    """Say who is not among the workers; a start needs a matrix for everyone."""
    if strangers:
        notes.append(
            f"{strangers} of {of} workers in {option} have no votes here, and are left out."
        )
    if not of:
        notes.append(f"There is nothing in {option}.")
    matrices = _checked(option, matrices)
    if option == "init":
        given = matrices.any(axis=(1, 2))
        if not given.any():
            raise DataError("init has no matrix for any worker of these votes.")
        crowd = matrices.sum(axis=0)
        met = crowd.sum(axis=1, keepdims=True)
        matrices[~given] = crowd / np.where(met > 0, met, 1)
    return matrices


def _checked(option: str, given: Any) -> Floats:
    try:
        matrices = np.atleast_1d(np.asarray(given, dtype=float, order="C"))
    except (TypeError, ValueError):
        matrices = np.full(1, np.nan)
    if not (np.isfinite(matrices).all() and (matrices >= 0).all()):
        raise DataError(f"{option} has a value that is negative, or not a number.")
    sums = matrices.sum(axis=-1)
    if option == "init" and not (np.isclose(sums, 1, atol=0.01) | (sums == 0)).all():
        raise DataError("init has probabilities of one worker and truth that do not sum to 1.")
    return matrices
