"""Crowds in which who works with whom is a given graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.models.one_coin import one_coin_confusion
from quorate.simulation import Crowd
from quorate.simulation.assignment import teams_of

GRAPHS = ("clique", "star", "ring")  # their order tells the seeds of the trials


def crowd_on(
    graph: str, n_tasks: int, skill: Floats | Sequence[float], random: np.random.Generator
) -> Crowd:
    """Tasks of two even classes, which go to the graph's teams in turn; a worker of skill s is
    right with probability (1 + s) / 2.

    Examples:
        >>> crowd_on("ring", 5, [1.0] * 5, np.random.default_rng(0)).labels.n_labels
        10
    """
    accuracy = (1 + np.asarray(skill)) / 2
    teams = teams_of(graph, len(accuracy))
    worker = np.array([teams[t % len(teams)] for t in range(n_tasks)])
    truth = random.integers(2, size=n_tasks, dtype=np.int32)
    right = random.random(worker.shape) < accuracy[worker]
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    labels = Labels.from_codes(
        np.repeat(np.arange(n_tasks), worker.shape[1]),
        worker.ravel(),
        label.ravel(),
        n_tasks=n_tasks,
        n_workers=len(accuracy),
        n_classes=2,
    )
    return Crowd(labels, truth, one_coin_confusion(accuracy, n_classes=2))
