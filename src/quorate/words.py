"""Words that go with a number."""

from __future__ import annotations


def count(n: int, what: str) -> str:
    """So many of something.

    Examples:
        >>> count(1, "task"), count(1200, "task")
        ('1 task', '1,200 tasks')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def does(n: int, one: str, several: str) -> str:
    """The verb that goes with the number.

    Examples:
        >>> does(1, "is", "are")
        'is'
    """
    return one if n == 1 else several
