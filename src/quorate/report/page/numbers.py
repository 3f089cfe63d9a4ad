"""Numbers and names as a page shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from quorate.errors import printable

NOTHING = "\N{EN DASH}"
LONGEST, IN_A_LIST = 120, 40  # letters of a name that are shown; all are in its title
MINUS = "\N{MINUS SIGN}"


def share(value: float | None) -> str:
    """A share in per cent.

    Examples:
        >>> share(0.1234), share(None) == NOTHING
        ('12.3%', True)
    """
    return NOTHING if value is None else f"{value:.1%}"


def fine_share(value: float | None) -> str:
    """A small share in per cent, with one more digit."""
    return NOTHING if value is None else f"{value:.2%}"


def whole_share(value: float | None) -> str:
    """A share in per cent without decimals."""
    return NOTHING if value is None else f"{value:.0%}"


def number(value: float | None) -> str:
    """A number with as many digits as are worth reading.

    Examples:
        >>> number(1234), number(12.34)
        ('1,234', '12.3')
    """
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def count(value: float | None) -> str:
    """An expected number, as a whole one."""
    return NOTHING if value is None else f"{value:,.0f}"


def two_digits(value: float | None) -> str:
    """A number such as Krippendorff's alpha."""
    return NOTHING if value is None else f"{value:.2f}".replace("-", MINUS)


def signed(value: float | None) -> str:
    """A number with its sign.

    Examples:
        >>> signed(1.26), signed(-3) == f"{MINUS}3.0"
        ('+1.3', True)
    """
    return NOTHING if value is None else f"{value:+.1f}".replace("-", MINUS)


def signed_share(value: float | None) -> str:
    """A difference of shares in per cent."""
    return NOTHING if value is None else f"{value:+.1%}".replace("-", MINUS)


FORMS: Mapping[str, Callable[[Any], str]] = {
    "share": share,
    "fine_share": fine_share,
    "whole_share": whole_share,
    "number": number,
    "count": count,
    "two_digits": two_digits,
    "signed": signed,
    "signed_share": signed_share,
    "text": str,
}


def raw(value: Any) -> str:
    """A value as files have it: six digits, and nothing for nothing."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def name_html(name: Any, longest: int = LONGEST) -> str:
    """A name that is shown and never run, whichever way it is written and however long it is."""
    text = printable(str(name))
    if len(text) <= longest:
        return f"<bdi>{escape(text)}</bdi>"
    return f'<bdi title="{escape(text)}">{escape(text[: longest - 1])}…</bdi>'


def code_html(text: str) -> str:
    """A sentence of ours in which `commands` stand between backticks.

    Examples:
        >>> code_html("Try `a < b`.")
        'Try <code>a &lt; b</code>.'
    """
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def slug(name: Any) -> str:
    """A name as the end of an address in the page; different names have different ones."""
    return quote(str(name), safe="")
