"""What is entered into every tool: three people's answers to two questions about eight reviews,
and how it is written down what was entered."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PEOPLE = ("ann", "bob", "cyd")
TEXTS = (
    "The soup was warm and the waiter kind.",
    "We waited an hour, and then the fish was cold.",
    "It is open on Mondays.",
    "Never again: loud, dear and dirty.",
    "Best pasta in town, and cheap too.",
    "The menu has twelve pages.",
    "Friendly people, but the bill was wrong twice.",
    "Clean rooms, quiet, a fair price.",
)
OPTIONS = ("Positive", "Negative", "Neutral")
SENTIMENT: Mapping[str, Sequence[str]] = {
    "ann": (
        "Positive",
        "Negative",
        "Neutral",
        "Negative",
        "Positive",
        "Neutral",
        "Negative",
        "Positive",
    ),
    "bob": (
        "Positive",
        "Negative",
        "Neutral",
        "Negative",
        "Positive",
        "Positive",
        "Positive",
        "Positive",
    ),
    "cyd": (
        "Positive",
        "Neutral",
        "Neutral",
        "Negative",
        "Negative",
        "Neutral",
        "Negative",
        "Positive",
    ),
}
TOPICS = ("Service", "Food", "Price")
ABOUT: Mapping[str, Sequence[Sequence[str]]] = {
    "ann": (
        ("Service", "Food"),
        ("Service", "Food"),
        (),
        ("Price",),
        ("Food", "Price"),
        ("Food",),
        ("Service", "Price"),
        ("Price",),
    ),
    "bob": (
        ("Service", "Food"),
        ("Food",),
        ("Service",),
        ("Price",),
        ("Food", "Price"),
        (),
        ("Service",),
        ("Price",),
    ),
    "cyd": (
        ("Food",),
        ("Service", "Food"),
        (),
        ("Service", "Price"),
        ("Food", "Price"),
        ("Food",),
        ("Service", "Price"),
        ("Service", "Price"),
    ),
}


def vote(question: str, task: Any, worker: Any, label: Any) -> dict[str, Any]:
    """A vote as it is written down; the label is a list where several may be chosen."""
    return {"question": question, "task": task, "worker": worker, "label": label}


def known(question: str, task: Any, label: Any) -> dict[str, Any]:
    """A known answer as it is written down."""
    return {"question": question, "task": task, "label": label}


def entered(
    votes: Sequence[Mapping[str, Any]],
    gold: Sequence[Mapping[str, Any]] = (),
    dropped: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """What was entered into one file, and what a reader has to drop of it."""
    return {"votes": list(votes), "gold": list(gold), "dropped": dict(dropped or {})}


def write_entered(place: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    """Write down what was entered into each file, a line for each vote."""
    parts = []
    for name, file in files.items():
        lists = (
            f'    "{key}": [\n'
            + ",\n".join(f"      {json.dumps(row)}" for row in file[key])
            + "\n    ]"
            if file[key]
            else f'    "{key}": []'
            for key in ("votes", "gold")
        )
        dropped = f'    "dropped": {json.dumps(file["dropped"])}'
        parts.append(f'  "{name}": {{\n' + ",\n".join((*lists, dropped)) + "\n  }")
    (place / "entered.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")
