"""How far workers agree, and how sure their answers are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from quorate import kernels
from quorate.crowdkit.aggregator import Aggregator
from quorate.crowdkit.crowd import Crowd, accuracy, answers_by_task, require_frame
from quorate.crowdkit.voting import MajorityVote, require_skills, weights
from quorate.errors import DataError, UsageError, require_choice
from quorate.kernels import Floats
from quorate.metrics import krippendorff_alpha
from quorate.models import OneCoin
from quorate.models.em import possible_tasks
from quorate.models.one_coin import named_or_not, one_coin_confusion

GROUPS = ("task", "worker", "label", "true_label")


def alpha_krippendorff(answers: Any, distance: Callable[[Any, Any], float] | None = None) -> float:
    """Krippendorff's alpha: 1 where workers agree on every task, 0 where they do as by chance.

    `distance` says how far two labels are apart, from 0 to 1; by default different labels are 1.
    """
    crowd = _crowd(answers)
    votes = crowd.labels.weighted_votes(np.ones(len(crowd.workers))).astype(np.int64)
    votes = votes[votes.sum(axis=1) > 1]
    if not len(votes):
        raise DataError("No task has two labels: there is nothing that workers could agree on.")
    if distance is None:
        alpha = krippendorff_alpha(votes)
    else:
        apart = [[distance(one, other) for other in crowd.classes] for one in crowd.classes]
        alpha = _alpha(votes, np.array(apart, dtype=float))
    return 1.0 if alpha is None else alpha


def _alpha(votes: Any, apart: Floats) -> float | None:
    """One minus the mean distance of a task's labels over that of all labels."""
    given, total = votes.sum(axis=1), votes.sum(axis=0)
    observed = float((((votes @ apart) * votes).sum(axis=1) / (given - 1)).sum())
    expected = float(total @ apart @ total) / (total.sum() - 1)
    return None if expected == 0 else 1 - observed / expected


def consistency(
    answers: Any,
    workers_skills: Any = None,
    aggregator: Any = None,
    by_task: bool = False,
) -> Any:
    """The probability of the aggregated label, mean or by task, given skills: of a worker who is
    right with that probability, and otherwise gives any other label.

    The labels, and the skills if none are given, are those of the aggregator (`MajorityVote`)."""
    aggregator = MajorityVote() if aggregator is None else aggregator
    crowd = _crowd(answers)
    code = crowd.classes.get_indexer(aggregator.fit_predict(answers)[crowd.tasks])
    accuracies = _accuracies(crowd, workers_skills, aggregator)
    model = OneCoin(prior="uniform")
    params = model.from_confusion(one_coin_confusion(accuracies, len(crowd.classes)))
    posterior, log_evidence = model.e_step(crowd.labels, params)
    chosen = posterior[np.arange(len(code)), code]
    chosen[~possible_tasks(crowd.labels, log_evidence)] = 0.0
    return pd.Series(chosen, crowd.tasks) if by_task else float(chosen.mean())


def uncertainty(
    answers: Any,
    workers_skills: Any = None,
    aggregator: Any = None,
    compute_by: str = "task",
    aggregate: bool = True,
) -> Any:
    """The entropy of the labels of tasks, or of workers, mean or of each.

    A label counts as its worker's skill, and the others as what is left; without skills and an
    aggregator that finds them as 1 and 0."""
    require_choice("compute_by", compute_by, ("task", "worker"))
    crowd = _crowd(answers)
    accuracies = np.ones(len(crowd.workers))
    if workers_skills is not None or aggregator is not None:
        if workers_skills is None:
            aggregator.fit(answers)
        accuracies = _accuracies(crowd, workers_skills, aggregator)
    names, labels = crowd.tasks, crowd.labels
    if compute_by == "worker":
        names, labels = crowd.workers, crowd.by_worker()
    sums = named_or_not(labels, accuracies, (1 - accuracies) / max(len(crowd.classes) - 1, 1))
    entropies = pd.Series(kernels.entropy(sums / sums.sum(axis=1, keepdims=True)), names)
    return float(entropies.mean()) if aggregate else entropies


def accuracy_on_aggregates(
    answers: Any,
    aggregator: Any = None,
    aggregates: Any = None,
    by: str | None = None,
) -> Any:
    """The share of answers that are the aggregated ones, of all or by worker, task or label.

    Aggregated answers are given, or those of the aggregator (`MajorityVote`)."""
    require_frame(answers)
    if by is not None:
        require_choice("by", by, GROUPS)
    if aggregates is None:
        aggregates = (MajorityVote() if aggregator is None else aggregator).fit_predict(answers)
    truth = answers_by_task(aggregates, "aggregates")
    if not truth.index.isin(answers["task"]).any():
        raise DataError("None of the answers' tasks is among the aggregates.")
    if by == "true_label" and not truth.index.is_unique:
        raise UsageError("by='true_label' needs one aggregated label for each task.")
    return accuracy(answers, truth, by)


def _crowd(answers: Any) -> Crowd:
    crowd = Crowd.of(answers, in_order=True)
    if crowd.is_empty:
        raise DataError("There are no labels to measure.")
    return crowd


def _accuracies(crowd: Crowd, skills: Any, aggregator: Aggregator) -> Floats:
    """Skills in the order of the workers, which are probabilities."""
    if skills is None:
        skills = getattr(aggregator, "skills_", None)
    if skills is None:
        raise UsageError(f"{type(aggregator).__name__} finds no skills: give workers_skills.")
    require_skills(skills)
    known = weights(crowd, skills)
    if (known < 0).any() or (known > 1).any():
        raise DataError("Skills are probabilities here, from 0 to 1: give workers_skills.")
    return known
