"""`quorate rank`: who is better than whom, from comparisons of pairs."""

from __future__ import annotations

from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit, shown_by

if TYPE_CHECKING:
    from quorate.votes.store import Progress

RANK = "quorate.ranking:rank"


@click.command()
@click.argument(
    "comparisons",
    nargs=-1,
    required=True,
    callback=options.source,
    type=click.Path(allow_dash=True),
)
@options.output_option("-o", "--output", help="Where the table of systems goes.")
@options.output_option("--workers", help="Where a table of the workers goes.")
@click.option(
    "--by-worker/--no-by-worker",
    default=None,
    help="Judges count by their reliability, which is learned, unless --no-by-worker is given.",
)
@click.option(
    "--position/--no-position",
    default=None,
    help="How far judges lean to the left or the right is learned and taken out, unless"
    " --no-position is given.",
)
@click.option(
    "--prior-sd",
    type=float,
    help="Standard deviation of a normal prior of the strengths; none unless a system won or lost"
    " every comparison.",
)
@click.option("--level", type=float, **options.told(RANK, "level"), help="Level of the intervals.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    **options.told(RANK, "seed"),
    help="Seed of the intervals of the ranks.",
)
@options.THREADS
@click.option("--left-column", metavar="NAME", help="Column of the system on the left.")
@click.option("--right-column", metavar="NAME", help="Column of the system on the right.")
@click.option("--worker-column", metavar="NAME", help="Column of the worker.")
@click.option("--winner-column", metavar="NAME", help="Column of the winner.")
@options.SOURCE
@options.PRINTING
def rank(comparisons: Any, output: str | None, workers: str | None, **given: Any) -> None:
    """Rank systems by comparisons of pairs.

    COMPARISONS are one or several files with the columns left, right, worker and winner, or
    model_a, model_b, judge and winner; - is standard input. The winner is one of the two systems,
    a side (left or right, model_a or model_b), or a tie. Without a worker all count alike.
    """
    printing = Printing.of(given)
    files = (File(output, attrgetter("systems")), File(workers, attrgetter("workers")))

    def run(progress: Progress | None) -> Any:
        from quorate.ranking import rank

        return rank(comparisons, progress=progress, **options.given(given))

    show = shown_by("quorate.report.ranking:show_ranking")
    emit(Job(run, methodcaller("as_dict"), show, files), printing)
