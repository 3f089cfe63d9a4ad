"""Classes: how frequent, how certain, and which are taken for each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.report.views.survey import Survey
from quorate.result import Result

SHOWN_CLASSES, SHOWN_PAIRS, SHOWN_GUIDELINES = 60, 12, 3
IN_MATRIX = 30


def classes_view(counts: Survey, result: Result) -> dict[str, Any]:
    """Prevalence with interval, mean confidence, accuracy of the votes, and confusable pairs."""
    answered, names = result.overview.answered, result.classes
    order = np.argsort(-answered, kind="stable")[:SHOWN_CLASSES]
    given = counts.confusion.sum(axis=1)
    right = np.divide(np.diag(counts.confusion), given, out=np.zeros(len(given)), where=given > 0)
    sure = np.divide(counts.sureness, answered, out=np.zeros(len(answered)), where=answered > 0)
    shares = result.class_share_rows()
    rows = [
        {
            "label": names[i],
            "tasks": int(answered[i]),
            "share": shares[i].share,
            "low": shares[i].low,
            "high": shares[i].high,
            "mean_confidence": float(sure[i]),
            "votes_right": float(right[i]),
        }
        for i in order.tolist()
    ]
    table = np.divide(
        counts.confusion,
        given[:, None],
        out=np.zeros_like(counts.confusion),
        where=given[:, None] > 0,
    )
    kept = np.sort(order[:IN_MATRIX])
    return {
        "rows": rows,
        "shown": len(rows),
        "of": len(names),
        "confusion": {
            "labels": [names[i] for i in kept.tolist()],
            "shares": table[np.ix_(kept, kept)].round(4).tolist(),
        },
        "confusable": _pairs(table, counts.confusion, names),
        "guidelines": _guidelines(counts.confusion, names),
        "level": 0.9,
    }


def _pairs(table: Any, counts: Any, names: list[Any]) -> list[dict[str, Any]]:
    """Pairs of a class and the label that it is most often taken for, by number of votes."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:SHOWN_PAIRS]
    places = np.column_stack(np.unravel_index(order, wrong.shape)).tolist()
    return [
        {
            "truth": names[truth],
            "said": names[said],
            "share": float(table[truth, said]),
            "votes": float(wrong[truth, said]),
        }
        for truth, said in places
        if wrong[truth, said] >= 0.5
    ]


def _guidelines(counts: Any, names: list[Any]) -> list[dict[str, Any]]:
    """Pairs of classes that most wrong votes mix up, either way: where a clearer instruction would
    help most."""
    if len(names) < 3:
        return []
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    either = np.triu(wrong + wrong.T)
    order = np.argsort(-either, axis=None, kind="stable")[:SHOWN_GUIDELINES]
    places = np.column_stack(np.unravel_index(order, either.shape)).tolist()
    total = max(float(wrong.sum()), 1e-9)
    return [
        {
            "label": names[one],
            "other": names[other],
            "votes": float(either[one, other]),
            "share": float(either[one, other]) / total,
        }
        for one, other in places
        if either[one, other] >= 0.5
    ]
