"""Votes in codes as a table of names again, a row for each vote."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from quorate.labels import Labels
from quorate.votes.blocks import MemoryBlocks
from quorate.votes.items import with_columns_of
from quorate.votes.naming import find
from quorate.votes.reading import Votes

Frame = pl.DataFrame | pl.LazyFrame


def vote_table(votes: Votes) -> Frame:
    """Task, worker, label and what else is known of each vote, in task order; a query where the
    votes are on disk."""
    if not isinstance(votes.blocks, MemoryBlocks):
        return with_columns_of(votes.items, _in_parts(votes))
    frame = _named(votes, votes.labels, votes.blocks.tasks)
    return with_columns_of(votes.items, frame.hstack(_details(votes, frame)))


def _named(votes: Votes, labels: Labels, tasks: pl.Series) -> pl.DataFrame:
    said = pl.Series(labels.label).replace(-1, None)
    return pl.DataFrame(
        [
            tasks.gather(labels.task_of_label()).alias("task"),
            votes.codebook.workers.gather(labels.worker).alias("worker"),
            votes.codebook.classes.gather(said).alias("label"),
        ]
    )


def _details(votes: Votes, frame: pl.DataFrame) -> list[pl.Series]:
    """Seconds and time of the votes, in the order of the table, where there are some."""
    details = votes.details
    if details is None or len(details) != len(frame):
        return []
    place = find(details["task"], votes.codebook.tasks).to_numpy()
    order = np.argsort(place, kind="stable")  # votes of a task stay in the order of the export
    known = [details[name] for name in ("seconds", "time") if name in details.columns]
    return [column.gather(order) for column in known if column.null_count() < len(column)]


def _in_parts(votes: Votes) -> pl.LazyFrame:
    """The votes of one block after the other."""

    def frames() -> Iterator[pl.DataFrame]:
        for block, tasks in zip(votes.blocks, votes.blocks.segments(), strict=True):
            yield _named(votes, block, tasks)

    empty = _named(votes, votes.blocks[0][:0], votes.blocks.segments()[0])
    return in_parts(frames, empty.schema)


def in_parts(frames: Callable[[], Iterator[pl.DataFrame]], schema: pl.Schema) -> pl.LazyFrame:
    """A query over frames that come one after the other, only one of which is in memory."""
    from polars.io.plugins import register_io_source

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        left = n_rows
        for frame in frames():
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            frame = frame if columns is None else frame.select(columns)
            yield frame if predicate is None else frame.filter(predicate)
            if left == 0:
                return

    return register_io_source(read, schema=schema)
