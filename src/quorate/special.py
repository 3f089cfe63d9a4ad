"""SciPy's special functions, without waiting for their docstrings.

SciPy takes the docstrings of these functions apart when they are first imported, to put a table of
array libraries into each, and that takes longer than loading the functions. Here the table is put
behind a docstring as it is. What somebody else has imported before stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Docstring:
    """A docstring with notes behind it, as far as SciPy asks for one."""

    def __init__(self, function: Any) -> None:
        self._text, self._notes = function.__doc__ or "", list[str]()

    def __getitem__(self, section: str) -> list[str]:
        return self._notes

    def __str__(self) -> str:
        signature = ""  # which SciPy cuts off
        return "\n".join([signature, self._text, *self._notes])


@contextmanager
def _docstrings_as_they_are() -> Iterator[None]:
    from scipy._lib import _array_api

    parsed = getattr(_array_api, "FunctionDoc", None)
    if parsed is None:  # another version of SciPy, which does it in another way or not at all
        yield
        return
    _array_api.FunctionDoc = _Docstring
    try:
        yield
    finally:
        _array_api.FunctionDoc = parsed


with _docstrings_as_they_are():
    from scipy.special import bdtr as bdtr
    from scipy.special import bdtrc as bdtrc
    from scipy.special import betainc as betainc
    from scipy.special import betaincinv as betaincinv
    from scipy.special import digamma as digamma
    from scipy.special import expit as expit
    from scipy.special import fdtri as fdtri
    from scipy.special import gammaln as gammaln
    from scipy.special import log_expit as log_expit
    from scipy.special import logit as logit
    from scipy.special import ndtr as ndtr
    from scipy.special import ndtri as ndtri
    from scipy.special import stdtrit as stdtrit
