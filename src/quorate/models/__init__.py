"""The methods by name: one algorithm, one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from quorate.errors import UsageError
from quorate.model import STARTS, Model, Start
from quorate.models import spectral
from quorate.models.auto import Auto
from quorate.models.dawid_skene import DawidSkene
from quorate.models.eigen_ratio import EigenRatio
from quorate.models.glad import Glad
from quorate.models.ibcc import Ibcc
from quorate.models.kos import Kos
from quorate.models.mace import Mace
from quorate.models.majority import Majority
from quorate.models.max_margin import MaxMargin
from quorate.models.naive_bayes import NaiveBayes
from quorate.models.one_coin import OneCoin
from quorate.models.ordered import Ordered
from quorate.models.rank_one import RankOne
from quorate.models.svd import GhoshSVD
from quorate.models.weighted_vote import WeightedVote

__all__ = [
    "METHODS",
    "MODELS",
    "Auto",
    "DawidSkene",
    "EigenRatio",
    "GhoshSVD",
    "Glad",
    "Ibcc",
    "Kos",
    "Mace",
    "Majority",
    "MaxMargin",
    "Method",
    "NaiveBayes",
    "OneCoin",
    "Ordered",
    "RankOne",
    "WeightedVote",
    "default_method",
    "make",
    "method_named",
    "methods",
]

STARTS["spectral"] = Start(spectral.gather, spectral.solve)


@dataclass(frozen=True)
class Method:
    """A model with the settings that give it its name, and the defaults that go with them."""

    name: str
    summary: str
    paper: str
    model: type[Any]
    settings: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """What the method can be told, beyond what makes it what it is."""
        return tuple(f.name for f in fields(self.model) if f.name not in self.settings)

    @property
    def two_classes_only(self) -> bool:
        return getattr(self.model, "two_classes_only", False)

    @property
    def weighs_votes(self) -> bool:
        """Whether a vote may count for more or less than 1."""
        return getattr(self.model, "weighs_votes", False)


_DAWID_SKENE = (
    "Dawid and Skene, Maximum Likelihood Estimation of Observer Error-Rates Using the EM"
    " Algorithm (1979)"
)
_FAST = (
    "Sinha, Rao and Balasubramanian, Fast Dawid-Skene: A Fast Vote Aggregation Scheme for"
    " Sentiment Classification (2018)"
)
_SPECTRAL = (
    "Zhang, Chen, Zhou and Jordan, Spectral Methods Meet EM: A Provably Optimal Algorithm for"
    " Crowdsourcing (2014)"
)
_GHOSH = (
    "Ghosh, Kale and McAfee, Who Moderates the Moderators? Crowdsourcing Abuse Detection in"
    " User-Generated Content (2011)"
)
_DALVI = "Dalvi, Dasgupta, Kumar and Rastogi, Aggregating Crowdsourced Binary Ratings (2013)"
_KARGER = (
    "Karger, Oh and Shah, Iterative Learning for Reliable Crowdsourcing Systems (2011), and"
    " Efficient Crowdsourcing for Multi-class Labeling (2013)"
)
_FEATURES = "Jin and Zhang, Multiple Experts with Binary Features (2010)"
_RANK_ONE = (
    "Ma, Olshevsky, Saligrama and Szepesvari, Gradient Descent for Sparse Rank-One Matrix"
    " Completion for Crowd-sourced Aggregation of Sparsely Interacting Workers (2018)"
)
_WEIGHTED_VOTE = (
    "Li and Yu, Error Rate Bounds and Iterative Weighted Majority Voting for Crowdsourcing (2014)"
)
_MAX_MARGIN = "Tian and Zhu, Max-Margin Majority Voting for Learning from Crowds (2015)"
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
        Method(
            "auto",
            "The vote, Dawid-Skene and MACE, weighed by the votes each foretells; the default.",
            "-",
            Auto,
            {},
        ),
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
            "spectral",
            "Dawid-Skene from confusion matrices found by moments, with even classes.",
            _SPECTRAL,
            DawidSkene,
            {"harden": "never", "init": "spectral"},
            {"prior": "uniform", "zeros": "skip"},
        ),
        Method(
            "one-coin",
            "One accuracy for each worker, with an optional (shifted) beta prior.",
            _ADAPTIVE,
            OneCoin,
            {"harden": "never"},
        ),
        Method(
            "ghosh-svd",
            "Two classes: the sign of the votes' leading singular vector.",
            _GHOSH,
            GhoshSVD,
            {},
        ),
        Method(
            "eigen-ratio",
            "Two classes: votes weighted by a ratio of eigenvectors.",
            _DALVI,
            EigenRatio,
            {},
        ),
        Method(
            "kos",
            "Messages between tasks and workers; a question for each threshold between classes.",
            _KARGER,
            Kos,
            {},
        ),
        Method(
            "naive-bayes",
            "Dawid-Skene that learns from the tasks' binary features too: also a classifier.",
            _FEATURES,
            NaiveBayes,
            {"harden": "never"},
        ),
        Method(
            "rank-one",
            "Skills from how often workers agree with each other, by rank-one completion.",
            _RANK_ONE,
            RankOne,
            {},
        ),
        Method(
            "iwmv",
            "Votes weighted by how often each worker agrees with the answers, again and again.",
            _WEIGHTED_VOTE,
            WeightedVote,
            {},
        ),
        Method(
            "m3v",
            "Weights under which the answers win by a margin.",
            _MAX_MARGIN,
            MaxMargin,
            {},
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


# Every kind of model there is, by its name in a saved result.
MODELS: Mapping[str, type[Any]] = {
    "Ordered": Ordered,
    **{method.model.__name__: method.model for method in METHODS.values()},
}


def method_named(name: str) -> Method:
    if name not in METHODS:
        raise UsageError(f"There is no method {name!r}: the methods are {', '.join(METHODS)}.")
    return METHODS[name]


def default_method(options: Iterable[str], features: bool = False) -> str:
    """Auto; but naive Bayes of tasks that have features, and Dawid-Skene when it is told what only
    that can be told, such as workers' histories.

    Examples:
        >>> default_method(["seed"]), default_method(["worker_prior"])
        ('auto', 'dawid-skene')
    """
    if features:
        return "naive-bayes"
    rich, plain = (set(METHODS[name].options) for name in ("dawid-skene", "auto"))
    return "dawid-skene" if (rich - plain) & set(options) else "auto"


def discounts(asked: bool | None, method: str) -> bool:
    """Whether workers are looked for whose errors move together, who then count for less."""
    return method == "auto" if asked is None else asked


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
    return build(**method.settings, **{**method.defaults, **options})


def methods() -> list[Method]:
    """Every method, with its paper.

    Examples:
        >>> methods()[0].name
        'auto'
    """
    return list(METHODS.values())


# SHIM until the models branch is merged
for _m in set(MODELS.values()):
    for _a, _v in (("learns_from_features", _m is NaiveBayes), ("in_memory_only", False)):
        setattr(_m, _a, _v)
    if not hasattr(_m, "weighs_votes"):
        _m.weighs_votes = False


def named(method: Any, **options: Any) -> Any:
    if isinstance(method, str):
        return make(method, **options)
    from dataclasses import replace

    return replace(method, **options) if options else method


def method_name(model: Any) -> str:
    if isinstance(model, Ordered):
        return f"{method_name(model.model)}, ordered"
    fits = [
        m.name
        for m in METHODS.values()
        if m.model is type(model)
        and all(getattr(model, k) == v for k, v in m.settings.items() if isinstance(v, str))
    ]
    return fits[0] if fits else type(model).__name__
