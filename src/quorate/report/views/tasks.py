"""Tasks that a person should look at: disputed ones, and those where the majority is overruled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from quorate.report.views.survey import SETTLED, Row, Survey
from quorate.result import Result
from quorate.trust.explanation import Explanation
from quorate.votes import named

SHOWN_CLASSES = 5  # of a posterior
NEARLY = 0.6  # a confidence below which the next label is nearly as likely
HEAVIEST = 3  # votes that tipped an answer
MOST_SAID = 200  # votes of a task that are listed


def disputed_view(counts: Survey, result: Result, n: int) -> dict[str, Any]:
    """The least certain tasks, each vote with what it adds to the answer."""
    rows = _explained(counts.disputed[:n], result)
    return {
        "rows": rows,
        "shown": len(rows),
        "of": result.overview.tasks - result.overview.known,
        "near_ties": result.overview.near_ties,
        "settled_at": SETTLED,
        "settled": counts.n_settled,
        "settled_share": counts.n_settled / max(result.overview.tasks, 1),
        "confidences": counts.histogram.astype(int).tolist(),
    }


def overruled_view(counts: Survey, result: Result, n: int) -> dict[str, Any]:
    """Tasks whose answer is not what most votes say, the most certain first, and who tipped it."""
    rows = _explained(counts.overruled[:n], result)
    for row in rows:
        row["tipped_by"] = _tipped_by(row["said"])
    return {
        "rows": rows,
        "shown": len(rows),
        "of": counts.n_overruled,
        "share": counts.n_overruled / max(result.overview.tasks, 1),
        "without_majority": counts.n_without_majority,
    }


def _explained(rows: Sequence[Row], result: Result) -> list[dict[str, Any]]:
    """The rows with each vote, its weight in decibans, and what would settle the answer."""
    items = _items(result, [row.task for row in rows])
    return [_row(row, result, items.get(str(row.task), {})) for row in rows]


def _items(result: Result, tasks: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """The columns that are kept of these tasks, by the task's name."""
    if result.items is None:
        return {}
    names = pl.col("task").cast(pl.String)
    wanted = result.items.lazy().filter(names.is_in([str(task) for task in tasks])).collect()
    return {str(row.pop("task")): row for row in wanted.to_dicts()}


def _row(row: Row, result: Result, item: Mapping[str, Any]) -> dict[str, Any]:
    why = result.explain_at(*row.place, confidence=SETTLED)
    columns = ("worker", "label", "decibans", "accuracy")
    return {
        "task": row.task,
        "item": dict(item),
        "label": row.label,
        "confidence": row.confidence,
        "runner_up": why.runner_up,
        "posterior": _posterior(row, result),
        "majority": row.majority,
        "votes": row.votes,
        "said": _heaviest(why.vote_frame).select(columns).to_dicts(),
        "more_votes": why.more_votes,
        "why": _why(row, why.runner_up),
        "settled_by": _settled_by(why),
    }


def _heaviest(votes: pl.DataFrame) -> pl.DataFrame:
    """The votes for and against the answer, those that weigh most first where there are many."""
    if len(votes) <= MOST_SAID:
        return votes
    return votes.sort(-pl.col("decibans").abs(), nulls_last=True).head(MOST_SAID)


def _posterior(row: Row, result: Result) -> list[dict[str, Any]]:
    """The most probable classes of the task."""
    segment, at = row.place
    part = result.tasks.part(segment)
    order = np.argsort(-part.posterior[at], kind="stable")[:SHOWN_CLASSES].tolist()
    names = result.codebook.classes
    return [{"label": names[i], "probability": float(part.posterior[at, i])} for i in order]


def _why(row: Row, runner_up: Any) -> str:
    """Why a person should look, in a few words."""
    if row.votes == 0:
        return "no vote"
    if row.votes == 1:
        return "one vote only"
    if row.majority is None:
        return "no label has most votes"
    if row.majority != row.label:
        return f"most votes say {named(row.majority)}"
    if row.confidence < NEARLY:
        return f"nearly as likely to be {named(runner_up)}"
    return "little evidence"


def _settled_by(why: Explanation) -> str:
    """What would settle the answer, in a few words."""
    if why.more_votes is None:
        return "an expert: average votes do not settle it"
    if why.more_votes == 0:
        return "nothing: it is settled"
    votes = "vote" if why.more_votes == 1 else "votes"
    return f"{why.more_votes:,} more {votes} for {named(why.label)}, or an expert"


def _tipped_by(said: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The workers whose votes add most to the answer, the heaviest first."""
    heavy = [vote for vote in said if (vote["decibans"] or 0) > 0]
    heavy.sort(key=lambda vote: -vote["decibans"])
    return [vote["worker"] for vote in heavy[:HEAVIEST]]
