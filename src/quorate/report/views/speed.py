"""Speed against quality, where the votes tell how long they took."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

SHOWN_WORKERS, FEW_LABELS = 500, 5
TOO_FAST = 0.25  # of the crowd's median
PARTS = 5  # of the votes, by speed


def speed_view(said: pl.DataFrame | None) -> dict[str, Any] | None:
    """Median seconds and agreement of each worker, who is much faster than the others, and
    agreement by how long votes took; None where nothing is known of that."""
    if said is None or "seconds" not in said.columns:
        return None
    timed = said.drop_nulls("seconds").filter(pl.col("seconds") > 0)
    if not len(timed):
        return None
    median = float(timed["seconds"].median())  # type: ignore[arg-type]
    by_worker = (
        timed.group_by("worker")
        .agg(votes=pl.len(), seconds=pl.col("seconds").median(), agreement=pl.col("agrees").mean())
        .filter(pl.col("votes") >= FEW_LABELS)
        .with_columns(
            flag=pl.when(pl.col("seconds") < TOO_FAST * median)
            .then(pl.lit("too fast"))
            .otherwise(pl.lit(""))
        )
        .sort("seconds", "worker")
    )
    rows = by_worker.head(SHOWN_WORKERS).to_dicts()
    return {
        "median_seconds": median,
        "too_fast_below": TOO_FAST * median,
        "rows": rows,
        "shown": len(rows),
        "of": len(by_worker),
        "too_fast": by_worker.filter(pl.col("flag") != "")["worker"].to_list(),
        "parts": _parts(timed),
    }


def _parts(timed: pl.DataFrame) -> list[dict[str, Any]]:
    """Agreement of the fastest fifth of the votes, of the next, and so on."""
    seconds, right = timed["seconds"].to_numpy().astype(float), timed["agrees"].to_numpy()
    ends = np.unique(np.quantile(seconds, np.linspace(0, 1, PARTS + 1)))
    rows = []
    for i, (low, high) in enumerate(pairwise(ends.tolist())):
        inside = (seconds >= low if i == 0 else seconds > low) & (seconds <= high)
        if inside.any():
            share = float(right[inside].mean())
            rows.append({"from": low, "to": high, "votes": int(inside.sum()), "agreement": share})
    return rows
