"""Shuffle votes in any order into blocks of whole tasks, on disk.

Three passes, each over independent pieces, by one process in turn or by many at once:

1. *scatter*: rows are read; workers and labels become codes of their piece, and each row goes to
   the part that the hash of its task names.
2. *gather*: the rows of a part are sorted by task, the tasks in the order of their first row.
3. *arrange*: tasks of all parts, by their first rows, are cut into the blocks that the same votes
   would have in memory: the blocks, and all that is learned from them, are the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.kernels import Codes
from quorate.labels import LEAST_BLOCK, Labels
from quorate.votes.factorise import codes_of
from quorate.votes.naming import find, keys, retyped
from quorate.votes.store.seals import Seal
from quorate.votes.store.sizes import Limits

ROWS_OF_A_PIECE = 40  # bits of a row's number, below those of its piece
SAMPLES_OF_A_BLOCK = 4
WIDEST_SPAN = 1 << 24  # of whole numbers that have a place each


class ScatteredPiece(NamedTuple):
    """Summary of a scattered piece: rows read, rows that lacked a field, and the names in code
    order. Its files have the `mark` in their names, since a killed process leaves files behind as
    well."""

    mark: str
    rows: int
    missing: int
    workers: pl.Series
    labels: pl.Series

    def without_names(self) -> ScatteredPiece:
        """The summary once all names are known, which are many where pieces and workers are."""
        return self._replace(workers=pl.Series(), labels=pl.Series())


class PieceCodes(NamedTuple):
    """Codes among all workers and all labels, for each code of a piece."""

    workers: Codes
    labels: Codes


class GatheredPart(NamedTuple):
    """Summary of a gathered part: its tasks and votes, votes dropped as repeats, first rows of some
    tasks at regular steps, the type of the tasks' names, and the codes of its labels."""

    tasks: int
    votes: int
    dropped: int
    samples: NDArray[np.uint64]
    task_type: str
    labels: NDArray[np.intp]


class Order(NamedTuple):
    """Order of the tasks: the number of tasks and votes of all parts whose first row is before each
    of the edges; the last edge is after all."""

    edges: NDArray[np.uint64]
    tasks: NDArray[np.int64]
    votes: NDArray[np.int64]
    block_size: int

    @property
    def cost(self) -> NDArray[np.int64]:
        return self.tasks + self.votes

    @property
    def n_cuts(self) -> int:
        """Number of boundaries of blocks, the two ends included."""
        return len(range(0, int(self.cost[-1]), self.block_size)) + 1

    def runs(self, n: int) -> list[range]:
        """The boundaries in runs of at most `n` blocks; each begins where the last one ends."""
        last = self.n_cuts - 1
        return [range(at, min(at + n, last) + 1) for at in range(0, last, n)]


class ArrangedBlocks(NamedTuple):
    """Summary of arranged blocks: the seal of each, and the number of repeated answers."""

    seals: list[Seal]
    repeats: int


@dataclass(frozen=True)
class Shuffle:
    """The three passes, in a directory; each of `n_parts` parts has to fit in memory."""

    root: Path
    n_parts: int
    least_block: int = LEAST_BLOCK
    limits: Limits = Limits()

    def scatter(
        self,
        number: int,
        frames: Iterable[tuple[int, int, pl.DataFrame]],
        progress: Callable[[int], None] | None = None,
    ) -> ScatteredPiece:
        """Write the complete rows of a piece to the parts of their tasks.

        Each frame comes with the number of rows read for it and of those that lacked a field;
        `progress` is called with the number of rows so far."""
        mark = f"{number:05d}-{uuid4().hex}"
        workers, labels = _Names(), _Names()
        rows = lacking = kept = 0
        of_part = np.zeros(self.n_parts, dtype=np.int64)
        for batch, (read, lost, complete) in enumerate(frames):
            rows += read
            lacking += lost
            first = (number << ROWS_OF_A_PIECE) + kept
            kept += len(complete)
            coded = complete.select(
                "task",
                worker=workers.codes(complete["worker"]),
                label=labels.codes(complete["label"]),
                row=pl.int_range(first, first + len(complete), dtype=pl.UInt64, eager=True),
            )
            self.limits.require_room(len(workers.names), len(labels.names))
            of_part += self._put(coded, f"{mark}-{batch:06d}")
            self.limits.require_light(coded["task"], of_part)
            if progress:
                progress(rows)
        return ScatteredPiece(mark, rows, lacking, workers.names, labels.names)

    def _put(self, coded: pl.DataFrame, name: str) -> NDArray[np.int64]:
        """Write rows to their parts, and return the number of rows for each."""
        part = (coded["task"].hash(0) % self.n_parts).to_numpy().astype(np.uint16)
        order = np.argsort(part, kind="stable")
        counts = np.bincount(part, minlength=self.n_parts)
        coded = coded[order]
        for i, (end, count) in enumerate(zip(counts.cumsum(), counts, strict=True)):
            if count:
                place = self.scattered(i)
                place.mkdir(parents=True, exist_ok=True)
                write(coded[end - count : end], place / f"{name}.arrow")
        return counts

    def scattered(self, part: int) -> Path:
        return self.root / "scattered" / f"{part:05d}"

    def gather(
        self, part: int, codes: Mapping[str, PieceCodes], label_type: str, repeats: str
    ) -> GatheredPart | None:
        """Sort the rows of a part by task; `codes` are those of the pieces, by their marks."""
        frames = []
        for file in sorted(self.scattered(part).glob("*.arrow")):
            mark = file.name.rpartition("-")[0]
            if mark in codes:
                frame = pl.read_ipc(file)
                worker = codes[mark].workers[frame["worker"].to_numpy()]
                label = codes[mark].labels[frame["label"].to_numpy()]
                frames.append(frame.select("task", "row", worker=worker, label=label))
        if not frames:
            return None
        frame = pl.concat(frames)
        del frames
        rows = len(frame)
        if repeats != "count":
            frame = frame.unique(["task", "worker"], keep=repeats, maintain_order=True)  # type: ignore[arg-type]
        code, tasks = codes_of(frame["task"])
        worker, label, row = (frame[name].to_numpy() for name in ("worker", "label", "row"))
        del frame
        first = np.empty(len(tasks), dtype=np.uint64)
        first[code[::-1]] = row[::-1]
        labels = Labels.from_codes(code, worker, label, n_tasks=len(tasks))
        place = self._part(part)
        place.mkdir(parents=True, exist_ok=True)
        ends = labels.indptr[1:].astype(np.int64)
        save(place, first=first, end=ends, worker=labels.worker)
        save(place, label=labels.label.astype(label_type))
        write(tasks.to_frame(), place / "tasks.arrow")
        cost = ends + np.arange(len(ends))
        step = max(1, min(self.least_block // SAMPLES_OF_A_BLOCK, int(cost[-1]) // 8))
        at = np.unique(np.searchsorted(cost, np.arange(step, int(cost[-1]), step)))
        kind = str(retyped(tasks).dtype) if tasks.dtype == pl.String else "String"
        used = np.flatnonzero(np.bincount(label))
        return GatheredPart(
            len(tasks), len(worker), rows - len(worker), first[at], kind, labels=used
        )

    def count(self, part: int, edges: NDArray[np.uint64]) -> tuple[NDArray[np.int64], ...]:
        """Number of tasks and of votes of a part before each edge."""
        first, end = load(self._part(part), "first", "end")
        before = np.searchsorted(first, edges)
        return before.astype(np.int64), np.where(before > 0, end[before - 1], 0)

    def arrange(
        self,
        parts: Sequence[int],
        order: Order,
        cuts: range,
        n_workers: int,
        used: NDArray[np.intp],
    ) -> ArrangedBlocks:
        """Write the blocks between the boundaries, with new codes for the labels in `used`."""
        last_cut = order.n_cuts - 1
        bounds = [min(cut * order.block_size, int(order.cost[-1])) for cut in cuts]
        low = max(0, int(np.searchsorted(order.cost, bounds[0])) - 1)
        high = max(low + 1, int(np.searchsorted(order.cost, bounds[-1])))
        names, said, worker, label = self._between(parts, order.edges[low], order.edges[high])
        code = np.zeros(used.max() + 1, dtype=np.min_scalar_type(len(used)))
        code[used] = np.arange(len(used))
        label = code[label]
        ends = np.concatenate([[0], said.cumsum()])
        cost = order.cost[low] + ends + np.arange(len(ends))
        at = np.searchsorted(cost, bounds)
        if cuts[-1] == last_cut:
            at[-1] = len(said)
        seals, repeats = [], 0
        for start, stop in pairwise(at.tolist()):
            if start == stop:
                continue
            first = int(order.tasks[low] + start)
            votes = slice(int(ends[start]), int(ends[stop]))
            block = Labels(
                (ends[start : stop + 1] - ends[start]).astype(np.int32),
                worker[votes],
                label[votes].astype(np.int32),
                n_workers,
                len(used),
            )
            repeats += len(block.repeats())
            place = block_place(self.root, first)
            place.mkdir(parents=True, exist_ok=True)
            tasks = names[start:stop]
            save(place, said=said[start:stop], worker=worker[votes], label=label[votes])
            save(place, key=keys(tasks))
            write(tasks.alias("task").to_frame(), place / "tasks.arrow")
            seals.append(Seal.of(place, first, stop - start, block.n_labels))
        return ArrangedBlocks(seals, repeats)

    def _between(
        self, parts: Sequence[int], low: np.uint64, high: np.uint64
    ) -> tuple[pl.Series, NDArray[np.uint32], Codes, NDArray[np.integer]]:
        """Tasks whose first rows are between two, in order: their names, numbers of votes, and
        votes."""
        some = [self._slice(part, low, high) for part in parts]
        names = pl.concat([names for names, *_ in some])
        first, said, worker, label = (
            np.concatenate(arrays) for arrays in zip(*(arrays for _, *arrays in some), strict=True)
        )
        del some
        order = np.argsort(first)
        starts = said.cumsum(dtype=np.int64) - said
        moved = said[order]
        vote = np.repeat(starts[order] - (moved.cumsum(dtype=np.int64) - moved), moved)
        vote += np.arange(len(vote))
        return names.gather(order), moved, worker[vote], label[vote]

    def _slice(
        self, part: int, low: np.uint64, high: np.uint64
    ) -> tuple[pl.Series, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        place = self._part(part)
        first, end, worker, label = load(place, "first", "end", "worker", "label")
        start, stop = np.searchsorted(first, [low, high]).tolist()
        ends = np.concatenate([end[start - 1 : start] if start else [0], end[start:stop]])
        names = (
            pl.scan_ipc(place / "tasks.arrow", glob=False)
            .slice(start, stop - start)
            .collect()["task"]
        )
        votes = slice(ends[0], ends[-1])
        said = np.diff(ends).astype(np.uint32)
        # Copies: where files are mapped, the system counts far more of them than was looked at, and
        # there are hundreds of parts.
        return names, first[start:stop].copy(), said, worker[votes].copy(), label[votes].copy()

    def _part(self, part: int) -> Path:
        return self.root / "gathered" / f"{part:05d}"


class _Names:
    """Accumulates names in order of appearance, and codes columns of them."""

    def __init__(self) -> None:
        self.names = pl.Series(dtype=pl.Null)
        self._numbers = NumberCodes()

    def codes(self, column: pl.Series) -> Codes:
        """The code of each name, of which new ones come after all others."""
        if self._numbers.reach(column):
            code = self._numbers.known(column)
            if code.min(initial=0) < 0:
                new = codes_of(column.filter(code < 0))[1]
                self._numbers.add(new, len(self.names))
                self._append(new)
                code = self._numbers.known(column)
            return code
        code, seen = codes_of(column)
        return self._codes_of_different(seen)[code]

    def _codes_of_different(self, seen: pl.Series) -> Codes:
        if not len(self.names):
            self.names = seen
            return np.arange(len(seen), dtype=np.int32)
        found = find(seen, self.names)
        new = seen.filter(found.is_null())
        codes: Codes = found.fill_null(-1).to_numpy().copy()
        codes[codes < 0] = np.arange(len(self.names), len(self.names) + len(new))
        self._append(new)
        return codes

    def _append(self, new: pl.Series) -> None:
        self.names = pl.concat([self.names, new]) if len(self.names) else new


class NumberCodes:
    """Codes of names that are whole numbers close together: each has a place in an array."""

    def __init__(self) -> None:
        self._first, self._code = 0, np.empty(0, dtype=np.int32)
        self._usable = True

    def reach(self, column: pl.Series) -> bool:
        """Whether these are such names, as all before were; the array is made to reach them."""
        whole = column.dtype.is_integer() and not column.null_count() and len(column) > 0
        self._usable = self._usable and whole
        if not self._usable:
            return False
        least, most = int(column.min()), int(column.max())  # type: ignore[arg-type]
        if len(self._code):
            least, most = min(least, self._first), max(most, self._first + len(self._code) - 1)
        self._usable = most - least < WIDEST_SPAN and most <= np.iinfo(np.int64).max
        if self._usable and most - least >= len(self._code):
            wider = np.full(most - least + 1, -1, dtype=np.int32)
            before = self._first - least if len(self._code) else 0
            wider[before : before + len(self._code)] = self._code
            self._first, self._code = least, wider
        return self._usable

    def known(self, numbers: pl.Series) -> Codes:
        """The codes, -1 for numbers that have none yet."""
        codes: Codes = self._code[self._places(numbers)]
        return codes

    def add(self, new: pl.Series, first: int) -> None:
        self._code[self._places(new)] = np.arange(first, first + len(new))

    def _places(self, numbers: pl.Series) -> NDArray[np.int64]:
        return numbers.cast(pl.Int64).to_numpy() - self._first


def merged(names: Sequence[pl.Series]) -> tuple[pl.Series, list[Codes]]:
    """All names in order of appearance, and for each piece the codes of its own names."""
    every = _Names()
    nothing = np.empty(0, dtype=np.int32)
    codes = [every.codes(piece) if len(piece) else nothing for piece in names]
    return every.names, codes


def edges_between(samples: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Edges between the samples of all parts, and one after all."""
    ends = np.array([0, np.iinfo(np.uint64).max], dtype=np.uint64)
    return np.unique(np.concatenate([*samples, ends]))


def block_place(root: Path, start: int) -> Path:
    """Directory of the block that starts with this task."""
    return root / "blocks" / f"{start:015d}"


def write(frame: pl.DataFrame, path: Path) -> None:
    """Write a frame to a file, whole or not at all."""
    unfinished = path.with_suffix(".part")
    frame.rechunk().write_ipc(unfinished, compression="uncompressed")
    unfinished.replace(path)


def save(place: Path, **arrays: Any) -> None:
    """Save each array as a file of its name, whole or not at all."""
    for name, array in arrays.items():
        unfinished = place / f"{name}.part"
        with unfinished.open("wb") as file:
            np.save(file, array)
        unfinished.replace(place / f"{name}.npy")


# Before Python 3.11.9 texts that are parsed in several threads at once, as the heads of arrays are,
# now and then raise a SystemError (CPython issue 106905).
PARSING = threading.Lock()


def load(place: Path, *names: str) -> list[NDArray[Any]]:
    """Load arrays, mapped into memory and not copied."""
    with PARSING:
        return [np.load(place / f"{name}.npy", mmap_mode="r") for name in names]
