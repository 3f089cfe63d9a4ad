"""Every example in the README and the docs runs; whatever a user can name is documented."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import click
import pytest

import quorate
from quorate import datasets
from quorate.cli import main
from quorate.models import METHODS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHECKER = doctest.OutputChecker()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_and_print_what_they_say(page: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, code in BLOCK.findall(page.read_text()):
        if kind == "console":
            run_console(code)
        else:
            run_python(code, names, page.name)


def run_console(block: str) -> None:
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        environment = {
            **os.environ,
            "COLUMNS": "80",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        run = subprocess.run(
            command, shell=True, text=True, env=environment, stdout=-1, stderr=subprocess.STDOUT
        )
        printed = "".join(f"{line.rstrip()}\n" for line in run.stdout.splitlines())
        assert matches(expected, printed), f"$ {command}\n{printed}"


def matches(expected: str, printed: str) -> bool:
    return CHECKER.check_output(expected, printed, doctest.ELLIPSIS)


def run_python(block: str, names: dict[str, object], page: str) -> None:
    test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed = runner.run(test, out=report.append, clear_globs=False).failed
    names.update(test.globs)
    assert not failed, "".join(report)


def test_an_example_that_prints_something_else_fails() -> None:
    assert matches("one\n...\nthree\n", "one\ntwo\nthree\n")
    assert not matches("one\ntwo\n", "one\nthree\n")
    with pytest.raises(AssertionError):
        run_python(">>> 1 + 1\n3\n", {}, "page")


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_every_method_and_its_options_are_documented(method) -> None:
    page = (ROOT / "docs" / "methods.md").read_text()
    assert f"\n## {method.name}\n" in page
    assert f"`{method.name}`" in (ROOT / "README.md").read_text()
    for option in fields(method.model):
        assert f"`{option.name}`" in page, option.name
        described = any(f"{option.name}:" in (c.__doc__ or "") for c in method.model.__mro__)
        assert described, f"{option.name} is not in the docstring"


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_and_option_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text()
    section = page.split(f"\n## quorate {name}\n")[1].split("\n## ")[0]
    command = main.commands[name]
    assert command.help
    below = command.commands.values() if isinstance(command, click.Group) else ()
    for parameter in (each for one in (command, *below) for each in one.params):
        for option in parameter.opts:
            shown = option.upper() if isinstance(parameter, click.Argument) else option
            assert f"`{shown}`" in section, option
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


def test_every_public_name_is_documented() -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    documented = set(re.findall(r"^::: .*\.(\w+)$", page, re.MULTILINE))
    assert set(quorate.__all__) - {"__version__"} <= documented
    assert set(datasets.__all__) - {"CATALOGUE"} <= documented
