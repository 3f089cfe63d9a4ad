"""Text is data on the screen: no markup, no command of the terminal, whoever draws it."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.padding import Padding
from rich.text import Text

from quorate.report.screen import Column, Screen, facts, note, table

EVIL = ["[/]", "[/x]", "[red]x", ":cat:", "\x1b[2J\x1b]0;pwn", "\u202eevil", "\x9b2J"]


def drawn(evil: str) -> list[Any]:
    return [
        facts(f"Task {evil}", [(evil, evil)]),
        table([Column("name", "words"), Column("n")], [{"name": evil, "n": "1"}], 80, title=evil),
        note(evil),
        Padding(Text(evil), (0, 0, 0, 3)),
        evil,
    ]


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("terminal", [True, False])
def test_names_are_shown_and_not_obeyed(evil: str, terminal: bool) -> None:
    said = io.StringIO()
    screen = Screen(file=said, width=80, force_terminal=terminal, color_system=None)
    for each in drawn(evil):
        screen.print(each)
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in evil)
    assert said.getvalue().count(shown) == 8
    assert all(c.isprintable() or c == "\n" for c in said.getvalue())
