"""A large table, a few rows at a time, by the threads of a fit.

An M-step goes through a table with rows for every worker. In chunks its intermediate arrays stay in
a cache, and the chunks are shared among as many threads as the engine has. Which rows make a chunk
follows from the table's shape alone, so that sums over chunks have the same bits on any number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from numpy.typing import NDArray

CACHED = 100_000  # numbers of a chunk, of which a step makes several arrays

T = TypeVar("T")

# Unset within the threads themselves, where a block is swept.
_pool: ContextVar[ThreadPoolExecutor | None] = ContextVar("threads of the fit", default=None)


@contextmanager
def on_threads(n_threads: int) -> Iterator[None]:
    """Share chunks among so many threads within the context."""
    if n_threads == 1:
        yield
        return
    with ThreadPoolExecutor(n_threads) as pool:
        before = _pool.set(pool)
        try:
            yield
        finally:
            _pool.reset(before)


def each(function: Callable[[slice], T], table: NDArray[Any]) -> list[T]:
    """What the function returns of each chunk of the table's rows, in their order.

    Examples:
        >>> import numpy as np
        >>> with on_threads(2):
        ...     each(lambda some: (some.start, some.stop), np.empty((5, CACHED // 2)))
        [(0, 2), (2, 4), (4, 5)]
    """
    height, width = len(table), max(1, table[:1].size)
    length = max(1, CACHED // width)
    chunks = [slice(at, min(at + length, height)) for at in range(0, height, length)]
    pool = _pool.get()
    if pool is None or len(chunks) < 2:
        return [function(some) for some in chunks]
    return list(pool.map(function, chunks))
