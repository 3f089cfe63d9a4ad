"""What to ask next: tasks that need another vote, of whom, and what a budget would buy."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from quorate.diagnosis import Diagnosis
from quorate.errors import QuorateError
from quorate.report.views.survey import Survey
from quorate.result import Result

SHOWN = 50
MOST_VOTES = 5_000_000  # beyond which a plan takes longer than a report should


def next_view(result: Result, diagnosis: Diagnosis, counts: Survey) -> dict[str, Any] | None:
    """The votes to ask for, as `assign` ranks them, with the curve of what they buy, and who need
    not be asked again; None where nothing can be planned."""
    from quorate.assignment import assign  # slow to import

    if result.n_labels > MOST_VOTES or result.tasks.in_files:
        return None
    budget = max(10, min(1000, result.overview.tasks // 10))
    workers, judged = result.codebook.workers, diagnosis.judgement
    spammer = np.zeros(len(workers), bool) if judged is None else judged.spammer
    able = workers if spammer.all() else workers.filter(pl.Series(~spammer))
    try:
        plan = assign(result, budget=budget, available=able.to_list(), seed=0)
    except QuorateError:
        return None
    columns = ("task", "worker", "confidence", "votes", "gain")
    rows = plan.frame.head(SHOWN).select(columns).to_dicts()
    spammers = workers.filter(pl.Series(spammer)).to_list()
    return {
        "budget": budget,
        "error_now": plan.error_now,
        "error_after": plan.error_after,
        "reason": plan.reason,
        "curve": plan.curve_frame.to_dicts(),
        "rows": rows,
        "shown": len(rows),
        "of": len(plan.frame),
        "settled": counts.n_settled,
        "stop_asking": {"workers": spammers[:SHOWN], "of": len(spammers)},
    }
