"""The command line: parse, call, show. A command imports what is heavy when it runs."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress

import click

from quorate import __version__
from quorate.cli.commands import CommandTable
from quorate.cli.group import Commands

__all__ = ["main", "run"]

EPILOG = """`quorate votes.csv` is short for `quorate aggregate votes.csv`.

\b
To have commands, methods and their options completed by the shell:
  bash  echo 'eval "$(_QUORATE_COMPLETE=bash_source quorate)"' >> ~/.bashrc
  zsh   echo 'eval "$(_QUORATE_COMPLETE=zsh_source quorate)"' >> ~/.zshrc
  fish  _QUORATE_COMPLETE=fish_source quorate > ~/.config/fish/completions/quorate.fish

\b
Exit codes: 0 done, 1 the data is wrong, 2 the call is wrong, 130 interrupted.
"""


@click.group(
    "quorate",
    cls=Commands,
    commands=CommandTable(),
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="quorate")
def main() -> None:
    """Turn many people's (or models') noisy labels into answers you can trust."""


def run() -> None:
    """Run the command as a program, which ends with its last word: its objects are not taken apart
    one by one, which takes longer than reading a small file."""
    codes: list[object] = []
    atexit.register(_leave, codes)  # the first that is registered is the last that is called
    try:
        main(prog_name="quorate")
    except SystemExit as end:
        codes.append(end.code)
        raise


def _leave(codes: list[object]) -> None:
    with suppress(OSError, ValueError):  # else Python says what it cannot write
        sys.stdout.flush()
        sys.stderr.flush()
        if codes and isinstance(codes[0], int):
            os._exit(codes[0])
