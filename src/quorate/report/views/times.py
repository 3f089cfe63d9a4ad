"""Time: quality and throughput by day and worker, drift and fatigue, where the votes tell when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

from quorate import metrics
from quorate.result import Result
from quorate.special import ndtr
from quorate.votes.tables import vote_table

MOST_DAYS, CALENDAR_DAYS, CALENDAR_WORKERS = 120, 31, 15
SHOWN_WORKERS, ENOUGH = 200, 20  # votes of a worker to speak of drift
PAUSE = timedelta(minutes=30)  # that begins another session
POSITIONS = (0, 10, 25, 50, 100, 200)  # in a session
MILLISECONDS = 10**11  # a number of seconds that is later than any vote


def timed_votes(result: Result) -> pl.DataFrame | None:
    """The votes with their seconds and time as far as known, and whether each agrees with its
    task's answer; None where nothing is known."""
    votes = result.votes
    if votes is None or votes.details is None or result.tasks.in_files:
        return None
    table = vote_table(votes).lazy().collect()
    if not {"time", "seconds"} & set(table.columns):
        return None
    right = votes.labels.label == result.tasks.whole.codes[votes.labels.task_of_label()]
    said = table.with_columns(agrees=pl.Series(right))
    return said.with_columns(_moment(said["time"]).alias("time")) if "time" in said else said


def _moment(time: pl.Series) -> pl.Series:
    """Times as such: seconds or milliseconds since 1970, or text."""
    if time.dtype.is_temporal():
        return time.cast(pl.Datetime("us"))
    if time.dtype.is_numeric():
        unit: Any = "ms" if (time.max() or 0) > MILLISECONDS else "s"  # type: ignore[operator]
        return pl.from_epoch(time.cast(pl.Int64), time_unit=unit).cast(pl.Datetime("us"))
    text = time.cast(pl.String).str.replace(" ", "T").str.slice(0, 19)
    precise = text.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False)
    day = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us"))
    return precise.fill_null(day)


def time_view(said: pl.DataFrame | None) -> dict[str, Any] | None:
    """Votes and agreement by day and by worker; None where votes have no times."""
    if said is None or "time" not in said.columns:
        return None
    dated = said.drop_nulls("time").with_columns(day=pl.col("time").dt.date())
    if not len(dated):
        return None
    days = _days(dated)
    shown = days.tail(MOST_DAYS)
    workers, drifting = _drift(dated)
    return {
        "days": {"rows": _plain(shown), "shown": len(shown), "of": len(days)},
        "workers": workers,
        "drifting": drifting,
        "calendar": _calendar(dated),
        "fatigue": _fatigue(dated),
    }


def _plain(days: pl.DataFrame) -> list[dict[str, Any]]:
    return days.with_columns(pl.col("day").cast(pl.String)).to_dicts()


def _days(dated: pl.DataFrame) -> pl.DataFrame:
    by_day = dated.group_by("day").agg(
        votes=pl.len(), workers=pl.col("worker").n_unique(), agreement=pl.col("agrees").mean()
    )
    return by_day.sort("day")


def _drift(dated: pl.DataFrame) -> tuple[dict[str, Any], list[Any]]:
    """Each worker's throughput, and agreement in the first and the second half of their votes, with
    those who changed significantly first; and the names of these."""
    half = (pl.col("worker").cum_count().over("worker") - 1) * 2 >= pl.len().over("worker")
    by_worker = (
        dated.sort("time", maintain_order=True)
        .with_columns(late=half)
        .group_by("worker", maintain_order=True)
        .agg(
            votes=pl.len(),
            days=pl.col("day").n_unique(),
            first=pl.col("day").min().cast(pl.String),
            last=pl.col("day").max().cast(pl.String),
            early=pl.col("agrees").filter(~pl.col("late")).mean(),
            late=pl.col("agrees").filter(pl.col("late")).mean(),
        )
    )
    changed = _changed(by_worker)
    rows = by_worker.with_columns(
        votes_a_day=pl.col("votes") / pl.col("days"),
        change=pl.col("late") - pl.col("early"),
        flag=pl.Series(np.where(changed, "changed", "")),
    ).sort(pl.col("flag") == "", -pl.col("votes").cast(pl.Int64), maintain_order=True)
    shown = rows.head(SHOWN_WORKERS).to_dicts()
    drifting = by_worker["worker"].filter(pl.Series(changed)).to_list()
    return {"rows": shown, "shown": len(shown), "of": len(rows)}, drifting


def _changed(by_worker: pl.DataFrame) -> Any:
    """Whether agreement differs significantly between the halves, with at most 5 % of those who
    are named expected to be named by chance."""
    n = by_worker["votes"].to_numpy()
    early, late = (by_worker[name].fill_null(0).to_numpy() for name in ("early", "late"))
    enough = n >= ENOUGH
    mean = np.clip((early + late) / 2, 1e-3, 1 - 1e-3)
    z = (late - early) / np.sqrt(mean * (1 - mean) * 4 / np.maximum(n, 1))
    changed = np.zeros(len(n), dtype=bool)
    p = 2 * ndtr(-np.abs(z[enough]))
    changed[enough] = metrics.discoveries(p, int(enough.sum())) if enough.any() else False
    return changed


def _calendar(dated: pl.DataFrame) -> dict[str, Any]:
    """Votes and agreement of the most active workers on each of the last days."""
    days = dated["day"].unique().sort().tail(CALENDAR_DAYS)
    top = dated["worker"].value_counts(sort=True).head(CALENDAR_WORKERS)["worker"]
    cells = (
        dated.filter(pl.col("day").is_in(days.implode()), pl.col("worker").is_in(top.implode()))
        .group_by("worker", "day")
        .agg(votes=pl.len(), agreement=pl.col("agrees").mean())
    )
    known = {(w, d): (n, share) for w, d, n, share in cells.rows()}
    table = [[known.get((worker, day), (0, None)) for day in days] for worker in top]
    return {
        "workers": top.to_list(),
        "days": days.cast(pl.String).to_list(),
        "votes": [[n for n, _ in row] for row in table],
        "agreement": [[s if s is None else round(s, 4) for _, s in row] for row in table],
    }


def _fatigue(dated: pl.DataFrame) -> list[dict[str, Any]]:
    """Agreement by place in a session, which a pause of half an hour ends; nothing where times are
    days only, or nobody stays for long."""
    if (dated["time"].dt.time().n_unique()) < 2:
        return []
    order = dated.sort("worker", "time", maintain_order=True)
    begins = (pl.col("time").diff() > PAUSE).fill_null(value=True) | (
        pl.col("worker") != pl.col("worker").shift()
    ).fill_null(value=True)
    placed = order.with_columns(session=begins.cum_sum()).with_columns(
        place=pl.col("session").cum_count().over("session") - 1
    )
    place, right = placed["place"].to_numpy(), placed["agrees"].to_numpy()
    ends = (*POSITIONS[1:], np.inf)
    rows = [
        _position(right[(place >= start) & (place < end)], start, end)
        for start, end in zip(POSITIONS, ends, strict=True)
    ]
    present = [row for row in rows if row["votes"]]
    return present if len(present) > 1 else []


def _position(right: Any, start: int, end: float) -> dict[str, Any]:
    n = len(right)
    low, high = metrics.wilson_interval(np.array([right.sum()]), np.array([n]))
    return {
        "from": start + 1,
        "to": None if np.isinf(end) else int(end),
        "votes": n,
        "agreement": float(right.mean()) if n else None,
        "low": float(low[0]),
        "high": float(high[0]),
    }
