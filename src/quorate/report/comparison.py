"""A comparison drawn on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

SHOWN_METHODS = 12  # in the table of agreement, which is as wide as it is high


def show_comparison(comparison: dict[str, Any], console: Console) -> None:
    """Print the scores, best first, who agrees with whom, and what does not apply."""
    scores = [score for score in comparison["scores"] if score["reason"] is None]
    console.print(_about(comparison))
    console.print()
    if scores:
        console.print(_scores(comparison, _ranked(scores)))
    if comparison["reliability"] and scores:
        console.print()
        console.print(_reliability(comparison, _ranked(scores)[0]["method"]))
    if len(scores) > 1:
        console.print()
        console.print(_agreement(comparison))
    for score in comparison["scores"]:
        if score["reason"] is not None:
            said = Text(f"{score['method']} does not apply: ", style="yellow")
            console.print(said.append(score["reason"], style="default"))
    for note in comparison["notes"]:
        console.print(Text("Note: ", style="yellow").append(note, style="default"))


def _about(comparison: dict[str, Any]) -> Text:
    facts = [f"{comparison['tasks']:,} tasks"]
    if comparison["gold_tasks"]:
        facts.append(f"{comparison['gold_tasks']:,} with a known answer")
    if comparison["hidden_votes"]:
        facts.append(f"{comparison['hidden_votes']:,} hidden votes")
    return Text(", ".join(facts) + ".")


def _ranked(scores: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By the error where it is known, else by the prediction of hidden votes."""

    def rank(score: dict[str, Any]) -> tuple[float, float]:
        error, predictive = score["error"], score["predictive"]
        return (0.0 if error is None else error, 0.0 if predictive is None else -predictive)

    return sorted(scores, key=rank)


def _scores(comparison: dict[str, Any], scores: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("method", no_wrap=True)
    columns = ["steps", "sec"]
    if comparison["hidden_votes"]:
        columns = ["hidden", "gain", *columns]
    if comparison["gold_tasks"]:
        columns = ["error", "95 %", "p", "ece", *columns]
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for score in scores:
        cells = _cells(score)
        table.add_row(Text(score["method"]), *(cells[column] for column in columns))
    return table


def _cells(score: dict[str, Any]) -> dict[str, str]:
    unfinished = "" if score["converged"] else "+"
    cells = {
        "steps": f"{score['iterations']}{unfinished}",
        "sec": f"{score['seconds']:.2f}",
    }
    if score["error"] is not None:
        cells["error"] = f"{score['error']:.1%}"
        cells["95 %"] = f"{100 * score['error_low']:.1f}-{100 * score['error_high']:.1f}"
        cells["p"] = f"{score['p_value']:.2g}" if score["p_value"] >= 1e-4 else "<1e-4"
        cells["ece"] = f"{score['calibration']:.3f}"
    if score["predictive"] is not None:
        cells["hidden"] = f"{score['predictive']:.4f}"
        half = score["gain_high"] - score["gain"]
        cells["gain"] = f"{score['gain']:+.3f} ±{half:.3f}"
    return cells


def _reliability(comparison: dict[str, Any], method: str) -> Group:
    """How often the answers of a method are right, by how sure it is."""
    title = f"How often {method} is right, by its confidence"
    table = Table(box=None, pad_edge=False)
    for column in ("confidence", "mean", "right", "tasks"):
        table.add_column(column, justify="right")
    for row in comparison["reliability"][method]:
        bounds = f"{row['low']:.1f}-{row['high']:.1f}"
        shares = (f"{row['confidence']:.3f}", f"{row['right']:.3f}")
        table.add_row(bounds, *shares, f"{row['tasks']:,}")
    return Group(Text(title, style="bold italic"), table)


def _agreement(comparison: dict[str, Any]) -> Group:
    names = comparison["compared"][:SHOWN_METHODS]
    more = len(comparison["compared"]) - len(names)
    title = "Answers that are the same, in %" + (f" ({more} more: --json)" if more else "")
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("method", no_wrap=True)
    for i in range(len(names)):
        table.add_column(str(i + 1), justify="right")
    for i, (name, row) in enumerate(zip(names, comparison["agreement"], strict=False)):
        shares = (f"{100 * share:.1f}".removesuffix(".0") for share in row[: len(names)])
        table.add_row(str(i + 1), Text(name), *shares)
    return Group(Text(title, style="bold italic"), table)
