"""A report as one HTML file that needs nothing else: templates, style, script and charts inside."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from quorate.report.page import charts

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def page_of(report: Mapping[str, Any]) -> str:
    """The page of a report."""
    return _template("report.html").render(
        report=report, charts=charts, style=_text("style.css"), script=_text("script.js")
    )


@cache
def _template(name: str) -> Template:
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined  # slow to import

    environment = Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"share": share, "number": number, "slug": slug}
    return environment


def _text(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def share(value: float | None) -> str:
    """A share in per cent; a dash where there is none."""
    return "-" if value is None else f"{value:.1%}"


def number(value: float | None) -> str:
    """A number with as many digits as are worth reading."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def slug(name: Any) -> str:
    """A name as the end of an address in the page; different names have different ones."""
    from urllib.parse import quote

    return quote(str(name), safe="")
