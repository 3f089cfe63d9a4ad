"""Blocks in memory, swept by threads: the default engine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from quorate.errors import require_number
from quorate.labels import Labels
from quorate.model import add

Sweep = Callable[[Labels, Any, Any], tuple[Any, Any]]


class Threads:
    """Sweeps blocks on ``n_threads`` threads (all cores by default) and adds what they return.

    Statistics are added in the order of the blocks, so the sum is the same to the last bit on any
    number of threads, and only a few blocks' statistics exist at a time.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = cores() if n_threads is None else n_threads
        require_number("threads", self.n_threads, at_least=1)
        self._pool = ThreadPoolExecutor(self.n_threads)

    def map(self, function: Callable[..., Any], *columns: Sequence[Any]) -> Iterator[Any]:
        """``function`` over the columns' rows, in order, at most two rows a thread ahead."""
        rows = zip(*columns, strict=True)
        if self.n_threads == 1 or len(columns[0]) == 1:
            yield from (function(*row) for row in rows)
            return
        waiting: deque[Future[Any]] = deque()
        for row in rows:
            waiting.append(self._pool.submit(function, *row))
            if len(waiting) > 2 * self.n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def sweep(self, sweep: Sweep, blocks: Sequence[Labels], params: Any, local: list[Any]) -> Any:
        """Replace each block's local state, and return the sum of the statistics."""
        total = None
        swept = self.map(lambda block, state: sweep(block, params, state), blocks, local)
        for i, (state, stats) in enumerate(swept):
            local[i] = state
            total = add(total, stats)
        return total


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
