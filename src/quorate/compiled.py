"""Which loops are compiled, and when: by numba, where it is installed and where that pays.

`kernels` asks here before it goes by SciPy and NumPy. Loading numba and what it has compiled takes
half a second and more, so it begins only once a fit has spent about as much without; what is
compiled is kept in numba's cache for the next process. Results have the same bits either way. The
environment variable ``QUORATE_COMPILED`` says 0 for never, and 1 for from the first.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.loops import FarLoops, Loops

VARIABLE = "QUORATE_COMPILED"
PAYS_AFTER = 80_000_000  # labels and tasks of a fit that went through SciPy's and NumPy's loops
LEAST = 10_000  # of these in one call
WIDEST = 32  # columns, for a row to be worth unrolling
LARGE_TABLE = 1_000_000  # numbers of a table whose rows are fetched ahead

_loading = threading.Lock()
_built: dict[tuple[str, int], Any] = {}
_done = 0


def begin_fit() -> None:
    """Count work from here: many small fits, as a server makes them, are not worth compiling."""
    global _done
    _done = 0


def near(width: int, size: int) -> Loops | None:
    """The loops for rows of this width, where `size` labels or tasks at once are worth it."""
    loops: Loops | None = _loops("compile_near", width, size)
    return loops


def far(width: int, size: int) -> FarLoops | None:
    """The same for a table that no cache holds."""
    loops: FarLoops | None = _loops("compile_far", width, size)
    return loops


def sort_rows(size: int) -> Callable[..., None] | None:
    """The loop that sorts the rows of each task."""
    loop: Callable[..., None] | None = _loops("compile_sort_rows", 1, size)
    return loop


def _loops(kind: str, width: int, size: int) -> Any:
    """Loops as they were compiled; None while another thread compiles them, and where that cannot
    be or would not pay."""
    if not 0 < width <= WIDEST or not _pays(size):
        return None
    key = kind, width
    if key not in _built and _loading.acquire(blocking=_at_once()):
        try:
            if key not in _built:
                _built[key] = _compile(kind, width)
        finally:
            _loading.release()
    return _built.get(key)


def _pays(size: int) -> bool:
    """Whether a fit that has done so much will do enough to be worth compiling for."""
    global _done
    wish = os.environ.get(VARIABLE)
    if wish in ("0", "1"):
        return wish == "1"
    if size < LEAST:
        return False
    _done += size
    return _done >= PAYS_AFTER


def _at_once() -> bool:
    return os.environ.get(VARIABLE) == "1"


def _compile(kind: str, width: int) -> Any:
    """The loops, kept in a cache where there is a place for it; None where numba does not work,
    for whatever reason: nobody's fit fails of it."""
    for cache in (True, False):
        with suppress(Exception):  # numba is missing or broken, the disk is full, ...
            from quorate import loops

            return getattr(loops, kind)(width, cache=cache)
    return None
