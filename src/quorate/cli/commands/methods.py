"""`quorate methods`: which there are, and what each can be told."""

from __future__ import annotations

from typing import Any

import click

from quorate.cli import options
from quorate.cli.output import Job, Printing, emit
from quorate.cli.values import choices, default_of, options_of_method, values

SHARED = ("max_iter", "tol", "smoothing", "seed")


@click.command()
@click.argument("name", required=False, shell_complete=options.complete_method)
@options.PRINTING
def methods(name: str | None, **given: Any) -> None:
    """List the methods, or the options of one.

    With NAME: what that method does, its paper, what it takes, and its options.
    """
    printing = Printing.of(given)

    def show(found: Any, console: Any) -> None:
        from quorate.report import show_method, show_methods

        show = show_methods if name is None else show_method
        show(found, console)

    emit(Job(lambda _: _all() if name is None else _one(name), dict, show), printing)


def _all() -> dict[str, Any]:
    from quorate.models import METHODS

    return {"methods": [_about(method) for method in METHODS.values()]}


def _one(name: str) -> dict[str, Any]:
    from quorate.models import METHODS

    method = METHODS[options.require_method(name)]
    described = [_option(method.name, option) for option in options_of_method(method.name).values()]
    return _about(method) | {"shared": list(SHARED), "options": described}


def _about(method: Any) -> dict[str, Any]:
    """What it does and what it can take. Known answers are kept fixed whatever the method."""
    model = method.model
    weights = getattr(model, "takes_weights", getattr(model, "weighs_votes", False))
    return {
        "name": method.name,
        "summary": method.summary,
        "paper": method.paper,
        "two_classes_only": getattr(model, "two_classes_only", False),
        "takes": {"gold": True, "discount": weights, "features": model.learns_from_features},
    }


def _option(method: str, option: Any) -> dict[str, Any]:
    default = default_of(method, option.name)
    said = values(option)
    return {
        "name": option.name,
        "default": "none" if default is None else options.text(default),
        "values": "" if said == "text" else said,
        "choices": list(choices(option)),
        "at_least": getattr(option, "at_least", None),
        "above": getattr(option, "above", None),
        "at_most": getattr(option, "at_most", None),
        "doc": option.doc,
    }
