"""A store is filled: the passes of a shuffle, one after the other."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from quorate.errors import DataError
from quorate.io.batches import Batches, Piece, open_batches
from quorate.io.encode import ROLES
from quorate.io.faults import GZIP, ZSTD
from quorate.io.sources import MISSING
from quorate.labels import LEAST_BLOCK, block_size
from quorate.store.directory import Manifest, Store
from quorate.store.shuffle import (
    Arranged,
    Gathered,
    Order,
    PieceCodes,
    Scattered,
    Shuffle,
    edges_between,
    merged,
)
from quorate.store.sizes import DISK_ROW, Sizes, require_disk

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Stage(Protocol):
    """Told what is under way, how far, of how much, and how it goes."""

    def __call__(self, what: str, done: float, total: float | None, how: str = "") -> None: ...


UNKNOWN_ROWS = 1e8
COMPRESSED_ROW = 5.0  # bytes
SAMPLE = 1 << 16  # bytes from which the length of a row is guessed
MOST_PARTS = 4096


@dataclass(frozen=True)
class Source:
    """Files of votes and how they are read: what can be sent to where they are read."""

    path: str
    columns: Mapping[str, str | None] = field(default_factory=dict)
    format: str | None = None
    missing: Sequence[str] = MISSING
    repeats: str = "count"

    def open(self) -> Batches:
        return open_batches(
            self.path, ROLES, columns=self.columns, format=self.format, missing=self.missing
        )

    def origin(self) -> dict[str, Any]:
        """What tells these votes from others: names, sizes and times of the files, and how they
        are read. Of what lies elsewhere only its name is known."""
        files = [file.path for file in self.open().files if file.path is not None]
        about = [[str(f.absolute()), f.stat().st_size, f.stat().st_mtime_ns] for f in files]
        path = self.path if not files else str(Path(self.path).absolute())
        return {**asdict(self), "path": path, "missing": list(self.missing), "files": about}


def fill(
    root: Path,
    source: Source,
    sizes: Sizes,
    *,
    each: Each = map,
    n_pieces: int = 1,
    size: int | None = None,
    progress: Stage | None = None,
) -> Store:
    """Put the votes of the source into blocks in a directory. `each` calls a function for each of
    some items, and gives the results in order; here or elsewhere."""
    say = progress or (lambda what, done, total, how="": None)
    batches = source.open()
    rows, row_bytes = _guess_rows(batches)
    require_disk(root, rows * (row_bytes + DISK_ROW))
    n_parts = min(MOST_PARTS, 1 + int(1.3 * rows / sizes.part_rows))
    shuffle = Shuffle(root, n_parts, tuple(batches.whole_numbers()))

    scattered: list[Scattered] = []

    def seen(more: int = 0) -> None:
        say("reading", sum(s.rows for s in scattered) + more, rows)

    pieces = list(enumerate(batches.pieces(n_pieces)))
    heard = seen if each is map else None
    for piece in each(partial(_scatter, shuffle, source, sizes.batch_rows, heard), pieces):
        scattered.append(piece)
        seen()
    workers, worker_codes = merged([s.workers for s in scattered])
    labels, label_codes = merged([s.labels for s in scattered])
    if not len(workers):
        raise DataError(f"{batches.origin} has no row with a task, a worker and a label.")

    marks = [s.mark for s in scattered]
    codes = dict(zip(marks, map(PieceCodes, worker_codes, label_codes), strict=True))
    shuffle = replace(shuffle, least_block=size or LEAST_BLOCK)
    label_type = np.min_scalar_type(len(labels)).name
    gather = partial(shuffle.gather, codes=codes, label_type=label_type, repeats=source.repeats)
    gathered: dict[int, Gathered] = {}
    for part, found in enumerate(each(gather, range(n_parts))):
        if found is not None:
            gathered[part] = found
            shutil.rmtree(shuffle.scattered(part))
        say("putting task by task", part + 1, n_parts)

    parts = list(gathered)
    edges = edges_between([part.samples for part in gathered.values()])
    counts = list(each(partial(shuffle.count, edges=edges), parts))
    tasks, votes = (sum(column) for column in zip(*counts, strict=True))
    order = Order(edges, tasks, votes, size or block_size(int(tasks[-1] + votes[-1])))
    arrange = partial(shuffle.arrange, parts, order, n_workers=len(workers), n_classes=len(labels))
    arranged: list[Arranged] = []
    runs = order.runs(sizes.blocks)
    for run in each(arrange, runs):
        arranged.append(run)
        say("writing blocks", len(arranged), len(runs))

    kept = source.repeats == "count"
    dropped = sum(part.dropped for part in gathered.values())
    types = {part.task_type for part in gathered.values()}
    manifest = Manifest(
        origin=source.origin(),
        rows=sum(s.rows for s in scattered),
        missing=sum(s.missing for s in scattered),
        repeated=sum(a.repeats for a in arranged) if kept else dropped,
        repeats_kept=kept,
        n_tasks=int(order.tasks[-1]),
        n_votes=int(order.votes[-1]),
        starts=[start for run in arranged for start in run.starts],
        task_type=types.pop() if len(types) == 1 else "String",
        text=batches.text,
    )
    return Store.finish(root, manifest, workers, labels)


def _scatter(
    shuffle: Shuffle,
    source: Source,
    batch_rows: int,
    progress: Callable[[int], None] | None,
    numbered: tuple[int, Piece],
) -> Scattered:
    batches = source.open()
    return shuffle.scatter(batches, *numbered, batch_rows, source.missing, progress)


def _guess_rows(batches: Batches) -> tuple[float, float]:
    """About how many rows there are, and how many bytes each has as text."""
    rows = batches.rows()
    if rows is not None:
        return rows, 32.0
    sizes = [file.path.stat().st_size for file in batches.files if file.path is not None]
    if len(sizes) < len(batches.files):  # of a store, which does not tell
        return UNKNOWN_ROWS, 32.0
    first = batches.files[0].path
    assert first is not None
    with first.open("rb") as file:
        sample = file.read(SAMPLE)
    if sample.startswith((GZIP, ZSTD)):
        return sum(sizes) / COMPRESSED_ROW, 32.0
    row = len(sample) / max(1, sample.count(b"\n"))
    return sum(sizes) / row, row
