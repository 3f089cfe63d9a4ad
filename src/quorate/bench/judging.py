"""Votes whose truth is known, and how far a method's answers are from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import datasets, metrics
from quorate.engines.threads import Threads
from quorate.fit import fit
from quorate.io import find, read_votes
from quorate.kernels import Codes, Floats
from quorate.labels import Codebook, Labels
from quorate.models import make
from quorate.result import Result


@dataclass(frozen=True, eq=False)
class Known:
    """Labels and each task's truth: -1 where it is not known, the number of classes where it is a
    class that nobody named."""

    labels: Labels
    codebook: Codebook
    truth: Codes


@lru_cache(maxsize=4)
def known(name: str, directory: Path) -> Known:
    """A data set as it is."""
    read = read_votes(datasets.votes(name, directory))
    gold = datasets.gold(name, directory)
    task = find(gold["task"], read.codebook.tasks)
    label = find(gold["label"], read.codebook.classes).fill_null(read.labels.n_classes)
    truth = np.full(read.labels.n_tasks, -1, dtype=np.int32)
    voted = task.is_not_null()
    truth[task.filter(voted).to_numpy()] = label.filter(voted).to_numpy()
    return Known(read.labels, read.codebook, truth)


def fitted(method: str, labels: Labels, **options: Any) -> Result:
    """On one thread: experiments run side by side, one process for each core."""
    return fit(make(method, **options), labels, engine=Threads(1))


def percent_wrong(posterior: Floats, truth: Codes) -> float:
    """Over the tasks whose truth is known, ties shared evenly."""
    return 100 * metrics.error(posterior, truth)


def chosen_tasks(known: Known, tasks: NDArray[np.integer]) -> Known:
    """Only those tasks."""
    counts = np.diff(known.labels.indptr)
    keep = np.zeros(known.labels.n_tasks, dtype=bool)
    keep[tasks] = True
    return subset(known, np.repeat(keep, counts))


def subset(known: Known, keep: Sequence[bool] | np.ndarray[Any, Any]) -> Known:
    """Only those votes; a task without any is left out, workers and classes stay."""
    labels = known.labels
    keep = np.asarray(keep, dtype=bool)
    task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))[keep]
    left, task = np.unique(task, return_inverse=True)
    fewer = Labels.from_codes(
        task,
        labels.worker[keep],
        labels.label[keep],
        n_tasks=len(left),
        n_workers=labels.n_workers,
        n_classes=labels.n_classes,
    )
    return Known(fewer, known.codebook, known.truth[left])
