"""Cards: what an object shows of itself in a notebook, as a little HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

LONGEST, MOST_ROWS = 80, 12  # letters of a cell, and rows of a table
STYLE = (
    "<style>.quorate-card{font:13px/1.45 system-ui,sans-serif;max-width:720px;color:inherit}"
    ".quorate-card table{border-collapse:collapse;margin:6px 0;background:transparent;font:inherit}"
    ".quorate-card th,.quorate-card td{padding:1px 14px 1px 0;text-align:left;vertical-align:top;"
    "border:0;background:transparent}.quorate-card th{font-weight:600;opacity:.7}"
    ".quorate-card td.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".quorate-card .soft{opacity:.7}.quorate-card .bar{display:inline-block;width:80px;height:8px;"
    "border-radius:2px;background:rgba(128,128,128,.25);margin-right:6px}"
    ".quorate-card .bar i{display:block;height:8px;border-radius:2px;background:#3b82d0}</style>"
)


class Share(NamedTuple):
    """A share that is drawn as a bar beside its number."""

    value: float


class Listing(NamedTuple):
    """A small table; of more rows than `MOST_ROWS` the first are shown, and how many there are."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def card(
    title: str,
    facts: Mapping[str, str],
    listings: Iterable[Listing] = (),
    notes: Iterable[str] = (),
) -> str:
    """The HTML of a card.

    Examples:
        >>> "<td>&lt;b&gt;</td>" in card("Votes", {"label": "<b>"})
        True
    """
    rows = "".join(
        f"<tr><th>{_text(name)}</th><td>{_text(v)}</td></tr>" for name, v in facts.items()
    )
    below = "".join(f'<div class="soft">Note: {_text(note, 400)}</div>' for note in notes)
    tables = "".join(map(_table, listings))
    return (
        f'{STYLE}<div class="quorate-card"><b>{_text(title)}</b><table>{rows}</table>'
        f"{tables}{below}</div>"
    )


def _table(listing: Listing) -> str:
    heads = "".join(f"<th>{_text(name)}</th>" for name in listing.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in listing.rows[:MOST_ROWS])
    left = len(listing.rows) - MOST_ROWS
    more = f'<div class="soft">and {left:,} more</div>' if left > 0 else ""
    return f"<b>{_text(listing.title)}</b><table><tr>{heads}</tr>{body}</table>{more}"


def _cell(value: Any) -> str:
    if isinstance(value, Share):
        width = 100 * min(max(value.value, 0.0), 1.0)
        bar = f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'
        return f'<td class="n">{bar}{value.value:.1%}</td>'
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"<td>{_text(value)}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
    return f'<td class="n">{shown}</td>'


def _text(value: Any, longest: int = LONGEST) -> str:
    text = "" if value is None else str(value)
    return escape(text if len(text) <= longest else f"{text[: longest - 1]}…")
