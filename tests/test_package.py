"""The package as a whole: what importing it costs, and what its names are."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import quorate

HEAVY = {"numpy", "scipy", "polars", "pandas", "pyarrow", "rich"}


def test_the_command_line_imports_nothing_heavy_to_help() -> None:
    script = "import sys, quorate.cli; print(*{m.split('.')[0] for m in sys.modules})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "click" in run.stdout.split()
    assert not HEAVY & set(run.stdout.split())


def test_a_public_name_is_never_the_module_it_lives_in() -> None:
    for name in quorate.__all__:
        assert not isinstance(getattr(quorate, name), ModuleType), name


def test_the_command_tells_its_version() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "quorate", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == f"quorate, version {quorate.__version__}"
