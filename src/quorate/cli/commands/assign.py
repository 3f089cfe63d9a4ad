"""`quorate assign`: where the next votes should go."""

from __future__ import annotations

from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit, shown_by

if TYPE_CHECKING:
    from quorate.votes.store import Progress

ASSIGN = "quorate.assignment:assign"


@click.command()
@options.VOTES
@click.option("--budget", type=float, help="How much to spend, in units of cost.")
@click.option(
    "--confidence", type=float, help="Skip tasks whose label has at least this confidence."
)
@click.option(
    "--target-error", type=float, help="Stop when the expected error rate is down to this."
)
@options.output_option("-o", "--output", help="Where the assignments go.")
@click.option(
    "--policy",
    type=options.Words("quorate.assignment.plan:POLICIES"),
    **options.told(ASSIGN, "policy"),
    help="What ranks the tasks: the gain in expected error of a vote, the risk of a wrong label by"
    " a random forest, the entropy of the posterior, or nothing.",
)
@options.method_option(ASSIGN, help="Method of the labels so far: see `quorate methods`.")
@options.SETTINGS
@options.BELIEF
@click.option(
    "--ask",
    type=options.Words("quorate.assignment.plan:Ask"),
    help="Who is asked: anyone at random, as long as nothing else is said, or the best for each"
    " task.",
)
@options.input_option("--tasks", help="Tasks that may have no vote yet: a table of task.")
@options.input_option(
    "--available",
    help="Who can be asked, if not everyone who voted: a table of worker and, if it has them, cost"
    " and capacity.",
)
@click.option("--cost", type=float, help="Cost of a vote, where the table does not say.")
@click.option(
    "--capacity", type=float, help="Most votes of a worker, where the table does not say."
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed for whatever is random.")
@options.THREADS
@options.READING
@options.KEEP
@options.PRINTING
def assign(votes: Any, output: str | None, **given: Any) -> None:
    """Say which worker to ask about which task next.

    The answer comes with what the votes are expected to buy, by the labels and the expected error
    of `quorate aggregate`. At least one of --budget, --confidence
    and --target-error has to be given.
    """
    printing = Printing.of(given)
    model = options.model_of(given.pop("method"), given.pop("settings"))
    how = options.given(options.ordered(given))

    def run(_: Progress | None) -> Any:
        from quorate.assignment import assign

        return assign(votes, method=model, **how)

    hint = "The assignments themselves: -o next.csv, or -o - for standard output."
    files = (File(output, attrgetter("table")),)
    show = shown_by("quorate.report.assignment:show_assignment")
    emit(Job(run, methodcaller("as_dict"), show, files, hint), printing)
