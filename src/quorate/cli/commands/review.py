"""`quorate review`: the tasks that a person should look at."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.commands.aggregate import unheard
from quorate.cli.output import File, Job, Printing, emit, shown_by

if TYPE_CHECKING:
    from quorate.votes.store import Progress


@click.command()
@options.VOTES
@options.output_option(
    "-o", "--output", help="Where the queue goes, with an empty column label to fill in."
)
@click.option(
    "-n",
    "--n-shown",
    "n",
    type=click.IntRange(min=1),
    **options.told("quorate.report.views.review:review", "n"),
    help="Number of tasks in a list.",
)
@options.METHOD
@options.ANSWERS
@options.SCALE
@options.READING
@options.KEEP
@options.PRINTING
def review(votes: Any, output: str | None, n: int | None, **given: Any) -> None:
    """List the tasks of VOTES that a person should look at, the least certain first.

    Each has its votes, why it is disputed and what would settle it. Fill in the column label of
    the file, and give it back as known answers: --gold FILE.
    """
    printing = Printing.of(given)
    model = options.model_of(given.pop("method"), given.pop("settings"))
    how = options.given(options.ordered(given))

    def run(progress: Progress | None) -> Any:
        from quorate.aggregation import aggregate
        from quorate.report.views.review import review

        with unheard(how):
            result = aggregate(votes, model, progress=progress, **how)
        return review(result, **options.given({"n": n}))

    files = (File(output, attrgetter("frame")),)
    hint = "To fill in and give back as known answers: -o review.csv, then --gold review.csv."
    show = shown_by("quorate.report.report:show_review")
    emit(Job(run, lambda found: found.as_dict(), show, files, hint), printing)
