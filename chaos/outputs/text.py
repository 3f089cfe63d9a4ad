"""Names that are markup, escapes or patterns: shown as text, by every command that shows some."""

from __future__ import annotations

import os
import random
from pathlib import Path

from chaos.attack import Attack, Outcomes
from chaos.children import Command
from chaos.stores.runs import write_rows

HOSTILE = (
    "[/]",
    "[/x]",
    "[red]",
    "\x1b[2J\x1b]0;pwn\x07",
    "(?P<",
    "<script>",
    "\\",
    "%s{}",
)


def trial(seed: int, place: Path) -> Outcomes:
    chance = random.Random(seed)
    votes, kinds = place / "votes.csv", place / "kinds.csv"
    names = {role: chance.choice(HOSTILE) for role in ("task", "worker", "label", "kind")}
    workers = [names["worker"], "ann", "bob", "eve"]
    rows = [
        (names["task"] if task == 0 else f"t{task}", worker, chance.choice([names["label"], "a"]))
        for task in range(30)
        for worker in workers
    ]
    write_rows(votes, ["task", "worker", "label"], rows)
    write_rows(kinds, ["worker", "kind"], [(worker, names["kind"]) for worker in workers])
    for arguments in (
        ("aggregate", votes, "-m", "dawid-skene"),
        ("diagnose", votes, "--worker-kinds", kinds),
        ("explain", votes, "--task", names["task"]),
        ("explain", votes, "--task", "[/]"),
        ("compare", votes),
    ):
        yield _shown(place, arguments, names)


def _shown(place: Path, arguments: tuple[object, ...], names: dict[str, str]) -> str | None:
    """Where it would not fit on the screen, a name may be cut; what controls a terminal is not
    there."""
    shown = place / "shown"
    output = os.open(shown, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    ran = Command(arguments, place, output=output).wait()
    os.close(output)
    text = shown.read_text(errors="replace") + ran.errors
    what = f"{arguments[0]} of {names}"
    if "Traceback" in text or ran.status not in (0, 1, 2):
        return f"{what}: {ran}"
    raw = [c for c in text if c in "\x1b\x07"]
    return f"{what}: {raw[:3]} in the output" if raw else None


ATTACK = Attack("outputs-text", "names that are markup or escapes", trial, often=60)
