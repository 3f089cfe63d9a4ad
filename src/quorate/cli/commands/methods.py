"""`quorate methods`: which there are, and what each can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.output import Job, Printing, emit, shown_by
from quorate.cli.values import values

if TYPE_CHECKING:
    from quorate.model import Method
    from quorate.options import Option

SHARED = ("max_iter", "tol", "smoothing", "seed")


@click.command()
@click.argument("name", required=False, shell_complete=options.complete_method)
@options.PRINTING
def methods(name: str | None, **given: Any) -> None:
    """List the methods, or the options of one.

    With NAME: what that method does, its paper, what it takes, and its options.
    """
    printing = Printing.of(given)

    show = shown_by(f"quorate.report.methods:show_method{'s' if name is None else ''}")
    emit(Job(lambda _: _all() if name is None else _one(name), dict, show), printing)


def _all() -> dict[str, Any]:
    from quorate.models import METHODS

    return {"methods": [_about(method) for method in METHODS.values()]}


def _one(name: str) -> dict[str, Any]:
    from quorate.models import METHODS

    method = METHODS[options.require_method(name)]
    described = [_option(option) for option in method.options.values()]
    return _about(method) | {"shared": list(SHARED), "options": described}


def _about(method: Method) -> dict[str, Any]:
    """What it does and what it can take. Known answers are kept fixed whatever the method."""
    return {
        "name": method.name,
        "summary": method.summary,
        "paper": method.paper,
        "two_classes_only": method.two_classes_only,
        "takes": {
            "gold": True,
            "discount": method.takes_weights,
            "features": method.model.learns_from_features,
        },
    }


def _option(option: Option) -> dict[str, Any]:
    said = values(option)
    return {
        "name": option.name,
        "default": "none" if option.default is None else options.text(option.default),
        "values": "" if said == "text" else said,
        "choices": list(option.choices),
        "at_least": option.at_least,
        "above": option.above,
        "at_most": option.at_most,
        "doc": option.doc,
    }
