"""What was read, what was found and how, as one dictionary: the source of every report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quorate import __version__
from quorate.kernels import Floats
from quorate.multilabel import Multilabel
from quorate.result import Result

NEAR_TIE = 0.1  # the lead of the best class over the second
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
        "tasks": len(result.answers),
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
    shares = zip(result.classes, _class_shares(result), strict=True)
    return {
        "class_shares": {str(name): float(share) for name, share in shares},
        "mean_confidence": float(result.confidence.mean()),
        "near_ties": _near_ties(result),
        "best_workers": _workers(result, by="low", descending=True),
        "worst_workers": _workers(result, by="high", descending=False),
    }


def _class_shares(result: Result | Multilabel) -> Floats:
    """The share of the tasks whose label a class is, or is one of."""
    if isinstance(result, Multilabel):
        right: Floats = result.answers.mean(axis=0)
        return right
    return np.bincount(result.answers, minlength=len(result.classes)) / len(result.answers)


def _near_ties(result: Result | Multilabel) -> int:
    if isinstance(result, Multilabel):
        return int((np.abs(2 * result.posterior - 1) < NEAR_TIE).any(axis=1).sum())
    if result.posterior.shape[1] < 2:
        return 0
    second, first = np.partition(result.posterior, -2, axis=1)[:, -2:].T
    return int((first - second < NEAR_TIE).sum())


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
