"""Rank-one completion by other readings of its paper, plainly: small crowds, dense matrices."""

from __future__ import annotations

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.labels import Labels
from reproductions.fitting import share_wrong
from reproductions.scoring import Known

# How pairs of workers weigh in the loss, and whether the N of a worker's margin is its meetings
# with others or its tasks. The first of each is what `rank-one` does.
WEIGHTS = ("meetings", "even", "meetings squared")
MARGINS = ("meetings", "tasks")
SWEEPS, SETTLED = 1_000, 1e-8


def error_by_reading(votes: Known, weights: str, margin: str) -> float:
    """The error with one skill for each worker, a margin of one, and votes weighted by log-odds."""
    labels = votes.labels
    cast, agreement = _cast(labels), _agreement(labels)
    together = cast.T @ cast
    np.fill_diagonal(together, 0)
    np.fill_diagonal(agreement, 0)
    weight = {
        "meetings": together,
        "even": (together > 0).astype(float),
        "meetings squared": together**2,
    }[weights]
    seen = together.sum(axis=1) if margin == "meetings" else cast.sum(axis=0)
    limit = np.clip(1 - 1 / np.sqrt(np.maximum(seen, 1)), 0, 1 - 1e-12)
    skill = skills(weight, agreement / np.maximum(together, 1), limit)
    score = labels.weighted_votes(np.log((1 + skill) / (1 - skill)))
    return share_wrong(kernels.normalise(score)[0], votes.truth)


def skills(weight: Floats, rate: Floats, limit: Floats) -> Floats:
    """Each worker in turn to where its loss is least, until none moves.

    Examples:
        >>> truth = np.array([0.8, 0.6, 0.5])
        >>> weight = 1 - np.eye(3)
        >>> skills(weight, np.outer(truth, truth), np.ones(3)).round(3)
        array([0.8, 0.6, 0.5])
    """
    skill = np.minimum(0.5, limit)
    pull = weight * rate
    for _ in range(SWEEPS):
        before = skill.copy()
        for i in range(len(skill)):
            curvature = weight[i] @ skill**2
            if curvature > 0:
                skill[i] = np.clip(pull[i] @ skill / curvature, -limit[i], limit[i])
        if np.abs(skill - before).max() < SETTLED:
            break
    return skill if skill.sum() >= 0 else -skill


def _cast(labels: Labels) -> Floats:
    """``[task, worker]``: how many labels."""
    task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))
    cast = np.zeros((labels.n_tasks, labels.n_workers))
    np.add.at(cast, (task, labels.worker), 1)
    return cast


def _agreement(labels: Labels) -> Floats:
    """``[worker, worker]``: agreements beyond chance, over all tasks."""
    task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))
    k = labels.n_classes
    said = np.zeros((k, labels.n_tasks, labels.n_workers))
    np.add.at(said, (labels.label, task, labels.worker), 1)
    everyone = said.sum(axis=0)
    alike = sum(one.T @ one for one in said)
    agreement: Floats = (k * alike - everyone.T @ everyone) / (k - 1)
    return agreement
