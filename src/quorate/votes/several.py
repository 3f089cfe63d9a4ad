"""Several right answers: every option of every task is a question of its own, yes or no.

V. B. Sinha, S. Rao and V. N. Balasubramanian, "Fast Dawid-Skene: A Fast Vote Aggregation Scheme for
Sentiment Classification" (KDD WISDOM 2018), section 6. A worker who labelled a task and did not
choose an option said no to it; a row without a label is of a worker who chose none at all. The
paper throws the questions of all options together; here each option is a problem of its own, so
that a worker may be good at one and bad at another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from quorate.labels import Labels
from quorate.votes.naming import find
from quorate.votes.reading import (
    KnownAnswers,
    Reading,
    Votes,
    columns_of,
    complete_rows,
    missing_words,
    split_labels,
)
from quorate.votes.sources import read_table
from quorate.votes.spelling import respelt

NO_YES = pl.Series("label", [False, True])


def questions(votes: Votes) -> Iterator[Votes]:
    """Yield for each option, in order, the votes on whether it is right."""
    dtypes = {role: t for role, t in votes.kind.dtypes.items() if role != "label"}
    kind = replace(votes.kind, dtypes=dtypes)
    for option in range(len(votes.codebook.classes)):
        blocks = votes.blocks.change(partial(question, option=option))
        book = replace(votes.codebook, classes=NO_YES)
        yield replace(votes, blocks=blocks, codebook=book, kind=kind)


def question(block: Labels, option: int) -> Labels:
    """Votes on whether an option is right: one of every worker who labelled the task, however often
    the option was named."""
    task = block.task_of_label()
    visits, visit = np.unique(task * block.n_workers + block.worker, return_inverse=True)
    visited, worker = np.divmod(visits, max(block.n_workers, 1))
    chosen = np.zeros(len(visits), dtype=np.int32)
    chosen[visit[block.label == option]] = 1
    indptr = np.concatenate([[0], np.bincount(visited, minlength=block.n_tasks).cumsum()])
    return replace(
        block,
        indptr=indptr.astype(block.indptr.dtype),
        worker=worker.astype(np.int32),
        label=chosen,
        n_classes=2,
    )


def read_answer_sets(
    gold: Any, reading: Reading, separator: str | None, votes: Votes
) -> pl.DataFrame:
    """Read gold answers as a table of task and label, a row for each right option (without a label
    if there is none), from such a table, one with joined labels, or a mapping from tasks."""
    missing = missing_words(reading)
    if isinstance(gold, Mapping):
        gold = [(task, label) for task, known in gold.items() for label in _each(known)]
    columns = columns_of(reading)
    table = read_table(gold, ("task", "label"), columns=columns, missing=missing, strict=False)
    frame = complete_rows(table, missing, but=("label",))
    answers = split_labels(frame, separator, unlabelled=True)
    if not votes.tidy:
        return answers
    return answers.with_columns(respelt(answers["label"], votes.codebook.classes))


def known_answers(gold: pl.DataFrame, options: pl.Series) -> Iterator[KnownAnswers]:
    """Yield for each option, in order, whether it is right on the tasks with gold answers: all
    right options of such a task are named, so that the others are wrong."""
    code = find(gold["label"], options)
    tasks = gold["task"].unique(maintain_order=True)
    for option in range(len(options)):
        right = gold["task"].filter(code == option).unique()
        yield KnownAnswers(tasks, tasks.is_in(right.implode()), 0)


def never_chosen(gold: pl.DataFrame, options: pl.Series) -> list[str]:
    """Note on options that only the gold answers have."""
    strange = gold["label"].filter(find(gold["label"], options).is_null()).drop_nulls().n_unique()
    note = f"{strange} options of the gold answers were never chosen, and are left out."
    return [note] if strange else []


def _each(known: Any) -> list[Any]:
    return list(known) or [None] if isinstance(known, (list, tuple, set, frozenset)) else [known]
