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


def _counted(kind: str, number: int) -> str:
    """
    Examples:
        >>> _counted("spammer", 2), _counted("honest", 40)
        ('2 spammers', '40 honest')
    """
    plural = "s" if kind.endswith("er") and number != 1 else ""
    return f"{number:,} {kind}{plural}"
