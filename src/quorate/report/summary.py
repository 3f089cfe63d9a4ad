"""What was read, what was found and how, as one dictionary: the source of every report."""

from __future__ import annotations

import math
from typing import Any

from quorate import __version__
from quorate.models.auto import Auto
from quorate.multilabel import Multilabel
from quorate.result import Result

SHOWN_WORKERS = 5


def summarise(result: Result | Multilabel) -> dict[str, Any]:
    """The dictionary that `quorate aggregate --json` prints."""
    return {
        "read": _read(result),
        "found": _found(result),
        "how": _how(result),
        "notes": list(result.notes),
    }


def _read(result: Result | Multilabel) -> dict[str, Any]:
    read = {
        "tasks": result.overview.tasks,
        "workers": len(result.tally),
        "labels": _labels(result),
        "classes": len(result.classes),
    }
    if result.read is not None:
        dropped = 0 if result.read.repeats_kept else result.read.repeated
        read |= {
            "rows": result.read.rows,
            "dropped_missing": result.read.missing,
            "dropped_repeats": dropped,
            "repeats_counted": result.read.repeated - dropped,
        }
    return read


def _labels(result: Result | Multilabel) -> int:
    if isinstance(result, Multilabel):
        return result.n_labels
    return int(result.tally.sum().round())


def _found(result: Result | Multilabel) -> dict[str, Any]:
    overview = result.overview
    shares = overview.answered / max(overview.tasks, 1)
    return {
        "class_shares": {
            str(name): float(share) for name, share in zip(result.classes, shares, strict=True)
        },
        "mean_confidence": overview.confidence / max(overview.tasks, 1),
        "expected_error": _expected_error(result),
        "near_ties": overview.near_ties,
        "undecided": overview.undecided,
        "best_workers": _workers(result, by="low", descending=True),
        "worst_workers": _workers(result, by="high", descending=False),
    }


def _expected_error(result: Result | Multilabel) -> dict[str, float] | None:
    return None if isinstance(result, Multilabel) else result.expected_error._asdict()


def _mixture(result: Result | Multilabel) -> dict[str, Any] | None:
    """Of a model that mixes others: their weights, and on how many tasks their answers differ."""
    if isinstance(result, Multilabel) or not isinstance(result.model, Auto):
        return None
    model = result.model
    return {
        "weights": model.weights_of(result.params),
        "why": model.why(result.params),
        "vote_worth": model.vote_worth(result.params),
        "temperature": result.params.temperature,
        "hidden_votes": result.params.held_out,
        "tasks_that_differ": result.stats.differ,
    }


def _workers(result: Result | Multilabel, by: str, descending: bool) -> list[dict[str, Any]]:
    """Ranked by the bound of the interval that is sure, so that few labels do not lead."""
    workers = result.crowd_frame if isinstance(result, Multilabel) else result.workers_frame
    ranked = workers.sort(by, descending=descending, maintain_order=True)
    rows = ranked.head(SHOWN_WORKERS).to_dicts()
    return [row | {"worker": _name(row["worker"])} for row in rows]


def _name(name: Any) -> Any:
    """A name as JSON can say it, which has no dates and no infinity."""
    is_plain = isinstance(name, (str, int)) or (isinstance(name, float) and math.isfinite(name))
    return name if is_plain else str(name)


def _how(result: Result | Multilabel) -> dict[str, Any]:
    return {
        "method": result.method,
        "mixture": _mixture(result),
        "iterations": result.iterations,
        "converged": result.converged,
        "objective": _finite(result.objective[-1]),
        "log_likelihood": _finite(result.log_likelihood),
        "seconds": result.seconds,
        "version": __version__,
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity: the logarithm of zero is left out."""
    return value if value is not None and math.isfinite(value) else None
