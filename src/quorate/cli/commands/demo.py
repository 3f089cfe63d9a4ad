"""`quorate demo`: a crowd whose truth is known."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit, shown_by


@click.command()
@click.option(
    "--n-tasks",
    type=click.IntRange(min=1),
    **options.told("quorate.demo:simulated", "n_tasks"),
    help="Number of tasks.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    **options.told("quorate.demo:simulated", "seed"),
    help="Seed of the crowd.",
)
@options.output_option("-o", "--output", help="Where the simulated votes go, to try things on.")
@options.PRINTING
def demo(output: str | None, **given: Any) -> None:
    """See methods at work on a simulated crowd."""
    printing = Printing.of(given)

    def run(_: Any) -> Any:
        from quorate.demo import simulated

        return simulated(**options.given(given))

    hint = "The votes themselves: -o votes.csv; then try `quorate aggregate votes.csv`."
    files = (File(output, itemgetter("votes")),)
    emit(Job(run, itemgetter("found"), shown_by("quorate.demo:show"), files, hint), printing)
