"""Blocks swept by threads, in memory or on disk: the default engine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

from quorate.errors import require_number
from quorate.labels import Labels
from quorate.model import Tree, add, run_length

Sweep = Callable[[Labels, Any, Any], tuple[Any, Any]]


class States(Protocol):
    """The local state of each block: a list, or what keeps them elsewhere."""

    def __getitem__(self, index: int, /) -> Any: ...
    def __setitem__(self, index: int, state: Any, /) -> None: ...


class Threads:
    """Sweeps blocks on ``n_threads`` threads (all cores by default) and adds what they return.

    Statistics are added in an order that the number of blocks fixes, so the sum is the same to the
    last bit on any number of threads, and only a few blocks' statistics exist at a time.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = cores() if n_threads is None else n_threads
        require_number("threads", self.n_threads, at_least=1)
        self._pool = ThreadPoolExecutor(self.n_threads)

    def over(self, labels: Labels) -> Blocks:
        """The engine for labels in memory."""
        return Blocks(self, list(labels.blocks()))

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """``function`` of each item, in order, at most two items a thread ahead."""
        if self.n_threads == 1 or len(items) == 1:
            yield from map(function, items)
            return
        waiting: deque[Future[Any]] = deque()
        for item in items:
            waiting.append(self._pool.submit(function, item))
            if len(waiting) > 2 * self.n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def sweep(self, sweep: Sweep, blocks: Sequence[Labels], params: Any, local: States) -> Any:
        """Replace each block's local state, and return the sum of the statistics. Blocks and states
        are taken and put back by the threads, which matters where they are on disk."""

        def sweep_run(run: range) -> Any:
            total = None
            for i in run:
                local[i], stats = sweep(blocks[i], params, local[i])
                total = add(total, stats)
            return total

        tree = Tree()
        length = run_length(len(blocks), blocks[0])
        starts = range(0, len(blocks), length)
        runs = [range(at, min(at + length, len(blocks))) for at in starts]
        for total in self.map(sweep_run, runs):
            tree.add(total)
        return tree.result()


class Blocks:
    """The blocks of some labels with their local states, and the threads that sweep them."""

    def __init__(
        self, threads: Threads, blocks: Sequence[Labels], local: States | None = None
    ) -> None:
        self.threads = threads
        self.blocks = blocks
        self.local: States = [None] * len(blocks) if local is None else local

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        def begin_one(i: int) -> None:
            self.local[i] = begin(self.blocks[i])

        for _ in self.threads.map(begin_one, range(len(self.blocks))):
            pass

    def sweep(self, sweep: Sweep, params: Any) -> Any:
        return self.threads.sweep(sweep, self.blocks, params, self.local)


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
