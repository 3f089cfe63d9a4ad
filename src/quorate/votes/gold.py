"""Gold answers and the order of classes, which both may add classes; kinds of workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quorate.arguments import nearest
from quorate.errors import DataError, UsageError
from quorate.votes.faults import listed, shown
from quorate.votes.naming import find, match, retyped
from quorate.votes.reading import (
    ROLES,
    KnownAnswers,
    Reading,
    Votes,
    asked_source,
    columns_of,
    complete_rows,
    layout_of,
    missing_words,
)
from quorate.votes.sources import (
    Table,
    column_names,
    format_of,
    open_source,
    read_table,
    table_of,
)
from quorate.votes.spelling import respelt
from quorate.votes.wide import shape_of, unpivoted

SHOWN_NEW = 5


def gold_for(votes: Any, gold: Any, reading: Reading) -> KnownAnswers:
    """Gold answers as they are given, or in the column of the votes that has this name.

    Examples:
        >>> votes = pl.DataFrame({"task": ["a", "b"], "label": ["cat"] * 2, "truth": ["dog", None]})
        >>> gold_for(votes, "truth", {}).tasks.to_list()
        ['a']
    """
    if not isinstance(gold, str) or gold == "-" or "://" in gold or Path(gold).exists():
        return read_answers(gold, reading)
    votes, format = asked_source(votes, reading), reading.get("format")
    columns = column_names(votes, format)
    if gold in columns:
        answers = _beside(votes, gold, reading)
        return replace(answers, missing=0)  # of most tasks the answer is not known
    if columns and format_of(gold) is None:
        raise DataError(
            f"There is no file {gold}, and no such column among those of the votes:"
            f" {listed(columns)}."
        )
    return read_answers(gold, reading)


def _beside(votes: Any, gold: str, reading: Reading) -> KnownAnswers:
    """The gold answers in a column of the votes, long or wide."""
    format, missing = reading.get("format"), missing_words(reading)
    layout = layout_of(reading, gold)
    opened = open_source(votes, ROLES, format, missing)
    shape = None if layout.wide is False else shape_of(opened, layout, missing)
    if shape is None:
        return read_answers(votes, {**reading, "label_column": gold}, format)
    rows = unpivoted(opened, replace(shape, workers=(gold,)), layout, missing)
    roles = {role: rows.roles[role] for role in ("task", "label")}
    return _answers(table_of(rows, roles), missing)


def read_answers(
    source: Any, reading: Reading | None = None, format: str | None = None
) -> KnownAnswers:
    """Read gold answers from a table of task and label, or of any two columns, or a mapping from
    task to label.

    `reading` has the options of reading votes, whose column names may be those of this table, too.

    Examples:
        >>> read_answers({"a": "cat", "b": "dog"}).labels.to_list()
        ['cat', 'dog']
    """
    reading = reading or {}
    missing = missing_words(reading)
    columns = columns_of(reading)
    roles = ("task", "label")
    table = read_table(
        source,
        roles,
        columns=columns,
        format=format,
        missing=missing,
        strict=False,
        by_place=True,
    )
    return _answers(table, missing)


def _answers(table: Table, missing: Sequence[str]) -> KnownAnswers:
    """The answers in a table of task and label."""
    frame = complete_rows(table, missing)
    answers = frame.unique(maintain_order=True)
    if answers["task"].is_duplicated().any():
        twice = answers["task"].filter(answers["task"].is_duplicated())[0]
        raise DataError(f"{table.origin} gives task {shown(twice)} more than one answer.")
    tasks, labels = answers["task"], answers["label"]
    if table.text:
        tasks, labels = retyped(tasks), retyped(labels)
    return KnownAnswers(tasks, labels, len(table.frame) - len(frame))


def with_gold(votes: Votes, answers: KnownAnswers) -> Votes:
    """The votes with gold answers, some of which may be classes that nobody voted for."""
    if votes.tidy:
        answers = replace(answers, labels=respelt(answers.labels, votes.codebook.classes))
    rows = votes.blocks.rows_in(answers.tasks)
    with_votes = pl.concat(rows).drop_nulls()
    classes = classes_with(votes.codebook.classes, answers.labels.gather(with_votes))
    if len(classes) > len(votes.codebook.classes):
        note = _note_of_new(classes, votes.codebook.classes)
        votes = votes.in_classes(classes).noted(note)
    code = find(answers.labels, votes.codebook.classes)
    known = [code.gather(row).fill_null(-1).to_numpy().astype(np.int32) for row in rows]
    n_without_votes = len(answers.tasks) - len(with_votes)
    return votes.with_blocks(votes.blocks.attach("gold", known)).noted(
        *_notes(answers, n_without_votes)
    )


def _notes(answers: KnownAnswers, n_without_votes: int) -> list[str]:
    notes, given = [], len(answers.tasks)
    if answers.missing:
        rows = answers.missing + given
        notes.append(f"{answers.missing} of {rows} gold answers lack a field, and are left out.")
    if not given:
        notes.append("There are no gold answers.")
    if n_without_votes:
        notes.append(
            f"{n_without_votes} of {given} gold answers are of tasks without votes, and are left"
            " out."
        )
    return notes


def _note_of_new(classes: pl.Series, known: pl.Series) -> str:
    """What is said of classes that only gold names: a class that nobody saw, or a slip of the pen,
    which no rule can tell apart (of letters to be read, 'A' is not 'a')."""
    new = classes.filter(find(classes, known).is_null())
    spelt = {str(name): name for name in known}
    said = []
    for name in new.head(SHOWN_NEW):
        meant = nearest(str(name), spelt)
        said.append(shown(name) + (f" (did you mean {shown(spelt[meant])}?)" if meant else ""))
    more = [f"and {len(new) - SHOWN_NEW:,} more"] if len(new) > SHOWN_NEW else []
    what = "class" if len(new) == 1 else "classes"
    return f"gold names {len(new):,} {what} that no vote has: {', '.join([*said, *more])}."


def classes_with(known: pl.Series, names: pl.Series) -> pl.Series:
    """The known classes and these names; sorted if there are new ones."""
    new = names.filter(find(names, known).is_null()).unique()
    if not len(new):
        return known
    if known.dtype in (pl.Categorical, pl.Enum):  # which may have no place for a new class
        known = known.cast(pl.String)
    if known.dtype.is_integer() and new.dtype.is_integer():
        known, new = known.cast(pl.Int64), new.cast(pl.Int64)
    if new.dtype != known.dtype:
        raise DataError(
            f"The gold label {shown(new[0])} is of another type than the votes' labels,"
            f" such as {shown(known[0])}."
        )
    return pl.concat([known, new.alias(known.name)]).sort()


def in_class_order(votes: Votes, order: Sequence[Any]) -> Votes:
    """The votes with their classes in this order, which may add classes."""
    known = votes.codebook.classes
    classes = pl.Series(known.name, list(order), strict=False)
    if classes.cast(pl.String).n_unique() < len(classes):
        raise UsageError(f"ordered names a class more than once: {listed(order)}.")
    match(known, classes, "The votes have the class")
    return votes.in_classes(_typed_like(known, classes))


def _typed_like(known: pl.Series, names: pl.Series) -> pl.Series:
    """The names, which include the known ones, in the type of the known."""
    if names.dtype == known.dtype:
        return names
    if len(names) == len(known):
        return known.gather(match(names, known, "The order has the class"))
    typed = names.cast(known.dtype, strict=False) if known.dtype.is_numeric() else None
    if typed is None or typed.null_count():
        raise UsageError(f"ordered names a class that the votes do not have: {listed(known, 12)}.")
    return typed


def worker_kinds(given: Any, workers: pl.Series) -> tuple[list[str | None], list[str]]:
    """Kind of each worker, such as human or model, from a table of worker and kind or a mapping,
    None for a worker who is not in it; and notes."""
    if isinstance(given, Mapping):
        given = list(given.items())
    frame = complete_rows(read_table(given, ("worker", "kind")))
    again = frame.filter(frame["worker"].is_duplicated())
    if len(again):
        raise DataError(f"worker_kinds has the worker {shown(again['worker'][0])} more than once.")
    kinds = frame["kind"].cast(pl.String).gather(find(workers, frame["worker"]))
    missing = kinds.null_count()
    note = f"{missing} of {len(kinds)} workers have no kind in worker_kinds."
    return kinds.to_list(), [note] if missing else []
