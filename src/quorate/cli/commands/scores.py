"""`quorate scores`: numeric ratings in, a consensus score for each task out."""

from __future__ import annotations

from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.commands.aggregate import unheard
from quorate.cli.output import File, Job, Printing, emit, shown_by
from quorate.errors import UsageError

if TYPE_CHECKING:
    from quorate.votes.store import Progress

SCORES = "quorate.scoring:scores"


@click.command()
@options.VOTES
@options.output_option("-o", "--output", help="Where the scores go; - is standard output.")
@options.output_option("--workers", help="Where a table of the workers goes.")
@options.gold_option("Known scores: a table of task and label, or a column of the votes.")
@click.option(
    "--values",
    metavar="LABEL=NUMBER,...",
    help="Which number each label stands for, where labels are words.",
)
@click.option(
    "--level", type=float, **options.told(SCORES, "level"), help="Level of the intervals."
)
@options.SCALE
@options.READING
@options.KEEP
@options.PRINTING
def scores(votes: Any, output: str | None, workers: str | None, **given: Any) -> None:
    """Turn numeric ratings into a consensus score for each task.

    Judges may differ in offset, in scale and in noise, which are learned from VOTES: files of task,
    worker and label, or whatever else `quorate aggregate` reads, whose labels are numbers.
    """
    printing = Printing.of(given)
    table = File(output, attrgetter("scores"), attrgetter("tasks"))
    files = (table, File(workers, attrgetter("workers")))
    values = given.pop("values")
    how = options.given(given) | ({} if values is None else {"values": _numbers(values)})

    def run(progress: Progress | None) -> Any:
        from quorate.scoring import scores

        with unheard(how):
            return scores(votes, progress=progress, **how)

    hint = "The scores themselves: -o scores.csv, or -o - for standard output."
    show = shown_by("quorate.report.scores:show_scores")
    emit(Job(run, methodcaller("as_dict"), show, files, hint), printing)


def _numbers(text: str) -> dict[str, float]:
    """Numbers of labels, from text such as good=1,bad=0."""
    numbers = {}
    for part in text.split(","):
        label, _, number = part.rpartition("=")
        try:
            numbers[label.strip()] = float(number)
        except ValueError:
            raise UsageError(f"values are label=number, such as good=1; not {part!r}.") from None
    return numbers
