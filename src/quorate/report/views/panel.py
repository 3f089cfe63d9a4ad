"""The workers as a panel of judges: how many independent ones they are worth, and what position
does to them. For those who answer many of the same tasks, as models do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from quorate.estimation.facts import PositionBias
from quorate.estimation.positions import is_swapped, one_judge
from quorate.judging import errors
from quorate.judging.judges import known_reference
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.result import Result

MOST_JUDGES = 200
LEAST_SHARE = 0.2  # of the tasks that a judge answers on average
SHOWN = 500


def panel_view(result: Result) -> dict[str, Any] | None:
    """What the panel is worth, a row for each judge, those first whom it needs least, and the
    position bias of each; None where workers share too few tasks to be a panel."""
    votes = result.votes
    if votes is None or result.tasks.in_files:
        return None
    labels, positions = votes.labels, None
    share = labels.n_labels / max(labels.n_tasks * labels.n_workers, 1)
    if not 2 <= labels.n_workers <= MOST_JUDGES or share < LEAST_SHARE:
        return None
    if is_swapped(votes.codebook.workers):
        votes, biases = one_judge(votes)
        labels, positions = votes.labels, _positions(biases)
    seen, truth, against = _reference(labels, result)
    found = errors.errors_of(seen, truth)
    worth = errors.worth(found, np.random.default_rng(0))
    return {
        **worth._asdict(),
        "against": against,
        "rows": _rows(found, worth.effective, votes.codebook.workers.to_list()),
        "shown": min(labels.n_workers, SHOWN),
        "of": labels.n_workers,
        "positions": positions,
    }


def _positions(biases: Sequence[PositionBias]) -> dict[str, Any] | None:
    """A row for each judge who was asked in both orders, the most biased first."""
    ordered = sorted(biases, key=lambda row: -abs(row.bias))[:SHOWN]
    rows = [{"worker": row.judge, **asdict(row)} for row in ordered]
    for row in rows:
        del row["judge"]
    return {"rows": rows} if rows else None


def _reference(labels: Labels, result: Result) -> tuple[Labels, Floats, str]:
    """The tasks by which judges are judged, the probability of each answer, and its source."""
    known = known_reference(labels)
    if known is not None:
        return known.labels, known.truth, known.against
    return labels, result.posterior, "the consensus"


def _rows(found: errors.Errors, effective: float, names: list[Any]) -> list[dict[str, Any]]:
    adds = effective - errors.without_each(found)
    pairs = errors.correlations(found)
    rows = []
    for judge in np.argsort(adds, kind="stable")[:SHOWN].tolist():
        somebody = not np.isnan(pairs[judge]).all()
        nearest = int(np.nanargmax(pairs[judge])) if somebody else 0
        rows.append(
            {
                "worker": names[judge],
                "votes": int(found.votes[judge]),
                "accuracy": float(1 - found.rate[judge]),
                "other_worker": names[nearest] if somebody else None,
                "correlation": float(pairs[judge, nearest]) if somebody else None,
                "adds": float(adds[judge]),
            }
        )
    return rows
