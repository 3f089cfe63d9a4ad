"""Arguments that nobody knows: refused, with the nearest that somebody does."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from quorate.errors import UsageError


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that is spelt most like this one, if one is at all.

    Examples:
        >>> nearest("glod", ["gold", "seed"])
        'gold'
    """
    from difflib import get_close_matches  # slow to import

    plain = {_plain(one): one for one in known}
    found = get_close_matches(_plain(name), list(plain), n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def refuse_unknown(function: str, given: Collection[str], known: Collection[str]) -> None:
    """Say of the first argument that is not known which one was meant."""
    for name in given:
        if name not in known:
            meant = nearest(name, known)
            advice = f"did you mean {meant!r}?" if meant else f"it has {', '.join(sorted(known))}."
            raise UsageError(f"{function} has no argument {name!r}: {advice}")


def some_of(given: Any, kind: Any) -> Any:
    """The entries of a dictionary that belong to one of its parts, a TypedDict."""
    return {name: given[name] for name in kind.__annotations__ if name in given}
