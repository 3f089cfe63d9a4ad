"""A simulated crowd drawn on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from quorate.report.screen import facts


def show_crowd(crowd: dict[str, Any], console: Console) -> None:
    """Print how many there are of everything, of which kinds, and how far the vote gets."""
    kinds = ", ".join(_counted(kind, number) for kind, number in crowd["kinds"].items())
    rows = [
        *((name, f"{crowd[name]:,}") for name in ("tasks", "classes", "votes")),
        ("workers", f"{crowd['workers']:,}: {kinds}"),
        ("votes of a worker", f"{crowd['least_active']:,} to {crowd['most_active']:,}"),
        ("their accuracy", f"{crowd['mean_accuracy']:.3f} on average"),
        ("error of the vote", f"{crowd['vote_error']:.1%}"),
    ]
    console.print(facts("Simulated", rows))


def show_play(play: dict[str, Any], console: Console) -> None:
    """Print what a simulated crowd did on a server, and how good the answers became."""
    per_task = play["votes"] / max(play["tasks"], 1)
    expected = play["expected_error"]
    rows = [
        ("project", play["project"]),
        *((name, f"{play[name]:,}") for name in ("tasks", "workers")),
        ("votes", f"{play['votes']:,}, {per_task:.1f} a task, in {play['seconds']:.1f} s"),
        ("wrong labels", f"{play['wrong']:.1%}"),
        ("the server expected", "nothing" if expected is None else f"{expected:.1%}"),
        *([("it stopped", play["reason"])] if play["reason"] else []),
    ]
    console.print(facts("Played", rows))


def _counted(kind: str, number: int) -> str:
    """
    Examples:
        >>> _counted("spammer", 2), _counted("honest", 40)
        ('2 spammers', '40 honest')
    """
    plural = "s" if kind.endswith("er") and number != 1 else ""
    return f"{number:,} {kind}{plural}"
