"""`quorate report`: what was found, as one page to look at and to send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.commands.aggregate import title_of, unheard
from quorate.cli.output import File, Job, Printing, emit, shown_by

if TYPE_CHECKING:
    from quorate.votes.store import Progress


@click.command()
@options.VOTES
@options.output_option("-o", "--output", help="Where the page goes: one HTML file.")
@click.option("--title", metavar="TEXT", help="What the page is called; the votes unless given.")
@click.option("--pseudonyms", is_flag=True, help="Hide the names of workers.")
@click.option(
    "-n",
    "--n-shown",
    type=click.IntRange(min=1),
    **options.told("quorate.report.views:ReportOptions", "n_shown"),
    help="Number of tasks in a list.",
)
@options.METHOD
@options.ANSWERS
@options.WORKER_KINDS
@options.SCALE
@options.READING
@options.KEEP
@options.PRINTING
def report(votes: Any, output: str | None, **given: Any) -> None:
    """Make a page of what VOTES tell: workers, disputed tasks, classes, what to ask next.

    The page is one file that needs no network. Without -o its first lines are printed, and with
    --json everything that is in it.
    """
    printing = Printing.of(given)
    model = options.model_of(given.pop("method"), given.pop("settings"))
    shown = {name: given.pop(name) for name in ("title", "pseudonyms", "n_shown")}
    shown["title"] = shown["title"] or title_of(votes)
    how = options.given(options.ordered(given))

    def run(progress: Progress | None) -> Any:
        from quorate.aggregation import aggregate
        from quorate.report.views import ReportOptions, report_of

        with unheard(how):
            result = aggregate(votes, model, progress=progress, **how)
        return report_of(result, ReportOptions(**options.given(shown)))

    files = (File(output, write=_write),)
    hint = "The page itself: -o report.html."
    emit(Job(run, dict, shown_by("quorate.report.report:show_report"), files, hint), printing)


def _write(report: Any, file: Any) -> None:
    from quorate.report.page import page_of

    file.write(page_of(report).encode())
