"""`quorate convert`: votes of any kind as one long table."""

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
@options.output_option(
    "-o", "--output", help="Where the table goes; - is standard output, as for every table."
)
@options.output_option(
    "--gold-output", help="Where the known answers of an export go: a table of task and label."
)
@options.READING
@options.KEEP
@options.PRINTING
def convert(votes: Any, output: str | None, gold_output: str | None, **given: Any) -> None:
    """Write VOTES of any kind as one long table.

    VOTES are what every command reads: tables and exports of other tools. The table has task,
    worker and label, the question first where there are several, seconds and time where an export
    has them, and the columns of --keep. Of tables in files no more than a part is in memory.
    """
    printing = Printing.of(given)
    how = options.given(given)

    def run(_: Progress | None) -> Any:
        from quorate.votes import convert

        return convert(votes, **how)

    files = (
        File(output, attrgetter("table"), attrgetter("votes")),
        File(gold_output, _gold),
    )
    hint = "The table itself: -o votes.csv, or -o - for standard output."
    show = shown_by("quorate.report.conversion:show_conversion")
    emit(Job(run, methodcaller("as_dict"), show, files, hint), printing)


def _gold(found: Any) -> Any:
    """The known answers, if there are some."""
    from quorate.errors import DataError

    if found.gold is None:
        raise DataError("There are no known answers in the input: leave --gold-output out.")
    return found.gold
