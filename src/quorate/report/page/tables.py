"""Tables of a page: sorted, filtered and saved by its script, each number under its name in the
dictionary that the page is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from quorate.report.page import charts
from quorate.report.page.numbers import FORMS, IN_A_LIST, NOTHING, name_html, raw, slug

if TYPE_CHECKING:
    from markupsafe import Markup

FIRST_VOTES, FIRST_NAMES = 10, 6  # that are seen at once
Row = Mapping[str, Any]
Link = Callable[[Any], str]  # the HTML of a worker's name, with a link where there is a page


Kind = Literal[
    "count",
    "fine_share",
    "flag",
    "interval",
    "name",
    "number",
    "posterior",
    "share",
    "signed",
    "signed_share",
    "task",
    "text",
    "two_digits",
    "votes",
    "whole_share",
    "worker",
    "workers",
]


class Column(NamedTuple):
    """A column: the keys of its values in the row, its heading, and what they are.

    The first key is what is sorted by; all keys are columns of the file that is saved."""

    keys: str
    title: str
    kind: Kind = "name"

    @property
    def key(self) -> str:
        return self.keys.split()[0]

    @property
    def is_number(self) -> bool:
        return self.kind in FORMS and self.kind != "text"


def table(at: str, rows: Sequence[Row], columns: Iterable[Column], link: Link) -> Markup:
    """The table of rows that are at this place of the dictionary, of the columns that they have.

    `link` draws workers."""
    from markupsafe import Markup  # slow to import

    present = [column for column in columns if rows and column.key in rows[0]]
    name = at.removesuffix(".rows").replace(".", " ").replace("_", " ")
    heads = "".join(map(_head, present))
    is_cards = any(column.kind == "votes" for column in present)
    draw = _labelled if is_cards else _cell
    body = "".join(
        f"<tr{_id(at, row)}>{''.join(draw(column, row, link) for column in present)}</tr>"
        for row in rows
    )
    kind = ' class="cards"' if is_cards else ""
    return Markup(
        f'<div class="wide" tabindex="0" role="region" aria-label="Table: {escape(name)}">'
        f'<table{kind} data-name="{escape(name)}" data-at="{escape(at)}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _id(at: str, row: Row) -> str:
    """Where an address in the page leads to: disputed and overruled tasks."""
    prefix = {"disputed.rows": "task", "overruled.rows": "overruled"}.get(at)
    return f' id="{prefix}-{escape(slug(row["task"]))}"' if prefix else ""


def _head(column: Column) -> str:
    kind = ' class="n"' if column.is_number else ""
    return (
        f'<th scope="col"{kind} data-keys="{column.keys}"><button type="button">{column.title}'
        "</button></th>"
    )


def _labelled(column: Column, row: Row, link: Link) -> str:
    """A cell with its column's name: rows with votes become cards on a narrow screen."""
    return _cell(column, row, link).replace("<td", f'<td data-label="{column.title}"', 1)


def _cell(column: Column, row: Row, link: Link) -> str:
    value, kind = row[column.key], column.kind
    if column.is_number:
        return f'<td class="n" data-value="{raw(value)}">{FORMS[kind](value)}</td>'
    if kind == "interval":
        return _interval(column, row)
    if kind == "worker":
        return f"<td>{link(value)}</td>"
    if kind == "workers":
        return f"<td>{names(value, link)}</td>"
    if kind == "votes":
        return f'<td data-value="{escape(_said(value))}">{votes(row, link)}</td>'
    if kind == "posterior":
        listed = "; ".join(f"{each['label']} {raw(each['probability'])}" for each in value)
        return f'<td data-value="{escape(listed)}">{posterior(value)}</td>'
    if kind == "task":
        return f'<td data-value="{escape(str(value))}">{task(row)}</td>'
    text = "" if value is None else name_html(value)
    return f'<td class="{kind}">{text}</td>' if kind != "name" else f"<td>{text}</td>"


def _interval(column: Column, row: Row) -> str:
    """A bar with the line of its interval, and the interval in numbers. The keys are those of low
    and high; the value itself is beside it."""
    low, high = (row[key] for key in column.keys.split()[:2])
    middle = row[column.keys.split()[2]] if len(column.keys.split()) > 2 else None
    shown = f"{100 * low:.0f}{NOTHING}{100 * high:.0f}%"
    return (
        f'<td class="interval" data-value="{raw(low)}|{raw(high)}">{charts.bar(middle, low, high)}'
        f"<span>{shown}</span></td>"
    )


def names(workers: Sequence[Any], link: Link) -> str:
    """Names of workers, those beyond the first folded."""
    drawn = [link(name) for name in workers]
    if len(drawn) <= FIRST_NAMES + 1:
        return ", ".join(drawn)
    rest = ", ".join(drawn[FIRST_NAMES:])
    first = ", ".join(drawn[:FIRST_NAMES])
    return f'{first} <details class="more"><summary>all others</summary>{rest}</details>'


def task(row: Row) -> str:
    """A task with what is kept of it."""
    fields = "".join(
        f"<div class=soft>{_field(name, value)}</div>"
        for name, value in row.get("item", {}).items()
        if value is not None
    )
    return name_html(row["task"]) + fields


def _field(name: Any, value: Any) -> str:
    text = str(value)
    if text.startswith(("https://", "http://")) and len(text) < 2000:
        return f'<a href="{escape(text)}" rel="noopener noreferrer">{name_html(text)}</a>'
    return f"{name_html(name)}: {name_html(text)}"


def posterior(classes: Sequence[Row]) -> str:
    """The most probable classes with bars."""
    rows = "".join(
        f"<li>{charts.bar(each['probability'])} {name_html(each['label'], IN_A_LIST)}"
        f" <b>{FORMS['share'](each['probability'])}</b></li>"
        for each in classes
    )
    return f'<ul class="posterior">{rows}</ul>'


def votes(row: Row, link: Link) -> str:
    """Each vote with its weight, those that weigh most first; all but the first are folded."""
    said = sorted(row["said"], key=lambda vote: -abs(vote["decibans"] or 0))
    first = "".join(_vote(vote, row, link) for vote in said[:FIRST_VOTES])
    if len(said) <= FIRST_VOTES:
        return f'<ul class="votes">{first}</ul>'
    rest = "".join(_vote(vote, row, link) for vote in said[FIRST_VOTES:])
    return (
        f'<ul class="votes">{first}</ul><details class="more"><summary>all other votes</summary>'
        f'<ul class="votes">{rest}</ul></details>'
    )


def _vote(vote: Row, row: Row, link: Link) -> str:
    is_for = vote["label"] == row["label"]
    weight = ""
    if vote["decibans"] is not None:
        weight = f" <small>{FORMS['signed'](vote['decibans'])}</small>"
    kind, mark = ("for", "✓") if is_for else ("against", "✕")
    said = "" if is_for else f" <em>{name_html(vote['label'], IN_A_LIST)}</em>"
    return f'<li class="{kind}"><i>{mark}</i>{said} {link(vote["worker"])}{weight}</li>'


def _said(said: Sequence[Row]) -> str:
    return "; ".join(f"{vote['worker']}: {vote['label']}" for vote in said)
