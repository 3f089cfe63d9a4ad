"""Consistency: how often a worker who answers a task again says the same.

A judge that is asked several times is one worker with repeated votes, or several whose names differ
behind the last `#`: `judge#1`, `judge#2`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from quorate.report.views.survey import segments
from quorate.result import Result

SHOWN = 500


def repeats_view(result: Result) -> dict[str, Any] | None:
    """A row for each worker with repeated answers, the least consistent first; None where nobody
    has any."""
    names, judge = _judges(result)
    tasks, alike, pairs = np.zeros((3, len(names)))
    for segment in segments(result):
        labels, n_classes = segment.labels, segment.labels.n_classes
        visit = segment.task.astype(np.int64) * len(names) + judge[labels.worker]
        visits, answers = np.unique(visit, return_counts=True)
        again = answers > 1
        if not again.any():
            continue
        said = np.unique(visit * n_classes + labels.label, return_counts=True)
        who = visits[again] % len(names)
        tasks += np.bincount(who, minlength=len(names))
        pairs += np.bincount(who, answers[again] * (answers[again] - 1), len(names))
        of = said[0] // n_classes % len(names)
        alike += np.bincount(of, said[1] * (said[1] - 1), len(names))
    asked = np.flatnonzero(pairs > 0)
    if not len(asked):
        return None
    order = asked[np.argsort((alike / np.maximum(pairs, 1))[asked], kind="stable")]
    rows = [
        {"worker": names[i], "tasks": int(tasks[i]), "alike": float(alike[i] / pairs[i])}
        for i in order[:SHOWN].tolist()
    ]
    share = float(alike.sum() / pairs.sum())
    return {"rows": rows, "shown": len(rows), "of": len(order), "alike": share}


def _judges(result: Result) -> tuple[list[Any], Any]:
    """Names of those who may have answered a task again, and which of them each worker is."""
    workers = result.codebook.workers.to_list()
    stems = [str(name).rpartition("#")[0] for name in workers]
    runs = {stem for stem, n in Counter(stems).items() if stem and n > 1}
    called = [stem if stem in runs else name for stem, name in zip(stems, workers, strict=True)]
    names = list(dict.fromkeys(called))
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[name] for name in called], dtype=np.int64)
