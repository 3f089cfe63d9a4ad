"""A report as one HTML file that needs nothing else: templates, style, script and charts inside.

`environment()` has the templates with what they are made of (`parts.html`, `table`, `charts`), for
other pages that look alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from quorate.report.page import charts, numbers
from quorate.report.page.columns import COLUMNS
from quorate.report.page.tables import names, table

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def page_of(report: Mapping[str, Any]) -> str:
    """The page of a report."""
    link = _link({str(page["worker"]) for page in report["workers"]["pages"]})
    return (
        environment()
        .get_template("report.html")
        .render(
            report=report,
            the=partial(the, report),
            rows=lambda at: table(at, at_place(report, at), COLUMNS[at], link),
            link=lambda name: _markup(link(name)),
            names=lambda workers: _markup(names(workers, link)),
            style=text_of("style.css"),
            script=text_of("script.js"),
        )
    )


def the(report: Mapping[str, Any], at: str, form: str = "number") -> Markup:
    """The value at a place of the dictionary, such as ``found.expected_error.error``, in one of
    the `numbers.FORMS`, with its place beside it."""
    shown = numbers.FORMS[form](at_place(report, at))
    return _markup(f'<span data-at="{escape(at)}">{escape(shown)}</span>')


def at_place(report: Any, at: str) -> Any:
    """What is at a place of the dictionary.

    Examples:
        >>> at_place({"a": [{"b": 3}]}, "a.0.b")
        3
    """
    for key in at.split("."):
        report = report[int(key)] if isinstance(report, (list, tuple)) else report[key]
    return report


@cache
def environment() -> Environment:
    """The templates of pages."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # slow to import

    made = Environment(
        loader=FunctionLoader(text_of),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {**numbers.FORMS, "slug": numbers.slug}
    made.filters["name"] = lambda name: _markup(numbers.name_html(name))
    made.filters["code"] = lambda text: _markup(numbers.code_html(text))
    made.globals |= {"charts": charts}
    return made


def text_of(name: str) -> str:
    """A template, the style or the script."""
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _link(paged: set[str]) -> Callable[[Any], str]:
    """A worker's name, with a link where the worker has a page."""

    @cache
    def link(name: Any) -> str:
        drawn = numbers.name_html(name, numbers.IN_A_LIST)
        if str(name) not in paged:
            return drawn
        return f'<a href="#worker-{escape(numbers.slug(name))}">{drawn}</a>'

    return link


def _markup(html: str) -> Markup:
    from markupsafe import Markup  # slow to import

    return Markup(html)
