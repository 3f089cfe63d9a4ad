"""The summary of a result drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console, RenderableType

from quorate.report.screen import Column, facts, note, table
from quorate.summary import class_shares, decided, expected_error, iterations
from quorate.votes import named, shown

DROPPED = {
    "dropped_missing": "with a missing field",
    "dropped_repeats": "answered again by the same worker",
}


def show_summary(summary: Mapping[str, Any], console: Console) -> None:
    """Print what was read, what was found and how; of several questions one after the other."""
    if "questions" in summary:
        _show_each(summary, console)
        return
    console.print(facts("Read", _read(summary["read"])))
    console.print()
    console.print(facts("Found", _found(summary["found"])))
    console.print()
    console.print(_workers(summary["found"], summary["read"]["workers"], console.width))
    console.print()
    console.print(facts("How", _how(summary["how"])))
    for text in summary["notes"]:
        console.print(note(text))


def _show_each(summary: Mapping[str, Any], console: Console) -> None:
    """Print the summary of each question, and of which there is none."""
    for number, (question, found) in enumerate(summary["questions"].items()):
        if number:
            console.print()
        console.print(f"Question {named(question) or '(no name)'}")
        console.print()
        show_summary(found, console)
    for question, why in summary["left_out"].items():
        console.print(note(f"The question {shown(question)} is left out: {why}"))


def _read(read: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, f"{read[name]:,}") for name in ("tasks", "workers", "labels", "classes")]
    if read.get("format"):
        dropped = [f"{n:,} {why}" for why, n in read["dropped_of_export"].items()]
        left = f"; dropped: {', '.join(dropped)}" if dropped else ""
        rows.insert(0, ("format", read["format"] + left))
    if "rows" in read:
        rows.append(("dropped rows", dropped_rows(read)))
        if read["repeats_counted"]:
            rows.append(("repeated rows", f"{read['repeats_counted']:,}, counted"))
    return rows


def dropped_rows(read: Mapping[str, Any]) -> str:
    """How many rows were dropped, and why."""
    reasons = [f"{read[key]:,} {reason}" for key, reason in DROPPED.items() if read[key]]
    why = f" ({', '.join(reasons)})" if reasons else ""
    return f"{sum(read[key] for key in DROPPED):,}{why}"


def _found(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("class shares", class_shares(found["class_shares"])),
        ("mean confidence", f"{found['mean_confidence']:.3f}"),
    ]
    if found["expected_error"] is not None:
        rows.append(("expected error", expected_error(found["expected_error"])))
    rows.append(("tasks near a tie", f"{found['near_ties']:,}"))
    if found["decided"] is not None:
        rows.append(("undecided", f"{found['undecided']:,}"))
        rows.append(("decided", decided(found["decided"])))
    return rows


def _workers(found: Mapping[str, Any], n_workers: int, width: int) -> RenderableType:
    """The best and the worst by their agreement with the answers."""
    best, worst = found["best_workers"], found["worst_workers"]
    rows = [
        {
            "worker": named(worker["worker"]),
            "labels": f"{worker['labels']:,}",
            "agreement": f"{worker['agreement']:.3f}",
            "right on gold": _on_gold(worker),
        }
        for worker in [*best, *worst]
    ]
    styles = ["green"] * len(best) + ["red"] * len(worst)
    columns = [Column("worker", "words"), Column("labels"), Column("agreement")]
    if any("gold_labels" in worker for worker in best):
        columns.append(Column("right on gold"))
    return table(columns, rows, width, title=_who(found, n_workers), styles=styles)


def _on_gold(worker: Mapping[str, Any]) -> str:
    labels = worker.get("gold_labels", 0)
    return f"{worker['gold_accuracy']:.3f} of {labels:,}" if labels else ""


def _who(found: Mapping[str, Any], n_workers: int) -> str:
    """Which workers are shown, of how many."""
    best, worst = len(found["best_workers"]), len(found["worst_workers"])
    ranked, least = found["ranked_workers"], found["least_labels"]
    enough = f" with {least:g} labels or more" if ranked < n_workers else ""
    if best + worst == ranked:
        return f"Workers{enough}"
    return f"{best} best and {worst} worst of {ranked:,} workers{enough}"


def _how(how: Mapping[str, Any]) -> list[tuple[str, str]]:
    count, _, state = iterations(how).partition(" iterations")
    rows = [("method", how["method"]), ("iterations", f"{count}{state}")]
    if how["mixture"] is not None:
        weights = how["mixture"]["weights"].items()
        rows.append(("weights", ", ".join(f"{name} {share:.0%}" for name, share in weights)))
        rows.append(("why", how["mixture"]["why"]))
        rows.append(("tasks they differ on", f"{how['mixture']['tasks_that_differ']:,}"))
    if how["log_likelihood"] is not None:
        rows.append(("log-likelihood", f"{how['log_likelihood']:,.2f}"))
    return [*rows, ("seconds", f"{how['seconds']:.2f}")]
