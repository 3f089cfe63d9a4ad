"""The loop over a model's phases: sweep, add, estimate, until each has converged."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from quorate import kernels, recycled
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError
from quorate.kernels import Codes, Floats, Rows
from quorate.labels import Codebook, Labels
from quorate.model import AnyModel, AnyPhase, Step, by_worker
from quorate.result import Overview, Result

Progress = Callable[[Sequence[Step], AnyModel], None]
Keep = Callable[[Labels, Floats, Codes, Mapping[str, Floats]], None]


class Engine(Protocol):
    """Who sweeps the blocks of some labels and adds; it knows nothing of models."""

    def begin(self, begin: Callable[[Labels], Any]) -> None: ...
    def sweep(self, sweep: Callable[[Labels, Any, Any], tuple[Any, Any]], params: Any) -> Any: ...


class Found(NamedTuple):
    """Where the loop is: how many phases are over, and rounds of the next; the parameters, the
    statistics of the sweep under them, and the steps so far."""

    params: Any
    phase: int = 0
    round: int = 0
    stats: Any = None
    steps: tuple[Step, ...] = ()
    converged: bool = False


@by_worker("workers")
class Tally(NamedTuple):
    """For each worker the expected number of right and of wrong labels; and of the answers."""

    workers: Floats | Rows
    overview: Overview


def fit(
    model: AnyModel,
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
    if labels.weight is not None and not model.takes_weights:
        raise UsageError(f"{type(model).__name__} takes all votes alike: they can have no weight.")
    began = time.perf_counter()
    fitted, shape = model.with_votes(labels), labels[:0]
    blocks = (engine or Threads()).over(labels)
    blocks.begin(fitted.begin)
    found = climb(fitted.phases(shape), blocks, Found(fitted.start(shape)), progress)
    concluded = conclude(fitted, blocks, labels, found.params)
    return Result(
        model=model,
        params=found.params,
        stats=found.stats,
        steps=found.steps,
        converged=found.converged,
        posterior=concluded.posterior,
        answers=concluded.answers,
        tally=concluded.tally,
        per_task=concluded.per_task,
        votes=labels,
        codebook=codebook or Codebook.numbered(labels),
        seconds=time.perf_counter() - began,
        notes=model.notes(found.params),
    )


@recycled.kept()
def climb(
    phases: Sequence[AnyPhase],
    engine: Engine,
    found: Found,
    progress: Progress | None = None,
    keep: Callable[[Found], None] | None = None,
) -> Found:
    """Go through the phases of a model, which is the last of them, from where the loop was; `keep`
    is given each new place on the way."""
    model: Any = phases[-1]
    params, place, round, steps = found.params, found.phase, found.round, list(found.steps)
    while True:
        phase = phases[place]
        stats = engine.sweep(phase.sweep, params)
        step, round = phase.progress(stats, params), round + 1
        if step is not None:
            steps.append(step)
            if progress:
                progress(steps, model)
        converged = phase.converged(steps)
        ended = converged or round == phase.max_iter
        if ended and phase is model:
            return Found(params, place, round, stats, tuple(steps), converged)
        params = phase.estimate(stats, params)
        if ended:
            place, round = place + 1, 0
        if keep:
            keep(Found(params, place, round, steps=tuple(steps)))


@dataclass(frozen=True, eq=False)
class Conclude:
    """The last sweep, for the answers and not for the parameters; `keep` takes those of a block."""

    model: AnyModel
    keep: Keep
    min_confidence: float = 0.0

    def __call__(self, block: Labels, params: Any, state: Any) -> tuple[Any, Tally]:
        model = self.model
        posterior = model.posterior(block, params, state)
        answers = kernels.choose(posterior, model.ties, model.seed, block.first_task)
        self.keep(block, posterior, answers, model.per_task(block, params, state))
        overview = Overview.of(posterior, answers, self.min_confidence)
        learned = model.learned(block, params, state, posterior)
        return state, Tally(block.agreement(learned), overview)


class Concluded(NamedTuple):
    posterior: Floats
    answers: Codes
    tally: Floats
    per_task: dict[str, Floats]


def conclude(model: AnyModel, engine: Engine, labels: Labels, params: Any) -> Concluded:
    """The posterior and the answers of all tasks, what else the model has to say of each, by name,
    and each worker's tally against the posterior."""
    posterior = np.empty((labels.n_tasks, labels.n_classes))
    answers = np.empty(labels.n_tasks, dtype=np.int32)
    per_task: dict[str, Floats] = {}

    def keep(block: Labels, belief: Floats, chosen: Codes, more: Mapping[str, Floats]) -> None:
        tasks = slice(block.first_task, block.first_task + block.n_tasks)
        posterior[tasks], answers[tasks] = belief, chosen
        for name, values in more.items():
            per_task.setdefault(name, np.empty(labels.n_tasks))[tasks] = values

    tally: Tally = engine.sweep(Conclude(model, keep), params)
    assert isinstance(tally.workers, np.ndarray)
    return Concluded(posterior, answers, tally.workers, per_task)
