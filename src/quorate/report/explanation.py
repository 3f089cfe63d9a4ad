"""Why tasks have their labels, drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType

from quorate.report.screen import Column, facts, note, table
from quorate.votes import named

CERTAIN = 1e8  # decibans of what is ruled out


def show_explanations(found: Mapping[str, Any], console: Console) -> None:
    """Print of each task what speaks for its label."""
    for number, why in enumerate(found["tasks"]):
        if number:
            console.print()
        show_explanation(why, console)


def show_explanation(why: Mapping[str, Any], console: Console) -> None:
    """Print what speaks for a task's label, vote by vote, and what would change it."""
    console.print(facts(f"Task {named(why['task'])}", _facts(why)))
    console.print()
    console.print(_votes(why["votes"], console.width))
    for text in why["notes"]:
        console.print(note(text))


def _facts(why: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, named(value)) for name, value in why["item"].items()]
    rows.append(("label", f"{named(why['label'])}, with a confidence of {why['confidence']:.3f}"))
    if why["runner_up"] is not None:
        rows.append(("runner-up", named(why["runner_up"])))
    if why["decibans"] is not None:
        rows.append(("evidence", _evidence(why)))
        if not why["known"]:
            rows.append((f"to reach {why['settled_at']:g}", _settling(why)))
    if not why["known"]:
        rows.append(("single votes", _flips(why)))
    return rows


def _evidence(why: Mapping[str, Any]) -> str:
    votes = sum(vote["decibans"] for vote in why["votes"])
    parts = [f"class shares {_signed(why['prior'])}", f"votes {_signed(votes)}"]
    if why["features"] is not None:
        parts.append(f"features {_signed(why['features'])}")
    return f"{_signed(why['decibans'])} decibans: {', '.join(parts)}"


def _settling(why: Mapping[str, Any]) -> str:
    more = why["more_votes"]
    if more == 0:
        return "it is, as it stands"
    if more is None:
        return "no number of average votes would do"
    return f"{more:,} more average {'vote' if more == 1 else 'votes'} for it"


def _flips(why: Mapping[str, Any]) -> str:
    gone = sum(vote["without"] is not None for vote in why["votes"])
    other = sum(vote["instead"] is not None for vote in why["votes"])
    return f"{gone:,} would change the label by their absence, {other:,} by being another"


def _votes(votes: Sequence[Mapping[str, Any]], width: int) -> RenderableType:
    rows = []
    for vote in votes:
        accuracy, interval = _quality(vote)
        rows.append(
            {
                "worker": "(new)" if vote["worker"] is None else named(vote["worker"]),
                "label": named(vote["label"]),
                "accuracy": accuracy,
                "95 % interval": interval,
                "decibans": "" if vote["decibans"] is None else _signed(vote["decibans"]),
                "the label would be": _consequences(vote),
            }
        )
    columns = [
        Column("worker", "words"),
        Column("label", "words"),
        *(Column(name) for name in ("accuracy", "95 % interval", "decibans")),
        Column("the label would be", "words"),
    ]
    return table(columns, rows, width, title="Votes")


def _quality(vote: Mapping[str, Any]) -> tuple[str, str]:
    if vote["accuracy"] is None:
        return "", ""
    return f"{vote['accuracy']:.3f}", f"{vote['low']:.3f} to {vote['high']:.3f}"


def _consequences(vote: Mapping[str, Any]) -> str:
    parts = []
    if vote["without"] is not None:
        parts.append(f"{named(vote['without'])} without it")
    if vote["instead"] is not None:
        parts.append(f"{named(vote['becomes'])} had it been {named(vote['instead'])}")
    return ", ".join(parts)


def _signed(decibans: float) -> str:
    if abs(decibans) > CERTAIN:
        return "+inf" if decibans > 0 else "-inf"
    return f"{decibans:+.1f}"
