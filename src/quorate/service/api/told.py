"""What is wrong with a request, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def sentence_of(errors: Sequence[Any]) -> str:
    """The first thing that is wrong, and how many more there are."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    message = str(first["msg"]).removeprefix("Value error, ")
    sentence = f"{place}: {message}." if place else f"{message}."
    more = len(errors) - 1
    if more:
        sentence += f" There {'is' if more == 1 else 'are'} {more} more such."
    return sentence.replace("..", ".")
