"""The two ways a call can fail, each with one sentence that says what, where and what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from numbers import Real
from typing import Any

USER_INFO = re.compile(r"(://)[^/\s]*@|(postgres(?:ql)?(?:\+\w+)?://)\S*@", re.I)
SECRET = re.compile(
    r"([?&][^=&\s]*(?:sig|token|key|pass|pwd|secret|credential|auth)[^=&\s]*=)[^&\s'\")]*", re.I
)


def masked(text: str) -> str:
    """The text without the passwords, signatures and keys of the addresses in it.

    Examples:
        >>> masked("http://me:pw@host/v.csv?part=1&X-Amz-Signature=1f3a is not there.")
        'http://***@host/v.csv?part=1&X-Amz-Signature=*** is not there.'
    """
    return SECRET.sub(r"\1***", USER_INFO.sub(r"\1\2***@", text)) if "://" in text else text


def printable(text: str) -> str:
    """The text with everything escaped that a terminal would obey and not show: control characters
    other than the end of a line, and marks that turn the direction of writing.

    Examples:
        >>> printable("\x1b[2J\u202eevil")
        '\\\\x1b[2J\\\\u202eevil'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


class QuorateError(ValueError):
    """Base class of all errors that Quorate raises on purpose. Secrets in addresses are masked."""

    exit_code = 1

    def __init__(self, sentence: str = "") -> None:
        super().__init__(masked(sentence))


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
