"""Tasks that a person should look at: disputed ones, and those where the majority is overruled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quorate.report.views.survey import Row, Survey
from quorate.result import Result


def disputed_view(counts: Survey, result: Result, n: int) -> dict[str, Any]:
    """The least certain tasks, each vote with what it adds to the answer."""
    rows = [_explained(row, result) for row in counts.disputed[:n]]
    return {"rows": rows, "shown": len(rows), "of": result.overview.tasks - result.overview.known}


def overruled_view(counts: Survey, result: Result, n: int) -> dict[str, Any]:
    """Tasks whose answer is not what most votes say, the most certain first, and who tipped it."""
    rows = []
    for row in counts.overruled[:n]:
        explained = _explained(row, result)
        explained["tipped_by"] = _tipped_by(explained["said"])
        rows.append(explained)
    share = counts.n_overruled / max(result.overview.tasks, 1)
    return {
        "rows": rows,
        "shown": len(rows),
        "of": counts.n_overruled,
        "share": share,
        "without_majority": counts.n_without_majority,
    }


def _explained(row: Row, result: Result) -> dict[str, Any]:
    """The row with each vote, its weight in decibans, and how many more votes would settle it."""
    why = result.explain(row.task)
    columns = ("worker", "label", "decibans", "accuracy")
    said = why.vote_frame.select([c for c in columns if c in why.vote_frame.columns]).to_dicts()
    return {
        "task": row.task,
        "label": row.label,
        "confidence": row.confidence,
        "runner_up": why.runner_up,
        "majority": row.majority,
        "votes": row.votes,
        "said": said,
        "more_votes": why.more_votes,
        "settled_at": why.settled_at,
        "why": _why(row, why.runner_up),
    }


def _why(row: Row, runner_up: Any) -> str:
    """Why a person should look, in a few words."""
    if row.votes == 1:
        return "one vote only"
    if row.majority is None:
        return "no label has most votes"
    if row.majority != row.label:
        return f"most votes say {row.majority}"
    return f"nearly as likely to be {runner_up}" if row.confidence < 0.6 else "little evidence"


def _tipped_by(said: Iterable[dict[str, Any]]) -> list[Any]:
    """The workers whose votes add most to the answer, the heaviest first."""
    heavy = [vote for vote in said if (vote.get("decibans") or 0) > 0]
    heavy.sort(key=lambda vote: -vote["decibans"])
    return [vote["worker"] for vote in heavy[:3]]
