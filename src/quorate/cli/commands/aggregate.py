"""`quorate aggregate`: votes in, labels out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit, shown_by

if TYPE_CHECKING:
    from quorate.votes.store import Progress


@click.command()
@options.VOTES
@options.output_option(
    "-o", "--output", help="Where the labels go; - is standard output, as for every table."
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
@options.PRINTING
def aggregate(votes: Any, **given: Any) -> None:
    """Turn VOTES into labels.

    VOTES are one or several files of task, worker and label; - is standard input. Quorate reads
    and writes .csv, .tsv, .jsonl and .parquet, reads them with .gz or .zst behind, and both reads
    and writes databases, such as sqlite:///crowd.db?table=votes.
    """
    printing = Printing.of(given)
    files = (
        File(given.pop("output"), attrgetter("labels"), _rows_of_labels),
        File(given.pop("workers"), attrgetter("workers")),
        File(given.pop("posterior"), attrgetter("posterior_table"), attrgetter("overview.tasks")),
        File(given.pop("confusion"), attrgetter("confusion_table")),
        File(given.pop("save"), write=lambda result, file: result.write(file)),
        File(given.pop("report"), write=_write_report),
    )
    hint = "The labels themselves: -o labels.csv, or -o - for standard output."
    model = options.model_of(given.pop("method"), given.pop("settings"))
    how = options.given(options.ordered(given))

    def run(progress: Progress | None) -> Any:
        from quorate.aggregation import aggregate

        with unheard(how):
            return aggregate(votes, model, progress=progress, **how)

    emit(Job(run, _summary, shown_by("quorate.report:show_summary"), files, hint), printing)


def _write_report(result: Any, file: Any) -> None:
    from quorate.report.page import page_of
    from quorate.report.views import report_of

    file.write(page_of(report_of(result)).encode())


def unheard(how: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Keeps what a cluster prints out of standard output."""
    on_cluster = how.get("engine") == "ray" or "address" in how
    return redirect_stdout(sys.stderr) if on_cluster else nullcontext()


def _rows_of_labels(result: Any) -> int | None:
    """A row for each task, but where a task has several right answers."""
    from quorate.multilabel import Multilabel

    rows: int = result.overview.tasks
    return None if isinstance(result, Multilabel) else rows


def _summary(result: Any) -> Mapping[str, Any]:
    from quorate.summary import summarise

    return summarise(result)
