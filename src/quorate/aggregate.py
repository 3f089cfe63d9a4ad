"""Votes in, trusted labels out: read, give codes to what has names, fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError
from quorate.fit import Progress, fit
from quorate.io import Votes, find, match, read_answers, read_table, read_votes
from quorate.kernels import Floats
from quorate.labels import Codebook
from quorate.models import make, method_named
from quorate.result import Result, load

RESULT_SUFFIX = ".quorate"


def aggregate(
    votes: Any,
    method: str = "dawid-skene",
    *,
    gold: Any = None,
    threads: int | None = None,
    progress: Progress | None = None,
    task_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    repeats: str = "count",
    format: str | None = None,
    missing: Sequence[str] = ("", "NaN", "nan"),
    **options: Any,
) -> Result:
    """Turn votes into labels with confidences and workers with qualities.

    `votes` is a path (CSV, TSV, JSON lines or Parquet; ``"-"`` for standard input), a pandas or
    polars frame, an Arrow table, an iterable of (task, worker, label), or a matrix of tasks by
    workers with -1 or NaN where there is no vote. Columns are task, worker and label unless
    `task_column`, `worker_column` and `label_column` say otherwise. A worker's repeated answers to
    a task all count, or only the first or last with `repeats`. Cells in `missing` are missing.

    `gold` holds known answers (a table of task and label, or a mapping), which are kept fixed. The
    other `options` are the method's: see `quorate.methods()`. Where they concern workers or
    classes they may be given by name: `prior` as a mapping of class to share; `init` (values are
    of `probability`) and `worker_prior` (of `count`) as a table of worker, truth, label and value,
    a mapping of worker to matrix, or an earlier result.

    >>> votes = [("cat.jpg", "ann", "cat"), ("cat.jpg", "bob", "cat"), ("cat.jpg", "eve", "dog"),
    ...          ("dog.jpg", "ann", "dog"), ("dog.jpg", "bob", "dog"), ("dog.jpg", "eve", "dog")]
    >>> aggregate(votes, method="majority").labels["label"].to_list()
    ['cat', 'dog']
    """
    method_named(method)
    read = read_votes(
        votes,
        task_column=task_column,
        worker_column=worker_column,
        label_column=label_column,
        repeats=repeats,  # type: ignore[arg-type]
        format=format,
        missing=missing,
    )
    notes: list[str] = []
    if gold is not None:
        read = with_gold(read, gold, notes)
    if read.labels.n_classes == 1:
        notes.append(f"All votes say {read.codebook.classes[0]!r}: there is nothing to decide.")
    model = make(method, **_in_codes(options, read.codebook, notes))
    result = fit(
        model, read.labels, codebook=read.codebook, engine=Threads(threads), progress=progress
    )
    return replace(result, method=method, kind=read.kind, read=read.report, notes=tuple(notes))


def with_gold(votes: Votes, gold: Any, notes: list[str]) -> Votes:
    """The votes with the known answers, some of which may be classes that nobody voted for."""
    answers = read_answers(gold)
    if answers.missing:
        notes.append(f"{answers.missing} rows of the gold table lack a field and are left out.")
    votes = _with_classes(votes, answers.labels)
    task = find(answers.tasks, votes.codebook.tasks)
    known = task.is_not_null()
    if not known.all():
        notes.append(
            f"{task.null_count()} of {len(task)} gold answers are of tasks without votes,"
            " and are left out."
        )
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
    if new.dtype != known.dtype:
        raise DataError(
            f"The gold label {new[0]!r} is of another type than the votes' labels,"
            f" such as {known[0]!r}."
        )
    classes = pl.concat([known, new.alias(known.name)]).sort()
    code = find(known, classes).to_numpy()
    return replace(
        votes,
        labels=votes.labels.with_classes(code, len(classes)),
        codebook=replace(votes.codebook, classes=classes),
    )


def _in_codes(options: Mapping[str, Any], book: Codebook, notes: list[str]) -> dict[str, Any]:
    """Options that name workers or classes, as arrays in code order."""
    coded = dict(options)
    if "prior" in coded:
        coded["prior"] = _shares(coded["prior"], book)
    for option, value in (("init", "probability"), ("worker_prior", "count")):
        if coded.get(option) is not None and not isinstance(coded[option], np.ndarray):
            coded[option] = _matrices(option, value, coded[option], book, notes)
    return coded


def _shares(prior: Any, book: Codebook) -> Any:
    if isinstance(prior, str):
        if prior in ("estimated", "uniform"):
            return prior
        prior = _parse_shares(prior)
    if isinstance(prior, Mapping):
        names = pl.Series([str(name) for name in prior])
        code = match(names, book.classes.cast(pl.String), "prior names the class")
        shares = np.zeros(len(book.classes))
        shares[code.to_numpy()] = list(prior.values())
    else:
        shares = np.asarray(prior, dtype=float)
    if len(shares) != len(book.classes) or not (shares >= 0).all() or not shares.sum() > 0:
        raise UsageError(
            f"prior needs a share of at least 0 for each of the {len(book.classes)} classes"
            f" ({', '.join(map(str, book.classes))}), not {prior}."
        )
    return shares / shares.sum()


def _parse_shares(text: str) -> list[float] | dict[str, float]:
    try:
        parts = [part.rpartition("=") for part in text.split(",")]
        if all(equals for _, equals, _ in parts):
            return {name.strip(): float(share) for name, _, share in parts}
        return [float(share) for _, _, share in parts]
    except ValueError:
        raise UsageError(
            f"prior is estimated, uniform, or shares such as yes=0.7,no=0.3; not {text!r}."
        ) from None


def _matrices(option: str, value: str, given: Any, book: Codebook, notes: list[str]) -> Any:
    """``[worker, truth, label]`` from a table, a mapping, or an earlier result."""
    if isinstance(given, str) and given == "vote":
        return given
    if isinstance(given, (str, Path)) and str(given).endswith(RESULT_SUFFIX):
        given = load(given)
    if isinstance(given, Result):
        given = _as_table(option, value, given)
    if isinstance(given, Mapping):
        return _from_mapping(option, given, book, notes)
    roles = ("worker", "truth", "label", value)
    frame = read_table(given, roles).frame
    rows = len(frame)
    frame = frame.with_columns(pl.col(value).cast(pl.Float64, strict=False)).drop_nulls()
    if len(frame) < rows:
        notes.append(f"{rows - len(frame)} rows of {option} lack a field and are left out.")
    worker = find(frame["worker"], book.workers)
    strangers = frame["worker"].filter(worker.is_null()).n_unique()
    truth, label = (
        match(frame[role], book.classes, f"{option} has the {role}") for role in ("truth", "label")
    )
    matrices = np.zeros((len(book.workers), len(book.classes), len(book.classes)))
    known = worker.is_not_null()
    at = tuple(c.filter(known).to_numpy() for c in (worker, truth, label))
    np.add.at(matrices, at, frame[value].filter(known).to_numpy())
    return _complete(option, matrices, strangers, notes)


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
    worker = find(pl.Series(list(given)), book.workers).to_list()
    for code, (name, matrix) in zip(worker, given.items(), strict=True):
        matrix = np.asarray(matrix, dtype=float)
        if matrix.shape != shape:
            raise UsageError(
                f"{option} for {name!r} has the shape {matrix.shape}, where {shape} was expected."
            )
        if code is not None:
            matrices[code] = matrix
    return _complete(option, matrices, worker.count(None), notes)


def _complete(option: str, matrices: Floats, strangers: int, notes: list[str]) -> Floats:
    """Say who is not among the workers; a start needs a matrix for everyone."""
    if strangers:
        notes.append(f"{strangers} workers of {option} have no votes here, and are left out.")
    if not (np.isfinite(matrices).all() and (matrices >= 0).all()):
        raise DataError(f"{option} has a value that is negative or not a number.")
    if option == "init":
        given = matrices.any(axis=(1, 2))
        if not given.any():
            raise DataError("init has no matrix for any worker of these votes.")
        matrices[~given] = matrices[given].mean(axis=0)
    return matrices
