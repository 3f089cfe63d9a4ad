"""The package as a whole: what importing it costs, and what its names are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import quorate

HEAVY = {"numpy", "scipy", "polars", "pandas", "pyarrow", "rich"}


def test_the_command_line_imports_nothing_heavy_to_help() -> None:
    script = "import sys, quorate.cli; print(*{m.split('.')[0] for m in sys.modules})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "click" in run.stdout.split()
    assert not HEAVY & set(run.stdout.split())


def test_dawid_skene_imports_nothing_that_only_other_methods_need() -> None:
    script = "import sys, quorate; quorate.aggregate; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    slow = {"scipy.special", "scipy.linalg", "scipy.sparse.linalg", "scipy.optimize", "pandas"}
    assert "scipy.sparse" in run.stdout.split()
    assert not slow & set(run.stdout.split())


def test_a_public_name_is_never_the_module_it_lives_in() -> None:
    for name in quorate.__all__:
        assert not isinstance(getattr(quorate, name), ModuleType), name


def test_the_command_tells_its_version() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "quorate", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == f"quorate, version {quorate.__version__}"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"method": "dawid-skene", "smoothing": "a"},
            "smoothing must be a number of at least 0, not 'a'.",
        ),
        ({"threads": -1}, "threads must be a number of at least 1, not -1."),
        ({"seed": -3}, "seed must be a number of at least 0, not -3."),
    ],
)
def test_an_option_out_of_range_is_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(quorate.UsageError) as caught:
        quorate.aggregate([(1, "ann", "yes"), (1, "bob", "no")], **options)
    assert str(caught.value) == sentence


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    votes = [(1, "ann", "yes"), (1, "bob", "no")]
    result = quorate.aggregate(votes, seed=np.int64(3), tol=np.float32(0.001))
    result.save(tmp_path / "r.quorate")
    assert quorate.load(tmp_path / "r.quorate").answers == result.answers
