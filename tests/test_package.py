"""The package as a whole: what importing it costs, and what its names are."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import models
from quorate.model import Method
from quorate.models import METHODS, MODELS

HEAVY = {"numpy", "scipy", "polars", "pandas", "pyarrow", "rich"}


def test_the_command_line_imports_nothing_heavy_to_help() -> None:
    script = "import sys, quorate.cli; print(*{m.split('.')[0] for m in sys.modules})"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "click" in run.stdout.split()
    assert not HEAVY & set(run.stdout.split())


def test_dawid_skene_imports_nothing_that_only_other_methods_need() -> None:
    script = (
        "import sys, quorate, quorate.summary\n"
        "votes = [('1.jpg', 'ann', 'cat'), ('1.jpg', 'bob', 'cat'), ('2.jpg', 'ann', 'dog')]\n"
        "quorate.summary.summarise(quorate.aggregate(votes, 'dawid-skene'))\n"
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    slow = {"scipy.special", "scipy.linalg", "scipy.sparse.linalg", "scipy.optimize", "pandas"}
    slow |= {"quorate.models.glad", "quorate.models.rank_one", "quorate.multilabel"}
    assert "scipy.sparse" in run.stdout.split()
    assert not slow & set(run.stdout.split())


def test_reading_begins_before_scipy_is_loaded() -> None:
    script = "import sys, quorate.aggregation, quorate.votes; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "polars" in run.stdout.split()
    assert "scipy" not in run.stdout.split()


def test_a_public_name_is_never_the_module_it_lives_in() -> None:
    import quorate.cli

    for name in quorate.__all__:
        assert not isinstance(getattr(quorate, name), ModuleType), name


def test_importing_the_package_imports_nothing_of_it() -> None:
    script = "import sys, quorate; print(*(m for m in sys.modules if m.startswith('quorate')))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["quorate"]


def names_for_type_checkers() -> dict[str, str]:
    """The names that the package imports for type checkers, and from where."""
    tree = ast.parse(Path(quorate.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    found = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names:
            assert alias.asname == alias.name, "as is what makes it public"
            found[alias.name] = node.module
    return found


def test_type_checkers_see_the_names_that_there_are() -> None:
    homes = names_for_type_checkers()
    assert {*homes, "__version__"} == set(quorate.__all__)
    for name, home in homes.items():
        assert getattr(quorate, name) is getattr(import_module(home), name), name


def test_the_names_are_listed_once_and_no_other_is_there() -> None:
    assert dir(quorate) == sorted(set(quorate.__all__)) == sorted(quorate.__all__)
    for name in ("Nonsense", "nonsense"):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(quorate, name)


def test_every_class_of_models_is_public() -> None:
    for name, model in MODELS.items():
        assert getattr(quorate, name) is model
    for method in METHODS.values():
        assert method.model.__name__ in quorate.__all__


def test_a_model_that_is_added_is_found_without_being_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = ModuleType("quorate.models.newcomer")
    newcomer = type("Newcomer", (quorate.Majority,), {"__module__": file.__name__})
    file.Newcomer, file.METHODS = newcomer, (Method("new-comer", newcomer, "New."),)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, file.__name__, file)
    monkeypatch.setattr(models, "FILES", [*models.FILES, "newcomer"])
    assert quorate.Newcomer is newcomer
    assert quorate.aggregate([("t", "w", "yes")], "new-comer").method == "new-comer"


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


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (
            quorate.Labels.from_codes([0, 0, 1], [0, 1, 0], [1, 1, 0], gold=[1, -1]),
            "Labels(3 labels of 2 tasks by 2 workers in 2 classes, 1 known answers)",
        ),
        (
            quorate.read_votes([(1, "ann", "yes"), (1, "bob", "no")]).codebook,
            "Codebook(1 tasks, 2 workers, 2 classes ('no', 'yes'))",
        ),
        (
            quorate.read_votes([(1, "ann", "yes"), (1, "bob", "no")]),
            "Votes(2 labels of 1 tasks by 2 workers in 2 classes)",
        ),
    ],
)
def test_objects_say_in_a_line_what_they_hold(thing: Any, said: str) -> None:
    assert repr(thing) == said


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    votes = [(1, "ann", "yes"), (1, "bob", "no")]
    result = quorate.aggregate(votes, seed=np.int64(3), tol=np.float32(0.001))
    result.save(tmp_path / "r.quorate")
    assert quorate.load(tmp_path / "r.quorate").answers == result.answers


def test_special_functions_are_scipys_and_keep_their_docstrings() -> None:
    script = (
        "import scipy._lib._array_api as api; before = api.FunctionDoc\n"
        "from quorate.special import gammaln; import scipy.special\n"
        "assert api.FunctionDoc is before and scipy.special.gammaln is gammaln\n"
        "print(gammaln.__doc__)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "Logarithm of the absolute value of the gamma function" in run.stdout
