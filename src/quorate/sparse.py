"""SciPy's sparse arrays, without what they load in vain.

SciPy copies all of NumPy's namespace when it is first imported, and so loads parts of NumPy that
nobody here uses and that take longer than NumPy itself. While SciPy copies, these are hidden; who
wants one of them gets it from NumPy as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

UNUSED = {"char", "ctypeslib", "f2py", "ma", "polynomial", "rec", "testing"}


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


with _hidden(UNUSED):
    from scipy import sparse as sparse
    from scipy.sparse import csc_array as csc_array
    from scipy.sparse import csr_array as csr_array
    from scipy.sparse import vstack as vstack
