"""`quorate diagnose`: whether a crowd can be learned, and whom to mistrust."""

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
@options.output_option("--workers", help="Where a table of the workers goes.")
@click.option(
    "--theory", is_flag=True, help="Print the quantities of the papers' error bounds as well."
)
@options.GOLD
@options.ORDER
@options.WORKER_KINDS
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    **options.told("quorate.diagnosis:diagnose", "seed"),
    help="Seed of the bootstrap.",
)
@options.THREADS
@options.READING
@options.PRINTING
def diagnose(votes: Any, workers: str | None, theory: bool, **given: Any) -> None:
    """Say what is wrong with a crowd, and whom to mistrust.

    Findings come first, each with what to do about it, then what was measured.
    """
    printing = Printing.of(given)
    how = options.given(options.ordered(given))

    def run(progress: Progress | None) -> Any:
        from quorate.diagnosis import diagnose

        return diagnose(votes, progress=progress, **how)

    show = shown_by("quorate.report.diagnosis:show_diagnosis", theory=theory)
    files = (File(workers, attrgetter("workers")),)
    emit(Job(run, methodcaller("as_dict"), show, files), printing)
