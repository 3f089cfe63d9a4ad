"""Votes that are larger than memory, or than the machine: from files to files, by way of blocks."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from quorate.engines.stream import Stream
from quorate.engines.threads import Threads
from quorate.errors import UsageError
from quorate.fit import Conclude, Engine, Found, Progress, climb
from quorate.intervals import (
    BYTES,
    MOST_VOTES,
    TABLES_OF_MATRICES,
    Spread,
    reckon,
    reckon_matrices,
)
from quorate.io import Answers, find, read_answers, scan_tables, shown, write_table
from quorate.kernels import Codes, Floats
from quorate.labels import BLOCK_SIZE, Codebook, Labels
from quorate.model import Model, Step
from quorate.models import Auto, Ordered, discounts, make, method_named
from quorate.named import classes_in_order, classes_with, in_codes
from quorate.result import Fitted, Overview, answer_table, belief_table, only_sure
from quorate.store import Sizes, Source, Store, StoredBlocks, StoredStates, fill, in_bytes
from quorate.store.filling import Each, Stage
from quorate.store.shuffle import block_place, save
from quorate.store.sizes import require_memory

CHECKPOINT = "checkpoint.pickle"
MARK = ".quorate"  # of a directory in which nothing else is
AS_GIVEN = "The workers' intervals take the answers as given."
TABLES = 6  # copies of the workers' table that exist at a time: parameters, sums, and between
BLOCK_BYTES = 60  # in memory for each task or label of a block that is being swept


@dataclass(frozen=True, eq=False, kw_only=True)
class LargeResult(Fitted):
    """What a `Result` is, of votes that were not in memory: the labels are in files, and `labels`
    is a polars query of them."""

    overview: Overview
    places: Mapping[str, Path]
    _kept: Any = field(repr=False)  # the directory, if it is to go with the result
    _engine: Engine = field(repr=False)
    _room: float = field(repr=False)  # bytes of memory for a table of the workers

    @cached_property
    def spread(self) -> Spread | None:
        """What the workers' intervals are made of, if there is memory for it; found when it is
        first asked for."""
        n_workers = len(self.codebook.workers)
        if n_workers * BYTES > self._room or self.tally.sum() > MOST_VOTES:
            return None
        return reckon(self._engine)

    @cached_property
    def confusion_interval(self) -> tuple[Floats, Floats]:
        """``[worker, truth, label]``, low and high, found in the same way."""
        n_workers, n_classes = len(self.codebook.workers), len(self.codebook.classes)
        table = TABLES_OF_MATRICES * 8 * n_workers * n_classes**2
        if self.spread is None or table > self._room:
            return super().confusion_interval
        return reckon_matrices(self._engine, self.spread, n_classes)

    @property
    def labels(self) -> pl.LazyFrame:
        """A query of task, label, confidence and what else the model has to say of a task."""
        return self.labels_frame

    @property
    def labels_frame(self) -> pl.LazyFrame:
        return scan_tables(self.places["labels"])

    @property
    def posterior_frame(self) -> pl.LazyFrame:
        """A query of the belief: task, and a column for each class."""
        return scan_tables(self.places["posterior"])


@dataclass(frozen=True)
class PutTables:
    """The tables of a block's answers, each a file among those of the other blocks. `places` are
    their directories, by the tables' names, whose suffix says the format."""

    store: Store
    classes: pl.Series
    places: Mapping[str, Path]
    min_confidence: float = 0.0

    def __call__(
        self, block: Labels, posterior: Floats, answers: Codes, more: Mapping[str, Floats]
    ) -> None:
        tasks = self.store.tasks(block.first_task)
        if "labels" in self.places:
            confidence = posterior[np.arange(len(answers)), answers]
            frame = answer_table(tasks, self.classes, answers, confidence, more)
            self._put("labels", block, only_sure(frame, self.min_confidence))
        if "posterior" in self.places:
            self._put("posterior", block, belief_table(tasks, self.classes, posterior))

    def _put(self, name: str, block: Labels, frame: pl.DataFrame) -> None:
        place = self.places[name]
        write_table(frame, place / f"part-{block.first_task:015d}{place.suffix}")


@dataclass(frozen=True)
class Scale:
    """How votes larger than memory are worked on. `engine` is ``"stream"``, threads of this process
    over blocks on disk, or ``"ray"``, the processes of a cluster; `memory` bounds each process.
    `store` is the directory of the blocks, `address` that of the cluster; `resume` goes on with
    what was cut short. `tables` are those to put, in directories that `places` names, or beside the
    blocks."""

    engine: str = "stream"
    memory: str | float | None = None
    store: str | Path | None = None
    address: str | None = None
    resume: bool = False
    threads: int | None = None
    tables: Sequence[str] = ("labels", "posterior")
    places: Mapping[str, Path] = field(default_factory=dict)
    stage: Stage | None = None


def aggregate_large(
    source: Source,
    method: str,
    options: Mapping[str, Any],
    scale: Scale,
    *,
    gold: Any = None,
    ordered: bool | Sequence[Any] = False,
    min_confidence: float = 0.0,
    discount: bool | None = None,
    progress: Progress | None = None,
) -> LargeResult:
    """Like `aggregate`, of files that need not fit in memory."""
    method_named(method)
    workforce = _workforce(scale)
    if workforce.n_processes > 1 and "://" not in source.path:
        source = replace(source, path=str(Path(source.path).absolute()))
    try:
        asked = _Asked(gold, ordered, min_confidence, discount)
        return _aggregate(source, method, options, scale, workforce, asked, progress)
    finally:
        workforce.leave()


class _Asked(NamedTuple):
    """What answers are wanted."""

    gold: Any
    ordered: bool | Sequence[Any]
    min_confidence: float
    discount: bool | None


def _aggregate(
    source: Source,
    method: str,
    options: Mapping[str, Any],
    scale: Scale,
    workforce: _Workforce,
    asked: _Asked,
    progress: Progress | None,
) -> LargeResult:
    began = time.perf_counter()
    sizes = Sizes.within(workforce.memory, BLOCK_SIZE)
    kept, root = _place(scale)
    votes = _stored(root, source, sizes, workforce, scale.stage)
    notes: list[str] = []
    book, blocks = _coded(votes, asked, source, notes)
    model = make(method, **in_codes(options, book, notes))
    _require_room(workforce, blocks, len(model.members) if isinstance(model, Auto) else 1)
    per_worker: dict[str, Sequence[Any]] = {}
    if discounts(asked.discount, method):
        from quorate.correlated import group_column, groups_among, vote_weights  # slow to import

        threads, seed = Threads(workforce.n_threads), options.get("seed", 0)
        groups = groups_among(blocks, votes.manifest.n_votes, seed, threads)
        if groups:
            blocks = replace(blocks, weigh=partial(vote_weights, groups=groups))
        per_worker |= group_column(groups, blocks.n_workers, asked.discount, notes)
    if asked.ordered is not False:
        model, method = Ordered(model), f"{method}, ordered"
    states = StoredStates(root, blocks.starts)
    engine = workforce.engine(blocks, states)
    if scale.stage is not None:
        progress = _with_rate(scale.stage, votes.manifest.n_votes)
    found = _fitted(model, engine, blocks, states, root, scale.resume, progress, notes)
    places = {name: scale.places.get(name, root / f"{name}.parquet") for name in scale.tables}
    for place in places.values():
        _emptied(place)
    put = PutTables(votes, book.classes, places, asked.min_confidence)
    tally = engine.sweep(Conclude(model, put, asked.min_confidence), found.params)
    room = workforce.memory / 2 / (workforce.n_threads + 2)
    if workforce.n_processes > 1:  # who are gone when somebody asks
        room = 0.0
    if blocks.n_workers * BYTES > room:
        notes.append(AS_GIVEN)
    return LargeResult(
        model=model,
        params=found.params,
        stats=found.stats,
        steps=found.steps,
        converged=found.converged,
        tally=tally.workers,
        overview=tally.overview,
        codebook=book,
        seconds=time.perf_counter() - began,
        method=method,
        read=votes.report,
        notes=(*notes, *model.notes(found.params)),
        min_confidence=asked.min_confidence,
        per_worker=per_worker,
        places=places,
        _engine=engine,
        _room=room,
        _kept=kept,
    )


@dataclass(frozen=True)
class _Workforce:
    """Who works: the memory and the threads of each process, how many there are, how they are given
    functions to call, become an engine, and are let go."""

    memory: float
    n_threads: int
    n_processes: int
    each: Each
    engine: Callable[[StoredBlocks, StoredStates], Engine]
    leave: Callable[[], None]


def _workforce(scale: Scale) -> _Workforce:
    if scale.engine == "stream":
        threads = Threads(scale.threads)
        memory = _free_memory() / 2 if scale.memory is None else in_bytes(scale.memory)
        engine = partial(Stream, threads)
        return _Workforce(memory, threads.n_threads, 1, map, engine, lambda: None)
    if scale.address is not None and scale.store is None:
        raise UsageError("A cluster needs a store (--store): a directory that every node reaches.")
    from quorate.engines.ray import Actors, Cluster  # slow to import, and an extra

    cluster = Cluster(scale.address, scale.threads)
    share = _free_memory() / 2 / cluster.n_cpus
    memory = share if scale.memory is None else in_bytes(scale.memory)
    actors = partial(Actors, cluster)
    return _Workforce(memory, 1, cluster.n_cpus, cluster.each, actors, cluster.leave)


def _with_rate(stage: Stage, n_votes: int) -> Progress:
    """Iterations, and how many votes a second they go through."""
    times = [time.perf_counter()]

    def progress(steps: Sequence[Step], model: Model[Any, Any, Any]) -> None:
        times.append(time.perf_counter())
        rate = n_votes / (times[-1] - times[-2]) / 1e6
        what = f"iteration {len(steps)} of at most {model.max_iter}"
        stage(what, len(steps), model.max_iter, f"{rate:,.1f} million votes a second")

    return progress


def _place(scale: Scale) -> tuple[Any, Path]:
    """The directory for the blocks: that which is named, or one that goes with the result."""
    if scale.store is None:
        if scale.resume:
            raise UsageError("To resume, name the store (--store) of what was cut short.")
        kept = _Temporary()
        return kept, kept.path
    root = Path(scale.store).absolute()
    try:
        root.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{root} cannot be a directory for votes: {error.strerror}.") from None
    if any(root.iterdir()) and not (root / MARK).exists():
        raise UsageError(f"{root} is not empty: name an empty directory as store (--store).")
    return None, root


class _Temporary:
    """A directory that is gone when nobody knows it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="quorate-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _stored(
    root: Path, source: Source, sizes: Sizes, workforce: _Workforce, stage: Stage | None
) -> Store:
    """The votes in blocks: those that are there already, if they are the same."""
    there = Store.open(root)
    if there is None:
        for part in root.iterdir():  # of what was cut short
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        (root / MARK).touch()
        n_pieces = 1 if workforce.n_processes == 1 else 4 * workforce.n_processes
        each = workforce.each
        return fill(root, source, sizes, each=each, n_pieces=n_pieces, progress=stage)
    if there.manifest.origin != source.origin():
        raise UsageError(
            f"{root} holds other votes, or these as they were: name an empty directory as store"
            " (--store)."
        )
    return there


def _coded(
    votes: Store, asked: _Asked, source: Source, notes: list[str]
) -> tuple[Codebook, StoredBlocks]:
    """Names and codes of workers and classes, those of known answers among them."""
    said = votes.labels
    classes = said.sort()
    known: dict[int, pl.Series] = {}
    if asked.gold is not None:
        answers = read_answers(asked.gold, columns=source.columns, missing=source.missing)
        known = _rows_of_tasks(votes, answers, notes)
        met = pl.concat(list(known.values())).drop_nulls()
        classes = classes_with(classes, answers.labels.gather(met))
    if not isinstance(asked.ordered, bool):
        classes = classes_in_order(classes, asked.ordered)
    if len(classes) == 1:
        notes.append(f"All votes say {shown(classes[0])}: there is nothing to decide.")
    for start, row in known.items():
        codes = find(answers.labels.gather(row), classes).fill_null(-1)
        save(block_place(votes.root, start), gold=codes.to_numpy())
    workers, codes = votes.workers, find(said, classes)
    starts = votes.manifest.starts
    blocks = StoredBlocks(
        votes.root, starts, len(workers), len(classes), codes.to_numpy(), gold=bool(known)
    )
    return Codebook(pl.Series("task", []), workers, classes), blocks


def _rows_of_tasks(votes: Store, answers: Answers, notes: list[str]) -> dict[int, pl.Series]:
    """For the tasks of each block the row of their known answer, or null."""
    rows = {start: find(votes.tasks(start), answers.tasks) for start in votes.manifest.starts}
    given = len(answers.tasks)
    unmet = given - sum(len(row) - row.null_count() for row in rows.values())
    if answers.missing:
        total = answers.missing + given
        notes.append(f"{answers.missing} of {total} gold answers lack a field, and are left out.")
    if not given:
        notes.append("There are no gold answers.")
    if unmet:
        notes.append(
            f"{unmet} of {given} gold answers are of tasks without votes, and are left out."
        )
    return rows


def _fitted(
    model: Any,
    engine: Engine,
    blocks: StoredBlocks,
    states: StoredStates,
    root: Path,
    resume: bool,
    progress: Progress | None,
    notes: list[str],
) -> Found:
    """The loop, with its place kept on disk after each iteration."""
    path = root / CHECKPOINT
    key = hashlib.sha256(pickle.dumps((model, blocks))).hexdigest()

    def keep(found: Found) -> None:
        beside = path.with_suffix(".part")
        beside.write_bytes(pickle.dumps((key, found, states.sweeps)))
        beside.replace(path)

    if resume and path.exists():
        known, found, sweeps = pickle.loads(path.read_bytes())
        if known == key:
            states.sweeps = sweeps
            notes.append(f"It went on from iteration {len(found.steps)}.")
            return climb(model.phases(blocks.shape), engine, found, progress, keep)
    engine.begin(model.begin)
    start = Found(model.start(blocks.shape))
    return climb(model.phases(blocks.shape), engine, start, progress, keep)


def _emptied(place: Path) -> None:
    place.mkdir(exist_ok=True)
    for file in place.iterdir():
        file.unlink()


def _free_memory() -> float:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _require_room(workforce: _Workforce, blocks: StoredBlocks, n_models: int) -> None:
    table = blocks.n_workers * blocks.n_classes**2 * 8
    block = BLOCK_SIZE * (BLOCK_BYTES + blocks.n_classes * 8 * 3 / 2)
    require_memory(
        workforce.memory,
        n_models * TABLES * table + (workforce.n_threads + 1) * block,
        f"{blocks.n_workers:,} workers and {blocks.n_classes} classes",
    )
