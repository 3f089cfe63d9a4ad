"""Every example of the docs runs, links lead somewhere, and what is generated is up to date."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import quorate
from docs.blocks import COMMAND, blocks, matches, run_console, run_page, run_python
from quorate.cli import main
from quorate.models import METHODS

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "reproductions").rglob("*.md")),
    ROOT / "examples" / "README.md",
]
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
WITH_EXAMPLES = [page for page in PAGES if blocks(page.read_text())]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_examples_run_and_print_what_they_say(page: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    run_page(page)


def test_an_example_that_prints_something_else_fails() -> None:
    assert matches("one\n...\nthree\n", "one\ntwo\nthree\n")
    assert not matches("one\ntwo\n", "one\nthree\n")
    assert matches("error  sec\n1.5  0.25\n", "error  sec\n1.5  12.50\n")
    assert not matches("error  sec\n1.5  0.25\n", "error  sec\n1.6  0.25\n")
    with pytest.raises(AssertionError):
        run_python(">>> 1 + 1\n3\n", {}, "page")
    with pytest.raises(AssertionError):
        run_console("$ quorate --version\nanother program\n")
    with pytest.raises(AssertionError):
        run_console("$ printf 'two\\n' | head -1\none\n")


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=name_of)
def test_nothing_that_is_printed_looks_lost(page: Path) -> None:
    """Dots in what an example prints may stand for anything: show less instead."""
    for kind, code in blocks(page.read_text()):
        commands = COMMAND.findall(code) if kind == "console" else []
        examples = doctest.DocTestParser().get_examples(code) if ">>> " in code else []
        printed = [text for _, text in commands] + [example.want for example in examples]
        assert [text for text in printed if "..." in text] == []


def test_code_of_tutorials_fits_on_the_page() -> None:
    pages = [ROOT / "docs" / "index.md", *(ROOT / "docs" / "start").glob("*.md")]
    lines = [line for p in pages for _, code in blocks(p.read_text()) for line in code.splitlines()]
    assert [line for line in lines if len(line) > 88] == []


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_ten_lines_are_ten_lines(page: str) -> None:
    section = (ROOT / page).read_text().split("\n## Ten lines\n")[1].split("\n## ")[0]
    (code,) = (code for kind, code in blocks(section) if kind == "python")
    assert len(code.splitlines()) == 10


def test_it_can_be_cited_in_its_present_version() -> None:
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {quorate.__version__}\n" in cited
    entry = (ROOT / "docs" / "index.md").read_text().split("```bibtex\n")[1].split("```")[0]
    assert f"version = {{{quorate.__version__}}}" in entry
    title = re.findall(r'^title: "(.*)"$', cited, re.MULTILINE)[0]
    assert f"title = {{{title}}}" in entry


# Links, lines and words.


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    dead = [link for link in links(page.read_text()) if not leads_somewhere(page, link)]
    assert not dead


def links(text: str) -> list[str]:
    """The links within the project."""
    prose = re.sub(r"`[^`]*`", "", FENCED.sub("", text))
    return [link for link in LINK.findall(prose) if "://" not in link]


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target.read_text()))


def anchors(text: str) -> set[str]:
    """What headings are called in links, as GitHub and the site make it of them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page, of sorts\n\n[here](#a-page-of-sorts) [gone](gone.md) [no](#no)\n")
    found = [leads_somewhere(page, link) for link in links(page.read_text())]
    assert found == [True, False, False]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_prose_is_at_most_100_columns_wide_and_in_the_words_of_the_field(page: Path) -> None:
    text = FENCED.sub("", page.read_text())
    unbreakable = re.compile(r"^(\||\[?!\[|<!--|\?\?\?|    )|\]\(http|^\S+$")
    prose = [line for line in text.splitlines() if not unbreakable.search(line)]
    assert [line for line in prose if len(line) > 100] == []
    avoided = r"foret[eo]l|hidden vote|at most so many|by way of the disk|by lots|rehears"
    assert re.findall(avoided, text if page.name != "CHANGELOG.md" else "", re.IGNORECASE) == []


def test_every_page_is_in_the_navigation() -> None:
    site = (ROOT / "zensical.toml").read_text()
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages == set(re.findall(r'= "(\S+\.md)"', site))


def test_the_design_names_every_module_there_is() -> None:
    page = (ROOT / "docs" / "inside" / "design.md").read_text()
    tree = page.split("```text\nsrc/quorate/\n")[1].split("reproductions/")[0]
    named = {name.rstrip("/") for name in re.findall(r"\b(\w+(?:\.py|/))(?=[\s;:,)]|$)", tree)}
    package = ROOT / "src" / "quorate"
    modules = {path.name for path in package.iterdir() if not path.name.startswith("_")}
    assert named == modules - {"py.typed"}


# What is generated.


@cache
def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_parts_are_what_the_code_says() -> None:
    stale = [
        name_of(path) for path, text in generator().pages().items() if path.read_text() != text
    ]
    assert not stale, f"{', '.join(stale)}: run `make reference`"


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_every_method_has_a_page_that_says_when_to_use_it(method) -> None:
    page = (ROOT / "docs" / "methods" / f"{method.name}.md").read_text()
    for heading in ("When to use it", "What it assumes", "Example", "Options"):
        assert f"\n## {heading}\n" in page
    for option in method.options:
        assert f"| `{option}` |" in page


def test_every_command_and_option_says_what_it_does() -> None:
    for name, command in generator().commands(main, "quorate"):
        assert command.help, name
        for parameter in command.params:
            context = command.make_context(
                name, [], resilient_parsing=True, **main.context_settings
            )
            assert generator().row(parameter, context)[2]


# The walk of the page on contributing.


def test_a_method_in_one_file(tmp_path: Path) -> None:
    """The walk, in a copy: a file, `make reference`, and the method is everywhere."""
    copy_project(tmp_path)
    walk = (ROOT / "docs" / "inside" / "contributing.md").read_text()
    (file,) = re.findall(
        r"<!-- file: src/quorate/models/toy.py -->\n+```py\n(.*?)```", walk, re.DOTALL
    )
    (tmp_path / "src" / "quorate" / "models" / "toy.py").write_text(file)

    python(tmp_path, "docs/generate.py")
    assert (
        "| `power` | `1` | at least 0 |" in (tmp_path / "docs" / "methods" / "toy.md").read_text()
    )
    assert "[`toy`](docs/methods/toy.md)" in (tmp_path / "README.md").read_text()
    assert '"methods/toy.md"' in (tmp_path / "zensical.toml").read_text()

    assert "power" in python(tmp_path, "-m", "quorate", "methods", "toy")
    assert python(tmp_path, "-c", SOUND).startswith("Result of toy on 300 tasks")
    toy = ("crowd.parquet", "-m", "toy", "--set", "power=2", "-q", "-o", "labels.csv")
    python(tmp_path, "-m", "quorate", *toy)
    assert (tmp_path / "labels.csv").read_text().startswith("task,label,confidence\nt1,")


# What every model has to hold: the same on disk, known answers kept, new tasks labelled.
SOUND = """
import numpy as np, quorate
crowd = quorate.simulate(20, 300, n_classes=3, seed=0)
crowd.votes.write_parquet("crowd.parquet")
memory = quorate.aggregate("crowd.parquet", "toy", gold={"t1": "b"})
disk = quorate.aggregate("crowd.parquet", "toy", gold={"t1": "b"}, engine="disk")
assert np.array_equal(memory.posterior, disk.posterior)
assert memory.labels["label"][0] == "b" and memory.converged
assert np.allclose(memory.posterior.sum(axis=1), 1)
assert (memory.answers != crowd.truth).mean() < crowd.vote_error
assert memory.predict([("new", "w1", "a"), ("new", "nobody", "a")])["label"].to_list() == ["a"]
print(quorate.Toy(power=2).fit(crowd.votes))
"""


def copy_project(to: Path) -> None:
    """The package and the pages, as far as `make reference` needs them."""
    kept = shutil.ignore_patterns("results", "*.svg")
    for name in ("src", "docs"):
        shutil.copytree(ROOT / name, to / name, ignore=kept)
    for name in ("README.md", "zensical.toml"):
        shutil.copy(ROOT / name, to / name)


def python(project: Path, *arguments: str) -> str:
    own = {"PYTHONPATH": str(project / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    environment = {**os.environ, **own}
    run = subprocess.run(
        [sys.executable, *arguments], cwd=project, env=environment, text=True, capture_output=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
