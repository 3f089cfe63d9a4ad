"""A method's own options from the command line: text becomes a value by the option's type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from quorate.arguments import nearest
from quorate.errors import UsageError

if TYPE_CHECKING:
    from quorate.options import Option

NUMBERS: Mapping[int, str] = {2: "two", 3: "three"}
TRUTH = {"yes": True, "true": True, "no": False, "false": False}


def methods_with(name: str) -> list[str]:
    """The methods that have an option of that name."""
    from quorate.models import METHODS

    return [method.name for method in METHODS.values() if name in method.options]


def settings_of(method: str, given: Sequence[str]) -> dict[str, Any]:
    """The values of options that were given as name=value."""
    settings: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"--set takes name=value, such as --set ties=first; not {text!r}.")
        if name in settings:
            raise UsageError(f"{name} is set twice: give it once.")
        settings[name] = parse(_option(method, name), value.strip())
    return settings


def _option(method: str, name: str) -> Option:
    """The option of a method, or a sentence that says which it has and who has that one."""
    from quorate.models import METHODS

    options = METHODS[method].options
    if name in options:
        return options[name]
    owners, meant = methods_with(name), nearest(name, options)
    advice = f"its options are {', '.join(options)}."
    if owners:
        advice = f"{', '.join(owners)} {'has' if len(owners) == 1 else 'have'} it."
    elif meant:
        advice = f"did you mean {meant}?"
    raise UsageError(f"{method} has no option {name!r}: {advice}")


def parse(option: Option, text: str) -> Any:
    """The value that a text stands for.

    Examples:
        >>> from quorate.models import METHODS
        >>> parse(METHODS["one-coin"].options["beta"], "4,2")
        (4.0, 2.0)
    """
    kinds = kinds_of(option.type)
    if NoneType in kinds and text.lower() == "none":
        return None
    if text in option.choices:
        return text
    readers = [reader for kind in kinds for reader in _readers(kind)]
    for read in readers:
        try:
            return read(text)
        except (ValueError, KeyError):
            continue
    raise UsageError(f"{option.name} is {values(option)}, not {text!r}.")


def _readers(kind: Any) -> list[Callable[[str], Any]]:
    """How a text is read as a value of that type: numbers, several of them, or as it is."""
    if kind in (int, float):
        return [kind]
    if kind is bool:
        return [lambda text: TRUTH[text.lower()]]
    if get_origin(kind) is tuple:
        return [lambda text: _numbers(text, get_args(kind))]
    if kind is NoneType or get_origin(kind) is Literal:
        return []
    return [str]


def _numbers(text: str, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    parts = text.split(",")
    return tuple(kind(part) for kind, part in zip(kinds, parts, strict=True))


def kinds_of(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type there is."""
    is_union = get_origin(annotation) in (Union, UnionType)
    return get_args(annotation) if is_union else (annotation,)


def values(option: Option) -> str:
    """What an option can be, in words, with its bounds.

    Examples:
        >>> from quorate.models import METHODS
        >>> values(METHODS["one-coin"].options["beta"])
        'two numbers above 0 such as 4,2, or none'
    """
    kinds, words = kinds_of(option.type), list(option.choices)
    said = []
    for kind in kinds:
        if kind in (int, float):
            number = "a whole number" if kind is int else "a number"
            said.append(f"{number}{bounds(option)}")
        elif get_origin(kind) is tuple:
            count = NUMBERS.get(len(get_args(kind)), str(len(get_args(kind))))
            said.append(f"{count} numbers{bounds(option)} such as 4,2")
        elif kind is bool:
            said.append("yes or no")
    if words:
        said.append(f"one of {', '.join(words)}" if len(words) > 1 else words[0])
    if NoneType in kinds and said:
        said[-1] += ","
        said.append("none")
    return " or ".join(said) or "text"


def bounds(option: Option) -> str:
    """The bounds of a number, in words."""
    limits = (
        ("of at least", option.at_least),
        ("above", option.above),
        ("of at most", option.at_most),
    )
    # Of several numbers each may have bounds of its own, which the method tells.
    parts = [f"{word} {limit:g}" for word, limit in limits if isinstance(limit, (int, float))]
    return f" {' and '.join(parts)}" if parts else ""
