"""Why tasks have their labels, drawn on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quorate.report.terminal import facts
from quorate.votes import named

CERTAIN = 1e8  # decibans of what is ruled out


def show_explanation(why: dict[str, Any], console: Console) -> None:
    """Print what speaks for a task's label, vote by vote, and what would change it."""
    console.print(facts(f"Task {named(why['task'])}", _facts(why)))
    console.print()
    console.print(_votes(why["votes"]))
    for note in why["notes"]:
        console.print(Text("Note: ", style="yellow").append(note, style="default"))


def _facts(why: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [("label", f"{named(why['label'])}, {why['confidence']:.3f} sure")]
    if why["runner_up"] is not None:
        rows.append(("runner-up", named(why["runner_up"])))
    if why["decibans"] is not None:
        rows.append(("evidence", _evidence(why)))
        if not why["known"]:
            rows.append((f"to be {why['settled_at']:g} sure", _settling(why)))
    if not why["known"]:
        rows.append(("single votes", _flips(why)))
    return rows


def _evidence(why: dict[str, Any]) -> str:
    votes = sum(vote["decibans"] for vote in why["votes"])
    parts = [f"class shares {_signed(why['prior'])}", f"votes {_signed(votes)}"]
    if why["features"] is not None:
        parts.append(f"features {_signed(why['features'])}")
    return f"{_signed(why['decibans'])} decibans: {', '.join(parts)}"


def _settling(why: dict[str, Any]) -> str:
    more = why["more_votes"]
    if more == 0:
        return "it is, as it stands"
    if more is None:
        return "no number of average votes would do"
    return f"{more:,} more average {'vote' if more == 1 else 'votes'} for it"


def _flips(why: dict[str, Any]) -> str:
    gone = sum(vote["without"] is not None for vote in why["votes"])
    other = sum(vote["instead"] is not None for vote in why["votes"])
    return f"{gone:,} would change the label by their absence, {other:,} by being another"


def _votes(votes: list[dict[str, Any]]) -> Table:
    table = Table(title="Votes", title_justify="left", title_style="bold", box=None, pad_edge=True)
    for column in ("worker", "label"):
        table.add_column(column, overflow="fold")
    for column in ("accuracy", "95 % interval", "decibans"):
        table.add_column(column, justify="right")
    table.add_column("the label would be")
    for vote in votes:
        table.add_row(
            "(new)" if vote["worker"] is None else Text(named(vote["worker"])),
            Text(named(vote["label"])),
            *_quality(vote),
            "" if vote["decibans"] is None else _signed(vote["decibans"]),
            Text(_consequences(vote)),
        )
    return table


def _quality(vote: dict[str, Any]) -> tuple[str, str]:
    if vote["accuracy"] is None:
        return "", ""
    return f"{vote['accuracy']:.3f}", f"{vote['low']:.3f} to {vote['high']:.3f}"


def _consequences(vote: dict[str, Any]) -> str:
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
