"""Quorate turns many people's (or models') noisy labels into answers you can trust.

>>> import quorate
>>> votes = [("t1", "ann", "yes"), ("t1", "bob", "yes"), ("t1", "eve", "no"), ("t2", "ann", "no"),
...          ("t2", "bob", "no"), ("t2", "eve", "no"), ("t3", "ann", "yes"), ("t3", "bob", "yes")]
>>> quorate.aggregate(votes).labels["label"].to_list()
['yes', 'no', 'yes']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quorate.aggregation import aggregate as aggregate
    from quorate.aggregation import fit as fit
    from quorate.assignment import Assignment as Assignment
    from quorate.assignment import assign as assign
    from quorate.comparison import Comparison as Comparison
    from quorate.comparison import compare as compare
    from quorate.diagnosis.diagnosis import Diagnosis as Diagnosis
    from quorate.diagnosis.diagnosis import diagnose as diagnose
    from quorate.engines.disk import Disk as Disk
    from quorate.engines.ray import Ray as Ray
    from quorate.engines.threads import Threads as Threads
    from quorate.errors import DataError as DataError
    from quorate.errors import QuorateError as QuorateError
    from quorate.errors import UsageError as UsageError
    from quorate.estimation import Estimate as Estimate
    from quorate.estimation import estimate as estimate
    from quorate.heldout import weigh_features as weigh_features
    from quorate.judging import Panel as Panel
    from quorate.judging import panel as panel
    from quorate.labels import Codebook as Codebook
    from quorate.labels import Labels as Labels
    from quorate.models import EBCC as EBCC
    from quorate.models import GLAD as GLAD
    from quorate.models import IBCC as IBCC
    from quorate.models import IWMV as IWMV
    from quorate.models import KOS as KOS
    from quorate.models import M3V as M3V
    from quorate.models import MACE as MACE
    from quorate.models import Auto as Auto
    from quorate.models import DawidSkene as DawidSkene
    from quorate.models import EigenRatio as EigenRatio
    from quorate.models import GhoshSVD as GhoshSVD
    from quorate.models import Hierarchical as Hierarchical
    from quorate.models import Majority as Majority
    from quorate.models import NaiveBayes as NaiveBayes
    from quorate.models import OneCoin as OneCoin
    from quorate.models import OneCoinBayes as OneCoinBayes
    from quorate.models import Ordered as Ordered
    from quorate.models import Ordinal as Ordinal
    from quorate.models import RankOne as RankOne
    from quorate.models import Spectral as Spectral
    from quorate.models import SpectralEM as SpectralEM
    from quorate.models import Taught as Taught
    from quorate.models import TwoKinds as TwoKinds
    from quorate.models import methods as methods
    from quorate.multilabel import Multilabel as Multilabel
    from quorate.online import Online as Online
    from quorate.ranking import Ranking as Ranking
    from quorate.ranking import rank as rank
    from quorate.result import Result as Result
    from quorate.result import load as load
    from quorate.scoring import Scores as Scores
    from quorate.scoring import scores as scores
    from quorate.service.client import Client as Client
    from quorate.simulation.crowd import Crowd as Crowd
    from quorate.simulation.drawing import simulate as simulate
    from quorate.trust.correlated import Independence as Independence
    from quorate.trust.correlated import independence as independence
    from quorate.trust.explanation import Explanation as Explanation
    from quorate.votes import Votes as Votes
    from quorate.votes import questions as questions
    from quorate.votes import read_votes as read_votes

__version__ = "0.1.0"

# Where public names live. A module is imported when one of its names is first used, so that
# `import quorate` costs nothing.
_NAMES = {
    "quorate.aggregation": ("aggregate", "fit"),
    "quorate.assignment": ("Assignment", "assign"),
    "quorate.comparison": ("Comparison", "compare"),
    "quorate.diagnosis.diagnosis": ("Diagnosis", "diagnose"),
    "quorate.engines.disk": ("Disk",),
    "quorate.engines.ray": ("Ray",),
    "quorate.engines.threads": ("Threads",),
    "quorate.errors": ("DataError", "QuorateError", "UsageError"),
    "quorate.estimation": ("Estimate", "estimate"),
    "quorate.heldout": ("weigh_features",),
    "quorate.judging": ("Panel", "panel"),
    "quorate.labels": ("Codebook", "Labels"),
    "quorate.models": (
        "EBCC",
        "Auto",
        "DawidSkene",
        "EigenRatio",
        "GhoshSVD",
        "GLAD",
        "Hierarchical",
        "IBCC",
        "KOS",
        "MACE",
        "Majority",
        "M3V",
        "NaiveBayes",
        "OneCoin",
        "OneCoinBayes",
        "Ordered",
        "Ordinal",
        "RankOne",
        "IWMV",
        "Spectral",
        "SpectralEM",
        "Taught",
        "TwoKinds",
        "methods",
    ),
    "quorate.multilabel": ("Multilabel",),
    "quorate.online": ("Online",),
    "quorate.ranking": ("Ranking", "rank"),
    "quorate.result": ("Result", "load"),
    "quorate.service.client": ("Client",),
    "quorate.scoring": ("Scores", "scores"),
    "quorate.simulation.crowd": ("Crowd",),
    "quorate.simulation.drawing": ("simulate",),
    "quorate.trust.correlated": ("Independence", "independence"),
    "quorate.trust.explanation": ("Explanation",),
    "quorate.votes": ("Votes", "questions", "read_votes"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """A public name, from where it lives; or a model that was added to `quorate.models`."""
    home = _HOMES.get(name)
    if home is None and name[:1].isupper():
        models = import_module("quorate.models").MODELS
        if name in models:
            return models[name]
    if home is None:
        raise AttributeError(f"module 'quorate' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
