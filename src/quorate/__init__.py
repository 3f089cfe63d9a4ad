"""Quorate turns many people's (or models') noisy labels into answers you can trust.

>>> import quorate
>>> votes = [("t1", "ann", "yes"), ("t1", "bob", "yes"), ("t1", "eve", "no"), ("t2", "ann", "no"),
...          ("t2", "bob", "no"), ("t2", "eve", "no"), ("t3", "ann", "yes"), ("t3", "bob", "yes")]
>>> quorate.aggregate(votes).labels["label"].to_list()
['yes', 'no', 'yes']
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.aggregation import aggregate
    from quorate.assignment import Assignment, next_tasks
    from quorate.comparison import Comparison, compare
    from quorate.diagnosis import Diagnosis, diagnose
    from quorate.errors import DataError, QuorateError, UsageError
    from quorate.aggregation import fit
    from quorate.heldout import weigh_features
    from quorate.labels import Codebook, Labels
    from quorate.large import LargeResult
    from quorate.models import (
        GLAD,
        IBCC,
        IWMV,
        KOS,
        M3V,
        MACE,
        Auto,
        DawidSkene,
        EigenRatio,
        GhoshSVD,
        Majority,
        NaiveBayes,
        OneCoin,
        Ordered,
        RankOne,
        SpectralEM,
        methods,
    )
    from quorate.multilabel import Multilabel
    from quorate.online import Online
    from quorate.result import Result, load
    from quorate.simulation import Crowd, simulate
    from quorate.trust.correlated import Independence, independence
    from quorate.votes import read_votes

__version__ = "0.1.0"

# Where each name lives; imported when first used, so that `import quorate` costs nothing.
_HOMES = {
    "Assignment": "quorate.assign",
    "aggregate": "quorate.aggregation",
    "Codebook": "quorate.labels",
    "Comparison": "quorate.compare",
    "Crowd": "quorate.simulate",
    "DataError": "quorate.errors",
    "DawidSkene": "quorate.models",
    "Diagnosis": "quorate.diagnose",
    "EigenRatio": "quorate.models",
    "GhoshSVD": "quorate.models",
    "GLAD": "quorate.models",
    "IBCC": "quorate.models",
    "Independence": "quorate.correlated",
    "KOS": "quorate.models",
    "Labels": "quorate.labels",
    "LargeResult": "quorate.large",
    "MACE": "quorate.models",
    "Auto": "quorate.models",
    "Majority": "quorate.models",
    "M3V": "quorate.models",
    "Multilabel": "quorate.multilabel",
    "NaiveBayes": "quorate.models",
    "OneCoin": "quorate.models",
    "Online": "quorate.online",
    "Ordered": "quorate.models",
    "QuorateError": "quorate.errors",
    "RankOne": "quorate.models",
    "Result": "quorate.result",
    "SpectralEM": "quorate.models",
    "UsageError": "quorate.errors",
    "IWMV": "quorate.models",
    "compare": "quorate.compare",
    "diagnose": "quorate.diagnose",
    "fit": "quorate.aggregation",
    "independence": "quorate.trust.correlated",
    "load": "quorate.result",
    "methods": "quorate.models",
    "next_tasks": "quorate.assign",
    "read_votes": "quorate.votes",
    "simulate": "quorate.simulation",
    "weigh_features": "quorate.heldout",
}

__all__ = [
    "GLAD",
    "IBCC",
    "IWMV",
    "KOS",
    "M3V",
    "MACE",
    "Assignment",
    "Auto",
    "Codebook",
    "Comparison",
    "Crowd",
    "DataError",
    "DawidSkene",
    "Diagnosis",
    "EigenRatio",
    "GhoshSVD",
    "Independence",
    "Labels",
    "LargeResult",
    "Majority",
    "Multilabel",
    "NaiveBayes",
    "OneCoin",
    "Online",
    "Ordered",
    "QuorateError",
    "RankOne",
    "Result",
    "SpectralEM",
    "UsageError",
    "__version__",
    "aggregate",
    "compare",
    "diagnose",
    "fit",
    "independence",
    "load",
    "methods",
    "next_tasks",
    "read_votes",
    "simulate",
    "weigh_features",
]


class _Package(ModuleType):
    """Imports each public name when it is first used. A function and the module it lives in may
    share a name (`fit` in `fit.py`): on the package, the name is the function's."""

    def __getattr__(self, name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'quorate' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return __all__


sys.modules[__name__].__class__ = _Package
