"""Blocks swept by threads, in memory or on disk: the default engine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from quorate.card import card
from quorate.engines.engine import Fold, Sweep
from quorate.engines.states import StoredStates
from quorate.errors import require_number
from quorate.labels import BLOCK_SIZE, Labels
from quorate.model import Tree, add, has_large_tables, run_length
from quorate.votes.blocks import Blocks
from quorate.votes.store import Storage, StoredBlocks

AHEAD = 2  # items of a thread or process, with the one that it is at, that may wait for others


class States(Protocol):
    """The local state of each block: a list, or files."""

    def __getitem__(self, index: int, /) -> Any: ...
    def __setitem__(self, index: int, state: Any, /) -> None: ...


class Threads:
    """Sweeps blocks on ``n_threads`` threads (all cores by default) and adds what they return.

    Statistics are added in an order that the number of blocks fixes, so the sum is the same to the
    last bit on any number of threads, and only a few blocks' statistics exist at a time.
    """

    shares_memory = True

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = cores() if n_threads is None else n_threads
        require_number("threads", self.n_threads, at_least=1)
        self._pool = ThreadPoolExecutor(self.n_threads)
        self.halted = Event()

    def __repr__(self) -> str:
        said = ", ".join(f"{name} {value}" for name, value in self.facts.items())
        return f"{type(self).__name__}({said})"

    def _repr_html_(self) -> str:
        title = f"Engine: {type(self).__name__}"
        return card(title, {name: str(value) for name, value in self.facts.items()})

    @property
    def facts(self) -> dict[str, Any]:
        """What it works with."""
        return {"threads": self.n_threads}

    @property
    def storage(self) -> Storage | None:
        return None

    def over(self, blocks: Blocks, states: Path | None = None) -> Fold:
        if isinstance(blocks, StoredBlocks):
            return StreamFold(self, blocks, states)
        return ThreadFold(self, list(blocks))

    def close(self) -> None:
        """End the threads; what they are writing is finished, what waits is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any], ahead: int | None = None
    ) -> Iterator[Any]:
        """Map a function over items, in order; `ahead` is the maximum number of items that are
        begun or done beside the one that is asked for, by default a few for each thread."""
        items = list(items)
        ahead = AHEAD * self.n_threads if ahead is None else ahead
        if self.n_threads == 1 or len(items) == 1:
            yield from map(function, items)
            return
        waiting: deque[Future[Any]] = deque()
        try:
            for item in items:
                waiting.append(self._pool.submit(function, item))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            if waiting:  # one has failed, or all are interrupted
                self._halt(waiting)

    def _halt(self, waiting: Iterable[Future[Any]]) -> None:
        """Wait until nothing is under way; what takes long asks `halted` whether to go on."""
        self.halted.set()
        for item in waiting:
            item.cancel()
        wait(waiting)
        self.halted.clear()


def runs_ahead(n_threads: int, shape: Labels) -> int:
    """The maximum number of runs that are begun or done beside the one that is asked for."""
    is_large = has_large_tables(shape.n_workers, shape.n_classes)
    return n_threads - 1 if is_large else AHEAD * n_threads


class ThreadFold:
    """Blocks in memory with their states, swept by threads."""

    def __init__(self, threads: Threads, blocks: Sequence[Labels]) -> None:
        self.threads, self.blocks = threads, blocks
        self.states: States = [None] * len(blocks)
        self.sweeps = 0

    def resume_after(self, sweeps: int) -> None:
        """Do nothing: no states were kept."""

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        def begin_one(i: int) -> None:
            self.states[i] = begin(self._block(i))

        for _ in self.threads.map(begin_one, range(len(self.blocks))):
            pass

    def sweep(self, sweep: Sweep, params: Any, *, keep: bool = True) -> Any:
        blocks, states = self.blocks, self.states

        def sweep_run(run: range) -> Any:
            total = None
            for i in run:
                state, stats = sweep(self._block(i), params, states[i])
                if keep:
                    states[i] = state
                total = add(total, stats)
            return total

        tree, shape = Tree(), self._shape
        length = run_length(len(blocks), shape)
        runs = [range(at, min(at + length, len(blocks))) for at in range(0, len(blocks), length)]
        for total in self.threads.map(sweep_run, runs, runs_ahead(self.threads.n_threads, shape)):
            tree.add(total)
            del total  # what it was added to holds it, or nobody has to
        return tree.result()

    @property
    def _shape(self) -> Labels:
        return self.blocks[0]

    def _block(self, index: int) -> Labels:
        return self.blocks[index]


class StreamFold(ThreadFold):
    """Blocks in files, of which only a few are in memory at a time: each is read when a thread
    comes to it, those that follow are fetched meanwhile, and its state is written to a file. Blocks
    that are no more than one of the usual size, all together, are read once and stay."""

    blocks: StoredBlocks

    def __init__(self, threads: Threads, blocks: StoredBlocks, states: Path | None) -> None:
        super().__init__(threads, blocks)
        self._kept = None if states is None else StoredStates(states, blocks.starts)
        if self._kept is not None:
            self.states = self._kept
        self._empty = blocks.shape
        small = blocks.n_tasks + blocks.n_labels <= BLOCK_SIZE
        self._few = small and self._empty.features is None  # of which there may be any number
        self._read: dict[int, Labels] = {}

    def resume_after(self, sweeps: int) -> None:
        if self._kept is not None:
            self._kept.sweeps = self.sweeps = sweeps

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        super().begin(begin)
        self._count_sweep()

    def sweep(self, sweep: Sweep, params: Any, *, keep: bool = True) -> Any:
        stats = super().sweep(sweep, params, keep=keep)
        if keep:
            self._count_sweep()
        return stats

    def _count_sweep(self) -> None:
        if self._kept is not None:
            self._kept.sweeps += 1
            self.sweeps = self._kept.sweeps

    @property
    def _shape(self) -> Labels:
        return self._empty

    def _block(self, index: int) -> Labels:
        if self._few:
            if index not in self._read:
                self._read[index] = self.blocks[index]
            return self._read[index]
        self.blocks.fetch_after(index, 2 * self.threads.n_threads)
        return self.blocks[index]


def cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
