"""What every command does with what it found: check, run, write, show, say what was written."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from quorate.cli.progress import bar, stopping_at_once
from quorate.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from quorate.votes import Outputs
    from quorate.votes.store import Progress


@dataclass(frozen=True)
class File:
    """A file to write, if it is named: the table that `of` takes from what was found, with so many
    `rows` where the table itself does not know, or what `write` puts into it."""

    path: str | None
    of: Callable[[Any], Any] | None = None
    rows: Callable[[Any], int | None] = lambda found: None
    write: Callable[[Any, Any], object] | None = None

    def check(self) -> None:
        """Refuse a place where it cannot be written, before any work is done."""
        from quorate.votes import check_place, output_format

        if self.path not in (None, "-") or self.write is not None:
            check = output_format if self.write is None else check_place
            check(str(self.path))

    def put(self, found: Any, outputs: Outputs) -> str:
        """Write it, and say what it is."""
        path = str(self.path)
        if self.write is not None:
            write = self.write
            outputs.file(path, lambda file: write(found, file))
            return path
        table: Any = None if self.of is None else self.of(found)
        outputs.table(table, path)
        rows = table.height if hasattr(table, "height") else self.rows(found)
        return path if rows is None else f"{path} ({rows:,} {'row' if rows == 1 else 'rows'})"


@dataclass(frozen=True)
class Printing:
    """How what was found is printed."""

    as_json: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, options: dict[str, Any]) -> Printing:
        """As the options say, which are taken out."""
        return cls(options.pop("as_json"), options.pop("quiet"))


@dataclass(frozen=True)
class Job:
    """What a command does: `run` it, write `files`, `show` its `summary`. `hint` names what else
    there is, unless a file is named. `at_once` is for work that has nothing to tidy up when it is
    interrupted, and threads that would be waited for."""

    run: Callable[[Progress | None], Any]
    summary: Callable[[Any], Mapping[str, Any]]
    show: Callable[[Any, Console], object]
    files: Sequence[File] = field(default=())
    hint: str = ""
    at_once: bool = False


def emit(job: Job, printing: Printing) -> None:
    """Check where files go, run, write them, print the summary, and say what was written."""
    from quorate.votes import Outputs

    files = [file for file in job.files if file.path is not None]
    _check(files)
    with (
        bar(printing.quiet) as progress,
        stopping_at_once() if job.at_once else nullcontext(),
    ):
        found = job.run(progress)
    with Outputs() as outputs:
        written = {file.path: file.put(found, outputs) for file in files}
    to_stdout = all(file.path != "-" for file in files)
    if printing.as_json:
        print_json(job.summary(found), to_stdout=to_stdout)
    elif not (printing.quiet and files):
        from quorate.report import screen

        job.show(job.summary(found), screen(to_stdout=to_stdout))
    if not printing.quiet:
        _say([what for path, what in written.items() if path != "-"])
    if not (files or printing.quiet or printing.as_json) and job.hint:
        click.echo(f"\n{job.hint}", err=True)


def _check(files: Sequence[File]) -> None:
    for file in files:
        file.check()
    paths = [file.path for file in files]
    for path in paths:
        if paths.count(path) > 1:
            if path == "-":
                raise UsageError("Only one table can go to standard output.")
            raise UsageError(f"Two outputs go to {path}: give each its own name.")


def _say(written: Sequence[str]) -> None:
    """On standard error, what was written where."""
    *others, last = written or [""]
    if last:
        named = f"{', '.join(others)} and {last}" if others else last
        click.echo(f"Wrote {named}.", err=True)


def print_json(summary: Mapping[str, Any], *, to_stdout: bool = True) -> None:
    """As one object; what JSON has no word for as text."""
    click.echo(json.dumps(summary, indent=2, default=str), err=not to_stdout)
