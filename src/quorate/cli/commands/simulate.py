"""`quorate simulate`: a crowd whose truth is known."""

from __future__ import annotations

from operator import attrgetter, methodcaller
from typing import Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit
from quorate.errors import UsageError

SIMULATE = "quorate.simulation:simulate"
NAMES = {"n_workers": "workers", "votes_per_task": "labels_per_task"}


class Numbers(click.ParamType[tuple[float, ...]]):
    """Numbers with commas between them; so many, if that is known."""

    name = "numbers"

    def __init__(self, count: int | None = None) -> None:
        self._count = count

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """The numbers that a text holds."""
        try:
            numbers = tuple(map(float, value.split(",")))
        except ValueError:
            numbers = ()
        if not numbers or self._count not in (None, len(numbers)):
            what = "two numbers such as 4,2" if self._count else "numbers such as 0.7,0.3"
            name = param.opts[0] if param else "This"
            raise UsageError(f"{name} is {what}; not {value!r}.")
        return numbers


def drawn(name: str, kind: Any, help: str, metavar: str | None = None) -> Any:
    """An option of what is drawn, whose default is that of `quorate.simulate`."""
    argument = name.lstrip("-").replace("-", "_")
    return click.option(
        name,
        type=kind,
        metavar=metavar,
        **options.told(SIMULATE, NAMES.get(argument, argument)),
        help=help,
    )


CROWD = options.together(
    drawn("--n-tasks", click.IntRange(min=1), "Number of tasks."),
    drawn("--n-workers", click.IntRange(min=1), "Number of workers."),
    drawn("--n-classes", click.IntRange(min=2), "Number of classes."),
    drawn("--votes-per-task", click.IntRange(min=1), "Number of workers who label each task."),
    drawn("--n-features", click.IntRange(min=0), "Number of binary features of tasks."),
    drawn(
        "--assignment",
        str,
        "Who labels what: random, regular, skewed, clique, star, ring, or a table of task and"
        " worker.",
        "NAME|FILE",
    ),
    drawn("--skew", float, "How unequal the shares of workers in a skewed assignment are."),
    drawn("--prior", Numbers(), "Class shares, such as 0.7,0.3; even unless given.", "SHARES"),
    drawn("--several", float, "Several right answers: probability that a class is right."),
)
SKILLS = options.together(
    drawn("--kind", options.Words("quorate.simulation.people:SKILLS"), "What workers know."),
    drawn("--beta", Numbers(2), "Beta distribution of the workers' accuracies.", "A,B"),
    drawn("--low", float, "Least accuracy."),
    drawn("--high", float, "Greatest accuracy."),
    drawn("--ability-prior", Numbers(2), "Normal distribution of GLAD's abilities.", "MEAN,SD"),
    drawn(
        "--easiness-prior", Numbers(2), "Normal distribution of GLAD's log easiness.", "MEAN,SD"
    ),
)
CONDUCT = options.together(
    drawn("--spammers", float, "Share of workers who answer whatever the truth."),
    drawn("--inverted", float, "Share of workers who say the next class."),
    drawn("--colluders", click.IntRange(min=0), "Number of workers who all give one answer."),
    drawn("--groups", click.IntRange(min=0), "Number of groups of correlated workers."),
    drawn("--correlation", float, "How often a correlated worker gives the group's answer."),
    drawn("--tiring", float, "Number of votes after which half the answers are guesses."),
)


@click.command()
@options.output_option("-o", "--output", help="Where the votes go.")
@options.output_option("--truth", help="Where the truth goes: a table of task and label.")
@options.output_option("--workers", help="Where a table of the workers goes.")
@options.output_option("--features-out", help="Where the tasks' features go.")
@CROWD
@SKILLS
@CONDUCT
@drawn("--seed", click.IntRange(min=0), "Seed of the crowd.")
@options.PRINTING
def simulate(**given: Any) -> None:
    """Draw a crowd whose truth is known.

    Its votes, the truth, the workers and the features of tasks can be written to files.
    """
    printing = Printing.of(given)
    files = (
        File(given.pop("output"), attrgetter("votes")),
        File(given.pop("truth"), attrgetter("gold")),
        File(given.pop("workers"), attrgetter("workers")),
        File(given.pop("features_out"), attrgetter("features")),
    )
    if files[-1].path is not None and not given["n_features"]:
        raise UsageError("There are no features to write: say how many with --n-features.")
    told = {NAMES.get(name, name): value for name, value in options.given(given).items()}

    def run(_: Any) -> Any:
        from quorate.simulation import simulate

        return simulate(**told)

    hint = "The votes themselves: -o votes.csv, or -o - for standard output."
    emit(Job(run, methodcaller("as_dict"), _show, files, hint), printing)


def _show(summary: Any, console: Any) -> None:
    from quorate.report import show_crowd

    show_crowd(summary, console)
