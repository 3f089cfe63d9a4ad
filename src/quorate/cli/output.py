"""What every command does with what it found: check, run, write, show, say what was written."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from quorate.cli.group import say
from quorate.cli.options import inputs, place
from quorate.cli.progress import bar, stopping_at_once
from quorate.errors import masked
from quorate.words import count

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
        return path if rows is None else f"{path} ({count(rows, 'row')})"


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
    interrupted, and threads that would be waited for. What `acts` is run for what it does, and
    has nothing to print when it is to be quiet."""

    run: Callable[[Progress | None], Any]
    summary: Callable[[Any], Mapping[str, Any]]
    show: Callable[[Any, Console], object]
    files: Sequence[File] = field(default=())
    hint: str = ""
    at_once: bool = False
    acts: bool = False

    @property
    def named_files(self) -> list[File]:
        """The files that are to be written."""
        return [file for file in self.files if file.path is not None]


def emit(job: Job, printing: Printing) -> None:
    """Check where files go, run, write them, print the summary, and say what was written."""
    from quorate.votes import Outputs

    files = job.named_files
    _check(files)
    with (
        bar(printing.quiet) as progress,
        stopping_at_once() if job.at_once else nullcontext(),
    ):
        found = job.run(progress)
    with Outputs() as outputs:
        written = {file.path: file.put(found, outputs) for file in files}
        outputs.send()
        _show(job, found, printing, to_stdout="-" not in written)
    if not printing.quiet:
        _say([what for path, what in written.items() if path != "-"])
    if not (files or printing.quiet or printing.as_json) and job.hint:
        say(f"\n{job.hint}", err=True)


def _show(job: Job, found: Any, printing: Printing, to_stdout: bool) -> None:
    """Print the summary, all of it, on standard output unless a table is there."""
    if printing.as_json:
        summary = json.dumps(job.summary(found), indent=2, default=str)  # what JSON has no word for
        click.echo(masked(summary), err=not to_stdout)
    elif not (printing.quiet and (job.named_files or job.acts)):
        from quorate.report.screen import screen

        job.show(job.summary(found), screen(to_stdout=to_stdout))
    sys.stdout.flush()


def shown_by(path: str, **how: Any) -> Callable[[Any, Console], object]:
    """The function at that place, which draws what was found, imported when it is needed."""
    return lambda found, console: place(path)(found, console, **how)


def _check(files: Sequence[File]) -> None:
    from quorate.votes import require_apart

    for file in files:
        file.check()
    require_apart([str(file.path) for file in files], inputs())


def _say(written: Sequence[str]) -> None:
    """On standard error, what was written where."""
    *others, last = written or [""]
    if last:
        named = f"{', '.join(others)} and {last}" if others else last
        say(f"Wrote {named}.", err=True)
