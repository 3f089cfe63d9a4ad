"""Two answers that were shown in both orders: one task, one judge, and the judge's position bias.

Judges of pairs are often asked twice, with the two answers in either order. Their names end in
``#a`` and ``#b`` then, or a column says whether the order was swapped. The two votes of a judge on
a task are one question asked twice, and count half each: a judge that always names the first
contradicts itself, and says nothing. Where only one order was asked, a vote for the position that
the judge prefers counts less, so that both positions have the same weight in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError, UsageError
from quorate.estimation.facts import PositionBias
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.votes import Reading, Votes, shown
from quorate.votes.naming import keys
from quorate.votes.reading import columns_of, missing_words
from quorate.votes.sources import read_table

ORDERS = ("#a", "#b")
TRUE = ("1", "true", "yes", "b", "ba", "swapped")


def is_swapped(names: pl.Series) -> bool:
    """Whether names come in both orders of the same thing."""
    if names.dtype != pl.String:
        return False
    first, second = (
        set(names.filter(names.str.ends_with(order)).str.head(-len(order))) for order in ORDERS
    )
    return bool(first & second)


def without_order(names: pl.Series) -> pl.Series:
    """The names of judges, whatever order the answers were in."""
    return names.str.replace(r"#[ab]$", "")


def in_one_frame(
    votes: Any, swap: str, reading: Reading, pair: Sequence[Any] | None, kept: Sequence[str] = ()
) -> Any:
    """The votes for positions as votes for what was shown there: where the column `swap` says that
    the order was swapped, the two labels change places, and the worker's name ends in ``#b``. The
    columns that are `kept` stay."""
    needed = ("task", "worker", "label", swap)
    others = [name for name in kept if name not in needed]
    table = read_table(
        votes,
        (*needed, *others),
        columns={**columns_of(reading), swap: swap, **{name: name for name in others}},
        format=reading.get("format"),
        missing=missing_words(reading),
    )
    frame = table.frame.drop_nulls(needed).with_columns(pl.all().cast(pl.String))
    two = [str(name) for name in pair] if pair else sorted(frame["label"].unique().to_list())
    if len(two) != 2:
        raise UsageError(
            f"swap needs to know which two labels are the positions: say compare (--compare), of"
            f" {', '.join(map(shown, two))}."
        )
    swapped = pl.col(swap).str.to_lowercase().is_in(TRUE)
    other = pl.col("label").replace({two[0]: two[1], two[1]: two[0]})
    return frame.select(
        "task",
        pl.when(swapped).then(pl.col("worker") + "#b").otherwise(pl.col("worker") + "#a"),
        pl.when(swapped).then(other).otherwise(pl.col("label")).alias("label"),
        *others,
    )


def one_judge(votes: Votes) -> tuple[Votes, tuple[PositionBias, ...]]:
    """The votes with both orders of a judge as one, weighted, and each judge's position bias."""
    names = votes.codebook.workers
    base = without_order(names)
    judges = base.unique(maintain_order=True)
    judge = np.array([{n: i for i, n in enumerate(judges)}[n] for n in base], dtype=np.int32)
    second = names.str.ends_with(ORDERS[1]).to_numpy()
    labels = votes.labels
    if labels.n_classes < 2:
        raise DataError("Judges of pairs need two answers to choose from.")
    weight = _weights(labels, judge, second)
    biases = _biases(labels, judge, second, judges)
    merged = replace(labels.with_workers(judge, len(judges)), weight=weight)
    merged = replace(merged, worker_key=keys(judges))
    book = replace(votes.codebook, workers=judges)
    found = replace(votes, codebook=book).with_blocks(votes.blocks.change(lambda _: merged))
    note = f"{len(names) - len(judges):,} of {len(names):,} workers are another order of the same"
    return found.noted(f"{note} judge: both orders count half, and are one judge."), biases


def _orders(
    labels: Labels, judge: NDArray[np.int32], second: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A number for each task and judge of a vote, and whether the vote is of the second order."""
    of = labels.task_of_label().astype(np.int64) * (int(judge.max()) + 1)
    return of + judge[labels.worker], second[labels.worker]


def _weights(labels: Labels, judge: NDArray[np.int32], second: NDArray[np.bool_]) -> Floats:
    """A half for each vote of a judge who was asked in both orders; otherwise by the position that
    was named, which the judge may prefer."""
    pair, is_second = _orders(labels, judge, second)
    both = np.isin(pair, pair[is_second]) & np.isin(pair, pair[~is_second])
    named_first = np.where(is_second, labels.label == 1, labels.label == 0)
    named_second = np.where(is_second, labels.label == 0, labels.label == 1)
    by = judge[labels.worker]
    n = np.bincount(by, minlength=judge.max() + 1) + 2.0
    share = [
        (np.bincount(by, named, minlength=len(n)) + 1) / n for named in (named_first, named_second)
    ]
    of_position = np.where(named_first, share[0][by], np.where(named_second, share[1][by], 0.5))
    return np.where(both, 0.5, np.minimum(1.0, 0.5 / of_position))


def _biases(
    labels: Labels, judge: NDArray[np.int32], second: NDArray[np.bool_], judges: pl.Series
) -> tuple[PositionBias, ...]:
    """The position bias of each judge, over the tasks that it was asked about in both orders."""
    pair, is_second = _orders(labels, judge, second)
    frame = pl.DataFrame({"pair": pair, "second": is_second, "label": labels.label})
    one = frame.unique(["pair", "second"], keep="first", maintain_order=True)
    joined = one.filter(~pl.col("second")).join(one.filter("second"), on="pair", suffix="_b")
    rows = joined.with_columns(
        judge=pl.col("pair") % len(judges),
        # 1 if the first position was named both times, -1 if the second was.
        lean=((pl.col("label") == 0).cast(pl.Int8) - (pl.col("label_b") == 0).cast(pl.Int8)),
    )
    found = []
    for (number,), of in rows.sort("judge").group_by("judge", maintain_order=True):
        lean, n = of["lean"].to_numpy().astype(np.float64), len(of)
        mean = float(lean.mean()) / 2
        half = 1.96 * float(np.sqrt((lean.var() + 1 / n) / n)) / 2
        changed = float((of["label"] != of["label_b"]).mean())  # type: ignore[arg-type]
        found.append(
            PositionBias(str(judges[int(number)]), n, changed, mean, mean - half, mean + half)
        )
    return tuple(found)
