"""Fill a store with the votes of files, by the passes of a shuffle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError, UsageError
from quorate.labels import BLOCK_SIZE, LEAST_BLOCK, Codebook, block_size
from quorate.votes.batches import Batches, Piece, batches_of
from quorate.votes.blocks import ClassRecoding
from quorate.votes.columns import columns_named
from quorate.votes.faults import GZIP, ZSTD
from quorate.votes.naming import find
from quorate.votes.reading import (
    How,
    Reading,
    Votes,
    columns_of,
    complete_rows,
    layout_of,
    missing_words,
    open_votes,
    split_labels,
    with_silent,
)
from quorate.votes.sources import MISSING, Kind, Table
from quorate.votes.store.directory import PARTS, Manifest, Store
from quorate.votes.store.fingerprint import Stamp, fingerprint, stamps
from quorate.votes.store.owned import (
    RUN,
    Lock,
    OwnedDirectory,
    clear,
    remove_left,
    temporary_directory,
)
from quorate.votes.store.seals import writing
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
from quorate.votes.wide import Layout

MapFunction = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

MARK = ".quorate"  # file that marks a directory as a store, by its content, and is locked
MARKED = b"A store of votes, by Quorate.\n"
UNKNOWN_ROWS = 1e8
COMPRESSED_ROW = 5.0  # bytes
SAMPLE = 1 << 16  # bytes from which the length of a row is estimated
MOST_PARTS = 4096
WORTH_A_PART = 1_000_000  # rows, where there are more processes or threads than parts


class Progress(Protocol):
    """Callback for progress: what is under way, how much is done, of how much, and how it goes."""

    def __call__(self, what: str, done: float, total: float | None, how: str = "") -> None: ...


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Storage:
    """Where votes larger than memory are spilled to, and how: `each` maps a function over items,
    in one of `n_threads` here, which ask `halted` whether to give up, or where that is None
    elsewhere, in one of `n_processes` with this `memory` limit each; `fits` refuses more workers
    and classes than the model has room for."""

    memory: float
    store: str | Path | None = None
    each: MapFunction = map
    n_processes: int = 1
    n_threads: int = 1
    halted: Callable[[], bool] | None = _never
    progress: Progress | None = None
    fits: Callable[[int, int], None] | None = None


class Copy(NamedTuple):
    """What files are a copy of, in a sentence, and the digest of all their rows."""

    origin: str
    digest: str


@dataclass(frozen=True)
class Source:
    """Files of votes and the options of reading them, which can be sent to other processes. Of a
    `copy` of something else, that is meant and not its files."""

    paths: tuple[str, ...]
    columns: Mapping[str, str | None] = field(default_factory=dict)
    format: str | None = None
    missing: Sequence[str] = MISSING
    repeats: str = "count"
    separator: str | None = None
    unlabelled: bool = False
    layout: Layout = Layout()
    copy: Copy | None = None

    def __post_init__(self) -> None:
        if isinstance(self.paths, str):  # one path, and not a path for each letter
            object.__setattr__(self, "paths", (self.paths,))

    @classmethod
    def of(
        cls,
        source: Any,
        reading: Reading,
        how: How = How(),  # noqa: B008 - which nothing changes
    ) -> Source:
        paths = source if isinstance(source, (list, tuple)) else [source]
        return cls(
            tuple(map(str, paths)),
            columns_of(reading),
            reading.get("format"),
            missing_words(reading),
            reading.get("repeats", "count"),
            how.separator,
            how.unlabelled,
            layout_of(reading, how.gold),
        )

    def open(self) -> Batches:
        paths = self.paths[0] if len(self.paths) == 1 else list(self.paths)
        opened = open_votes(paths, self.columns, self.format, self.missing, self.layout)
        batches = batches_of(opened)
        return batches if self.copy is None else replace(batches, origin=self.copy.origin)

    def absolute(self) -> Source:
        """The source with absolute paths."""
        paths = tuple(p if "://" in p else str(Path(p).absolute()) for p in self.paths)
        return replace(self, paths=paths)

    def how(self, batches: Batches) -> dict[str, Any]:
        """The options of reading the files, as they are told apart."""
        paths = () if self.copy else self.absolute().paths
        how = {**asdict(self), "paths": paths, "missing": list(self.missing)}
        del how["copy"]  # which its stamp tells
        if batches.silent is None:  # a layout, and gold in it, is of wide tables only
            del how["layout"]
        return how

    def stamps(self, batches: Batches) -> list[Stamp]:
        """What tells these files from others, and from themselves once they have changed."""
        return [[self.copy.digest]] if self.copy else stamps(batches, self.paths)

    def origin(self) -> str:
        """Identity of these votes: the files as they are now, and the options of reading them."""
        batches = self.open()
        return fingerprint(batches, self.stamps(batches), self.how(batches))

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
    if storage.store is None:
        place = temporary_directory()
        root, store = place.path, _fill_anew(place.path, source, storage)
        kept: object = place
    else:
        root = Path(storage.store).absolute()
        store, kept = _open_or_fill(root, source, storage)
        remove_left(root, RUN)
    with writing(root):
        run = OwnedDirectory.new(root, "run")
    classes = store.labels.drop_nulls().sort()
    codes = find(store.labels, classes).fill_null(-1).to_list()
    blocks = store.blocks(run.path)
    if codes != list(range(len(classes))):
        blocks = blocks.change(ClassRecoding(tuple(codes), len(classes)))
    opened = source.open()
    votes = Votes(
        blocks,
        Codebook(pl.Series("task", [], dtype=blocks.task_type), store.workers, classes),
        store.report,
        Kind(columns=columns_named(opened.columns)),
        opened.notes,
        place=(run, kept),
    )
    return votes if opened.silent is None else with_silent(votes, opened.silent(), "table")


def _open_or_fill(root: Path, source: Source, storage: Storage) -> tuple[Store, Lock]:
    """The store with a shared lock on it, filled under a lock of its own if nothing is in it.

    Who comes while another run fills it waits: filling ends by itself, and then either the same
    votes are there or it is known that they are not."""
    lock = _lock_on(root)
    while True:
        if not lock.take(shared=True):
            if storage.progress:
                storage.progress("waiting for the run that fills the store", 0, None)
            lock.wait(shared=True)
        _require_own(root)
        store = Store.open(root)
        if store is not None:
            if store.manifest.origin != source.origin():
                raise UsageError(
                    f"{root} holds other votes, or these as they were: name an empty directory as"
                    " store (--store)."
                )
            return store, lock
        lock.wait()
        if Store.open(root) is None:
            _mark(root)
            _fill_anew(root, source, storage)


def _lock_on(root: Path) -> Lock:
    """The lock of a store; refused for a directory with other things in it."""
    try:
        root.mkdir(exist_ok=True)
        if any(root.iterdir()) and not (root / MARK).is_file():
            raise _not_empty(root)
        return Lock(root / MARK)
    except OSError as error:
        raise UsageError(f"{root} cannot be a directory for votes: {error.strerror}.") from None


def _require_own(root: Path) -> None:
    """Refuse a directory whose mark is a file of somebody else."""
    if not MARKED.startswith((root / MARK).read_bytes()):  # which may have been cut short
        raise _not_empty(root)


def _mark(root: Path) -> None:
    """Mark an empty directory as a store."""
    if (root / MARK).read_bytes() != MARKED:
        if len(list(root.iterdir())) > 1:
            raise _not_empty(root)
        with writing(root):
            (root / MARK).write_bytes(MARKED)


def _not_empty(root: Path) -> UsageError:
    return UsageError(f"{root} is not empty: name an empty directory as store (--store).")


def _fill_anew(root: Path, source: Source, storage: Storage) -> Store:
    """Fill a store after what an interrupted filling has left is removed; if this one is
    interrupted, nothing of it stays."""
    sizes = Sizes.within(storage.memory, BLOCK_SIZE, storage.fits, storage.n_threads)
    at_once = storage.n_processes * storage.n_threads
    n_pieces = 1 if at_once == 1 else 4 * at_once
    _clear_parts(root)
    try:
        return fill(
            root,
            source,
            sizes,
            each=storage.each,
            halted=storage.halted,
            n_pieces=n_pieces,
            progress=storage.progress,
        )
    except BaseException:
        _clear_parts(root)
        raise


def _clear_parts(root: Path) -> None:
    for part in PARTS:
        clear(root / part)


def fill(
    root: Path,
    source: Source,
    sizes: Sizes,
    *,
    each: MapFunction = map,
    halted: Callable[[], bool] | None = _never,
    n_pieces: int = 1,
    size: int | None = None,
    progress: Progress | None = None,
) -> Store:
    """Put the votes of the source into blocks in a directory. `each` maps a function over items
    and gives the results in order: here, until it is `halted`, or elsewhere if that is None."""
    filling = _Filling(root, source, sizes, each, halted, n_pieces, size, progress or _no_progress)
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
    halted: Callable[[], bool] | None
    n_pieces: int
    size: int | None
    say: Progress

    def run(self) -> Store:
        with writing(self.root):
            return self._run()

    def _run(self) -> Store:
        batches = self.source.open()
        known = self.source.stamps(batches)
        origin = fingerprint(batches, known, self.source.how(batches))
        rows, row_bytes = _guess_rows(batches)
        require_disk(self.root, rows * (row_bytes + DISK_ROW))
        needed, shared = 1 + int(1.3 * rows / self.sizes.part_rows), int(rows / WORTH_A_PART)
        n_parts = min(MOST_PARTS, max(needed, min(self.n_pieces, shared)))
        shuffle = Shuffle(self.root, n_parts, self.size or LEAST_BLOCK, self.sizes.limits)
        scattered = self._scatter(shuffle, batches, rows)
        workers, worker_codes = merged([s.workers for s in scattered])
        labels, label_codes = merged([s.labels for s in scattered])
        scattered = [s.without_names() for s in scattered]
        self.sizes.limits.require_room(len(workers), len(labels))
        if not len(workers) or labels.null_count() == len(labels):
            raise DataError(f"{batches.origin} has no row with a task, a worker and a label.")
        marks = [s.mark for s in scattered]
        codes = dict(zip(marks, map(PieceCodes, worker_codes, label_codes), strict=True))
        gathered = self._gather(shuffle, codes, np.min_scalar_type(len(labels)).name)
        used = np.unique(np.concatenate([part.labels for part in gathered.values()]))
        used = used[labels.gather(used).arg_sort(nulls_last=True).to_numpy()]
        order, arranged = self._arrange(shuffle, gathered, len(workers), used)
        if self.source.stamps(self.source.open()) != known:
            raise DataError(f"{batches.origin} changed while it was read: try again.")
        manifest = self._manifest(scattered, gathered, order, arranged, batches.text)
        manifest = replace(manifest, origin=origin)
        return Store.finish(self.root, manifest, workers, labels.gather(used))

    def _scatter(self, shuffle: Shuffle, batches: Batches, rows: float) -> list[ScatteredPiece]:
        done: list[ScatteredPiece] = []
        read: dict[int, int] = {}

        def report(number: int, rows_so_far: int) -> None:
            if self.halted is not None and self.halted():
                raise CancelledError
            read[number] = rows_so_far
            self.say("reading", sum(list(read.values())), rows)

        pieces = list(enumerate(batches.pieces(self.n_pieces)))
        whole, batch_rows = tuple(batches.whole_numbers()), self.sizes.batch_rows
        listener = None if self.halted is None else report
        scatter = partial(_scatter_piece, shuffle, self.source, whole, batch_rows, listener)
        for piece in self.each(scatter, pieces):
            report(len(done), piece.rows)
            done.append(piece)
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
                clear(shuffle.scattered(part))
            self.say("putting task by task", part + 1, shuffle.n_parts)
        return gathered

    def _arrange(
        self,
        shuffle: Shuffle,
        gathered: Mapping[int, GatheredPart],
        n_workers: int,
        used: NDArray[np.intp],
    ) -> tuple[Order, list[ArrangedBlocks]]:
        parts = list(gathered)
        edges = edges_between([part.samples for part in gathered.values()])
        counts = list(self.each(partial(shuffle.count, edges=edges), parts))
        tasks, votes = (sum(column) for column in zip(*counts, strict=True))
        order = Order(edges, tasks, votes, self.size or block_size(int(tasks[-1] + votes[-1])))
        arrange = partial(shuffle.arrange, parts, order, n_workers=n_workers, used=used)
        arranged: list[ArrangedBlocks] = []
        runs = order.runs(min(self.sizes.blocks, -(-(order.n_cuts - 1) // self.n_pieces)))
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
            origin="",
            rows=sum(s.rows for s in scattered),
            missing=sum(s.missing for s in scattered),
            repeated=sum(a.repeats for a in arranged) if kept else dropped,
            repeats_kept=kept,
            n_tasks=int(order.tasks[-1]),
            n_votes=int(order.votes[-1]),
            seals=tuple(seal for run in arranged for seal in run.seals),
            task_type=types.pop() if len(types) == 1 else "String",
            text=text,
        )


def _scatter_piece(
    shuffle: Shuffle,
    source: Source,
    whole: Sequence[str],
    batch_rows: int,
    progress: Callable[[int, int], None] | None,
    numbered: tuple[int, Piece],
) -> ScatteredPiece:
    number, piece = numbered
    frames = source.frames(source.open(), piece, batch_rows, whole)
    return shuffle.scatter(number, frames, progress and partial(progress, number))


def _guess_rows(batches: Batches) -> tuple[float, float]:
    """Estimated number of rows, and of bytes of a row as text, or of a task's name."""
    rows, per_row = batches.rows(), batches.files[0].per_row
    name = 32.0 if batches.types["task"] == pl.String else 8.0
    if rows is not None:
        return rows * per_row, name
    sizes = [file.path.stat().st_size for file in batches.files if file.path is not None]
    if len(sizes) < len(batches.files):  # remote files do not tell
        return UNKNOWN_ROWS, name
    first = batches.files[0].path
    assert first is not None
    with first.open("rb") as file:
        sample = file.read(SAMPLE)
    if sample.startswith((GZIP, ZSTD)):
        return sum(sizes) / COMPRESSED_ROW * per_row, name
    row = len(sample) / max(1, sample.count(b"\n")) / per_row
    return sum(sizes) / row, row
