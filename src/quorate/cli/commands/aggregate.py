"""`quorate aggregate`: votes in, labels out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit, shown_by
from quorate.errors import UsageError

ALL = "all"  # of the questions of an export

if TYPE_CHECKING:
    from quorate.votes.store import Progress


@click.command()
@options.VOTES
@options.output_option(
    "-o", "--output", help="Where the labels go; - is standard output, as for every table."
)
@click.option(
    "--as",
    "tool",
    type=options.Words("quorate.votes.writers:NAMES"),
    help="Write the labels in the form that this tool imports; its export is the input.",
)
@click.option(
    "--reject-below",
    type=float,
    metavar="ACCURACY",
    **options.told("quorate.votes.writers.mturk:REJECT_BELOW"),
    help="With --as mturk: workers who are surely less accurate than this are rejected.",
)
@options.output_option("--workers", help="Where a table of the workers goes.")
@options.output_option("--posterior", help="Where the posterior of every task goes.")
@options.output_option("--confusion", help="Where the workers' confusion matrices go.")
@click.option(
    "--save",
    metavar="FILE.quorate",
    type=click.Path(),
    help="Where the whole result goes, for `quorate.load`.",
)
@options.output_option("--report", help="Where a report goes: one HTML page to look at.")
@click.option(
    "--min-confidence",
    type=float,
    **options.told("quorate.aggregation:aggregate", "min_confidence"),
    help="Leave answers with a lower confidence without a label.",
)
@click.option(
    "--max-error",
    type=float,
    metavar="SHARE",
    help="Decide as many answers as can be such that at most this share of them is wrong.",
)
@options.METHOD
@options.ANSWERS
@options.WORKER_KINDS
@click.option(
    "--multilabel", is_flag=True, help="Tasks have several right answers: all that a worker named."
)
@click.option(
    "--separator", metavar="TEXT", help="What stands between a worker's answers in one row."
)
@options.SCALE
@options.READING
@options.KEEP
@options.PRINTING
def aggregate(votes: Any, **given: Any) -> None:
    """Turn VOTES into labels.

    VOTES are one or several files of task, worker and label, or with a column for each worker, an
    export of another tool, or a database, such as sqlite:///crowd.db?table=votes; - is standard
    input. Quorate reads and writes .csv, .tsv, .jsonl, .parquet and databases, and reads .json,
    .xlsx and .txt, and all files with .gz, .zst, .bz2, .xz or .zip behind. With --question all
    every question of an export is a run of its own.
    """
    printing = Printing.of(given)
    files = (
        _labels(given.pop("output"), given.pop("tool"), votes, given.pop("reject_below")),
        File(given.pop("workers"), attrgetter("workers")),
        File(given.pop("posterior"), attrgetter("posterior_table"), _rows_of_labels),
        File(given.pop("confusion"), attrgetter("confusion_table")),
        File(given.pop("save"), write=lambda result, file: result.write(file)),
        File(given.pop("report"), write=partial(_write_report, title_of(votes))),
    )
    if given["question"] == ALL and any(file.path is not None for file in files[-2:]):
        raise UsageError("--save and --report are of the result of one question: name it.")
    hint = "The labels themselves: -o labels.csv, or -o - for standard output."
    model = options.model_of(given.pop("method"), given.pop("settings"))
    how = options.given(options.ordered(given))

    def run(progress: Progress | None) -> Any:
        from quorate.aggregation import aggregate
        from quorate.by_question import aggregate_each

        with unheard(how):
            function = aggregate_each if how.get("question") == ALL else aggregate
            return function(votes, model, progress=progress, **how)

    emit(Job(run, _summary, shown_by("quorate.report.summary:show_summary"), files, hint), printing)


def _labels(
    path: str | None, tool: str | None, votes: str | list[str], reject_below: float | None
) -> File:
    """The file of the labels: a table, or what a tool imports."""
    options = {} if reject_below is None else {"reject_below": reject_below}
    if tool is None:
        if options:
            raise UsageError("--reject-below is for --as mturk: leave it out.")
        return File(path, attrgetter("labels"), _rows_of_labels)
    if path in (None, "-"):
        raise UsageError(f"--as {tool} writes a file: name it with -o.")
    from quorate.votes.writers import write_for, writer_for

    writer_for(tool, votes, options)

    def write(result: Any, file: Any) -> None:
        from quorate.result import Result

        one = isinstance(result, Result)
        found = {result.question: result.outcome()} if one else result.outcomes()
        write_for(tool, found, votes, file, **options)

    return File(path, write=write)


def title_of(votes: str | list[str]) -> str:
    """What a report of these votes is called, unless it is named."""
    from pathlib import PurePath

    first = votes if isinstance(votes, str) else votes[0]
    name = "votes" if first == "-" else PurePath(first).name
    return name if isinstance(votes, str) else f"{name} and {len(votes) - 1} more"


def _write_report(title: str, result: Any, file: Any) -> None:
    from quorate.report.page import page_of
    from quorate.report.views import ReportOptions, report_of

    file.write(page_of(report_of(result, ReportOptions(title))).encode())


def unheard(how: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Keeps what a cluster prints out of standard output."""
    on_cluster = how.get("engine") == "ray" or "address" in how
    return redirect_stdout(sys.stderr) if on_cluster else nullcontext()


def _rows_of_labels(result: Any) -> int | None:
    """A row for each task, but where a task has several right answers."""
    from quorate.result import Result

    is_one = type(result) is Result
    return result.overview.tasks if is_one else None


def _summary(result: Any) -> Mapping[str, Any]:
    from quorate.result import Result
    from quorate.summary import summarise

    found: Mapping[str, Any] = summarise(result) if isinstance(result, Result) else result.summary
    return found
