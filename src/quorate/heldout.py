"""Held-out votes: kept from a fit, then predicted, to score and tune models without gold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.engines.engine import Engine
from quorate.engines.threads import Threads
from quorate.fitting import Fit, Request, fit_labels, run
from quorate.kernels import Codes, Floats, Rows
from quorate.labels import Labels
from quorate.model import AnyModel
from quorate.models import Ordered
from quorate.models.dirichlet import shrunk_to_crowd
from quorate.models.naive_bayes import AUTO, NaiveBayes
from quorate.votes.blocks import Blocks, MemoryBlocks

WEIGHTS = (0.0, 0.03, 0.1, 0.3, 1.0)
FOLDS = 5
ENOUGH = 100_000  # held-out votes that tell weights apart, so that not every fold is needed
ORDER_HELD_OUT = 0.2  # share of the votes that tell whether classes have an order
SURE = 2.0  # standard errors by which they have to


def weigh_features(
    model: NaiveBayes, labels: Labels, *, engine: Engine | None = None
) -> NaiveBayes:
    """The model with the `feature_weight` that predicts held-out votes best.

    A fifth of the votes is held out, the model fitted to the others, and the held-out votes'
    predictive log-likelihood computed; so with each fifth, for each of the weights 0, 0.03, 0.1,
    0.3 and 1. A smaller weight stands if it falls short of the best by no more than the standard
    error of the difference. Which votes are held out depends on the model's `seed`, the task and
    the worker only. With very many votes one fifth is enough.

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
    return _with_best_weight(model, MemoryBlocks(labels), engine or Threads())


def with_feature_weight(
    model: AnyModel, blocks: Blocks, engine: Engine
) -> tuple[AnyModel, list[str]]:
    """The model, with the feature weight found by cross-validation if it is ``auto``, and a
    note."""
    if not isinstance(model, NaiveBayes) or model.feature_weight != AUTO:
        return model, []
    if blocks.shape.features is None:
        return model, []
    found = _with_best_weight(model, blocks, engine)
    note = f"The weight of the features, {found.feature_weight:g}, comes from held-out votes."
    return found, [note]


def _with_best_weight(model: NaiveBayes, blocks: Blocks, engine: Engine) -> NaiveBayes:
    models = [replace(model, feature_weight=weight) for weight in WEIGHTS]
    scores: list[list[float]] = []
    seen = 0
    for kept, held_out in folds(blocks, model.seed):
        n_kept, n_held_out = count_labels(kept), count_labels(held_out)
        if n_kept:
            fits = [run(m, kept, Request(engine)) for m in models]
            scores.append([log_likelihood(fit, held_out) for fit in fits])
        seen += n_held_out
        if seen >= ENOUGH:
            break
    return models[_first_within_one_error(np.array(scores).reshape(-1, len(models)))]


def _first_within_one_error(scores: Floats) -> int:
    """Index of the first of ``scores[fold, i]`` within a standard error of the highest sum."""
    best = scores.sum(axis=0).argmax()
    short = scores[:, [best]] - scores
    n_folds = len(scores)
    error = short.std(axis=0, ddof=1) * np.sqrt(n_folds) if n_folds > 1 else 0.0
    return int((short.sum(axis=0) <= error).argmax())


def folds(blocks: Blocks, seed: int, n_folds: int = FOLDS) -> Iterator[tuple[Blocks, Blocks]]:
    """Yield the votes of each cross-validation fold as (kept, held out).

    A worker's repeated answers to a task are in the same fold."""
    for fold in range(n_folds):
        part = partial(_part, seed=seed, n_folds=n_folds, fold=fold)
        yield (
            blocks.change(partial(part, held_out=False)),
            blocks.change(partial(part, held_out=True)),
        )


def _part(block: Labels, seed: int, n_folds: int, fold: int, held_out: bool) -> Labels:
    return block.only((block.parts(n_folds, seed) == fold) == held_out)


def count_labels(blocks: Blocks) -> int:
    """Number of labels of all blocks, counted block by block."""
    return sum(block.n_labels for block in blocks)


def log_likelihood(fit: Fit, held_out: Blocks) -> float:
    """Log-probability of held-out votes under the confusion matrices and the posterior that were
    fitted to the other votes."""
    assert fit.confusion is not None
    n_classes = held_out.shape.n_classes
    by_label = np.ascontiguousarray(fit.confusion.transpose(0, 2, 1))
    table = kernels.log_or(by_label.reshape(-1, n_classes))
    total = 0.0
    for index, block in enumerate(held_out):
        log_joint = block.pairs.gather(table) + kernels.log_or(
            posterior_of_block(fit, index, block)
        )
        total += float(kernels.normalise(log_joint)[1].sum())
    return total


def posterior_of_block(fit: Fit, index: int, block: Labels) -> Floats:
    """Posterior of a block's tasks."""
    if fit.tasks.in_files:
        return fit.tasks.part(index).posterior
    return fit.posterior[block.first_task : block.first_task + block.n_tasks]


class HeldOut(NamedTuple):
    """The votes to predict: of which task, by whom, and what; and the labels that are left."""

    task: NDArray[np.int64]
    worker: Codes
    label: Codes
    left: Labels


def hold_out(labels: Labels, share: float, seed: int) -> HeldOut | None:
    """A share of the votes, at most one of a task with at least two; None if there is no such task.

    Examples:
        >>> labels = Labels.from_codes([0, 0, 1, 2, 2], [0, 1, 0, 0, 1], [0, 0, 1, 1, 1])
        >>> held_out = hold_out(labels, 0.4, seed=0)
        >>> held_out.task, held_out.left.n_labels
        (array([0, 2]), 3)
    """
    count = np.diff(labels.indptr)
    several = np.flatnonzero(count > 1)
    n_held_out = min(max(round(share * labels.n_labels), 1), len(several))
    if not n_held_out:
        return None
    random = np.random.default_rng(seed)
    task = np.sort(random.choice(several, n_held_out, replace=False))
    at = labels.indptr[task] + (random.random(n_held_out) * count[task]).astype(np.int64)
    left = np.ones(labels.n_labels, dtype=bool)
    left[at] = False
    return HeldOut(task, labels.worker[at], labels.label[at], labels.only(left))


class Counts(NamedTuple):
    """``table[worker * n_classes + label, truth]``."""

    table: Floats | Rows


def vote_log_likelihoods(held_out: HeldOut, posterior: Floats, engine: Engine) -> Floats:
    """The logarithm of each held-out vote's probability under this posterior."""
    left = held_out.left

    def count(block: Labels, params: Any, state: Any) -> tuple[None, Counts]:
        tasks = slice(block.first_task, block.first_task + block.n_tasks)
        return None, Counts(block.pairs.scatter(posterior[tasks]))

    counts = engine.over(MemoryBlocks(left)).sweep(count, None).table
    table = shrunk_to_crowd(counts)
    likely = table[held_out.worker * left.n_classes + held_out.label]
    probability: Floats = (posterior[held_out.task] * likely).sum(axis=1)
    return np.log(np.maximum(probability, 1e-300))


class Gain(NamedTuple):
    """How much better held-out votes are predicted, in nats a vote, and its standard error."""

    mean: float
    error: float

    @property
    def is_sure(self) -> bool:
        return abs(self.mean) > SURE * self.error


def gain_of_order(model: AnyModel, labels: Labels, engine: Engine) -> Gain | None:
    """How much better votes are predicted if classes are in the order of their codes; None if none
    can be held out.

    Not every scale has a gain: where classes are few, or workers' votes many, confusion matrices
    learn by themselves which classes are near each other.
    """
    held_out = hold_out(labels, ORDER_HELD_OUT, model.seed)
    if held_out is None:
        return None
    with_order, without = (
        vote_log_likelihoods(held_out, fit_labels(each, held_out.left, engine).posterior, engine)
        for each in (Ordered(model), model)
    )
    gain = with_order - without
    return Gain(float(gain.mean()), float(gain.std() / len(gain) ** 0.5))
