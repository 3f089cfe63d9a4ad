"""The notebooks run from top to bottom, and show what they say they show."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(find_spec("marimo") is None, reason="marimo is not installed")

ROOT = Path(__file__).parents[2]
# What a notebook is about, by the names that it defines.
SHOWS = {
    "crowd": "d['error'] < d['vote_error'] and d['diagnosis'].findings",
    "judges": "d['right']['auto'][-1] > 0.9 > 0.8 > d['right']['dawid-skene'][-1]",
    "budget": "d['wisely'][-1][1] < d['evenly'][-1][1] < d['wisely'][0][1]",
}


def test_every_notebook_is_tried() -> None:
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(SHOWS)
    listed = (ROOT / "examples" / "README.md").read_text()
    assert all(f"[`{name}.py`]({name}.py)" in listed for name in SHOWS)


@pytest.mark.parametrize("name", SHOWS)
def test_it_runs_and_shows_what_it_says(name: str) -> None:
    code = f"from {name} import app; _, d = app.run(); assert {SHOWS[name]}, d"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "examples", text=True, capture_output=True
    )
    assert run.returncode == 0, run.stderr
