"""Votes that are hidden and then foretold: how a model is judged, and set, without gold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from quorate import kernels
from quorate.engines.threads import Threads
from quorate.fit import fit
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.models.naive_bayes import AUTO, NaiveBayes
from quorate.result import Result

WEIGHTS = (0.0, 0.03, 0.1, 0.3, 1.0)
FOLDS = 5
ENOUGH = 100_000  # hidden votes that tell weights apart, so that not every fold is needed


def weigh_features(
    model: NaiveBayes, labels: Labels, *, engine: Threads | None = None
) -> NaiveBayes:
    """The model with the `feature_weight` under which hidden votes are foretold best.

    A fifth of the votes is hidden, the model fitted to the others, and the hidden votes'
    predictive log-likelihood noted; so with each fifth, for each of the weights 0, 0.03, 0.1, 0.3
    and 1. A smaller weight stands if it falls short of the best by no more than the standard error
    of the difference. Which votes are hidden depends on the model's `seed`, the task and the worker
    only. With very many votes one fifth is enough.

    Examples:
        >>> from scipy.sparse import csr_array
        >>> task, worker = np.divmod(np.arange(300), 3)
        >>> random, truth = np.random.default_rng(0), np.arange(100) % 2
        >>> label = np.where(random.random(300) < 0.7, truth[task], 1 - truth[task])
        >>> telling = csr_array(np.stack([truth, 1 - truth], axis=1))
        >>> labels = Labels.from_codes(task, worker, label, features=telling)
        >>> weigh_features(NaiveBayes(), labels).feature_weight
        1.0
    """
    engine = engine or Threads()
    models = [replace(model, feature_weight=weight) for weight in WEIGHTS]
    scores: list[list[float]] = []
    seen = 0
    for kept, hidden in folds(labels, model.seed):
        if kept.n_labels:
            scores.append([foretell(fit(m, kept, engine=engine), hidden) for m in models])
        seen += hidden.n_labels
        if seen >= ENOUGH:
            break
    return models[_first_near_the_best(np.array(scores).reshape(-1, len(models)))]


def _first_near_the_best(scores: Floats) -> int:
    """The first of ``scores[fold, i]`` that is within a standard error of the highest sum."""
    best = scores.sum(axis=0).argmax()
    short = scores[:, [best]] - scores
    n_folds = len(scores)
    error = short.std(axis=0, ddof=1) * np.sqrt(n_folds) if n_folds > 1 else 0.0
    return int((short.sum(axis=0) <= error).argmax())


def weighed(model: Any, labels: Labels, engine: Threads, notes: list[str]) -> Any:
    """The model, with a weight for the features if it is to be found, and that said."""
    open_weight = isinstance(model, NaiveBayes) and model.feature_weight == AUTO
    if not open_weight or labels.features is None:
        return model
    found = weigh_features(model, labels, engine=engine)
    notes.append(f"The weight of the features, {found.feature_weight:g}, comes from hidden votes.")
    return found


def folds(labels: Labels, seed: int, n_folds: int = FOLDS) -> Iterator[tuple[Labels, Labels]]:
    """The votes in so many parts by lots, each once as those that are hidden: (kept, hidden).
    A worker's repeated answers to a task are in the same part."""
    part = labels.parts(n_folds, seed)
    for fold in range(n_folds):
        hidden = part == fold
        yield labels.only(~hidden), labels.only(hidden)


def foretell(result: Result, hidden: Labels) -> float:
    """The log-probability of hidden votes, given what was learned from the others of their tasks
    and workers: the workers' confusion matrices, and the posterior."""
    assert result.confusion is not None
    by_label = np.ascontiguousarray(result.confusion.transpose(0, 2, 1))
    table = kernels.log_or(by_label.reshape(-1, hidden.n_classes))
    total = 0.0
    for block in hidden.blocks():
        tasks = slice(block.first_task, block.first_task + block.n_tasks)
        log_joint = block.pairs.gather(table) + kernels.log_or(result.posterior[tasks])
        total += float(kernels.normalise(log_joint)[1].sum())
    return total
