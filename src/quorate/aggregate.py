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
from quorate.errors import UsageError, require_choice, require_probability
from quorate.fit import Progress, fit
from quorate.heldout import weighed
from quorate.io import (
    Answers,
    Votes,
    find,
    in_classes,
    read_answers,
    read_features,
    read_votes,
    shown,
    with_features,
)
from quorate.large import LargeResult, Scale, aggregate_large
from quorate.models import METHODS, Ordered, discounts, make, method_named
from quorate.multilabel import Multilabel, known_answers, questions, read_answer_sets
from quorate.named import classes_in_order, classes_with, in_codes
from quorate.named import worker_kinds as kinds_of
from quorate.result import Result
from quorate.store import Source
from quorate.store.filling import Stage

ENGINES = ("threads", "stream", "ray")


@overload
def aggregate(
    votes: Any, method: str | None = ..., *, multilabel: Literal[False] = ..., **options: Any
) -> Result: ...
@overload
def aggregate(
    votes: Any, method: str | None = ..., *, multilabel: Literal[True], **options: Any
) -> Multilabel: ...
@overload
def aggregate(
    votes: str | Path, method: str = ..., *, engine: Literal["stream", "ray"], **options: Any
) -> LargeResult: ...
@overload
def aggregate(
    votes: str | Path, method: str = ..., *, memory: str | float, **options: Any
) -> LargeResult: ...
def aggregate(
    votes: Any,
    method: str | None = None,
    *,
    gold: Any = None,
    min_confidence: float = 0.0,
    ordered: bool | Sequence[Any] = False,
    features: Any = None,
    discount: bool | None = None,
    worker_kinds: Any = None,
    multilabel: bool = False,
    separator: str | None = None,
    threads: int | None = None,
    engine: str | None = None,
    memory: str | float | None = None,
    store: str | Path | None = None,
    address: str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    stage: Stage | None = None,
    tables: Sequence[str] = ("labels", "posterior"),
    places: Mapping[str, Path] | None = None,
    task_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    repeats: str = "count",
    format: str | None = None,
    missing: Sequence[str] = ("", "NaN", "nan"),
    **options: Any,
) -> Result | Multilabel | LargeResult:
    """Turn votes into labels with confidences and workers with qualities.

    `votes` is a path (CSV, TSV, JSON lines or Parquet; ``"-"`` for standard input), a pandas or
    polars frame, an Arrow table, an iterable of (task, worker, label), or a matrix of tasks by
    workers with -1 or NaN where there is no vote. Columns are task, worker and label unless
    `task_column`, `worker_column` and `label_column` say otherwise. A worker's repeated answers to
    a task all count, or only the first or last with `repeats`. Cells in `missing` are missing.

    `method` is one that `quorate.methods()` names; by default ``"auto"``, which weights some models
    by how well they predict held-out votes. Answers whose confidence is below `min_confidence` are
    left out: the label is null.

    `gold` holds known answers (a table of task and label, or a mapping), which are kept fixed.
    `ordered` says that classes have an order: True for that in which they sort, or a list of them.
    The method then runs on each threshold between them: see `quorate.Ordered`.

    `features` holds binary features of tasks, for a method that learns from them: a table of task
    and feature, or of task and a column of 0 and 1 for each feature. Tasks that have features and
    no votes are labelled too.

    With `discount`, workers whose errors move together beyond what their skills explain, such as
    copies of one judge, count for less: see `quorate.independence`. By default that is so with
    ``"auto"``. `worker_kinds` says what each worker is, human or model for instance: a table of
    worker and kind, or a mapping.

    With `multilabel` a task may have several right answers. A worker's labels of a task, in rows of
    their own or in one with a `separator` between them, are all the options that the worker chose
    (a row without a label: none); each option is a question of its own, yes or no, to which the
    method is put.

    Votes in files need not fit in memory. With `memory` (a bound such as ``"2GB"``), a `store` (a
    directory that is used again by the same votes) or ``engine="stream"`` they go by way of blocks
    on disk; with ``engine="ray"`` or the `address` of a cluster they are shared among processes.
    The answers are the same, as a `LargeResult`. `resume` goes on with what was cut short in that
    `store`. `tables` are written, to the directories of `places` or into the store, and `stage` is
    told what is under way.

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
    method = method or "auto"
    require_probability("min_confidence", min_confidence)
    if min_confidence and multilabel:
        raise UsageError("min_confidence is for one right answer: leave it out.")
    if discount and not method_named(method).takes_weights:
        able = ", ".join(name for name in METHODS if METHODS[name].takes_weights)
        raise UsageError(f"{method} cannot discount votes: {able} can.")
    if engine is None:
        in_memory = memory is None and store is None and address is None and not resume
        engine = "threads" if in_memory else "stream" if address is None else "ray"
    require_choice("engine", engine, ENGINES)
    if engine != "threads":
        if features is not None or multilabel:
            what = "Features are" if features is not None else "Several right answers are"
            raise UsageError(f"{what} for votes in memory: leave out engine, memory and store.")
        if not isinstance(votes, (str, Path)) or str(votes) == "-":
            raise UsageError("Only votes in files can be larger than memory: name a file.")
        if worker_kinds is not None:
            raise UsageError(
                "worker_kinds is for votes in memory: leave out engine, memory and store."
            )
        require_choice("repeats", repeats, ("count", "first", "last"))
        columns = {"task": task_column, "worker": worker_column, "label": label_column}
        source = Source(str(votes), columns, format, missing, repeats)
        scale = Scale(engine, memory, store, address, resume, threads, tables, places or {}, stage)
        return aggregate_large(
            source,
            method,
            options,
            scale,
            gold=gold,
            ordered=ordered,
            min_confidence=min_confidence,
            discount=discount,
            progress=progress,
        )
    if not method_named(method).model.learns_from_features and features is not None:
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
        options |= {"discount": bool(discount), "worker_kinds": worker_kinds}
        return replace(_each_option(read, method, gold, notes, options), separator=separator)
    if features is not None:
        read = with_features(read, features, notes)
    if gold is not None:
        read = with_gold(read, read_answers(gold, columns=columns, missing=missing), notes)
    if not isinstance(ordered, bool):
        read = in_classes(read, classes_in_order(read.codebook.classes, ordered))
    if read.labels.n_classes == 1:
        only = shown(read.codebook.classes[0])
        notes.append(f"All votes say {only}: there is nothing to decide.")
    model = make(method, **in_codes(options, read.codebook, notes))
    pool = Threads(threads)
    per_worker: dict[str, Sequence[Any]] = {}
    if worker_kinds is not None:
        per_worker["kind"] = kinds_of(worker_kinds, read.codebook.workers, notes)
    if discounts(discount, method):
        from quorate.correlated import group_column, independence  # slow to import

        found = independence(read.labels, seed=options.get("seed", 0), engine=pool)
        read = replace(read, labels=replace(read.labels, weight=found.weight))
        per_worker |= group_column(found.groups, read.labels.n_workers, discount, notes)
    model = weighed(model, read.labels, pool, notes)
    if ordered is not False:
        model, method = Ordered(model), f"{method}, ordered"
    result = fit(model, read.labels, codebook=read.codebook, engine=pool, progress=progress)
    notes += result.notes
    return replace(
        result,
        method=method,
        kind=read.kind,
        read=read.report,
        notes=tuple(notes),
        min_confidence=min_confidence,
        per_worker=per_worker,
    )


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
    classes = classes_with(known, names)
    return votes if len(classes) == len(known) else in_classes(votes, classes)
