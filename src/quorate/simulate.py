"""Crowds with known truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quorate.errors import UsageError
from quorate.kernels import Codes, Floats
from quorate.labels import Labels


@dataclass(frozen=True, eq=False)
class Crowd:
    """Simulated labels, the truth behind them, and the workers' confusion matrices."""

    labels: Labels
    truth: Codes
    confusion: Floats


def simulate(
    confusion: Floats,
    n_tasks: int,
    labels_per_task: int,
    *,
    prior: Floats | None = None,
    seed: int = 0,
) -> Crowd:
    """Give every task `labels_per_task` different workers at random, each of whom answers by its
    confusion matrix ``[worker, truth, label]``.

    Examples:
        >>> from quorate.models.one_coin import one_coin_confusion
        >>> crowd = simulate(one_coin_confusion(np.array([0.9, 0.8, 0.7]), n_classes=2), 100, 3)
        >>> crowd.labels.n_labels
        300
    """
    n_workers, n_classes, _ = confusion.shape
    if labels_per_task > n_workers:
        raise UsageError(
            f"{labels_per_task} labels per task need as many workers, not {n_workers}."
        )
    random = np.random.default_rng(seed)
    truth = random.choice(n_classes, n_tasks, p=prior).astype(np.int32)
    worker = _draw_workers(random, n_tasks, n_workers, labels_per_task).ravel()
    rows = confusion.cumsum(axis=2)[worker, np.repeat(truth, labels_per_task)]
    label = (random.random(len(worker))[:, None] >= rows[:, :-1]).sum(axis=1)
    task = np.repeat(np.arange(n_tasks), labels_per_task)
    labels = Labels.from_codes(
        task, worker, label, n_tasks=n_tasks, n_workers=n_workers, n_classes=n_classes
    )
    return Crowd(labels, truth, confusion)


def _draw_workers(
    random: np.random.Generator, n_tasks: int, n_workers: int, per_task: int
) -> Codes:
    """``[task, i]``: different workers for each task, drawn again where two are the same."""
    if per_task**2 > n_workers:
        lots = random.random((n_tasks, n_workers))
        return lots.argpartition(per_task - 1, axis=1)[:, :per_task].astype(np.int32)
    drawn = random.integers(n_workers, size=(n_tasks, per_task), dtype=np.int32)
    while True:
        ordered = np.sort(drawn, axis=1)
        again = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(again):
            return drawn
        drawn[again] = random.integers(n_workers, size=(len(again), per_task), dtype=np.int32)
