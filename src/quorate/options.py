"""Options, declared once: a dataclass field holds the default, the text and the bounds.

Help texts, documentation and the checks of given values all come from there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from inspect import get_annotations
from numbers import Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from quorate.card import Listing, card
from quorate.errors import UsageError, require_choice, require_number

T = TypeVar("T")
Bound = float | tuple[float, ...] | None


def option(
    default: T,
    doc: str,
    *,
    at_least: Bound = None,
    above: Bound = None,
    at_most: Bound = None,
    parts: tuple[str, ...] = (),
    only_with: Mapping[str, str] | None = None,
) -> T:
    """A dataclass field for an option.

    `parts` names the numbers of an option that is several, for each of which a bound may be given;
    `only_with` says what another option has to be for this one to have an effect.
    """
    metadata = {
        "doc": doc,
        "at_least": at_least,
        "above": above,
        "at_most": at_most,
        "parts": parts,
        "only_with": only_with or {},
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Option:
    """An option of a method: its type, default, text, and what values it can have."""

    name: str
    type: Any
    default: Any
    doc: str
    at_least: Bound = None
    above: Bound = None
    at_most: Bound = None
    parts: tuple[str, ...] = ()
    only_with: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The words that the option can be."""
        return tuple(
            word
            for kind in _kinds(self.type)
            if get_origin(kind) is Literal
            for word in get_args(kind)
        )

    @cached_property
    def is_number(self) -> bool:
        """Whether it can be a number."""
        return bool({int, float} & set(_kinds(self.type)))

    @cached_property
    def optional(self) -> bool:
        """Whether it can be None."""
        return NoneType in _kinds(self.type)

    def check(self, value: Any) -> None:
        """Refuse a value that the option cannot have, with one sentence."""
        if value is None and self.optional:
            return
        if self.parts:
            self._check_parts(value)
        elif self.is_number and self.choices and isinstance(value, str):
            if value not in self.choices:
                words = ", ".join(self.choices)
                raise UsageError(f"{self.name} is a number or {words}, not {value!r}.")
        elif self.is_number:
            self._check_number(value)
        elif self.choices:
            require_choice(self.name, value, self.choices)

    def _check_parts(self, values: Any) -> None:
        if not isinstance(values, (tuple, list)) or len(values) != len(self.parts):
            names = " and ".join(self.parts)
            count = {2: "two", 3: "three"}.get(len(self.parts), str(len(self.parts)))
            raise UsageError(f"{self.name} is the {count} numbers {names}, not {values!r}.")
        for place, value in enumerate(values):
            self._check_number(value, place)

    def _check_number(self, value: Any, place: int = 0) -> None:
        least, above, most = (_bound(b, place) for b in (self.at_least, self.above, self.at_most))
        number = isinstance(value, Real) and math.isfinite(value)
        if most is not None and not (number and (least or 0) <= value <= most):
            raise UsageError(
                f"{self.name} must be a number from {least or 0} to {most}, not {value!r}."
            )
        if above is not None and not (number and value > above):
            raise UsageError(f"{self.name} must be a number above {above}, not {value!r}.")
        if not number and least is None:
            raise UsageError(f"{self.name} must be a number, not {value!r}.")
        if least is not None:
            require_number(self.name, value, at_least=least)

    def has_effect(self, others: Mapping[str, Any]) -> bool:
        """Whether the option has an effect beside these others, as far as they are told."""
        return all(
            name not in others or (isinstance(others[name], str) and others[name] == needed)
            for name, needed in self.only_with.items()
        )


@dataclass(frozen=True, eq=False)
class Options:
    """A frozen dataclass whose fields made by `option` are checked when it is made."""

    def _repr_html_(self) -> str:
        options = options_of(type(self))  # type: ignore[arg-type]
        rows = [(name, str(getattr(self, name)), each.doc) for name, each in options.items()]
        listing = Listing("Options", ("option", "value", "what it is"), rows)
        first = (type(self).__doc__ or "").partition("\n\n")[0]
        facts = {"what it is": " ".join(first.split())}
        return card(type(self).__name__, facts, [listing] if rows else [])

    def __post_init__(self) -> None:
        options = options_of(type(self))  # type: ignore[arg-type]
        given = {name: getattr(self, name) for name in options}
        for name, each in options.items():
            each.check(given[name])
            changed = each.only_with and given[name] != each.default
            if changed and not each.has_effect(given):
                needed = " and ".join(f"{n} is {v}" for n, v in each.only_with.items())
                raise UsageError(f"{name} has an effect only where {needed}: leave it out.")


@cache
def options_of(kind: type[Options]) -> Mapping[str, Option]:
    """The options of a class by name, those that the class itself declares first.

    Examples:
        >>> from quorate.models import Majority
        >>> [option.name for option in options_of(Majority).values()]
        ['ties', 'seed']
    """
    types = get_type_hints(kind)
    declared = [name for cls in kind.__mro__ for name in get_annotations(cls)]
    known = {f.name: f for f in fields(kind) if "doc" in f.metadata}
    return {
        name: Option(name, types[name], known[name].default, **known[name].metadata)
        for name in dict.fromkeys(declared)
        if name in known
    }


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type there is."""
    is_union = get_origin(annotation) in (Union, UnionType)
    return get_args(annotation) if is_union else (annotation,)


def _bound(bound: Bound, place: int) -> float | None:
    return bound[place] if isinstance(bound, tuple) else bound
