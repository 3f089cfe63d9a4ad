"""Fill a store with the votes of files, by the passes of a shuffle."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
import polars as pl

from quorate.errors import DataError, UsageError
from quorate.labels import BLOCK_SIZE, LEAST_BLOCK, Codebook, block_size
from quorate.votes.batches import Batches, Piece, open_batches
from quorate.votes.blocks import ClassRecoding
from quorate.votes.faults import GZIP, ZSTD
from quorate.votes.naming import find
from quorate.votes.reading import (
    ROLES,
    Reading,
    Votes,
    columns_of,
    complete_rows,
    missing_words,
    split_labels,
)
from quorate.votes.sources import MISSING, Kind, Table, columns_named
from quorate.votes.store.directory import Manifest, Store
from quorate.votes.store.shuffle import (
    ArrangedBlocks,
    GatheredPart,
    Order,
    PieceCodes,
    ScatteredPiece,
    Shuffle,
    edges_between,
    merged,
)
from quorate.votes.store.sizes import DISK_ROW, Sizes, require_disk

MapFunction = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

MARK = ".quorate"  # file that marks a directory as a store
UNKNOWN_ROWS = 1e8
COMPRESSED_ROW = 5.0  # bytes
SAMPLE = 1 << 16  # bytes from which the length of a row is estimated
MOST_PARTS = 4096


class Progress(Protocol):
    """Callback for progress: what is under way, how much is done, of how much, and how it goes."""

    def __call__(self, what: str, done: float, total: float | None, how: str = "") -> None: ...


@dataclass(frozen=True)
class Storage:
    """Where votes larger than memory are spilled to, and how: `each` maps a function over items,
    here or elsewhere, in one of `n_processes` with this `memory` limit each."""

    memory: float
    store: str | Path | None = None
    each: MapFunction = map
    n_processes: int = 1
    progress: Progress | None = None


@dataclass(frozen=True)
class Source:
    """Files of votes and the options of reading them, which can be sent to other processes."""

    paths: tuple[str, ...]
    columns: Mapping[str, str | None] = field(default_factory=dict)
    format: str | None = None
    missing: Sequence[str] = MISSING
    repeats: str = "count"
    separator: str | None = None
    unlabelled: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.paths, str):  # one path, and not a path for each letter
            object.__setattr__(self, "paths", (self.paths,))

    @classmethod
    def of(
        cls,
        source: Any,
        reading: Reading,
        separator: str | None = None,
        unlabelled: bool = False,
    ) -> Source:
        paths = source if isinstance(source, (list, tuple)) else [source]
        return cls(
            tuple(map(str, paths)),
            columns_of(reading),
            reading.get("format"),
            missing_words(reading),
            reading.get("repeats", "count"),
            separator,
            unlabelled,
        )

    def open(self) -> Batches:
        paths = self.paths[0] if len(self.paths) == 1 else list(self.paths)
        return open_batches(
            paths, ROLES, columns=self.columns, format=self.format, missing=self.missing
        )

    def absolute(self) -> Source:
        """The source with absolute paths."""
        paths = tuple(p if "://" in p else str(Path(p).absolute()) for p in self.paths)
        return replace(self, paths=paths)

    def origin(self) -> dict[str, Any]:
        """Identity of these votes: names, sizes and times of the files, and the options of reading
        them. Of remote files only the name is known."""
        files = [file.path for file in self.open().files if file.path is not None]
        about = [[str(f.absolute()), f.stat().st_size, f.stat().st_mtime_ns] for f in files]
        paths = self.absolute().paths
        how = {**asdict(self), "paths": list(paths), "missing": list(self.missing)}
        return {**how, "files": about}

    def frames(
        self, batches: Batches, piece: Piece, size: int, whole: Sequence[str]
    ) -> Iterator[tuple[int, int, pl.DataFrame]]:
        """Yield complete rows of a piece, with the number of rows read and of rows lost."""
        but = ("label",) if self.unlabelled else ()
        for frame in batches.read(piece, size):
            table = Table(frame, batches.origin, batches.text, Kind())
            complete = complete_rows(table, self.missing, but=but, whole=whole)
            lost = len(frame) - len(complete)
            yield len(frame), lost, split_labels(complete, self.separator, self.unlabelled)


def stored_votes(source: Source, storage: Storage) -> Votes:
    """Votes of files in a store, which is filled unless it holds the same votes already."""
    source = source.absolute() if storage.n_processes > 1 else source
    place, root = _place(storage.store)
    store = _open_or_fill(root, source, storage)
    run = _Temporary(root / f"run-{uuid4().hex}")
    classes = store.labels.drop_nulls().sort()
    codes = find(store.labels, classes).fill_null(-1).to_list()
    return Votes(
        store.blocks(run.path).change(ClassRecoding(tuple(codes), len(classes))),
        Codebook(pl.Series("task", [], dtype=store.task_type), store.workers, classes),
        store.report,
        Kind(columns=columns_named(source.open().columns)),
        place=(place, run),
    )


def _place(store: str | Path | None) -> tuple[object, Path]:
    """Directory for the blocks: the named one, or a temporary one that lives as long as the
    votes."""
    if store is None:
        kept = _Temporary(Path(tempfile.mkdtemp(prefix="quorate-")))
        return kept, kept.path
    root = Path(store).absolute()
    try:
        root.mkdir(exist_ok=True)
    except OSError as error:
        raise UsageError(f"{root} cannot be a directory for votes: {error.strerror}.") from None
    if any(root.iterdir()) and not (root / MARK).exists():
        raise UsageError(f"{root} is not empty: name an empty directory as store (--store).")
    return None, root


class _Temporary:
    """Temporary directory that is removed when nothing refers to it any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


def _open_or_fill(root: Path, source: Source, storage: Storage) -> Store:
    existing = Store.open(root)
    if existing is None:
        for part in root.iterdir():  # of an interrupted filling
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        (root / MARK).touch()
        n_pieces = 1 if storage.n_processes == 1 else 4 * storage.n_processes
        sizes = Sizes.within(storage.memory, BLOCK_SIZE)
        say = storage.progress
        return fill(root, source, sizes, each=storage.each, n_pieces=n_pieces, progress=say)
    if existing.manifest.origin != source.origin():
        raise UsageError(
            f"{root} holds other votes, or these as they were: name an empty directory as store"
            " (--store)."
        )
    return existing


def fill(
    root: Path,
    source: Source,
    sizes: Sizes,
    *,
    each: MapFunction = map,
    n_pieces: int = 1,
    size: int | None = None,
    progress: Progress | None = None,
) -> Store:
    """Put the votes of the source into blocks in a directory. `each` maps a function over items,
    here or elsewhere, and gives the results in order."""
    filling = _Filling(root, source, sizes, each, n_pieces, size, progress or _no_progress)
    return filling.run()


def _no_progress(what: str, done: float, total: float | None, how: str = "") -> None:
    """Report no progress."""


@dataclass(frozen=True)
class _Filling:
    """The passes of the shuffle for one source and directory."""

    root: Path
    source: Source
    sizes: Sizes
    each: MapFunction
    n_pieces: int
    size: int | None
    say: Progress

    def run(self) -> Store:
        batches = self.source.open()
        rows, row_bytes = _guess_rows(batches)
        require_disk(self.root, rows * (row_bytes + DISK_ROW))
        n_parts = min(MOST_PARTS, 1 + int(1.3 * rows / self.sizes.part_rows))
        shuffle = Shuffle(self.root, n_parts, self.size or LEAST_BLOCK)
        scattered = self._scatter(shuffle, batches, rows)
        workers, worker_codes = merged([s.workers for s in scattered])
        labels, label_codes = merged([s.labels for s in scattered])
        if not len(workers) or labels.null_count() == len(labels):
            raise DataError(f"{batches.origin} has no row with a task, a worker and a label.")
        marks = [s.mark for s in scattered]
        codes = dict(zip(marks, map(PieceCodes, worker_codes, label_codes), strict=True))
        gathered = self._gather(shuffle, codes, np.min_scalar_type(len(labels)).name)
        order, arranged = self._arrange(shuffle, gathered, len(workers), len(labels))
        manifest = self._manifest(scattered, gathered, order, arranged, batches.text)
        return Store.finish(self.root, manifest, workers, labels)

    def _scatter(self, shuffle: Shuffle, batches: Batches, rows: float) -> list[ScatteredPiece]:
        done: list[ScatteredPiece] = []

        def report(more: int = 0) -> None:
            self.say("reading", sum(s.rows for s in done) + more, rows)

        pieces = list(enumerate(batches.pieces(self.n_pieces)))
        whole, batch_rows = tuple(batches.whole_numbers()), self.sizes.batch_rows
        listener = report if self.each is map else None
        scatter = partial(_scatter_piece, shuffle, self.source, whole, batch_rows, listener)
        for piece in self.each(scatter, pieces):
            done.append(piece)
            report()
        return done

    def _gather(
        self, shuffle: Shuffle, codes: Mapping[str, PieceCodes], label_type: str
    ) -> dict[int, GatheredPart]:
        gather = partial(
            shuffle.gather, codes=codes, label_type=label_type, repeats=self.source.repeats
        )
        gathered: dict[int, GatheredPart] = {}
        for part, found in enumerate(self.each(gather, range(shuffle.n_parts))):
            if found is not None:
                gathered[part] = found
                shutil.rmtree(shuffle.scattered(part))
            self.say("putting task by task", part + 1, shuffle.n_parts)
        return gathered

    def _arrange(
        self, shuffle: Shuffle, gathered: Mapping[int, GatheredPart], n_workers: int, n_classes: int
    ) -> tuple[Order, list[ArrangedBlocks]]:
        parts = list(gathered)
        edges = edges_between([part.samples for part in gathered.values()])
        counts = list(self.each(partial(shuffle.count, edges=edges), parts))
        tasks, votes = (sum(column) for column in zip(*counts, strict=True))
        order = Order(edges, tasks, votes, self.size or block_size(int(tasks[-1] + votes[-1])))
        arrange = partial(shuffle.arrange, parts, order, n_workers=n_workers, n_classes=n_classes)
        arranged: list[ArrangedBlocks] = []
        runs = order.runs(self.sizes.blocks)
        for run in self.each(arrange, runs):
            arranged.append(run)
            self.say("writing blocks", len(arranged), len(runs))
        return order, arranged

    def _manifest(
        self,
        scattered: Sequence[ScatteredPiece],
        gathered: Mapping[int, GatheredPart],
        order: Order,
        arranged: Sequence[ArrangedBlocks],
        text: bool,
    ) -> Manifest:
        kept = self.source.repeats == "count"
        dropped = sum(part.dropped for part in gathered.values())
        types = {part.task_type for part in gathered.values()}
        return Manifest(
            origin=self.source.origin(),
            rows=sum(s.rows for s in scattered),
            missing=sum(s.missing for s in scattered),
            repeated=sum(a.repeats for a in arranged) if kept else dropped,
            repeats_kept=kept,
            n_tasks=int(order.tasks[-1]),
            n_votes=int(order.votes[-1]),
            starts=[start for run in arranged for start in run.starts],
            task_type=types.pop() if len(types) == 1 else "String",
            text=text,
        )


def _scatter_piece(
    shuffle: Shuffle,
    source: Source,
    whole: Sequence[str],
    batch_rows: int,
    progress: Callable[[int], None] | None,
    numbered: tuple[int, Piece],
) -> ScatteredPiece:
    number, piece = numbered
    frames = source.frames(source.open(), piece, batch_rows, whole)
    return shuffle.scatter(number, frames, progress)


def _guess_rows(batches: Batches) -> tuple[float, float]:
    """Estimated number of rows, and of bytes of a row as text."""
    rows = batches.rows()
    if rows is not None:
        return rows, 32.0
    sizes = [file.path.stat().st_size for file in batches.files if file.path is not None]
    if len(sizes) < len(batches.files):  # remote files do not tell
        return UNKNOWN_ROWS, 32.0
    first = batches.files[0].path
    assert first is not None
    with first.open("rb") as file:
        sample = file.read(SAMPLE)
    if sample.startswith((GZIP, ZSTD)):
        return sum(sizes) / COMPRESSED_ROW, 32.0
    row = len(sample) / max(1, sample.count(b"\n"))
    return sum(sizes) / row, row
