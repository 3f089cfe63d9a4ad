"""The tasks' own columns, such as their text, which are kept beside their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from quorate.errors import UsageError
from quorate.votes.batches import open_batches
from quorate.votes.blocks import MemoryBlocks
from quorate.votes.databases import is_database
from quorate.votes.faults import listed, shown
from quorate.votes.naming import retyped, retyped_columns
from quorate.votes.reading import Reading, Votes, columns_of, complete_rows, missing_words
from quorate.votes.sources import Piped, is_pandas, read_table

Frame = pl.DataFrame | pl.LazyFrame
Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame, pl.DataFrame | pl.LazyFrame)
OWN = ("task", "worker", "label", "confidence")  # columns that tables of votes and labels have
DIFFERS = "\0differs"  # behind the name of a column: whether a task has several values


def with_items(votes: Votes, source: Any, keep: Sequence[str], reading: Reading) -> Votes:
    """The votes with the columns to keep of their tasks: the first value for each task."""
    require_new(keep, list(votes.kind.columns.values()))
    if not isinstance(votes.blocks, MemoryBlocks):
        if is_database(source):
            raise UsageError("keep is for votes of files, or of a database in memory.")
        return _with_items_in_a_file(votes, source, keep, reading)
    if not _has_columns(source):
        raise UsageError("keep is for tables with further columns, which these votes do not have.")
    missing = missing_words(reading)
    table = read_table(
        source,
        ("task", *keep),
        columns=_columns(reading, keep),
        format=reading.get("format"),
        missing=missing,
    )
    frame = complete_rows(table, missing, but=keep)
    if table.text:
        frame = pl.DataFrame([retyped(column) for column in frame])
    items = _first_values(frame.lazy(), keep).collect()
    items = items.filter(pl.col("task").is_in(votes.codebook.tasks.implode()))
    return _attached(votes, items, keep)


def require_new(keep: Sequence[str], others: Sequence[str]) -> None:
    """Refuse to keep one of the other columns, which tables have anyway."""
    taken = [name for name in keep if name in others]
    if taken:
        raise UsageError(f"keep names {shown(taken[0])}, which tables have anyway: leave it out.")


def with_columns_of(items: Frame | None, frame: Table) -> Table:
    """A table with a column of tasks, with the columns that are kept of these behind."""
    if items is None:
        return frame
    task = frame.lazy().collect_schema()["task"]
    fields = items.lazy().with_columns(pl.col("task").cast(task, strict=False))
    query = frame.lazy().join(fields, on="task", how="left", maintain_order="left", suffix="_kept")
    return query if isinstance(frame, pl.LazyFrame) else query.collect()


def item_of(items: Frame | None, task: Any) -> dict[str, Any]:
    """The columns that are kept of one task."""
    if items is None:
        return {}
    row = items.lazy().filter(pl.col("task").cast(pl.String) == str(task)).drop("task")
    return next(iter(row.head(1).collect().to_dicts()), {})


def _columns(reading: Reading, keep: Sequence[str]) -> dict[str, str | None]:
    return {**dict.fromkeys(keep), **{n: n for n in keep}, "task": columns_of(reading)["task"]}


def _has_columns(source: Any) -> bool:
    """Whether the source is a table that may have more columns than those of votes."""
    if isinstance(source, (str, Path, Piped, pl.DataFrame, pl.LazyFrame)):
        return True
    if isinstance(source, (list, tuple)):
        return bool(source) and isinstance(source[0], (str, Path))
    return is_pandas(source) or hasattr(source, "__arrow_c_stream__")


def _first_values(rows: pl.LazyFrame, keep: Sequence[str]) -> pl.LazyFrame:
    """The first value of each column for each task, and whether there are others."""
    value = [pl.col(name).drop_nulls() for name in keep]
    return rows.group_by("task", maintain_order=True).agg(
        *(v.first() for v in value),
        *((v.n_unique() > 1).name.suffix(DIFFERS) for v in value),
    )


def _attached(votes: Votes, items: Frame, keep: Sequence[str]) -> Votes:
    """The votes with their items, and a note of columns that differ within a task."""
    counts = items.lazy().select(pl.col(f"{name}{DIFFERS}").sum() for name in keep).collect()
    differ = {name: counts[f"{name}{DIFFERS}"][0] for name in keep}
    notes = [
        f"{n:,} tasks have several values of {shown(name)}, of which the first is kept."
        for name, n in differ.items()
        if n
    ]
    return replace(votes, items=items.select("task", *keep)).noted(*notes)


def _with_items_in_a_file(
    votes: Votes, source: Any, keep: Sequence[str], reading: Reading
) -> Votes:
    """The same of votes that are on disk, where the columns are kept beside them."""
    missing = missing_words(reading)
    columns, format = _columns(reading, keep), reading.get("format")
    batches = open_batches(source, ("task", *keep), columns, format, missing)
    task = votes.blocks.segments()[0].dtype
    rows = batches.query(missing)
    of_task = rows.with_columns(pl.col("task").cast(task, strict=False)).drop_nulls("task")
    place = _place_of(votes) / "items.parquet"
    batches.files[0].ask(lambda: _first_values(of_task, keep).sink_parquet(place))
    items = pl.scan_parquet(place)
    return _attached(votes, retyped_columns(items, keep) if batches.text else items, keep)


def _place_of(votes: Votes) -> Path:
    """The directory of this run, which goes with the votes."""
    run: Any = votes.place[0]  # type: ignore[index]
    place: Path = run.path
    return place


def kept_names(reading: Reading) -> tuple[str, ...]:
    """Names of the columns to keep."""
    keep = reading.get("keep")
    names = (keep,) if isinstance(keep, str) else tuple(keep or ())
    if not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"keep is a name of a column or several, not {shown(keep)}.")
    if len(set(names)) < len(names):
        raise UsageError(f"keep names a column twice: {listed(names)}.")
    require_new(names, OWN)
    return names
