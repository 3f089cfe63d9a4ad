"""Known answers: how often votes hit them, what is found without them, and suspect ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate import metrics
from quorate.report.views.survey import Segment, majority, segments
from quorate.result import Result

SHOWN, AT_LEAST = 50, 3


def gold_view(result: Result) -> dict[str, Any] | None:
    """The share of votes and of majorities that hit the known answers, and suspect ones: most of at
    least three votes name one other label. None where nothing is known."""
    if not result.overview.known:
        return None
    sums, suspect = np.zeros(4, dtype=np.int64), list[dict[str, Any]]()
    for segment in segments(result):
        if segment.labels.gold is not None:
            counted, rows = _of_segment(segment, result)
            sums += counted
            suspect += rows
    known, votes, right, agree = sums.tolist()
    suspect.sort(key=lambda row: (-row["share"], -row["votes"]))
    return {
        "known": known,
        "votes": votes,
        "votes_right": right / max(votes, 1),
        "majority_right": agree / max(known, 1),
        "found_again": _found_again(result),
        "rows": suspect[:SHOWN],
        "shown": len(suspect[:SHOWN]),
        "of": len(suspect),
    }


def _of_segment(segment: Segment, result: Result) -> tuple[Any, list[dict[str, Any]]]:
    """Known answers, votes on them, right votes and right majorities; and the suspect answers."""
    labels, task, names = segment.labels, segment.task, result.codebook.classes
    gold = labels.gold
    assert gold is not None
    of, said = np.flatnonzero(gold >= 0), gold[task] >= 0
    count, top, several = majority(labels, task)
    n_votes = np.diff(labels.indptr)
    right = int((labels.label == gold[task])[said].sum())
    counted = [len(of), int(said.sum()), right, int((top[of] == gold[of]).sum())]
    odd = of[(top[of] != gold[of]) & ~several[of] & (n_votes[of] >= AT_LEAST)]
    rows = [
        {
            "task": segment.names[t],
            "known": names[int(gold[t])],
            "most_say": names[int(top[t])],
            "votes": int(n_votes[t]),
            "share": float(count[t] / n_votes[t]),
        }
        for t in odd[2 * count[odd] > n_votes[odd]].tolist()
    ]
    return counted, rows


def _found_again(result: Result) -> dict[str, Any] | None:
    """How many of the known answers are found while they are hidden, in parts by confidence."""
    check = result.check
    if check is None or not len(check.right):
        return None
    parts = metrics.reliability_of(check.confidence, check.right)
    return {"tasks": len(check.right), "right": float(np.mean(check.right)), "parts": list(parts)}
