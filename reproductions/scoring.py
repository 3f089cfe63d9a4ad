"""Votes whose truth is known, and how far a method's answers are from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Codes, Floats
from quorate.labels import Codebook, Labels
from reproductions.fitting import share_wrong, votes_and_gold, votes_and_gold_in


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
    return Known(*votes_and_gold(name, directory))


@lru_cache(maxsize=4)
def known_in(folder: Path) -> Known:
    """A data set that the catalogue does not have."""
    return Known(*votes_and_gold_in(folder))


def percent_wrong(posterior: Floats, truth: Codes) -> float:
    """Percentage of the tasks whose truth is known that are wrong, ties shared evenly."""
    return 100 * share_wrong(posterior, truth)


def chosen_tasks(known: Known, tasks: NDArray[np.integer]) -> Known:
    """The given tasks only."""
    counts = np.diff(known.labels.indptr)
    keep = np.zeros(known.labels.n_tasks, dtype=bool)
    keep[tasks] = True
    return subset(known, np.repeat(keep, counts))


def subset(known: Known, keep: Sequence[bool] | np.ndarray[Any, Any]) -> Known:
    """The given votes only; a task without any is left out, workers and classes stay."""
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
