"""Draw the terminal of `quorate aggregate votes.csv` for the README: `make reference` calls it."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

COMMAND = "quorate aggregate votes.csv"
COLUMNS = 80
PICTURE = Path(__file__).parent / "aggregate.svg"


def printed() -> str:
    """What the command prints to a terminal."""
    with tempfile.TemporaryDirectory() as directory:
        run(["demo", "--quiet", "--output", "votes.csv"], directory)
        return run(COMMAND.split()[1:], directory)


def run(arguments: list[str], directory: str) -> str:
    """The output of `quorate`, with its colours."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "quorate", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


def drawing(text: str) -> str:
    """The text as a picture of a terminal; times, which differ from run to run, are left out."""
    steady = re.sub(r"\n[^\n]*seconds[^\n]*", "", text).rstrip()
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text(f"$ {COMMAND}", style="bold"))
    console.print(Text.from_ansi(steady))
    svg = console.export_svg(title=COMMAND, unique_id="aggregate")
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # no font from elsewhere


if __name__ == "__main__":
    PICTURE.write_text(drawing(printed()))
