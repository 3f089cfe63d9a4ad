"""The methods by name: one algorithm, one file, with its entry in the table of methods inside it.

A new file here is all that a new method needs.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from quorate.errors import UsageError
from quorate.labels import Labels
from quorate.model import AnyModel, Method, Model
from quorate.models.given import Given as Given
from quorate.models.ordered import Ordered as Ordered
from quorate.models.taught import Taught as Taught
from quorate.options import Options, options_of

if TYPE_CHECKING:
    from quorate.models.auto import Auto as Auto
    from quorate.models.dawid_skene import DawidSkene as DawidSkene
    from quorate.models.ebcc import EBCC as EBCC
    from quorate.models.eigen_ratio import EigenRatio as EigenRatio
    from quorate.models.ghosh_svd import GhoshSVD as GhoshSVD
    from quorate.models.glad import GLAD as GLAD
    from quorate.models.hierarchical import Hierarchical as Hierarchical
    from quorate.models.ibcc import IBCC as IBCC
    from quorate.models.iwmv import IWMV as IWMV
    from quorate.models.kos import KOS as KOS
    from quorate.models.m3v import M3V as M3V
    from quorate.models.mace import MACE as MACE
    from quorate.models.majority import Majority as Majority
    from quorate.models.moments import Spectral as Spectral
    from quorate.models.naive_bayes import NaiveBayes as NaiveBayes
    from quorate.models.one_coin import OneCoin as OneCoin
    from quorate.models.one_coin_bayes import OneCoinBayes as OneCoinBayes
    from quorate.models.ordinal import Ordinal as Ordinal
    from quorate.models.rank_one import RankOne as RankOne
    from quorate.models.spectral import SpectralEM as SpectralEM
    from quorate.models.two_kinds import TwoKinds as TwoKinds

Entry = TypeVar("Entry")

ABBREVIATIONS = {"ds": "dawid-skene", "fds": "fast-dawid-skene", "mv": "majority"}


# Every file here, the default method's first; each may hold methods and classes of options.
FILES = sorted((f.name for f in pkgutil.iter_modules(__path__)), key=lambda f: (f != "auto", f))


class _Table(Mapping[str, Entry]):
    """What the files here hold, by name. One that has its file's name is found without importing
    the others, so that a command that runs one method does not wait for all."""

    def __init__(self, entries: Callable[[str], Mapping[str, Entry]]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> Entry:
        plain = name.replace("-", "").lower()
        for file in FILES:
            if file.replace("_", "") == plain and name in (entries := self._entries(file)):
                return entries[name]
        return self._all[name]

    @cached_property
    def _all(self) -> dict[str, Entry]:
        return {name: entry for file in FILES for name, entry in self._entries(file).items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def _methods_in(file: str) -> dict[str, Method]:
    module = import_module(f"{__name__}.{file}")
    return {method.name: method for method in getattr(module, "METHODS", ())}


def _classes_in(file: str) -> dict[str, type[Any]]:
    module = import_module(f"{__name__}.{file}")
    return {name: kind for name, kind in vars(module).items() if _is_own_options(kind, module)}


def _is_own_options(value: Any, module: ModuleType) -> bool:
    """Whether this is a class of options that the module defines."""
    own = isinstance(value, type) and value.__module__ == module.__name__
    return own and issubclass(value, Options) and not inspect.isabstract(value)


METHODS: Mapping[str, Method] = _Table(_methods_in)

# Every class of options there is, by its name in a saved result; all can be imported from here.
MODELS: Mapping[str, type[Any]] = _Table(_classes_in)


def __getattr__(name: str) -> Any:
    if name[:1].isupper() and name in MODELS:
        return MODELS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def methods() -> list[Method]:
    """Every method, with its paper.

    Examples:
        >>> methods()[0].name
        'auto'
    """
    return list(METHODS.values())


def method_named(name: str) -> Method:
    """The entry of a method in the table, by its exact name."""
    if name not in METHODS:
        meant = _meant(name)
        hint = f" (did you mean {meant}?)" if meant else ""
        raise UsageError(
            f"There is no method {name!r}{hint}: the methods are {', '.join(METHODS)}."
        )
    return METHODS[name]


def _meant(name: str) -> str | None:
    """The method that a misspelt name is nearest to."""
    folded = str(name).strip().lower().replace("_", "-").replace(" ", "-")
    plain = {known.replace("-", ""): known for known in METHODS}
    near = get_close_matches(folded.replace("-", ""), plain, n=1, cutoff=0.7)
    return ABBREVIATIONS.get(folded) or (plain[near[0]] if near else None)


def make(name: str, **options: Any) -> AnyModel:
    """The model of that name, with these options.

    Examples:
        >>> make("hybrid", tol=1e-4).harden
        'settled'
    """
    method = method_named(name)
    _require_options(name, options, tuple(method.options))
    return method.model(**{**method.settings, **method.defaults, **options})


def _require_options(name: str, options: Iterable[str], known: tuple[str, ...]) -> None:
    """Refuse an option that a method does not have: what it was meant to be, what there is, and
    which methods have it."""
    option = next((option for option in options if option not in known), None)
    if option is None:
        return
    able = [method for method in METHODS if option in METHODS[method].options]
    near = [] if able else get_close_matches(option, known, n=1, cutoff=0.7)
    meant = f" (did you mean {near[0]}?)" if near else ""
    have = f"; {', '.join(able)} {'has' if len(able) == 1 else 'have'} it" if able else ""
    there = f"its options are {', '.join(known)}" if known else "it has no options"
    raise UsageError(f"{name} has no option {option!r}{meant}: {there}{have}.")


def named(method: str | AnyModel | Callable[[Labels], Any], **options: Any) -> AnyModel:
    """The model that is meant by a name, a model, or a function from labels to a posterior; with
    these options in place of its own.

    Examples:
        >>> named("one-coin", smoothing=1.0).smoothing
        1.0
        >>> named(make("hybrid"), tol=0.5).tol
        0.5
    """
    if isinstance(method, str):
        return make(method, **options)
    if isinstance(method, type) and issubclass(method, Model):
        method = method()
    model = method if isinstance(method, Model) else Given(method)
    _require_options(method_name(model), options, tuple(options_of(type(model))))
    return replace(model, **options) if options else model


def method_name(model: AnyModel) -> str:
    """The name of the method that a model is.

    Examples:
        >>> method_name(make("fast-dawid-skene")), method_name(Ordered(make("kos")))
        ('fast-dawid-skene', 'kos, ordered')
    """
    if isinstance(model, Taught):
        return method_name(model.model)
    if isinstance(model, Ordered):
        return f"{method_name(model.model)}, ordered"
    if isinstance(model, Given):
        return getattr(model.function, "__name__", type(model.function).__name__)
    given = {f.name: getattr(model, f.name) for f in fields(model)}
    package, _, file = type(model).__module__.rpartition(".")
    for method in _methods_in(file).values() if package == __name__ else ():
        if method.model is type(model) and method.settings.items() <= given.items():
            return method.name
    return type(model).__name__
