"""What an attack is, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

Outcomes = Iterator[str | None]


@dataclass(frozen=True)
class Attack:
    """A way to break something, tried with one seed after the other.

    A trial is given a seed and an empty directory, and yields for each thing that it has tried what
    failed, or None if it held. What it raises has failed too. `often` is how many things a full run
    tries, as far as its time allows; attacks that take long are left out of short runs.
    """

    name: str
    about: str
    trial: Callable[[int, Path], Outcomes]
    often: int
    long: bool = False
    patience: float = 120.0  # seconds, for one trial


class FailureError(Exception):
    """What did not hold, in a sentence."""


def require(held: bool, sentence: str) -> None:
    if not held:
        raise FailureError(sentence)
