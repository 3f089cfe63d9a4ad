"""The loop over a model's phases (sweep, add, estimate, until converged), and the fit it gives."""

from __future__ import annotations

import hashlib
import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self
from uuid import uuid4

import numpy as np

from quorate import __version__, buffers, compiled, kernels
from quorate.answers import Answers, AnswersInFiles, KeepInFiles, KeepInMemory, Overview, Part
from quorate.chunks import on_threads
from quorate.engines.engine import Engine, Fold, Sweep, no_state
from quorate.engines.states import read_value, write_value
from quorate.engines.threads import Threads, runs_ahead
from quorate.errors import DataError, UsageError
from quorate.kernels import Codes, Floats, Rows
from quorate.labels import BLOCK_SIZE, Labels
from quorate.model import AnyModel, AnyPhase, Step, by_worker, most_sums, run_length
from quorate.models.squarem import Leap
from quorate.votes.blocks import Blocks, MemoryBlocks
from quorate.votes.store import Progress, StoredBlocks
from quorate.votes.store.owned import OwnedDirectory
from quorate.votes.store.seals import writing
from quorate.votes.store.sizes import available_memory, in_words, require_memory

FORMAT = 2  # of checkpoints
LITTLE = 1e8  # bytes that there are anyway, so that nobody has to look
LEAST_TABLES = 3  # copies of the workers' table that no fit does without
LOOSE_TABLES = 10  # numbers of each worker and class, beside the tables whose memory is used again
BLOCK_BYTES = 60  # of memory for each task or label of a block that is swept

Listener = Callable[[Sequence[Step], AnyModel], None]


class LoopState(NamedTuple):
    """State of the loop: the number of finished phases, and of rounds of the present one; the
    parameters, the statistics of the sweep under them, the steps so far, and what extrapolation
    goes by."""

    params: Any
    phase: int = 0
    round: int = 0
    stats: Any = None
    steps: tuple[Step, ...] = ()
    converged: bool = False
    leap: Leap = Leap()


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """A fitted model, in codes: ``tally[worker]`` is the expected number of right and wrong labels
    of each worker, ``gold_tally[worker]`` the known one on tasks with gold answers, `overview` sums
    up the answers."""

    model: AnyModel
    params: Any
    stats: Any
    steps: tuple[Step, ...]
    converged: bool
    seconds: float
    tally: Floats
    overview: Overview
    tasks: Answers
    gold_tally: Floats | None = None
    notes: tuple[str, ...] = ()

    @property
    def posterior(self) -> Floats:
        """Posterior probabilities ``[task, class]``."""
        return self.tasks.whole.posterior

    @property
    def answers(self) -> Codes:
        """The code of each task's class."""
        return self.tasks.whole.codes

    @cached_property
    def confidence(self) -> Floats:
        """The probability of each task's answer."""
        return self.tasks.whole.confidence

    @property
    def confusion(self) -> Floats | None:
        """Confusion matrices ``[worker, truth, label]``, for models that have them. A row of zeros
        is a truth that the worker probably never met."""
        return self.model.confusion(self.params)

    @property
    def history(self) -> Floats | None:
        """Expected counts ``[worker, truth, label]``, which a later fit can take as its
        `worker_prior`."""
        return self.model.history(self.stats, self.params)

    @property
    def objective(self) -> list[float]:
        """Trace of the maximised objective, one value for each iteration."""
        return [-np.inf if step.impossible else step.objective for step in self.steps]

    @property
    def log_likelihood(self) -> float | None:
        """The marginal log-likelihood of the votes at the final parameters."""
        last = self.steps[-1]
        return -np.inf if last.impossible else last.log_likelihood

    @property
    def iterations(self) -> int:
        return len(self.steps)

    @property
    def hard_from(self) -> int | None:
        """First iteration with hard answers, from which on `objective` is another function."""
        return next((i for i, step in enumerate(self.steps) if step.hard), None)


@dataclass(frozen=True)
class Request:
    """How a model is fitted: the engine, the progress callback, whether to resume an interrupted
    fit, and the confidence below which answers are left undecided."""

    engine: Engine
    progress: Progress | None = None
    resume: bool = False
    min_confidence: float = 0.0


def run(model: AnyModel, blocks: Blocks, request: Request) -> Fit:
    """Fit a model to blocks of labels in codes, wherever these are."""
    if not blocks.n_labels:
        raise DataError("There are no labels to aggregate.")
    if blocks.shape.weight is not None and not model.takes_weights:
        raise UsageError(f"{type(model).__name__} takes all votes alike: they can have no weight.")
    if isinstance(blocks, MemoryBlocks):
        model = model.with_votes(blocks.labels)
    storage, shape, n_threads = request.engine.storage, blocks.shape, request.engine.n_threads
    if storage is not None:
        require_room(model, storage.memory, n_threads, *_table_sizes(blocks, n_threads))
    require_sensible(model, shape)
    began = time.perf_counter()
    if isinstance(blocks, StoredBlocks):
        with writing(blocks.run.parent), _Workspace(model, blocks) as place, on_threads(n_threads):
            fold = request.engine.over(blocks, place.states)
            state, notes = place.climb(_sparing(fold, model, shape), request)
            tally, tasks = conclude(model, fold, blocks, state.params, request)
            place.clear()
    else:
        with writing(Path(tempfile.gettempdir())), on_threads(n_threads):
            fold = request.engine.over(blocks)
            fold.begin(model.begin)
            listener = _progress_listener(request.progress, blocks.n_labels)
            start = LoopState(model.start(shape))
            state, notes = climb(model.phases(shape), fold, start, listener), ()
            tally, tasks = conclude(model, fold, blocks, state.params, request)
    return Fit(
        model=model,
        params=state.params,
        stats=state.stats,
        steps=state.steps,
        converged=state.converged,
        seconds=time.perf_counter() - began,
        tally=np.asarray(tally.workers),
        gold_tally=None if shape.gold is None else np.asarray(tally.on_gold),
        overview=tally.overview,
        tasks=tasks,
        notes=(*notes, *model.notes(state.params)),
    )


def fit_labels(model: AnyModel, labels: Labels, engine: Engine | None = None) -> Fit:
    """Fit a model to labels in memory."""
    return run(model, MemoryBlocks(labels), Request(engine or Threads()))


def _progress_listener(progress: Progress | None, n_labels: int) -> Listener | None:
    """Listener that reports iterations as progress, with the objective and the votes per second."""
    if progress is None:
        return None
    times = [time.perf_counter()]

    def listener(steps: Sequence[Step], model: AnyModel) -> None:
        times.append(time.perf_counter())
        rate = n_labels / (times[-1] - times[-2]) / 1e6
        how = f"objective {steps[-1].objective:,.1f}, {rate:,.1f} million votes a second"
        progress(
            f"iteration {len(steps)} of {model.max_iter} at most", len(steps), model.max_iter, how
        )

    return listener


def _table_sizes(blocks: Blocks, n_threads: int) -> tuple[int, int, int]:
    """Number of workers, of classes, and of sums of runs that there are at a time."""
    shape = blocks.shape
    n_blocks = len(blocks.starts) if isinstance(blocks, StoredBlocks) else 1
    n_runs = -(-n_blocks // run_length(n_blocks, shape))
    sums = most_sums(n_runs, runs_ahead(n_threads, shape) + 1)
    return shape.n_workers, shape.n_classes, sums


def require_room(
    model: AnyModel, memory: float, n_threads: int, n_workers: int, n_classes: int, sums: int = 1
) -> None:
    """Refuse, before the work, a fit that does not fit in the memory limit."""
    room = model.room(n_workers, n_classes)
    numbers = room.held + max(sums * room.summed, room.summed + room.made)
    numbers += LOOSE_TABLES * n_classes
    block = BLOCK_SIZE * (BLOCK_BYTES + n_classes * 8 * 3 / 2)
    require_memory(
        memory,
        8 * n_workers * numbers + (n_threads + 1) * block,
        f"At least {n_workers:,} workers and {n_classes} classes",
    )


def require_sensible(model: AnyModel, shape: Labels) -> None:
    """Refuse matrices that would take most of the memory: the labels are hardly classes."""
    n_workers, n_classes = shape.n_workers, shape.n_classes
    needed = LEAST_TABLES * n_workers * n_classes**2 * model.n_matrices(n_classes) * 8
    if needed > LITTLE and needed > (memory := available_memory()) / 2:
        raise DataError(
            f"{n_classes:,} different labels: is this the label column? For {model.name}, with a"
            f" matrix for each of {n_workers:,} workers, they need about {in_words(needed)} of"
            f" memory, and {in_words(memory)} is free; mace, one-coin and majority need none."
        )


class _Workspace:
    """Directory in which a fit to stored blocks keeps its local states and the state of the loop,
    so that the same fit can be resumed after an interruption. While another run is at the same fit,
    a directory of this run alone."""

    def __init__(self, model: AnyModel, blocks: StoredBlocks) -> None:
        self.model, self.blocks = model, blocks
        bound = (__version__, FORMAT, model, blocks.identity)
        self.key = hashlib.sha256(pickle.dumps(bound)).hexdigest()
        name = f"unfinished-{self.key[:16]}"
        resumable = OwnedDirectory.claim(blocks.run.parent / name)
        self._is_alone = resumable is not None
        self._owned = resumable or OwnedDirectory.new(blocks.run, "run")
        self.states = self._owned.path / "states"

    @property
    def checkpoint(self) -> Path:
        return self._owned.path / "checkpoint.state"

    def climb(self, fold: Fold, request: Request) -> tuple[LoopState, tuple[str, ...]]:
        """Run the loop, with its state kept on disk after each iteration."""

        def keep(state: LoopState) -> None:
            write_value(self.checkpoint, (self.key, fold.sweeps, state))

        shape = self.blocks.shape
        phases = self.model.phases(shape)
        listener = _progress_listener(request.progress, self.blocks.n_labels)
        notes: tuple[str, ...] = ()
        if request.resume and not self._is_alone:
            notes = ("Another run is at the same fit, so this one began anew.",)
        if request.resume and self.checkpoint.exists():
            sweeps, state = self._kept()
            if state is not None:
                fold.resume_after(sweeps)
                note = f"The fit was resumed from iteration {len(state.steps)}."
                return climb(phases, fold, state, listener, keep), (note,)
            notes = ("The checkpoint is damaged, so the fit began anew.",)
        fold.begin(self.model.begin)
        start = LoopState(self.model.start(shape))
        return climb(phases, fold, start, listener, keep), notes

    def _kept(self) -> tuple[int, LoopState | None]:
        """The number of sweeps and the state of the loop at the checkpoint, if it is whole."""
        try:
            key, sweeps, state = read_value(self.checkpoint)
        except (DataError, TypeError, ValueError):
            return 0, None
        same = key == self.key and isinstance(sweeps, int) and isinstance(state, LoopState)
        return (sweeps, state) if same else (0, None)

    def clear(self) -> None:
        """Remove everything, first what refers to the rest: it may be cut short."""
        self.checkpoint.unlink(missing_ok=True)
        self._owned.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._owned.release()


@buffers.reuse()
def climb(
    phases: Sequence[AnyPhase],
    fold: Fold,
    state: LoopState,
    listener: Listener | None = None,
    keep: Callable[[LoopState], None] | None = None,
) -> LoopState:
    """Run the phases of a model, which is the last of them, from the given state of the loop.

    `keep` is called with each new state on the way."""
    compiled.begin_fit()
    model: Any = phases[-1]
    params, place, round, steps = state.params, state.phase, state.round, list(state.steps)
    leap = state.leap
    while True:
        phase = phases[place]
        parts = phase.parts(params)
        if not parts:
            place, round, leap = place + 1, 0, Leap()
            continue
        for part in parts[:-1]:
            params = part.estimate(fold.sweep(part.sweep, params), params)
        stats = fold.sweep(phase.sweep, params)
        step, round = phase.progress(stats, params), round + 1
        if leap.fell(step):
            params, leap = leap.back, leap.taken_back()
            continue
        if step is not None:
            steps.append(step)
            if listener:
                listener(steps, model)
        converged = phase.converged(steps)
        ended = converged or round == phase.max_iter
        if ended and phase is model:
            return LoopState(params, place, round, stats, tuple(steps), converged)
        if round + 1 < phase.max_iter:
            params, leap = leap.next(phase, stats, params, step)
        else:  # the last sweep is one that stays
            params, leap = phase.estimate(stats, params), Leap()
        stats = None  # not to be held during the next sweep
        if ended:
            place, round, leap = place + 1, 0, Leap()
        if keep:
            keep(LoopState(params, place, round, steps=tuple(steps), leap=leap))


def _sparing(fold: Fold, model: AnyModel, shape: Labels) -> Fold:
    """The fold, which keeps no local states if no phase goes by those of the sweep before."""
    return fold if _keeps_states(model, shape) else SparingFold(fold, model)


def _keeps_states(model: AnyModel, shape: Labels) -> bool:
    return any(phase.starts_from == "last" for phase in model.phases(shape))


@dataclass(frozen=True, eq=False)
class SparingFold:
    """Blocks without local states, which need not be written and read again with every sweep: what
    a phase begins from is made anew, and what the model ends with follows from its parameters."""

    fold: Fold
    model: AnyModel

    @property
    def blocks(self) -> Any:
        return self.fold.blocks

    @property
    def sweeps(self) -> int:
        return self.fold.sweeps

    def resume_after(self, sweeps: int) -> None:
        self.fold.resume_after(sweeps)

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        self.fold.begin(no_state)

    def sweep(self, sweep: Any, params: Any, *, keep: bool = True) -> Any:
        """The sum of the statistics of a phase's sweep."""
        begin = None if sweep.__self__.starts_from == "nothing" else self.model.begin
        return self.fold.sweep(Anew(sweep, begin), params, keep=False)


@dataclass(frozen=True, eq=False)
class Anew:
    """A phase's sweep of a block that has no local state."""

    sweep: Sweep
    begin: Callable[[Labels], Any] | None

    def __call__(self, block: Labels, params: Any, state: None) -> tuple[None, Any]:
        local = None if self.begin is None else self.begin(block)
        return None, self.sweep(block, params, local)[1]


@by_worker("workers", "on_gold")
class Tally(NamedTuple):
    """Number of right and of wrong labels of each worker, expected of all and known of those on
    tasks with gold answers, if there are any; and the overview of answers."""

    workers: Floats | Rows
    on_gold: Floats | Rows | int
    overview: Overview


@dataclass(frozen=True, eq=False)
class Conclude:
    """The last sweep, for the answers and not for the parameters; `keep` is given those of a
    block. Where no local states were kept they are made anew."""

    model: AnyModel
    keep: Callable[[Labels, Part], None]
    min_confidence: float = 0.0
    anew: bool = False

    def __call__(self, block: Labels, params: Any, state: Any) -> tuple[Any, Tally]:
        model, local = self.model, state
        if self.anew:
            first = model.starts_from == "first"
            local = model.begin(block) if first else model.sweep(block, params, None)[0]
        posterior = model.posterior(block, params, local)
        codes = kernels.choose(posterior, model.ties, model.seed, block.task_keys)
        self.keep(block, Part(posterior, codes, model.per_task(block, params, local)))
        overview = Overview.of(posterior, codes, self.min_confidence, block.gold)
        learned = model.learned(block, params, local, posterior)
        on_gold = 0 if block.gold is None else block.agreement_with_gold()
        return state, Tally(block.agreement(learned), on_gold, overview)


@buffers.reuse()
def conclude(
    model: AnyModel, fold: Fold, blocks: Blocks, params: Any, request: Request
) -> tuple[Tally, Answers]:
    """Compute each worker's tally against the posterior, and the answers of all tasks.

    The answers are in memory if the votes are, else in files."""
    least = request.min_confidence
    if isinstance(blocks, MemoryBlocks) and request.engine.shares_memory:
        memory = KeepInMemory(blocks)
        tally = fold.sweep(Conclude(model, memory, least), params)
        return tally, memory.answers()
    place = fold.blocks.run / f"answers-{uuid4().hex}"
    place.mkdir(parents=True, exist_ok=True)
    anew = isinstance(blocks, StoredBlocks) and not _keeps_states(model, blocks.shape)
    tally = fold.sweep(Conclude(model, KeepInFiles(place), least, anew), params, keep=False)
    files = AnswersInFiles(place, fold.blocks.starts)
    return tally, files.in_memory() if isinstance(blocks, MemoryBlocks) else files
