"""Binary features of tasks: a table or a matrix becomes a sparse matrix beside the votes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from quorate import sparse
from quorate.errors import DataError
from quorate.votes.faults import shown
from quorate.votes.naming import find, retyped
from quorate.votes.reading import Reading, Votes, complete_rows, missing_words
from quorate.votes.sources import other_columns, read_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Columns = Mapping[str, str | None] | None
YES, NO = ("1", "1.0", "true"), ("0", "0.0", "false")


@dataclass(frozen=True, eq=False)
class Features:
    """Binary features of tasks: ``matrix[task, feature]``, and the names of both. ``missing``
    counts the rows (of a wide table, the cells) that were left out for lack of a value."""

    matrix: csr_array
    tasks: pl.Series
    names: pl.Series
    missing: int = 0

    def only(self, names: pl.Series) -> Features:
        """The features of these names, in their order."""
        at = self.matrix.tocoo()
        column = find(self.names, names).fill_null(-1).to_numpy()[at.col]
        known = column >= 0
        matrix = _ones_at((at.row[known], column[known]), (len(self.tasks), len(names)))
        return replace(self, matrix=matrix, names=names)


def read_features(source: Any, reading: Reading | None = None) -> Features:
    """Read features from a table or a matrix.

    A long table has a row of task and feature for each feature that a task has, and the task has no
    others; a wide one has task, and a column of 0 and 1 for each feature; a matrix has tasks by
    features, dense or sparse. `reading` has the options of reading votes, whose column names may be
    those of this table, too.

    Examples:
        >>> features = read_features([("a", "round"), ("b", "red"), ("b", "round")])
        >>> features.matrix.toarray().tolist(), features.names.to_list()
        ([[1, 0], [1, 1]], ['round', 'red'])
    """
    if isinstance(source, Features):
        return source
    if sparse.issparse(source) or isinstance(source, np.ndarray):
        return _from_matrix(source)
    if isinstance(source, Iterator):
        source = list(source)
    columns = {"task": (reading or {}).get("task_column")}
    missing = missing_words(reading or {})
    others = other_columns(source, ("task", "feature"), columns=columns, missing=missing)
    if "feature" in others:
        return _from_long(source, columns, missing)
    return _from_wide(source, columns, missing, others)


def _from_long(source: Any, columns: Columns, missing: Sequence[str]) -> Features:
    roles = ("task", "feature")
    table = read_table(source, roles, columns=columns, missing=missing, strict=False)
    frame = complete_rows(table, missing)
    if frame.is_empty():
        raise DataError(f"{table.origin} has no row with a task and a feature.")
    tasks = frame["task"].unique(maintain_order=True)
    names = frame["feature"].unique(maintain_order=True)
    at = (find(frame["task"], tasks).to_numpy(), find(frame["feature"], names).to_numpy())
    if table.text:
        tasks = retyped(tasks)
    missing_rows = len(table.frame) - len(frame)
    return Features(_ones_at(at, (len(tasks), len(names))), tasks, names, missing_rows)


def _from_wide(
    source: Any, columns: Columns, missing: Sequence[str], names: Sequence[str]
) -> Features:
    task = read_table(source, ("task",), columns=columns, missing=missing, strict=False)
    if not names:
        raise DataError(
            f"{task.origin} has no features: it needs a column feature, or a column of 0 and 1 for"
            " each feature."
        )
    known = task.frame["task"].is_not_null()
    ids = task.frame["task"].filter(known)
    if ids.is_empty():
        raise DataError(f"{task.origin} has no row with a task.")
    table = read_table(source, names, missing=missing)
    cells = [_truths(table.frame[name].filter(known), table.origin) for name in names]
    present = [np.flatnonzero(cell.fill_null(False).to_numpy()) for cell in cells]
    tasks = ids.unique(maintain_order=True)
    row = find(ids, tasks).to_numpy()[np.concatenate(present)]
    feature = np.repeat(np.arange(len(names)), [len(rows) for rows in present])
    return Features(
        _ones_at((row, feature), (len(tasks), len(names))),
        retyped(tasks) if task.text else tasks,
        pl.Series("feature", names),
        int((~known).sum()) + sum(cell.null_count() for cell in cells),
    )


def _truths(column: pl.Series, origin: str) -> pl.Series:
    """A column of 0 and 1 (or false and true) as booleans."""
    if column.dtype == pl.Boolean:
        return column
    text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    if column.dtype.is_float():
        text = text.replace("nan", None)
    strange = ~text.is_in([*YES, *NO])
    if strange.any():
        raise DataError(
            f"{origin} has {shown(column.filter(strange)[0])} in the column {shown(column.name)},"
            " where a feature is 0 or 1; a table with a row for each feature has the columns task"
            " and feature."
        )
    return text.is_in(YES)


def _from_matrix(matrix: Any) -> Features:
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            "A matrix of features has tasks as rows, features as columns and 0 or 1 in it; this one"
            f" has the shape {matrix.shape} and the type {matrix.dtype}."
        )
    cells = sparse.coo_array(matrix)
    if not np.isin(cells.data, (0, 1)).all():
        raise DataError("A matrix of features has 0 or 1 in it, and this one another number.")
    present = cells.data != 0
    height, width = cells.shape
    return Features(
        _ones_at((cells.row[present], cells.col[present]), (height, width)),
        pl.Series("task", np.arange(height)),
        pl.Series("feature", np.arange(width)),
    )


def _ones_at(at: tuple[Any, Any], shape: tuple[int, int]) -> csr_array:
    matrix = sparse.csr_array((np.ones(len(at[0]), dtype=np.int8), at), shape=shape)
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def with_features(votes: Votes, features: Features) -> Votes:
    """The votes with their tasks' features; tasks that have only features come last."""
    rows = votes.blocks.rows_in(features.tasks)
    with_votes = pl.concat(rows)
    new = features.tasks.filter(
        ~pl.arange(0, len(features.tasks), eager=True).is_in(with_votes.implode())
    )
    blocks = votes.blocks.with_more_tasks(new) if len(new) else votes.blocks
    if len(new):
        rows = blocks.rows_in(features.tasks)
    none = sparse.csr_array((1, features.matrix.shape[1]), dtype=np.int8)
    padded = sparse.csr_array(sparse.vstack([features.matrix, none]))
    of_tasks = [padded[row.fill_null(len(features.tasks)).to_numpy()] for row in rows]
    votes = votes.with_blocks(blocks.attach("features", of_tasks))
    votes = replace(votes, codebook=replace(votes.codebook, features=features.names))
    return votes.noted(*_notes(features.missing, len(new), with_votes.null_count()))


def _notes(missing: int, new: int, bare: int) -> Iterator[str]:
    if missing:
        yield f"{missing} features lack a field, and are left out."
    if new:
        yield f"{new} tasks have features and no votes: they are classified by these."
    if bare:
        yield (
            f"{bare} tasks have votes and are not named with a feature: they count as having none."
        )
