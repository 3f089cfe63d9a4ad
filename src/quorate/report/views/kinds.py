"""Kinds of workers, and models against humans where the votes have both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.diagnosis import Diagnosis
from quorate.kernels import Floats
from quorate.report.views.survey import segments
from quorate.result import Result

SHOWN = 500
HUMANS = ("human", "humans", "person", "people", "expert", "experts", "crowd")


def kinds_of(result: Result) -> dict[Any, str] | None:
    """What each worker is, where that is known."""
    kinds = result.per_worker.get("kind")
    if kinds is None:
        return None
    known = zip(result.codebook.workers, kinds, strict=True)
    return {worker: kind for worker, kind in known if kind is not None}


def kinds_view(diagnosis: Diagnosis, result: Result) -> dict[str, Any] | None:
    """A row for each kind, and for each other worker how often they agree with the humans on the
    same tasks; None where kinds are not known."""
    if not diagnosis.kinds:
        return None
    kinds = [str(kind) for kind in result.per_worker["kind"]]
    human = next((kind for kind in sorted(set(kinds)) if kind.lower() in HUMANS), None)
    return {
        "rows": [asdict(kind) for kind in diagnosis.kinds],
        "humans": human,
        "against_humans": None if human is None else _against(result, kinds, human),
    }


def _against(result: Result, kinds: Sequence[str], human: str) -> dict[str, Any] | None:
    """Workers who are no humans, those who agree most with the humans first."""
    is_human = np.array([kind == human for kind in kinds])
    tasks, votes, majorities = _agreement_with(result, is_human)
    met = np.flatnonzero(tasks > 0)
    if not len(met):
        return None
    order = met[np.argsort(-(votes / np.maximum(tasks, 1))[met], kind="stable")]
    names = result.codebook.workers
    rows = [
        {
            "worker": names[i],
            "kind": kinds[i],
            "tasks": int(tasks[i]),
            "with_humans": float(votes[i] / tasks[i]),
            "with_most_humans": float(majorities[i] / tasks[i]),
        }
        for i in order[:SHOWN].tolist()
    ]
    return {"rows": rows, "shown": len(rows), "of": len(order)}


def _agreement_with(result: Result, is_human: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Of each worker who is no human: labels on tasks with human votes, the sum of the shares of
    these votes that say the same, and how many labels most of the humans say."""
    sums = np.zeros((3, len(is_human)))
    for segment in segments(result):
        labels, task = segment.labels, segment.task
        counts = np.zeros((labels.n_tasks, labels.n_classes))
        humans = is_human[labels.worker]
        np.add.at(counts, (task[humans], labels.label[humans]), 1)
        of_task, top = counts.sum(axis=1), counts.max(axis=1)
        seen = ~humans & (of_task[task] > 0)
        who, of, said = labels.worker[seen], task[seen], counts[task[seen], labels.label[seen]]
        for row, values in enumerate((np.ones(len(of)), said / of_task[of], said == top[of])):
            sums[row] += np.bincount(who, values, len(is_human))
    return sums[0], sums[1], sums[2]
