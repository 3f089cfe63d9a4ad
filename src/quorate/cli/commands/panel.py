"""`quorate panel`: what a panel of judges is worth, and each of them to it."""

from __future__ import annotations

from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit, shown_by

if TYPE_CHECKING:
    from quorate.votes.store import Progress


@click.command()
@options.VOTES
@options.GOLD
@click.option(
    "--covariate",
    metavar="NAME,...",
    multiple=True,
    callback=options.names,
    help="Columns of the votes that judges may go by, such as length, position or system.",
)
@options.input_option("--costs", help="What a vote of each judge costs: a table of judge and cost.")
@click.option(
    "--max-loss",
    type=float,
    **options.told("quorate.judging:panel", "max_loss"),
    help="Accuracy that a cheaper panel may lose.",
)
@options.output_option("-o", "--output", help="Where the table of judges goes.")
@options.output_option("--biases", help="Where the table of biases goes.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the bootstrap.")
@options.method_option(
    "quorate.aggregation:aggregate", help="Method of the consensus: see `quorate methods`."
)
@options.THREADS
@options.READING
@options.PRINTING
def panel(votes: Any, output: str | None, biases: str | None, **given: Any) -> None:
    """Say how many independent judges a panel is worth, and what each adds.

    Judges are compared with known answers (--gold), otherwise with the consensus.
    """
    printing = Printing.of(given)
    how = options.given(given)

    def run(progress: Progress | None) -> Any:
        from quorate.judging import panel

        return panel(votes, progress=progress, **how)

    files = (File(output, attrgetter("judges")), File(biases, attrgetter("biases")))
    show = shown_by("quorate.report.panel:show_panel")
    emit(Job(run, methodcaller("as_dict"), show, files), printing)
