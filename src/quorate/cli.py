"""The command line: parse, call, show. A command imports what is heavy when it runs."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, TypeVar

import click

from quorate import __version__
from quorate.errors import QuorateError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from quorate.model import AnyModel as Model
    from quorate.model import Step

Command = TypeVar("Command", bound=Callable[..., Any])


class Failing(click.Group):
    """Every failure is one sentence, and an exit code that says whose fault it is."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except QuorateError as error:
            click.echo(f"quorate: {error}", err=True)
            ctx.exit(error.exit_code)
        except MemoryError:
            click.echo("quorate: There is not enough memory for this.", err=True)
            ctx.exit(1)


@click.group(cls=Failing, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="quorate")
def main() -> None:
    """Turn many people's (or models') noisy labels into answers you can trust."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that cannot show every letter
            stream.reconfigure(errors="backslashreplace")


def reading_options(command: Command) -> Command:
    """How votes are read: the same for every command that reads some."""
    for option in reversed(
        (
            click.option("--task-column", metavar="NAME", help="Column of the task."),
            click.option("--worker-column", metavar="NAME", help="Column of the worker."),
            click.option("--label-column", metavar="NAME", help="Column of the label."),
            click.option(
                "--repeats",
                type=click.Choice(["count", "first", "last"]),
                default="count",
                help="What to do when a worker answers a task again. [default: count]",
            ),
            click.option(
                "--format",
                type=click.Choice(["csv", "tsv", "jsonl", "parquet"]),
                help="Format of the votes, when their name does not say it.",
            ),
            click.option(
                "--missing",
                multiple=True,
                metavar="TEXT",
                help="Cell that means nothing; may be repeated. [default: empty, NaN, nan]",
            ),
        )
    ):
        command = option(command)
    return command


def answer_options(command: Command) -> Command:
    """What answers are wanted, by which method."""
    for option in reversed(
        (
            click.option(
                "-m",
                "--method",
                help="See `quorate methods`."
                " [default: auto; naive-bayes with features, dawid-skene with options that only it"
                " has]",
            ),
            click.option(
                "--gold", metavar="FILE", help="Known answers: a table of task and label."
            ),
            click.option(
                "--ordered",
                is_flag=True,
                help="The classes have an order: that in which they sort.",
            ),
            click.option(
                "--class-order", metavar="LOW,...,HIGH", help="The classes have this order."
            ),
            click.option(
                "--features",
                metavar="FILE",
                help="Binary features of tasks: a table of task and feature, or with a 0/1 column"
                " for each.",
            ),
            click.option(
                "--discount/--no-discount",
                default=None,
                help="Workers whose errors move together count for less. [default: with auto]",
            ),
            click.option(
                "--threads",
                type=click.IntRange(min=1),
                help="Number of threads. [default: all cores]",
            ),
        )
    ):
        command = option(command)
    return command


def method_options(command: Command) -> Command:
    """What the methods can be told; each method says what it does not know."""
    for option in reversed(
        (
            click.option(
                "--smoothing", type=float, help="Pseudo-count added to every count. [default: 0]"
            ),
            click.option(
                "--prior-smoothing", type=float, help="The same for the class shares alone."
            ),
            click.option(
                "--prior",
                metavar="SHARES",
                help="Class shares: estimated (the default), uniform, or yes=0.7,no=0.3.",
            ),
            click.option(
                "--zeros",
                type=click.Choice(["exclude", "skip"]),
                help="What a probability of zero does: rule the class out, or nothing.",
            ),
            click.option(
                "--stop",
                type=click.Choice(["objective", "marginals"]),
                help="What has to settle. [default: objective]",
            ),
            click.option("--tol", type=float, help="How far it may still move. [default: 1e-6]"),
            click.option("--max-iter", type=int, help="At most so many iterations. [default: 200]"),
            click.option(
                "--init",
                metavar="vote|spectral|FILE",
                help="Start from the vote, from moments, from a table of worker, truth, label,"
                " probability, or from a saved result.",
            ),
            click.option(
                "--groups",
                type=click.Choice(["modulo", "random"]),
                help="Spectral start: how workers fall into three groups. [default: modulo]",
            ),
            click.option(
                "--floor", type=float, help="Spectral start: least probability. [default: 1e-6]"
            ),
            click.option(
                "--power-restarts",
                type=int,
                help="Spectral start: random vectors of the power method. [default: 50]",
            ),
            click.option(
                "--power-iter",
                type=int,
                help="Spectral start: iterations of the power method. [default: 50]",
            ),
            click.option(
                "--switch-at",
                type=float,
                help="When hybrid turns to hard answers. [default: 0.005]",
            ),
            click.option(
                "--ties",
                type=click.Choice(["shared", "first", "random"]),
                help="How ties are broken.",
            ),
            click.option("--seed", type=int, help="For whatever is random. [default: 0]"),
            click.option(
                "--worker-prior",
                metavar="FILE",
                help="Workers' history: a table of worker, truth, label, count, or a saved result.",
            ),
            click.option(
                "--variant",
                metavar="NAME",
                help="Of kos: messages, centred-svd; of eigen-ratio: eigenvectors-of-ratio,"
                " ratio-of-eigenvectors; of rank-one: auto, one-skill, one-vs-rest, beyond-chance."
                " The first of them is the default.",
            ),
            click.option(
                "--noise", type=float, help="How much kos's first messages vary. [default: 1]"
            ),
            click.option(
                "--feature-weight",
                metavar="WEIGHT|auto",
                help="How much the features count in naive-bayes. [default: auto]",
            ),
            click.option(
                "--competence-prior",
                metavar="A,B",
                help="Beta prior of how often MACE's workers know the truth. [default: 0.5,0.5]",
            ),
            click.option(
                "--strategy-prior",
                type=float,
                help="Pseudo-count of each class when MACE's workers spam. [default: 1]",
            ),
            click.option(
                "--diagonal",
                type=float,
                help="How many pseudo-counts more IBCC gives the right label. [default: 1]",
            ),
            click.option(
                "--ability-prior",
                metavar="MEAN,SD",
                help="Normal prior of GLAD's abilities. [default: 1,1]",
            ),
            click.option(
                "--easiness-prior",
                metavar="MEAN,SD",
                help="Normal prior of GLAD's log easiness. [default: 1,1]",
            ),
            click.option(
                "--temperature",
                type=float,
                help="By how much auto divides its log-odds. [default: 1.6, or by gold]",
            ),
            click.option("--beta", metavar="A,B", help="Beta prior of one-coin's accuracies."),
            click.option("--low", type=float, help="Least accuracy of that prior. [default: 0]"),
            click.option(
                "--high", type=float, help="Greatest accuracy of that prior. [default: 1]"
            ),
            click.option(
                "--margin", type=float, help="How far rank-one keeps from sure skills. [default: 1]"
            ),
            click.option(
                "--order",
                type=click.Choice(["together", "in-turn"]),
                help="How rank-one's workers take their steps. [default: together]",
            ),
            click.option(
                "--max-sweeps", type=int, help="At most so many of those steps. [default: 1000]"
            ),
            click.option(
                "--cost", type=float, help="What m3v gives for a lead short by 1. [default: 0.3]"
            ),
            click.option(
                "--rounding",
                type=float,
                help="How near to m3v's margin it is round. [default: 0.1]",
            ),
        )
    ):
        command = option(command)
    return command


@main.command()
@click.argument("votes")
@click.option("-o", "--output", metavar="FILE", help="Where the labels go; - is standard output.")
@click.option("--workers", metavar="FILE", help="Where the workers' qualities go.")
@click.option("--posterior", metavar="FILE", help="Where the belief in every class goes.")
@click.option("--confusion", metavar="FILE", help="Where the workers' confusion matrices go.")
@click.option("--save", metavar="FILE.quorate", help="Keep the whole result, for `quorate.load`.")
@click.option(
    "--min-confidence",
    type=float,
    help="Leave answers of a lower confidence undecided: no label. [default: 0]",
)
@answer_options
@click.option(
    "--worker-kinds", metavar="FILE", help="What workers are: a table of worker and kind."
)
@click.option(
    "--multilabel", is_flag=True, help="Tasks have several right answers: all that a worker named."
)
@click.option(
    "--separator", metavar="TEXT", help="What stands between a worker's answers in one row."
)
@click.option(
    "--memory",
    metavar="SIZE",
    help="Keep to so much memory, such as 2GB: votes that are larger go by way of the disk.",
)
@click.option(
    "--engine",
    type=click.Choice(["threads", "stream", "ray"]),
    help="Who does the work: threads in memory (the default), threads over blocks on disk, or the"
    " processes of a Ray cluster.",
)
@click.option(
    "--store",
    metavar="DIR",
    help="Where the blocks on disk go, to be used again. [default: a temporary directory]",
)
@click.option("--address", metavar="HOST:PORT", help="The Ray cluster. [default: one of its own]")
@click.option("--resume", is_flag=True, help="Go on with what was cut short; needs its --store.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@method_options
@reading_options
def aggregate(
    votes: str,
    method: str | None,
    output: str | None,
    workers: str | None,
    posterior: str | None,
    confusion: str | None,
    save: str | None,
    as_json: bool,
    ordered: bool,
    class_order: str | None,
    multilabel: bool,
    **options: Any,
) -> None:
    """Turn VOTES (a file of task, worker, label; - is standard input) into labels.

    Reads and writes .csv, .tsv, .jsonl and .parquet, and reads them with .gz or .zst behind.
    """
    from quorate.aggregation import aggregate as run
    from quorate.report import show, summarise
    from quorate.votes import Outputs, check_place, output_format

    tables = {"labels": output, "workers": workers, "posterior": posterior, "confusion": confusion}
    by_task = [name for name in ("labels", "posterior") if tables[name] is not None]
    on_cluster = options["engine"] == "ray" or options["address"] is not None
    for name, path in tables.items():
        if path == "-" and name in by_task and on_cluster:
            raise UsageError("The processes of a cluster write files: name one for each table.")
        if path not in (None, "-"):
            output_format(str(path), directory=on_cluster and name in by_task)
    if save is not None:
        if multilabel:
            raise UsageError("save keeps one result, and with multilabel each option has its own.")
        check_place(save)
        if on_cluster or options["memory"] or options["store"] or options["engine"] == "stream":
            raise UsageError("save keeps what is in memory: with --store the blocks stay instead.")
    given = _told(options, ordered, class_order)
    if multilabel:
        given["multilabel"] = True
    with Outputs() as outputs:
        if on_cluster:
            given["places"] = {name: outputs.directory(str(tables[name])) for name in by_task}
        unheard = redirect_stdout(sys.stderr) if on_cluster else nullcontext()  # Ray prints
        with unheard, _stages_bar() as (progress, stage):
            result: Any = run(
                votes, method, progress=progress, stage=stage, tables=by_task, **given
            )
        for name, path in tables.items():
            if path is not None and not (on_cluster and name in by_task):
                outputs.table(getattr(result, f"{name}_frame"), path)
        if save is not None:
            outputs.file(save, result.write)
    summary = summarise(result)
    to_stdout = "-" in tables.values()
    if as_json:
        _print_json(summary, to_stderr=to_stdout)
        return
    show(summary, _console(to_stderr=to_stdout))
    if output is None:
        click.echo("\nThe labels themselves: -o labels.csv, or -o - for standard output.")


@main.command()
@click.argument("votes")
@click.option(
    "--task", "tasks", multiple=True, required=True, help="Task to explain; may be repeated."
)
@answer_options
@click.option(
    "--confidence", type=float, help="How sure a label has to be to be settled. [default: 0.95]"
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@method_options
@reading_options
def explain(
    votes: str,
    tasks: tuple[str, ...],
    method: str | None,
    confidence: float | None,
    as_json: bool,
    ordered: bool,
    class_order: str | None,
    **options: Any,
) -> None:
    """Say why tasks of VOTES have their labels: what each vote adds, and what would change them."""
    from quorate.aggregation import aggregate as run
    from quorate.report import show_explanation

    with _progress_bar() as progress:
        result = run(votes, method, progress=progress, **_told(options, ordered, class_order))
    how = _given({"confidence": confidence})
    found = [result.explain(task, **how).as_dict() for task in tasks]
    if as_json:
        _print_json({"method": result.method, "tasks": found}, to_stderr=False)
        return
    console = _console()
    for number, why in enumerate(found):
        if number:
            console.print()
        show_explanation(why, console)


@main.command()
@click.argument("votes")
@click.option("--gold", metavar="FILE", help="Known answers: a table of task and label.")
@click.option("--workers", metavar="FILE", help="Where a table of the workers goes.")
@click.option(
    "--worker-kinds", metavar="FILE", help="What workers are: a table of worker and kind."
)
@click.option("--seed", type=int, help="For the bootstrap. [default: 0]")
@click.option(
    "--threads", type=click.IntRange(min=1), help="Number of threads. [default: all cores]"
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@reading_options
def diagnose(votes: str, workers: str | None, as_json: bool, **options: Any) -> None:
    """Say whether the crowd of VOTES can be learned, by what, and whom to mistrust."""
    from quorate.diagnosis import diagnose as run
    from quorate.report import show_diagnosis
    from quorate.votes import Outputs, output_format

    if workers not in (None, "-"):
        output_format(str(workers))
    with _progress_bar() as progress:
        diagnosis = run(votes, progress=progress, **_given(options))
    if workers is not None:
        with Outputs() as outputs:
            outputs.table(diagnosis.workers_frame, workers)
    to_stdout = workers == "-"
    if as_json:
        _print_json(diagnosis.as_dict(), to_stderr=to_stdout)
    else:
        show_diagnosis(diagnosis.as_dict(), _console(to_stderr=to_stdout))


@main.command()
@click.argument("votes")
@click.option("-m", "--method", "methods", multiple=True, help="May be repeated. [default: all]")
@click.option("--gold", metavar="FILE", help="Known answers to score by: a table of task, label.")
@click.option("-o", "--output", metavar="FILE", help="Where the table of scores goes.")
@click.option("--hidden", type=float, help="Share of votes hidden to be predicted. [default: 0.1]")
@click.option("--seed", type=int, help="For hidden votes and the bootstrap. [default: 0]")
@click.option(
    "--threads", type=click.IntRange(min=1), help="Number of threads. [default: all cores]"
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@reading_options
def compare(votes: str, output: str | None, as_json: bool, **options: Any) -> None:
    """Run several methods on VOTES and score them, by known answers and by hidden votes."""
    from quorate.comparison import compare as run
    from quorate.report import show_comparison
    from quorate.votes import Outputs, output_format

    if output not in (None, "-"):
        output_format(str(output))
    with _methods_bar() as progress:
        comparison = run(votes, progress=progress, **_given(options))
    if output is not None:
        with Outputs() as outputs:
            outputs.table(comparison.table_frame, output)
    to_stdout = output == "-"
    if as_json:
        _print_json(comparison.as_dict(), to_stderr=to_stdout)
    else:
        show_comparison(comparison.as_dict(), _console(to_stderr=to_stdout))


@main.command()
def methods() -> None:
    """List every method, with its paper."""
    from rich.table import Table

    from quorate.models import METHODS

    table = Table(box=None, pad_edge=False)
    for column in ("method", "what it does", "paper"):
        table.add_column(column, overflow="fold", no_wrap=column == "method")
    for method in METHODS.values():
        table.add_row(method.name, method.summary, method.paper)
    _console().print(table)


DATA_OPTION = click.option(
    "--data",
    "directory",
    metavar="DIR",
    help="Where data sets are. [default: QUORATE_DATA, or the user's data directory]",
)


@main.group(invoke_without_command=True)
@DATA_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@click.pass_context
def data(context: click.Context, directory: str | None, as_json: bool) -> None:
    """List the known public data sets, and check those that are here."""
    context.obj = directory
    if context.invoked_subcommand is not None:
        return
    from quorate.datasets import listing
    from quorate.report import show_data_sets

    found = listing(directory)
    if as_json:
        _print_json(found, to_stderr=False)
    else:
        show_data_sets(found, _console())
    if any(each["status"] == "damaged" for each in found["datasets"]):
        context.exit(1)


@data.command()
@click.argument("names", nargs=-1, required=True)
@DATA_OPTION
@click.option("--mirror", metavar="URL", help="Take https://HOST/PATH from URL/HOST/PATH.")
@click.pass_context
def get(
    context: click.Context, names: tuple[str, ...], directory: str | None, mirror: str | None
) -> None:
    """Fetch data sets (NAMES, or all) from where they were published, and check them."""
    from quorate.datasets import get as run

    failed = False
    with _bytes_bar() as progress:
        for fetched in run(names, directory or context.obj, mirror=mirror, progress=progress):
            failed |= fetched.outcome == "failed"
            prefix = "quorate: " if fetched.outcome == "failed" else ""
            click.echo(f"{prefix}{fetched.sentence}", err=fetched.outcome == "failed")
    if failed:
        context.exit(1)


@main.command()
@click.option("-o", "--output", metavar="FILE", help="Where the votes go; - is standard output.")
@click.option("--gold", metavar="FILE", help="Where the truth goes: task and label.")
@click.option("--workers-table", metavar="FILE", help="Where what is known of the workers goes.")
@click.option("--features", metavar="FILE", help="Where the tasks' features go: task and feature.")
@click.option("--tasks", "n_tasks", type=int, help="How many tasks. [default: 1000]")
@click.option("--workers", type=int, help="How many workers. [default: 50]")
@click.option("--classes", "n_classes", type=int, help="How many classes. [default: 2]")
@click.option("--labels-per-task", type=int, help="Workers on each task. [default: 5]")
@click.option(
    "--kind",
    metavar="NAME",
    help="What workers know: one-coin (the default), confusion or glad.",
)
@click.option("--beta", metavar="A,B", help="Their accuracies are Beta(A, B). [default: 4,2]")
@click.option("--low", type=float, help="Least accuracy: the beta is shifted. [default: 0]")
@click.option("--high", type=float, help="Greatest accuracy. [default: 1]")
@click.option("--ability-prior", metavar="MEAN,SD", help="GLAD's abilities. [default: 1,1]")
@click.option("--easiness-prior", metavar="MEAN,SD", help="GLAD's log easiness. [default: 1,1]")
@click.option("--prior", metavar="SHARES", help="Class shares such as 0.7,0.3. [default: even]")
@click.option(
    "--several", type=float, help="Several right answers: how likely each class is right."
)
@click.option(
    "--assignment",
    metavar="NAME|FILE",
    help="Who labels what: random (the default), regular, skewed, clique, star, ring, or a table"
    " of task and worker.",
)
@click.option("--skew", type=float, help="How far skewed goes. [default: 1]")
@click.option("--spammers", type=float, help="Share of workers who answer whatever the truth.")
@click.option("--inverted", type=float, help="Share of workers who say the next class.")
@click.option("--colluders", type=int, help="How many workers give one shared answer.")
@click.option("--groups", type=int, help="How many groups of judges with correlated errors.")
@click.option(
    "--correlation", type=float, help="How often a judge gives its group's answer. [default: 0.5]"
)
@click.option("--tiring", type=float, help="Votes after which half the answers are guesses.")
@click.option("--n-features", type=int, help="How many binary features tasks have. [default: 0]")
@click.option("--seed", type=int, help="Another crowd. [default: 0]")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
def simulate(
    output: str | None,
    gold: str | None,
    workers_table: str | None,
    features: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Draw a crowd whose truth is known: its votes, and all that is behind them."""
    from quorate.report import show_crowd
    from quorate.simulation import simulate as run
    from quorate.votes import Outputs, output_format

    tables = {"votes": output, "gold": gold, "workers": workers_table, "features": features}
    for path in tables.values():
        if path not in (None, "-"):
            output_format(str(path))
    given = _given(options)
    for pair in {"beta", "ability_prior", "easiness_prior"} & given.keys():
        given[pair] = _two_numbers(pair, given[pair])
    if "prior" in given:
        given["prior"] = given["prior"].split(",")
    if features is not None and not given.get("n_features"):
        raise UsageError("There are no features to write: say how many with --n-features.")
    crowd = run(**given)
    with Outputs() as outputs:
        for name, path in tables.items():
            if path is not None:
                outputs.table(getattr(crowd, name), path)
    to_stdout = "-" in tables.values()
    if as_json:
        _print_json(crowd.as_dict(), to_stderr=to_stdout)
        return
    show_crowd(crowd.as_dict(), _console(to_stderr=to_stdout))
    if output is None:
        click.echo("\nThe votes themselves: -o votes.csv, or -o - for standard output.")


@main.command()
@click.option("--tasks", type=click.IntRange(min=1), default=1000, show_default=True, help="Tasks.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Another crowd."
)
@click.option("-o", "--output", metavar="FILE", help="Keep the simulated votes, to try things on.")
def demo(tasks: int, seed: int, output: str | None) -> None:
    """Simulate a crowd whose truth is known, and see who gets it right."""
    from quorate.demo import run

    run(tasks, seed, output, _console())


@main.command()
@click.argument("votes")
@click.option("--budget", type=float, help="How much to spend, in units of cost: so many votes.")
@click.option(
    "--policy",
    type=click.Choice(["gain", "forest", "entropy", "random"]),
    help="What ranks the tasks. [default: gain]",
)
@click.option(
    "-o", "--output", metavar="FILE", help="Where the assignments go; - is standard output."
)
@click.option("-m", "--method", help="What says what is believed so far. [default: one-coin]")
@click.option(
    "--workers",
    type=click.Choice(["uniform", "best"]),
    help="Who is asked: anyone, or the best for the task. [default: uniform]",
)
@click.option("--tasks", metavar="FILE", help="Tasks that may have no vote yet: a table of task.")
@click.option(
    "--available", metavar="FILE", help="Who can be asked: a table of worker, and cost, capacity."
)
@click.option("--cost", type=float, help="Cost of a vote, unless the table says. [default: 1]")
@click.option("--capacity", type=float, help="Most votes of a worker. [default: no limit]")
@click.option("--confidence", type=float, help="Leave labels alone that are so sure.")
@click.option("--error", type=float, help="Stop when the expected error is down to this.")
@click.option("--seed", type=click.IntRange(min=0), help="For whatever is random. [default: 0]")
@click.option(
    "--threads", type=click.IntRange(min=1), help="Number of threads. [default: all cores]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@reading_options
def assign(
    votes: str,
    output: str | None,
    tasks: str | None,
    available: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Say which worker to ask about which task next, and what that is expected to buy."""
    from quorate.assignment import next_tasks
    from quorate.assignment.tables import read_tasks, read_workers
    from quorate.report import show_assignment
    from quorate.votes import Outputs, output_format

    if output not in (None, "-"):
        output_format(str(output))
    given = _given(options)
    if tasks is not None:
        given["tasks"] = read_tasks(tasks)
    if available is not None:
        given |= read_workers(available, given.get("cost"), given.get("capacity"))
    assignment = next_tasks(votes, **given)
    if output is not None:
        with Outputs() as outputs:
            outputs.table(assignment.frame, output)
    to_stdout = output == "-"
    if as_json:
        _print_json(assignment.as_dict(), to_stderr=to_stdout)
        return
    show_assignment(assignment.as_dict(), _console(to_stderr=to_stdout))
    if output is None:
        click.echo("\nThe assignments themselves: -o next.csv, or -o - for standard output.")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were given: the others keep their defaults."""
    return {name: value for name, value in options.items() if value not in (None, ())}


def _told(options: dict[str, Any], ordered: bool, class_order: str | None) -> dict[str, Any]:
    """What a method was told, as `aggregate` takes it."""
    given = _given(options)
    for pair in {"beta", "competence_prior", "ability_prior", "easiness_prior"} & given.keys():
        given[pair] = _two_numbers(pair, given[pair])
    if ordered or class_order:
        given["ordered"] = class_order.split(",") if class_order else True
    if given.get("feature_weight", "auto") != "auto":
        given["feature_weight"] = _number("feature_weight", given["feature_weight"])
    return given


def _two_numbers(option: str, text: str) -> tuple[float, float]:
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise UsageError(f"{option} is two numbers such as 4,2; not {text!r}.") from None
    return first, second


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{option} is a number or auto, not {text!r}.") from None


def _console(to_stderr: bool = False) -> Any:
    from rich.console import Console

    return Console(stderr=to_stderr)


def _print_json(summary: dict[str, Any], to_stderr: bool) -> None:
    import json

    click.echo(json.dumps(summary, indent=2, default=str), err=to_stderr)


@contextmanager
def _progress_bar() -> Iterator[Callable[[Sequence[Step], Model], None] | None]:
    """A bar of a fit's iterations."""
    from rich.progress import TextColumn

    columns = (
        TextColumn("iteration {task.completed:.0f} of at most {task.total:.0f}"),
        TextColumn("objective {task.fields[objective]:,.1f}"),
    )
    with _bar(*columns) as update:
        if update is None:
            yield None
            return

        def progress(steps: Sequence[Step], model: Model) -> None:
            update(len(steps), model.max_iter, objective=steps[-1].objective)

        yield progress


@contextmanager
def _stages_bar() -> Iterator[tuple[Any, Any]]:
    """A bar of what a run is at: of votes on disk, of a fit's iterations."""
    from rich.progress import TextColumn

    with _bar(TextColumn("{task.fields[stage]}"), TextColumn("{task.fields[how]}")) as update:
        if update is None:
            yield None, None
            return

        def progress(steps: Sequence[Step], model: Model) -> None:
            stage = f"iteration {len(steps)} of at most {model.max_iter}"
            objective = f"objective {steps[-1].objective:,.1f}"
            update(len(steps), model.max_iter, stage=stage, how=objective)

        def at(stage: str, done: float, total: float | None, how: str = "") -> None:
            update(done, total, stage=stage, how=how)

        yield progress, at


@contextmanager
def _methods_bar() -> Iterator[Callable[[int, int, str], None] | None]:
    """A bar of methods that are done."""
    from rich.progress import TextColumn

    columns = (
        TextColumn("{task.completed:.0f} of {task.total:.0f} methods"),
        TextColumn("{task.fields[left]}"),
    )
    with _bar(*columns) as update:
        if update is None:
            yield None
            return

        def progress(done: int, total: int, left: str) -> None:
            update(done, total, left=left if len(left) <= 40 else f"{left[:37]}...")

        yield progress


@contextmanager
def _bytes_bar() -> Iterator[Callable[[int, int, str], None] | None]:
    """A bar of bytes that have come."""
    from rich.progress import DownloadColumn, TextColumn

    with _bar(TextColumn("{task.fields[file]}"), DownloadColumn()) as update:
        if update is None:
            yield None
            return

        def progress(done: int, total: int, file: str) -> None:
            update(done, total or None, file=file)

        yield progress


@contextmanager
def _bar(before: Any, after: Any) -> Iterator[Callable[..., None] | None]:
    """A bar on the terminal for work that takes more than a second; None where there is none."""
    if not sys.stderr.isatty():
        yield None
        return
    import time

    from rich.progress import BarColumn, Progress, TimeElapsedColumn

    columns = (before, BarColumn(), after, TimeElapsedColumn())
    bar = Progress(
        *columns,
        console=_console(to_stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )
    began = time.monotonic()
    shown: list[Any] = []

    def update(completed: float, total: float | None, **fields: Any) -> None:
        if time.monotonic() - began < 1:
            return
        if not shown:
            bar.start()
            shown.append(bar.add_task("", total=total, **fields))
        bar.update(shown[0], completed=completed, total=total, **fields)

    try:
        yield update
    finally:
        bar.stop()
