"""The code blocks of a page: run one after the other, and compared with what the page says.

Blocks of `console` hold commands and what they print, blocks of `python` are examples at the prompt
or plain code. All blocks of a page share one directory and one set of names.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from quorate.cli import main

BLOCK = re.compile(r"^( *)```(console|python)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
SECONDS = re.compile(r" +\d+\.\d+$", re.MULTILINE)
CHECKER = doctest.OutputChecker()


def blocks(text: str) -> list[tuple[str, str]]:
    """Kind and code of every block; one within a fold or a tab is not indented."""
    return [
        (kind, re.sub(rf"^{indent}", "", code, flags=re.MULTILINE))
        for indent, kind, code in BLOCK.findall(text)
    ]


def run_page(page: Path) -> None:
    """Run the blocks of a page in the current directory; what prints something else is an error."""
    names: dict[str, object] = {}
    for kind, code in blocks(page.read_text()):
        if kind == "console":
            run_console(code)
        elif ">>> " in code:
            run_python(code, names, page.name)
        else:
            with contextlib.redirect_stdout(None):
                exec(compile(code, page.name, "exec", dont_inherit=True), names)


def run_console(block: str) -> None:
    for command, expected in COMMAND.findall(block):
        printed = "".join(f"{line.rstrip()}\n" for line in output_of(command).splitlines())
        assert matches(expected, printed), f"$ {command}\n{printed}"


def output_of(command: str) -> str:
    """What a command prints. Quorate needs no process of its own, even where its output goes into
    a pipe; a shell runs everything else."""
    first, pipe, rest = command.replace("\\\n", " ").partition(" | ")
    own = re.fullmatch(r"quorate ([^<>&;*$|]*?)( 2>&1)?", first.strip())
    if own is None:
        return in_a_shell(command)
    run = CliRunner().invoke(main, shlex.split(own[1]), prog_name="quorate")
    if not pipe:
        return run.output
    return in_a_shell(rest, run.output if own[2] else run.stdout)


def in_a_shell(command: str, given: str = "") -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        command,
        shell=True,
        text=True,
        env={**os.environ, "PATH": path},
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return run.stdout


def matches(expected: str, printed: str) -> bool:
    """Whether it was printed, whatever the seconds are, which no two runs have in common."""
    if re.search(r"\bsec(onds)?\b", expected):
        expected, printed = (SECONDS.sub(" 0.0", text) for text in (expected, printed))
    return CHECKER.check_output(expected, printed, doctest.ELLIPSIS)


def run_python(block: str, names: dict[str, object], page: str) -> None:
    test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed = runner.run(test, out=report.append, clear_globs=False).failed
    names.update(test.globs)
    assert not failed, "".join(report)
