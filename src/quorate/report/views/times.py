"""Time: votes and agreement by day, and speed against quality, where the votes tell them."""

from __future__ import annotations

from typing import Any

import polars as pl

from quorate.result import Result

MOST_DAYS, FEW_LABELS = 120, 5
TOO_FAST = 0.25  # of the crowd's median


def times_view(result: Result) -> dict[str, Any] | None:
    """Votes with their agreement by day and by worker's speed; None where votes have no times."""
    details = None if result.votes is None else result.votes.details
    if details is None or result.tasks.in_files or "label" not in details.columns:
        return None
    answers = result._label_frame(result.codebook.tasks, result.tasks.whole)
    key = pl.col("task").cast(pl.String)
    said = details.with_columns(key).join(
        answers.select(key, pl.col("label").cast(pl.String).alias("answer")), on="task", how="inner"
    )
    said = said.with_columns((pl.col("label").cast(pl.String) == pl.col("answer")).alias("agrees"))
    days, speed = _by_day(said), _by_speed(said)
    if not days and speed is None:
        return None
    return {"days": days, "speed": speed}


def _by_day(said: pl.DataFrame) -> list[dict[str, Any]]:
    """Votes, workers and agreement of each day, the latest days only."""
    time = said["time"]
    if time.null_count() == len(time):
        return []
    when = (
        pl.from_epoch(pl.col("time").cast(pl.Int64))
        if time.dtype.is_numeric()
        else pl.col("time").cast(pl.String).str.slice(0, 10).str.to_date(strict=False)
    )
    days = (
        said.with_columns(when.cast(pl.Date).alias("day"))
        .drop_nulls("day")
        .group_by("day")
        .agg(
            votes=pl.len(),
            workers=pl.col("worker").n_unique(),
            agreement=pl.col("agrees").mean(),
        )
        .sort("day")
        .tail(MOST_DAYS)
    )
    return days.with_columns(pl.col("day").cast(pl.String)).to_dicts()


def _by_speed(said: pl.DataFrame) -> dict[str, Any] | None:
    """Median seconds and agreement of each worker, and who is much faster than the others."""
    timed = said.drop_nulls("seconds").filter(pl.col("seconds") > 0)
    if not len(timed):
        return None
    by_worker = (
        timed.group_by("worker")
        .agg(votes=pl.len(), seconds=pl.col("seconds").median(), agreement=pl.col("agrees").mean())
        .filter(pl.col("votes") >= FEW_LABELS)
        .sort("seconds")
    )
    median = float(timed["seconds"].median() or 0)  # type: ignore[arg-type]
    fast = by_worker.filter(pl.col("seconds") < TOO_FAST * median)
    return {
        "median_seconds": median,
        "rows": by_worker.head(500).to_dicts(),
        "too_fast": fast["worker"].to_list(),
    }
