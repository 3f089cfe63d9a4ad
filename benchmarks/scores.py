"""Scores: the consensus against the plain mean, on graded public data with known grades.

    python benchmarks/scores.py                 # QUORATE_DATA, or ../shared/data

Errors are against gold: the root mean square and the mean absolute error, with a bootstrap interval
over tasks of what the consensus gains; then, of methods that answer with a grade, the share of
wrong answers and the mean absolute error. Of s_rel the label 3, a broken link, is left out; the
grades of adult2 are G, P, R and X.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import quorate
from quorate.metrics import mean_interval

DATA = Path(os.environ.get("QUORATE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SETS: dict[str, dict[str, float]] = {
    "web": {str(grade): grade for grade in range(1, 6)},
    "adult2": {"G": 0, "P": 1, "R": 2, "X": 3},
    "s_rel": {"0": 0, "1": 1, "2": 2},
}


def read(name: str, what: str) -> pl.DataFrame:
    """Votes or gold with grades as numbers, without labels that are no grades."""
    table = pl.read_csv(DATA / name / f"{what}.csv", infer_schema=False)
    return table.with_columns(
        pl.col("label").replace_strict(SETS[name], default=None, return_dtype=pl.Float64)
    ).drop_nulls("label")


class Errors(NamedTuple):
    """Errors against gold of the consensus and of the mean, and the interval of what is gained in
    squared error."""

    name: str
    tasks: int
    rmse: float
    rmse_of_mean: float
    mae: float
    mae_of_mean: float
    gain: float
    low: float
    high: float


def errors_of(name: str) -> Errors:
    found = quorate.scores(read(name, "labels")).scores
    both = found.join(read(name, "gold"), on="task")
    mean, ours = (
        (both[of] - both["label"]).to_numpy().astype(np.float64) for of in ("mean", "score")
    )
    gain = mean**2 - ours**2
    low, high = mean_interval(gain)
    return Errors(
        name=name,
        tasks=len(both),
        rmse=float(np.sqrt((ours**2).mean())),
        rmse_of_mean=float(np.sqrt((mean**2).mean())),
        mae=float(np.abs(ours).mean()),
        mae_of_mean=float(np.abs(mean).mean()),
        gain=float(gain.mean()),
        low=low,
        high=high,
    )


def grades() -> None:
    """Errors of methods whose answer is one of the grades."""
    print("\nset      method          wrong   mae")
    for name in SETS:
        votes, gold = (
            read(name, what).with_columns(pl.col("label").cast(pl.Int64))
            for what in ("labels", "gold")
        )
        methods = (("majority", False), ("auto", False), ("auto", True), ("ordinal", False))
        for method, ordered in methods:
            labels = quorate.aggregate(votes, method, ordered=ordered).labels
            both = labels.join(gold, on="task", suffix="_known")
            off = (both["label"] - both["label_known"]).abs().to_numpy()
            called = f"{method} --ordered" if ordered else method
            print(f"{name:8} {called:14} {(off > 0).mean():6.1%}  {off.mean():.4f}")


def main() -> None:
    print("set      tasks   rmse: mean  ours     mae: mean  ours   gain in squared error (95 %)")
    for name in SETS:
        of = errors_of(name)
        print(
            f"{name:8} {of.tasks:5}   {of.rmse_of_mean:10.4f}  {of.rmse:.4f}"
            f"  {of.mae_of_mean:9.4f}  {of.mae:.4f}   {of.gain:+.4f} ({of.low:+.4f} to"
            f" {of.high:+.4f})"
        )
    grades()


if __name__ == "__main__":
    main()
