"""Large arrays out of memory that was used before.

Memory that comes fresh from the system is cleared by it page by page, which in a sweep can cost as
much as the sums that are put into it. So while a fit goes on, the memory of an array that is gone
is kept for the next of about its size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 18  # bytes; what is smaller the allocator keeps by itself

_lock = RLock()  # taken again where garbage is collected inside of it
_spare: list[NDArray[np.uint8]] = []
_in_use = 0
_keepers = 0


@contextmanager
def kept() -> Iterator[None]:
    """Within it memory is kept, though never more than is in use."""
    global _keepers
    with _lock:
        _keepers += 1
    try:
        yield
    finally:
        with _lock:
            _keepers -= 1
            _drop_what_is_too_much()


def zeros(shape: tuple[int, ...]) -> NDArray[np.float64]:
    if _size(shape) < LARGE:
        return np.zeros(shape)
    array = empty(shape)
    array.fill(0.0)
    return array


def empty(shape: tuple[int, ...]) -> NDArray[np.float64]:
    if _size(shape) < LARGE:
        return np.empty(shape)
    return np.asarray(_Loan(_take(_size(shape)), shape))


def _size(shape: tuple[int, ...]) -> int:
    return math.prod(shape) * 8


class _Loan:
    """Has some memory for as long as there is an array in it."""

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
    global _in_use
    with _lock:
        fitting = [i for i, memory in enumerate(_spare) if size <= memory.size <= 1.25 * size]
        memory = _spare.pop(fitting[-1]) if fitting else np.empty(size, np.uint8)
        _in_use += memory.size
    return memory


def _give_back(memory: NDArray[np.uint8]) -> None:
    global _in_use
    with _lock:
        _in_use -= memory.size
        _spare.append(memory)
        _drop_what_is_too_much()


def _drop_what_is_too_much() -> None:
    most = _in_use if _keepers else 0
    while _spare and sum(memory.size for memory in _spare) > most:
        del _spare[0]
