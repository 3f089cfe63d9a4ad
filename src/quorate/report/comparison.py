"""A comparison drawn on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from quorate.report.screen import Column, note, table

Score = Mapping[str, Any]
BY_GOLD = ("error", "95 %", "p", "ece")
BY_HELD_OUT = ("held-out", "gain")
ALWAYS = ("steps", "sec")


def show_comparison(comparison: Mapping[str, Any], console: Console) -> None:
    """Print the scores, best first, who agrees with whom, and what does not apply."""
    scores = [score for score in comparison["scores"] if score["reason"] is None]
    console.print(_about(comparison))
    console.print()
    if scores:
        console.print(_scores(comparison, _ranked(scores), console.width))
    if comparison["reliability"] and scores:
        console.print()
        console.print(_reliability(comparison, _ranked(scores)[0]["method"], console.width))
    if len(scores) > 1:
        console.print()
        console.print(_agreement(comparison, console.width))
    for score in comparison["scores"]:
        if score["reason"] is not None:
            said = Text(f"{score['method']} does not apply: ", style="yellow")
            console.print(said.append(score["reason"], style="default"))
    for text in comparison["notes"]:
        console.print(note(text))


def _about(comparison: Mapping[str, Any]) -> Text:
    said = [f"{comparison['tasks']:,} tasks"]
    if comparison["gold_tasks"]:
        said.append(f"{comparison['gold_tasks']:,} with a known answer")
    if comparison["held_out_votes"]:
        said.append(f"{comparison['held_out_votes']:,} held-out votes")
    return Text(", ".join(said) + ".")


def _ranked(scores: Sequence[Score]) -> list[Score]:
    """By the error where it is known, else by the prediction of held-out votes."""

    def rank(score: Score) -> tuple[float, float]:
        error, predictive = score["error"], score["predictive"]
        return (0.0 if error is None else error, 0.0 if predictive is None else -predictive)

    return sorted(scores, key=rank)


def _scores(comparison: Mapping[str, Any], scores: Sequence[Score], width: int) -> RenderableType:
    shown = (
        *(BY_GOLD if comparison["gold_tasks"] else ()),
        *(BY_HELD_OUT if comparison["held_out_votes"] else ()),
        *ALWAYS,
    )
    columns = [Column("method", "name"), *map(Column, shown)]
    return table(columns, [_cells(score) for score in scores], width)


def _cells(score: Score) -> dict[str, str]:
    unfinished = "" if score["converged"] else "+"
    cells = {
        "method": score["method"],
        "steps": f"{score['iterations']}{unfinished}",
        "sec": f"{score['seconds']:.2f}",
    }
    if score["error"] is not None:
        cells["error"] = f"{score['error']:.1%}"
        cells["95 %"] = f"{100 * score['error_low']:.1f}-{100 * score['error_high']:.1f}"
        cells["p"] = f"{score['p_value']:.2g}" if score["p_value"] >= 1e-4 else "<1e-4"
        cells["ece"] = f"{score['calibration']:.3f}"
    if score["predictive"] is not None:
        cells["held-out"] = f"{score['predictive']:.4f}"
        half = score["gain_high"] - score["gain"]
        cells["gain"] = f"{score['gain']:+.3f} ±{half:.3f}"
    return cells


def _reliability(comparison: Mapping[str, Any], method: str, width: int) -> RenderableType:
    """How often the answers of a method are right, by its confidence."""
    rows = [
        {
            "confidence": f"{row['low']:.1f}-{row['high']:.1f}",
            "mean": f"{row['confidence']:.3f}",
            "right": f"{row['right']:.3f}",
            "tasks": f"{row['tasks']:,}",
        }
        for row in comparison["reliability"][method]
    ]
    columns = [Column(name) for name in ("confidence", "mean", "right", "tasks")]
    return table(columns, rows, width, title=f"How often {method} is right, by its confidence")


def _agreement(comparison: Mapping[str, Any], width: int) -> RenderableType:
    """Of every two methods, on how many tasks their answers are the same."""
    names = comparison["compared"]
    numbers = [str(i + 1) for i in range(len(names))]
    rows = [
        {"": number, "method": name} | dict(zip(numbers, map(_percent, row), strict=True))
        for number, name, row in zip(numbers, names, comparison["agreement"], strict=True)
    ]
    columns = [Column(""), Column("method", "name"), *map(Column, numbers)]
    return table(columns, rows, width, title="Answers that are the same, in %", lead=2)


def _percent(share: float) -> str:
    """
    Examples:
        >>> _percent(1.0), _percent(0.9427)
        ('100', '94.3')
    """
    return f"{100 * share:.1f}".removesuffix(".0")
