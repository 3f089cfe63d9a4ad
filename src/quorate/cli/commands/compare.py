"""`quorate compare`: several methods on the same votes."""

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
@click.option(
    "-m",
    "--method",
    "methods",
    metavar="NAME",
    multiple=True,
    shell_complete=options.complete_method,
    help="Method to compare; may be repeated. All of them unless given.",
)
@options.gold_option("Known answers to score by: a table of task and label, or a column.")
@options.BELIEF
@options.output_option("-o", "--output", help="Where the table of scores goes.")
@click.option(
    "--held-out",
    type=float,
    **options.told("quorate.comparison:compare", "held_out"),
    help="Share of the votes that is held out and predicted.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    **options.told("quorate.comparison:compare", "seed"),
    help="Seed of the held-out votes and the bootstrap.",
)
@options.THREADS
@options.READING
@options.PRINTING
def compare(votes: Any, methods: tuple[str, ...], output: str | None, **given: Any) -> None:
    """Score several methods on the same votes.

    Methods are scored by known answers (--gold), by how well they predict votes that are held out,
    and by their agreement with each other; each by the labels that `quorate aggregate` would give.
    """
    printing = Printing.of(given)
    names = [options.require_method(name) for name in methods] or None
    how = options.given(options.ordered(given))

    def run(progress: Progress | None) -> Any:
        from quorate.comparison import compare

        return compare(votes, names, progress=progress, **how)

    files = (File(output, attrgetter("table")),)
    emit(
        Job(
            run,
            methodcaller("as_dict"),
            shown_by("quorate.report.comparison:show_comparison"),
            files,
            at_once=True,
        ),
        printing,
    )
