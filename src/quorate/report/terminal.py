"""The summary drawn on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quorate.votes import named

SHOWN_CLASSES = 12


def show(summary: dict[str, Any], console: Console) -> None:
    """Print what was read, what was found and how."""
    console.print(facts("Read", _read(summary["read"])))
    console.print()
    console.print(facts("Found", _found(summary["found"])))
    console.print()
    console.print(_workers(summary["found"]))
    console.print()
    console.print(facts("How", _how(summary["how"])))
    for note in summary["notes"]:
        console.print(Text("Note: ", style="yellow").append(note, style="default"))


def facts(title: str, rows: list[tuple[str, str]]) -> Table:
    """A titled table of names and values."""
    table = Table(
        title=title, title_justify="left", title_style="bold", show_header=False, box=None
    )
    table.add_column(style="dim", min_width=16)
    table.add_column(justify="left", overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def _read(read: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [(name, f"{read[name]:,}") for name in ("tasks", "workers", "labels", "classes")]
    if "rows" in read:
        dropped = read["dropped_missing"] + read["dropped_repeats"]
        reasons = [
            f"{read[key]:,} {reason}"
            for key, reason in (
                ("dropped_missing", "with a missing field"),
                ("dropped_repeats", "answered again by the same worker"),
            )
            if read[key]
        ]
        facts.append(
            ("dropped rows", f"{dropped:,}" + (f" ({', '.join(reasons)})" if reasons else ""))
        )
        if read["repeats_counted"]:
            facts.append(("repeated rows", f"{read['repeats_counted']:,}, counted"))
    return facts


def _found(found: dict[str, Any]) -> list[tuple[str, str]]:
    shares = sorted(found["class_shares"].items(), key=lambda item: -item[1])
    shown = ", ".join(f"{named(name)} {share:.1%}" for name, share in shares[:SHOWN_CLASSES])
    if len(shares) > SHOWN_CLASSES:
        shown += f", and {len(shares) - SHOWN_CLASSES} more"
    facts = [("class shares", shown), ("mean confidence", f"{found['mean_confidence']:.3f}")]
    if found["expected_error"] is not None:
        error, low, high = found["expected_error"].values()
        facts.append(
            ("expected error", f"{error:.1%} (90 % interval {low:.1%} to {high:.1%})"),
        )
    facts.append(("tasks near a tie", f"{found['near_ties']:,}"))
    if found["undecided"]:
        facts.append(("undecided", f"{found['undecided']:,}"))
    return facts


def _workers(found: dict[str, Any]) -> Table:
    table = Table(
        title="Workers", title_justify="left", title_style="bold", box=None, pad_edge=True
    )
    table.add_column("worker", overflow="fold")
    for column in ("labels", "accuracy", "95 % interval"):
        table.add_column(column, justify="right")
    best, worst = found["best_workers"], found["worst_workers"]
    names = [worker["worker"] for worker in best]
    rest = [worker for worker in reversed(worst) if worker["worker"] not in names]
    for worker in [*best, *rest]:
        table.add_row(
            Text(named(worker["worker"])),
            f"{worker['labels']:,}",
            f"{worker['accuracy']:.3f}",
            f"{worker['low']:.3f} to {worker['high']:.3f}",
            style="green" if worker in best else "red",
        )
    return table


def _how(how: dict[str, Any]) -> list[tuple[str, str]]:
    state = "converged" if how["converged"] else "stopped before it converged (see max_iter)"
    facts = [("method", how["method"]), ("iterations", f"{how['iterations']}, {state}")]
    if how["mixture"] is not None:
        weights = how["mixture"]["weights"].items()
        facts.append(("weights", ", ".join(f"{name} {share:.0%}" for name, share in weights)))
        facts.append(("why", how["mixture"]["why"]))
        facts.append(("tasks they differ on", f"{how['mixture']['tasks_that_differ']:,}"))
    if how["log_likelihood"] is not None:
        facts.append(("log-likelihood", f"{how['log_likelihood']:,.2f}"))
    return [*facts, ("seconds", f"{how['seconds']:.2f}")]
