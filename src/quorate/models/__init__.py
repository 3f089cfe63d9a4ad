"""The methods by name: one algorithm, one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from quorate.errors import UsageError
from quorate.model import Model
from quorate.models.dawid_skene import DawidSkene
from quorate.models.glad import Glad
from quorate.models.ibcc import Ibcc
from quorate.models.mace import Mace
from quorate.models.majority import Majority
from quorate.models.one_coin import OneCoin

__all__ = [
    "METHODS",
    "MODELS",
    "DawidSkene",
    "Glad",
    "Ibcc",
    "Mace",
    "Majority",
    "Method",
    "OneCoin",
    "make",
    "method_named",
    "methods",
]


@dataclass(frozen=True)
class Method:
    """A model with the settings that give it its name."""

    name: str
    summary: str
    paper: str
    model: type[Any]
    settings: Mapping[str, Any]

    @property
    def options(self) -> tuple[str, ...]:
        """What the method can be told, beyond what makes it what it is."""
        return tuple(f.name for f in fields(self.model) if f.name not in self.settings)


_DAWID_SKENE = (
    "Dawid and Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM"
    " Algorithm (1979)"
)
_FAST = (
    "Sinha, Rao and Balasubramanian, Fast Dawid-Skene: A Fast Vote Aggregation Scheme for"
    " Sentiment Classification (2018)"
)
_MACE = "Hovy, Berg-Kirkpatrick, Vaswani and Hovy, Learning Whom to Trust with MACE (2013)"
_GLAD = (
    "Whitehill, Ruvolo, Wu, Bergsma and Movellan, Whose Vote Should Count More: Optimal Integration"
    " of Labels from Labelers of Unknown Expertise (2009)"
)
_IBCC = "Kim and Ghahramani, Bayesian Classifier Combination (2012)"
_ADAPTIVE = "Maginnis and Gupta, Adaptive Crowdsourcing via EM with Prior (2015)"

METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("majority", "The class most workers named.", "-", Majority, {}),
        Method(
            "dawid-skene",
            "A confusion matrix for each worker, by soft EM.",
            _DAWID_SKENE,
            DawidSkene,
            {"harden": "never"},
        ),
        Method(
            "fast-dawid-skene",
            "Dawid-Skene with hard answers at every step: fewer iterations.",
            _FAST,
            DawidSkene,
            {"harden": "always"},
        ),
        Method(
            "hybrid",
            "Dawid-Skene until the class shares settle, then hard answers.",
            _FAST,
            DawidSkene,
            {"harden": "settled"},
        ),
        Method(
            "one-coin",
            "One accuracy for each worker, with an optional (shifted) beta prior.",
            _ADAPTIVE,
            OneCoin,
            {"harden": "never"},
        ),
        Method(
            "mace",
            "Each worker knows the truth or spams in an own way; variational Bayes.",
            _MACE,
            Mace,
            {"harden": "never", "smoothing": 0.0, "zeros": "exclude", "switch_at": 0.0},
        ),
        Method(
            "ibcc",
            "Dawid-Skene with a belief about every confusion matrix; variational Bayes.",
            _IBCC,
            Ibcc,
            {"harden": "never", "zeros": "exclude", "switch_at": 0.0},
        ),
        Method("glad", "An ability for each worker, a difficulty for each task.", _GLAD, Glad, {}),
    )
}


MODELS: Mapping[str, type[Any]] = {m.model.__name__: m.model for m in METHODS.values()}


def method_named(name: str) -> Method:
    if name not in METHODS:
        raise UsageError(f"There is no method {name!r}: the methods are {', '.join(METHODS)}.")
    return METHODS[name]


def make(name: str, **options: Any) -> Model:
    """The model of that name, with options in codes.

    Examples:
        >>> make("hybrid", tol=1e-4).harden
        'settled'
    """
    method = method_named(name)
    for option in options:
        if option not in method.options:
            raise UsageError(
                f"{name} has no option {option!r}: its options are {', '.join(method.options)}."
            )
    build: Callable[..., Model] = method.model
    return build(**method.settings, **options)


def methods() -> list[Method]:
    """Every method, with its paper.

    Examples:
        >>> methods()[0].name
        'majority'
    """
    return list(METHODS.values())
