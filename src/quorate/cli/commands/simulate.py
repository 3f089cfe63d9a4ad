"""`quorate simulate`: a crowd whose truth is known."""

from __future__ import annotations

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
PLAYING = options.together(
    click.option(
        "--against",
        metavar="URL",
        help="Let the crowd work on that server: its workers ask for tasks, and vote.",
    ),
    click.option(
        "--project",
        metavar="NAME",
        **options.told("quorate.service.playing:PROJECT"),
        help="With --against: the project to make there.",
    ),
    click.option(
        "--token",
        metavar="TOKEN",
        envvar="QUORATE_TOKEN",
        help="With --against: a token of a requester or an admin, also by QUORATE_TOKEN.",
    ),
    click.option(
        "--pace",
        type=click.FloatRange(min=0, min_open=True),
        metavar="VOTES",
        help="With --against: votes a second, to watch; as fast as it goes unless given.",
    ),
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
@PLAYING
@options.PRINTING
def simulate(**given: Any) -> None:
    """Draw a crowd whose truth is known.

    Its votes, the truth, the workers and the features of tasks can be written to files. With
    --against it works on a server instead, which says who labels what.
    """
    printing = Printing.of(given)
    playing = {name: given.pop(name) for name in ("against", "project", "token", "pace")}
    files = (
        File(given.pop("output"), attrgetter("votes")),
        File(given.pop("truth"), attrgetter("gold")),
        File(given.pop("workers"), attrgetter("workers")),
        File(given.pop("features_out"), attrgetter("features")),
    )
    if files[-1].path is not None and not given["n_features"]:
        raise UsageError("There are no features to write: say how many with --n-features.")
    told = {NAMES.get(name, name): value for name, value in options.given(given).items()}
    if playing["against"] is not None:
        if any(file.path is not None for file in files):
            raise UsageError("--against writes no files: the server has the votes.")
        _play(told, printing, **playing)
        return
    if playing["project"] is not None or playing["pace"] is not None:
        raise UsageError("--project and --pace are for --against: say which server.")

    def run(_: Any) -> Any:
        from quorate.simulation import simulate

        return simulate(**told)

    hint = "The votes themselves: -o votes.csv, or -o - for standard output."
    emit(
        Job(run, methodcaller("as_dict"), shown_by("quorate.report.crowd:show_crowd"), files, hint),
        printing,
    )


def _play(
    told: dict[str, Any],
    printing: Printing,
    against: str,
    project: str | None,
    token: str | None,
    pace: float | None,
) -> None:
    """Let the crowd work on a server."""

    def run(progress: Any) -> Any:
        from quorate.service.client import Client
        from quorate.service.playing import PROJECT, draw, play, set_up

        crowd, name = draw(**told), project or PROJECT
        with Client(against, token=token) as client:
            set_up(client, name, crowd)
        connect = lambda: Client(against, name, token=token)  # noqa: E731
        return play(crowd, connect, pace=pace, progress=progress)

    show = shown_by("quorate.report.crowd:show_play")
    emit(Job(run, methodcaller("as_dict"), show, acts=True), printing)
