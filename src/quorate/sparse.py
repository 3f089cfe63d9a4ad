"""SciPy's sparse arrays, without what they load in vain.

SciPy copies all of NumPy's namespace when it is first imported, and so loads `numpy.f2py` and
`numpy.testing`, which nobody here uses and which take longer than NumPy itself. They are put off
until somebody does, so that a command has started before they would have been loaded.
"""

from __future__ import annotations

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec

import numpy as np


def _put_off(name: str) -> None:
    """Load a part of NumPy when it is first used, not when it is first named."""
    full = f"numpy.{name}"
    spec = None if full in sys.modules else find_spec(full)
    if spec is None or spec.loader is None:
        return
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[full] = module
    spec.loader.exec_module(module)
    setattr(np, name, module)


_put_off("f2py")
_put_off("testing")

from scipy import sparse as sparse  # noqa: E402
from scipy.sparse import csc_array as csc_array  # noqa: E402
from scipy.sparse import csr_array as csr_array  # noqa: E402
from scipy.sparse import vstack as vstack  # noqa: E402
