"""Known answers: how often votes hit them, and those that most votes contradict."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.report.views.survey import majority, segments
from quorate.result import Result

SHOWN, AT_LEAST = 50, 3


def gold_view(result: Result) -> dict[str, Any] | None:
    """The share of votes and of majorities that hit the known answers, and suspect ones: most of at
    least three votes name one other label. None where nothing is known."""
    if not result.overview.known:
        return None
    known = votes = right = agree = 0
    suspect: list[dict[str, Any]] = []
    names = result.codebook.classes
    for segment in segments(result):
        labels, task = segment.labels, segment.task
        if labels.gold is None:
            continue
        of = np.flatnonzero(labels.gold >= 0)
        said = labels.gold[task] >= 0
        known += len(of)
        votes += int(said.sum())
        right += int((labels.label == labels.gold[task])[said].sum())
        count, top, several = majority(labels, task)
        n_votes = np.diff(labels.indptr)
        agree += int((top[of] == labels.gold[of]).sum())
        odd = of[(top[of] != labels.gold[of]) & ~several[of] & (n_votes[of] >= AT_LEAST)]
        odd = odd[2 * count[odd] > n_votes[odd]]
        suspect += [
            {
                "task": segment.names[t],
                "known": names[int(labels.gold[t])],
                "most_say": names[int(top[t])],
                "votes": int(n_votes[t]),
                "share": float(count[t] / n_votes[t]),
            }
            for t in odd.tolist()
        ]
    suspect.sort(key=lambda row: (-row["share"], -row["votes"]))
    return {
        "known": known,
        "votes": votes,
        "votes_right": right / max(votes, 1),
        "majority_right": agree / max(known, 1),
        "rows": suspect[:SHOWN],
        "shown": len(suspect[:SHOWN]),
        "of": len(suspect),
    }
