"""The two ways a call can fail, each with one sentence that says what, where and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any


class QuorateError(ValueError):
    """Base class of all errors that Quorate raises on purpose."""

    exit_code = 1


class DataError(QuorateError):
    """The votes (or another table) are wrong."""


class UsageError(QuorateError):
    """The call is wrong: an unknown method, an option out of range."""

    exit_code = 2


def require_choice(option: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UsageError(f"{option} is one of {', '.join(choices)}, not {value!r}.")


def require_number(option: str, value: float, at_least: float) -> None:
    if not (isinstance(value, Real) and math.isfinite(value) and value >= at_least):
        raise UsageError(f"{option} must be a number of at least {at_least}, not {value!r}.")


def require_probability(option: str, value: float) -> None:
    if not (isinstance(value, Real) and 0 <= value <= 1):
        raise UsageError(f"{option} is a probability, not {value!r}.")


def require_shape(option: str, value: Any, shape: tuple[int, ...]) -> None:
    if value.shape != shape:
        raise UsageError(f"{option} has the shape {value.shape}; these votes need {shape}.")
