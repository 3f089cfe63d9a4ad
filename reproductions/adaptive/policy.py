"""Which tasks should get a further vote: the one place that knows how Quorate's policies are
called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate.assignment.forest import Forest, skills_of
from quorate.assignment.gain import worth_of_each
from quorate.assignment.plan import CROWD
from quorate.assignment.situation import scores, situated
from quorate.engines.threads import Threads
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.result import Result


@dataclass(frozen=True)
class Grown:
    """Settings of a forest: on how many simulated crowds it is trained, with how many trees, and
    from which skills and class prevalences; by default those of the fit."""

    crowds: int
    trees: int
    skills: Any = None
    shares: Floats | None = None


def task_scores(
    policy: str, result: Result, labels: Labels, grown: Grown, random: np.random.Generator
) -> Floats:
    """Scores of how much each task needs a further vote, by a policy."""
    situation = situated(result, labels)
    risk = 1 - situation.confidence
    if policy == "forest":
        forest = Forest(grown.crowds, grown.trees, seed=int(random.integers(2**31)))
        skills = grown.skills or skills_of(result.model, result)
        shares = result.posterior.mean(axis=0) if grown.shares is None else grown.shares
        risk = forest.risks(result, labels, skills, shares, Threads(1))
    return scores(policy, situation, risk, random)


def worker_confusions(result: Result, labels: Labels) -> Floats:
    """Each worker's confusion matrix, drawn towards that of the average worker."""
    situation = situated(result, labels)
    counts = situation.counts + CROWD * situation.average
    confusions: Floats = counts / counts.sum(axis=2, keepdims=True)
    return confusions


def vote_worths(posterior: Floats, confusions: Floats) -> Floats:
    """The worth of a vote by each of some workers on a task; ties go to the more accurate."""
    accuracy = np.einsum("wkk,k->w", confusions, posterior)
    worths: Floats = worth_of_each(posterior, confusions) + 1e-6 * accuracy
    return worths
