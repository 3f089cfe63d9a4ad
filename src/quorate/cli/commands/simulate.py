"""`quorate simulate`: a crowd whose truth is known."""

from __future__ import annotations

import json
from functools import partial
from operator import attrgetter, methodcaller
from typing import Any

import click

from quorate.cli import options
from quorate.cli.output import File, Job, Printing, emit, shown_by
from quorate.errors import UsageError

SIMULATE = "quorate.simulation:simulate"
DRAWING, PEOPLE = "quorate.simulation.drawing", "quorate.simulation.people"
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


def drawn(
    home: str, name: str, kind: Any, help: str, metavar: str | None = None, **more: Any
) -> options.Decorator[Any]:
    """An option of what is drawn, whose default is defined at `home`."""
    is_place = home.partition(":")[2].isupper()
    told = options.told(home) if is_place else options.told(home, name[2:].replace("-", "_"))
    return click.option(name, type=kind, metavar=metavar, **told, help=help, **more)


whole = click.IntRange(min=0)
some = partial(drawn, SIMULATE)
skill, conduct = partial(drawn, f"{PEOPLE}:Skills"), partial(drawn, f"{PEOPLE}:Conduct")
CROWD = options.together(
    drawn(f"{DRAWING}:TASKS", "--n-tasks", click.IntRange(min=1), "Number of tasks."),
    drawn(f"{DRAWING}:WORKERS", "--n-workers", click.IntRange(min=1), "Number of workers."),
    some("--n-classes", click.IntRange(min=2), "Number of classes; 2 unless given."),
    some(
        "--votes-per-task",
        click.IntRange(min=1),
        "Number of workers who label each task; 5, or all if they are fewer, unless given.",
    ),
    some("--n-features", whole, "Number of binary features of tasks; none unless given."),
    some(
        "--assignment",
        str,
        "Who labels what: random, regular, skewed, clique, star, ring, or a table of task and"
        " worker.",
        "NAME|FILE",
        callback=options.perhaps_input_file,
    ),
    some("--skew", float, "How unequal the shares of workers in a skewed assignment are."),
    some("--prior", Numbers(), "Class shares, such as 0.7,0.3; even unless given.", "SHARES"),
    some("--several", float, "Several right answers: probability that a class is right."),
)
SKILLS = options.together(
    skill("--kind", options.Words(f"{PEOPLE}:SKILLS"), "What workers know."),
    skill("--beta", Numbers(2), "Beta distribution of the workers' accuracies.", "A,B"),
    skill("--low", float, "Least accuracy."),
    skill("--high", float, "Greatest accuracy."),
    skill("--ability-prior", Numbers(2), "Normal distribution of GLAD's abilities.", "MEAN,SD"),
    skill("--easiness-prior", Numbers(2), "Normal distribution of GLAD's log easiness.", "MEAN,SD"),
)
CONDUCT = options.together(
    conduct("--spammers", float, "Share of workers who answer whatever the truth."),
    conduct("--inverted", float, "Share of workers who say the next class."),
    conduct("--colluders", whole, "Number of workers who all give one answer."),
    conduct("--groups", whole, "Number of groups of correlated workers."),
    conduct("--correlation", float, "How often a correlated worker gives the group's answer."),
    conduct("--tiring", float, "Number of votes after which half the answers are guesses."),
)


@click.command()
@options.output_option("-o", "--output", help="Where the votes go.")
@options.output_option("--truth", help="Where the truth goes: a table of task and label.")
@options.output_option("--workers", help="Where a table of the workers goes.")
@options.output_option("--features-out", help="Where the tasks' features go.")
@CROWD
@SKILLS
@CONDUCT
@some("--seed", whole, "Seed of the crowd.")
@click.option("--against", metavar="URL", help="Server on which the crowd votes; see `serve`.")
@click.option("--project", default="simulation", show_default=True, help="Its project there.")
@click.option("--token", envvar="QUORATE_TOKEN", help="Token of the server; or QUORATE_TOKEN.")
@click.option("--most", type=click.IntRange(min=1), default=10_000, help="Votes at most there.")
@options.PRINTING
def simulate(**given: Any) -> None:
    """Draw a crowd whose truth is known.

    Its votes, the truth, the workers and the features of tasks can be written to files. With
    --against the crowd votes on a server, task by task as that hands them out.
    """
    printing = Printing.of(given)
    server = {name: given.pop(name) for name in ("against", "project", "token", "most")}
    if server["against"] is not None:
        _play(given, server, printing)
        return
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
    emit(
        Job(run, methodcaller("as_dict"), shown_by("quorate.report:show_crowd"), files, hint),
        printing,
    )


def _play(given: dict[str, Any], server: dict[str, Any], printing: Printing) -> None:
    """Let the crowd vote on a server."""
    from quorate.cli.group import say
    from quorate.service.client import Client
    from quorate.service.playing import Players
    from quorate.simulation import simulate

    if any(given.pop(name) is not None for name in ("output", "truth", "workers", "features_out")):
        raise UsageError("With --against the votes are on the server: leave the files out.")
    told = {NAMES.get(name, name): value for name, value in options.given(given).items()}
    players = Players(simulate(**told), told.get("seed", 0))
    with Client(server["against"], token=server["token"]) as client:
        players.set_up(client, server["project"])
        if not printing.quiet:
            say(f"Watch it: {client.url}/projects/{server['project']}", err=True)
        played = players.play(client, server["most"])
    if printing.as_json:
        click.echo(json.dumps(played.as_dict()))
    elif not printing.quiet:
        say(f"{played.votes:,} votes; {played.error:.1%} of the labels are wrong.")
        say(played.reason or "That is as many as were asked for.")
