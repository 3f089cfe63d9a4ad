"""Quorate turns many people's (or models') noisy labels into answers you can trust.

>>> import quorate
>>> votes = [("t1", "ann", "yes"), ("t1", "bob", "yes"), ("t1", "eve", "no"), ("t2", "ann", "no"),
...          ("t2", "bob", "no"), ("t2", "eve", "no"), ("t3", "ann", "yes"), ("t3", "bob", "yes")]
>>> quorate.aggregate(votes, smoothing=0.1).labels["label"].to_list()
['yes', 'no', 'yes']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.aggregate import aggregate
    from quorate.errors import DataError, QuorateError, UsageError
    from quorate.fit import fit
    from quorate.io import read_votes
    from quorate.labels import Codebook, Labels
    from quorate.models import DawidSkene, Majority, OneCoin, methods
    from quorate.result import Result, load
    from quorate.simulate import simulate

__version__ = "0.1.0"

# Where each name lives; imported when first used, so that `import quorate` costs nothing.
_HOMES = {
    "aggregate": "quorate.aggregate",
    "Codebook": "quorate.labels",
    "DataError": "quorate.errors",
    "DawidSkene": "quorate.models",
    "Labels": "quorate.labels",
    "Majority": "quorate.models",
    "OneCoin": "quorate.models",
    "QuorateError": "quorate.errors",
    "Result": "quorate.result",
    "UsageError": "quorate.errors",
    "fit": "quorate.fit",
    "load": "quorate.result",
    "methods": "quorate.models",
    "read_votes": "quorate.io",
    "simulate": "quorate.simulate",
}

__all__ = [
    "Codebook",
    "DataError",
    "DawidSkene",
    "Labels",
    "Majority",
    "OneCoin",
    "QuorateError",
    "Result",
    "UsageError",
    "__version__",
    "aggregate",
    "fit",
    "load",
    "methods",
    "read_votes",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'quorate' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
