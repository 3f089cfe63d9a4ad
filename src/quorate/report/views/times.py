"""Time: votes and agreement by day, and speed against quality, where the votes tell them."""

from __future__ import annotations

from typing import Any

import polars as pl

from quorate.result import Result
from quorate.votes.tables import vote_table

MOST_DAYS, FEW_LABELS = 120, 5
TOO_FAST = 0.25  # of the crowd's median


def times_view(result: Result) -> dict[str, Any] | None:
    """Votes with their agreement by day and by worker's speed; None where votes have no times."""
    votes = result.votes
    if votes is None or votes.details is None or result.tasks.in_files:
        return None
    table = vote_table(votes).lazy().collect()
    right = votes.labels.label == result.tasks.whole.codes[votes.labels.task_of_label()]
    said = table.with_columns(agrees=pl.Series(right))
    days = _by_day(said) if "time" in said.columns else []
    speed = _by_speed(said) if "seconds" in said.columns else None
    if not days and speed is None:
        return None
    return {"days": days, "speed": speed}


def _by_day(said: pl.DataFrame) -> list[dict[str, Any]]:
    """Votes, workers and agreement of each day, the latest days only."""
    time = said["time"]
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
