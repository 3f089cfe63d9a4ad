"""The loop: sweep, add, estimate, until converged."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from quorate import kernels
from quorate.engines.threads import Threads
from quorate.errors import DataError
from quorate.kernels import Codes, Floats, Rows
from quorate.labels import Codebook, Labels
from quorate.model import Model, Step
from quorate.result import Result

Progress = Callable[[Sequence[Step], Model], None]


class Tally(NamedTuple):
    """For each worker the expected number of right and of wrong labels."""

    workers: Floats | Rows


def fit(
    model: Model,
    labels: Labels,
    *,
    codebook: Codebook | None = None,
    engine: Threads | None = None,
    progress: Progress | None = None,
) -> Result:
    """Fit a model to labels in codes.

    `codebook` puts names to the codes, `engine` sweeps the blocks (all cores by default), and
    `progress` is called with the steps so far after each iteration.

    Examples:
        >>> task, worker, label = [0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [1, 1, 0, 0, 0]
        >>> labels = Labels.from_codes(task, worker, label)
        >>> from quorate.models import DawidSkene
        >>> result = fit(DawidSkene(smoothing=0.1), labels)
        >>> result.answers
        array([1, 0], dtype=int32)
        >>> result.converged
        True
    """
    if not labels.n_labels:
        raise DataError("There are no labels to aggregate.")
    began = time.perf_counter()
    engine = engine or Threads()
    blocks = list(labels.blocks())
    local = list(engine.map(model.begin, blocks))
    params = model.start(labels)
    steps: list[Step] = []
    converged = False
    while True:
        stats = engine.sweep(model.sweep, blocks, params, local)
        if params is not None:
            steps.append(model.progress(stats, params))
            if progress:
                progress(steps, model)
            converged = model.converged(steps)
            if converged or len(steps) == model.max_iter:
                break
        params = model.estimate(stats, params)
    note = getattr(params, "note", "")
    per_task = _per_task(model, blocks, params, local)
    posterior, answers, tally = conclude(model, labels, engine, blocks, params, local)
    return Result(
        model=model,
        params=params,
        stats=stats,
        steps=tuple(steps),
        converged=converged,
        posterior=posterior,
        answers=answers,
        tally=tally,
        per_task=per_task,
        codebook=codebook or Codebook.numbered(labels),
        seconds=time.perf_counter() - began,
        notes=(note,) if note else (),
    )


def _per_task(
    model: Model, blocks: list[Labels], params: Any, local: list[Any]
) -> dict[str, Floats]:
    """What else the model has to say of each task, by name."""
    if not hasattr(model, "per_task"):
        return {}
    columns = [model.per_task(b, params, state) for b, state in zip(blocks, local, strict=True)]
    return {name: np.concatenate([c[name] for c in columns]) for name in columns[0]}


def conclude(
    model: Model,
    labels: Labels,
    engine: Threads,
    blocks: list[Labels],
    params: Any,
    local: list[Any],
) -> tuple[Floats, Codes, Floats]:
    """The posterior and the answers of all tasks, and each worker's tally against them."""
    posterior = np.empty((labels.n_tasks, labels.n_classes))
    answers = np.empty(labels.n_tasks, dtype=np.int32)

    def conclude(block: Labels, params: Any, state: Any) -> tuple[None, Tally]:
        tasks = slice(block.first_task, block.first_task + block.n_tasks)
        posterior[tasks] = model.posterior(block, params, state)
        answers[tasks] = kernels.choose(posterior[tasks], model.ties, model.seed, block.first_task)
        return None, Tally(block.agreement(posterior[tasks]))

    tally: Tally = engine.sweep(conclude, blocks, params, local)
    assert isinstance(tally.workers, np.ndarray)
    return posterior, answers, tally.workers
