"""Votes that are larger than memory, or than the machine: from files to files, by way of blocks."""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quorate.engines.stream import Stream
from quorate.engines.threads import Threads
from quorate.errors import UsageError
from quorate.fit import Conclude, Engine, Found, Progress, climb
from quorate.io import Answers, find, read_answers, shown
from quorate.kernels import Codes, Floats
from quorate.labels import BLOCK_SIZE, Codebook, Labels
from quorate.models import Ordered, make
from quorate.named import classes_in_order, classes_with, in_codes
from quorate.result import Fitted, Overview, answer_table, belief_table
from quorate.store import Sizes, Source, Store, StoredBlocks, StoredStates, fill, in_bytes
from quorate.store.shuffle import block_place, save
from quorate.store.sizes import require_memory

Stage = Callable[[str, float, float | None], None]
CHECKPOINT = "checkpoint.pickle"
TABLES = 6  # copies of the workers' table that exist at a time: parameters, sums, and between
BLOCK_BYTES = 60  # in memory for each task or label of a block that is being swept


@dataclass(frozen=True, eq=False, kw_only=True)
class LargeResult(Fitted):
    """What a `Result` is, of votes that were not in memory: the labels are in files, and `labels`
    is a polars query of them."""

    overview: Overview
    place: Path
    _kept: Any = field(repr=False)  # the directory, if it is to go with the result

    @property
    def labels(self) -> pl.LazyFrame:
        """A query of task, label, confidence and what else the model has to say of a task."""
        return self.labels_frame

    @property
    def labels_frame(self) -> pl.LazyFrame:
        return pl.scan_parquet(self.place / "labels" / "*.parquet")

    @property
    def posterior_frame(self) -> pl.LazyFrame:
        """A query of the belief: task, and a column for each class."""
        return pl.scan_parquet(self.place / "posterior" / "*.parquet")


@dataclass(frozen=True)
class PutTables:
    """The tables of a block's answers, each as a file of its own among those of the others."""

    store: Store
    classes: pl.Series
    tables: tuple[str, ...]

    def __call__(
        self, block: Labels, posterior: Floats, answers: Codes, more: Mapping[str, Floats]
    ) -> None:
        tasks = self.store.tasks(block.first_task)
        confidence = posterior[np.arange(len(answers)), answers]
        name = f"part-{block.first_task:015d}.parquet"
        if "labels" in self.tables:
            frame = answer_table(tasks, self.classes, answers, confidence, more)
            frame.write_parquet(self.store.root / "labels" / name)
        if "posterior" in self.tables:
            frame = belief_table(tasks, self.classes, posterior)
            frame.write_parquet(self.store.root / "posterior" / name)


def aggregate_large(
    source: Source,
    method: str,
    options: Mapping[str, Any],
    *,
    gold: Any = None,
    ordered: bool | Sequence[Any] = False,
    memory: str | float | None = None,
    store: str | Path | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    stage: Stage | None = None,
    tables: tuple[str, ...] = ("labels", "posterior"),
) -> LargeResult:
    """Like `aggregate`, of files that need not fit in memory."""
    began = time.perf_counter()
    bound = in_bytes(memory) if memory is not None else _half_of_what_is_free()
    sizes = Sizes.within(bound, BLOCK_SIZE)
    kept, root = _place(store)
    votes = _stored(root, source, sizes, stage)
    notes: list[str] = []
    book, blocks = _coded(votes, gold, ordered, source, notes)
    engine_threads = Threads(threads)
    _require_room(bound, blocks, engine_threads.n_threads)
    model = make(method, **in_codes(options, book, notes))
    if ordered is not False:
        model, method = Ordered(model), f"{method}, ordered"
    states = StoredStates(root, blocks.starts)
    engine = Stream(engine_threads, blocks, states)
    found = _fitted(model, engine, blocks, states, root, resume, progress, notes)
    for name in tables:
        _emptied(root / name)
    put = PutTables(votes, book.classes, tables)
    tally = engine.sweep(Conclude(model, put), found.params)
    note = getattr(found.params, "note", "")
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
        notes=(*notes, note) if note else tuple(notes),
        place=root,
        _kept=kept,
    )


def _place(store: str | Path | None) -> tuple[Any, Path]:
    """The directory for the blocks: that which is named, or one that goes with the result."""
    if store is None:
        kept = tempfile.TemporaryDirectory(prefix="quorate-")
        return kept, Path(kept.name)
    root = Path(store)
    try:
        root.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{store} cannot be a directory for votes: {error.strerror}.") from None
    return None, root


def _stored(root: Path, source: Source, sizes: Sizes, stage: Stage | None) -> Store:
    """The votes in blocks: those that are there already, if they are the same."""
    there = Store.open(root)
    if there is None:
        return fill(root, source, sizes, progress=stage)
    if there.manifest.origin != source.origin():
        raise UsageError(
            f"{root} holds other votes, or these as they were: name an empty directory as store"
            " (--store)."
        )
    return there


def _coded(
    votes: Store, gold: Any, ordered: bool | Sequence[Any], source: Source, notes: list[str]
) -> tuple[Codebook, StoredBlocks]:
    """Names and codes of workers and classes, those of known answers among them."""
    said = votes.labels
    classes = said.sort()
    known: dict[int, pl.Series] = {}
    if gold is not None:
        answers = read_answers(gold, columns=source.columns, missing=source.missing)
        known = _rows_of_tasks(votes, answers, notes)
        met = pl.concat(list(known.values())).drop_nulls()
        classes = classes_with(classes, answers.labels.gather(met))
    if not isinstance(ordered, bool):
        classes = classes_in_order(classes, ordered)
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
            return climb(model, engine, found, progress, keep)
    engine.begin(model.begin)
    return climb(model, engine, Found(model.start(blocks.shape)), progress, keep)


def _emptied(place: Path) -> None:
    place.mkdir(exist_ok=True)
    for file in place.iterdir():
        file.unlink()


def _half_of_what_is_free() -> float:
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2


def _require_room(memory: float, blocks: StoredBlocks, n_threads: int) -> None:
    table = blocks.n_workers * blocks.n_classes**2 * 8
    block = BLOCK_SIZE * BLOCK_BYTES + BLOCK_SIZE / 2 * blocks.n_classes * 8 * 3
    require_memory(
        memory,
        TABLES * table + (2 * n_threads + 1) * block,
        f"{blocks.n_workers:,} workers and {blocks.n_classes} classes",
    )
