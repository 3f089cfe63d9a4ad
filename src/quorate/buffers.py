"""Large arrays in reused memory.

A sweep makes and drops large tables again and again. The operating system clears every page of
memory that it hands out, which can take as long as the sums that the page is for. So while a fit
runs, the memory of an array that was freed is kept for the next array of about its size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 18  # bytes; below that the allocator reuses memory by itself

_lock = RLock()  # re-entrant: a garbage collection inside it frees buffers
_spare: list[NDArray[np.uint8]] = []
_in_use = 0
_most_in_use = 0  # at any moment since a context was opened
_open_contexts = 0


@contextmanager
def reuse() -> Iterator[None]:
    """Keep freed buffers for reuse inside the context; with them there is never more than was in
    use at one moment."""
    global _open_contexts, _most_in_use
    with _lock:
        if not _open_contexts:
            _most_in_use = _in_use
        _open_contexts += 1
    try:
        yield
    finally:
        with _lock:
            _open_contexts -= 1
            _trim()


def zeros(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Array of zeros, in reused memory if it is large."""
    if _n_bytes(shape) < LARGE:
        return np.zeros(shape)
    array = empty(shape)
    array.fill(0.0)
    return array


def empty(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Uninitialised array, in reused memory if it is large."""
    if _n_bytes(shape) < LARGE:
        return np.empty(shape)
    return np.asarray(_Buffer(_take(_n_bytes(shape)), shape))


def _n_bytes(shape: tuple[int, ...]) -> int:
    return math.prod(shape) * 8


class _Buffer:
    """A piece of memory, given back when the last array over it is gone."""

    def __init__(self, memory: NDArray[np.uint8], shape: tuple[int, ...]) -> None:
        self._memory = memory
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "shape": shape,
            "typestr": np.dtype(np.float64).str,
            "data": (memory.ctypes.data, False),
        }

    def __del__(self) -> None:
        _give_back(self._memory)


def _take(size: int) -> NDArray[np.uint8]:
    global _in_use, _most_in_use
    with _lock:
        fitting = [i for i, memory in enumerate(_spare) if size <= memory.size <= 1.25 * size]
        memory = _spare.pop(fitting[-1]) if fitting else np.empty(size, np.uint8)
        _in_use += memory.size
        _most_in_use = max(_most_in_use, _in_use)
        _trim()
    return memory


def _give_back(memory: NDArray[np.uint8]) -> None:
    global _in_use
    with _lock:
        _in_use -= memory.size
        _spare.append(memory)
        _trim()


def _trim() -> None:
    """Drop the oldest spare buffers beyond what may be kept."""
    most = _most_in_use - _in_use if _open_contexts else 0
    while _spare and sum(memory.size for memory in _spare) > most:
        del _spare[0]
