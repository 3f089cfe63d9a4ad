"""Cards: what an object shows of itself in a notebook, as a little HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

LONGEST, SENTENCE, MOST_ROWS = 80, 300, 12  # letters of a name and a sentence, rows of a table
# Colours of the notebook itself, so that a card is readable in light and dark alike.
STYLE = (
    "<style>.quorate-card{font:13px/1.45 system-ui,-apple-system,sans-serif;max-width:860px;"
    "color:inherit;padding:2px 0}.quorate-card .title{font-size:15px;font-weight:650;"
    "margin-bottom:6px}.quorate-card .facts{display:flex;flex-wrap:wrap;gap:6px 26px;"
    "margin:0 0 10px}.quorate-card .facts div{max-width:340px}.quorate-card .facts b{display:block;"
    "font-size:15px;font-weight:600;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}"
    ".quorate-card .facts span,.quorate-card .soft,.quorate-card th{opacity:.72;font-size:12px}"
    ".quorate-card .lists{display:flex;flex-wrap:wrap;gap:12px 40px;align-items:flex-start}"
    ".quorate-card table{border-collapse:collapse;margin:2px 0 6px;background:transparent;"
    "font:inherit;border:0}.quorate-card tr{background:transparent!important}"
    ".quorate-card th,.quorate-card td{padding:2px 16px 2px 0;text-align:left;vertical-align:top;"
    "border:0;border-bottom:1px solid rgba(128,128,128,.22);background:transparent;"
    "overflow-wrap:break-word;max-width:340px}.quorate-card th{font-weight:600}"
    ".quorate-card td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".quorate-card .bar{display:inline-block;width:74px;height:8px;vertical-align:baseline;"
    "background:rgba(128,128,128,.25);margin-right:8px}.quorate-card .bar i{display:block;"
    "height:8px;background:#2f8fc9}</style>"
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
        >>> "<b>&lt;b&gt;</b><span>label</span>" in card("Votes", {"label": "<b>"})
        True
    """
    figures = "".join(
        f"<div><b>{_text(value, 160)}</b><span>{_text(name)}</span></div>"
        for name, value in facts.items()
    )
    below = "".join(f'<div class="soft">Note: {_text(note, 400)}</div>' for note in notes)
    tables = "".join(map(_table, listings))
    return (
        f'{STYLE}<div class="quorate-card"><div class="title">{_text(title, 160)}</div>'
        f'<div class="facts">{figures}</div><div class="lists">{tables}</div>{below}</div>'
    )


def _table(listing: Listing) -> str:
    heads = "".join(f"<th>{_text(name)}</th>" for name in listing.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in listing.rows[:MOST_ROWS])
    left = len(listing.rows) - MOST_ROWS
    more = f'<div class="soft">and {left:,} more</div>' if left > 0 else ""
    return f"<div><b>{_text(listing.title)}</b><table><tr>{heads}</tr>{body}</table>{more}</div>"


def _cell(value: Any) -> str:
    if isinstance(value, Share):
        width = 100 * min(max(value.value, 0.0), 1.0)
        bar = f'<span class="bar"><i style="width:{width:.1f}%"></i></span>'
        return f'<td class="n">{bar}{value.value:.1%}</td>'
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"<td>{_text(value, SENTENCE if ' ' in str(value) else LONGEST)}</td>"
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
    return f'<td class="n">{shown}</td>'


def _text(value: Any, longest: int = LONGEST) -> str:
    text = "" if value is None else str(value)
    return escape(text if len(text) <= longest else f"{text[: longest - 1]}…")
