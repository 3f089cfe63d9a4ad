"""`quorate estimate`: what is true of all tasks, from votes and a few known answers."""

from __future__ import annotations

from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit, shown_by
from quorate.errors import UsageError

if TYPE_CHECKING:
    from quorate.votes.store import Progress

ESTIMATE = "quorate.estimation:estimate"


def values(ctx: click.Context, param: click.Parameter, given: str | None) -> Any:
    """Numbers for classes: A=1,B=0, or the labels themselves."""
    if given is None:
        return None
    if given in ("label", "labels"):
        return True
    parts = [part.rpartition("=") for part in given.split(",")]
    try:
        return {name.strip(): float(number) for name, _, number in parts if name or number}
    except ValueError:
        raise UsageError(
            f"--value gives numbers for classes, such as good=1,bad=0, or is labels where these are"
            f" numbers, not {given!r}."
        ) from None


@click.command()
@options.VOTES
@options.gold_option(
    "Known answers, drawn at random: a table of task and label, or a column of the votes."
)
@click.option(
    "--value",
    metavar="CLASS=NUMBER,...",
    callback=values,
    help="Estimate the mean of these numbers of the classes; `labels` if they are numbers.",
)
@click.option(
    "--by",
    metavar="COLUMN|FILE",
    callback=options.perhaps_input_file,
    help="A row for each group: a column of the votes, or a table of task and group.",
)
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="Compare two groups of --by; without --by two classes: how often A wins.",
)
@click.option("--pair", metavar="COLUMN", help="Which tasks of the two groups are of one item.")
@click.option(
    "--swap",
    metavar="COLUMN",
    help="Says whether two answers were shown in the other order, where labels are positions.",
)
@click.option("--ties", type=float, help="What a tie counts, 0.5 of a win unless given.")
@click.option(
    "--sampling",
    metavar="COLUMN|FILE",
    callback=options.perhaps_input_file,
    help="Weights inverse to the probabilities with which known tasks were drawn.",
)
@click.option(
    "--plan", type=click.IntRange(min=1), help="Draw so many tasks to find the answers of."
)
@click.option(
    "--level", type=float, **options.told(ESTIMATE, "level"), help="Level of the intervals."
)
@click.option(
    "--population",
    type=options.Words("quorate.estimation.estimation:Population"),
    help="What the figures are of: these tasks, as long as nothing else is said, or all others of"
    " which these are a sample.",
)
@options.output_option("-o", "--output", help="Where the table of figures goes, or the plan.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the folds and of the plan.")
@options.method_option(
    "quorate.aggregation:aggregate", help="Method of the consensus: see `quorate methods`."
)
@options.DISCOUNT
@options.THREADS
@options.READING
@options.KEEP
@options.PRINTING
def estimate(votes: Any, output: str | None, **given: Any) -> None:
    """Estimate shares or means over all tasks, with intervals.

    A few known answers (--gold) correct what the votes say, and the votes make the interval
    narrower than the answers alone would. --plan says which answers to find first.
    """
    printing = Printing.of(given)
    how = options.given(given)

    def run(progress: Progress | None) -> Any:
        from quorate.estimation import estimate

        return estimate(votes, progress=progress, **how)

    planned = given.get("plan") is not None
    files = (File(output, attrgetter("plan" if planned else "table")),)
    hint = "The plan itself: -o plan.csv, or -o - for standard output." if planned else ""
    show = shown_by("quorate.report.estimate:show_estimate")
    emit(Job(run, methodcaller("as_dict"), show, files, hint), printing)
