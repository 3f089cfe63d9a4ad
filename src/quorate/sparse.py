"""SciPy's sparse arrays, and the loops that they are made of, loaded when they are first asked for.

SciPy takes about half as long to import as polars. What a command needs of it can be loaded while
polars reads a file (`load`). SciPy also copies all of NumPy's namespace, and so loads parts of
NumPy that nobody here uses; while it copies, these are hidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import numpy as np

# What SciPy's products are made of, but for the sum that they begin from; None where it has none.
LOOPS = ("coo_matmat_dense", "coo_tocsr", "csc_matvecs", "csr_matvecs", "csr_todense")
UNUSED = {"char", "ctypeslib", "f2py", "ma", "polynomial", "rec", "testing"}

_loading = RLock()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    arrays = load()
    if name not in LOOPS:
        globals()[name] = getattr(arrays, name)  # where it is found the next time
    return globals()[name]


def load() -> Any:
    """SciPy's sparse arrays, with the loops as they are named here."""
    with _loading, _hidden(UNUSED):
        from scipy import sparse
    own = getattr(sparse, "_sparsetools", None)
    for name in LOOPS:
        globals().setdefault(name, getattr(own, name, None))
    return sparse


@contextmanager
def _hidden(names: set[str]) -> Iterator[None]:
    """NumPy without some of the parts that it loads when they are first asked for."""
    numpy: Any = np
    listed, directory = numpy.__all__, numpy.__dir__
    numpy.__all__ = [name for name in listed if name not in names]
    numpy.__dir__ = lambda: [name for name in directory() if name not in names]
    try:
        yield
    finally:
        numpy.__all__, numpy.__dir__ = listed, directory
