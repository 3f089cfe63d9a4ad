"""What a request can be refused for, each with the status that HTTP has for it."""

from __future__ import annotations

from quorate.errors import DataError, QuorateError, UsageError


class MissingError(QuorateError):
    """What was asked for is not there."""


class ConflictError(QuorateError):
    """It contradicts what is there already."""


class ForbiddenError(QuorateError):
    """Whoever asks may not do this."""


class UnknownCallerError(QuorateError):
    """Nobody knows who asks."""


class TooLargeError(QuorateError):
    """There is more of it than is taken at once."""


class TooOftenError(QuorateError):
    """It is asked for more often than is answered; `seconds` later it is."""

    def __init__(self, sentence: str, seconds: float) -> None:
        super().__init__(sentence)
        self.seconds = seconds


class UnavailableError(QuorateError):
    """It cannot be done now, and may be later: nothing has changed."""


class RepeatedError(UnavailableError):
    """A row under its number or key is there already."""


STATUS: dict[type[QuorateError], int] = {
    MissingError: 404,
    ConflictError: 409,
    ForbiddenError: 403,
    UnknownCallerError: 401,
    TooLargeError: 413,
    TooOftenError: 429,
    UnavailableError: 503,
    DataError: 422,
    UsageError: 422,
    QuorateError: 422,
}


def status_of(error: QuorateError) -> int:
    """The status of the nearest kind of error that has one."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
