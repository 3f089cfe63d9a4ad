"""Options that commands share. Choices and defaults come from where they are defined, and are
looked up only when they are needed: to list them, or to check what was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from quorate.engines import ENGINES
from quorate.errors import DataError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from quorate.model import AnyModel

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]


def place(path: str) -> Any:
    """What is defined at ``module:name``, or ``module:name.attribute``."""
    module, _, name = path.partition(":")
    found = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def words(path: str) -> list[str]:
    """The words of a Literal, of the values of a mapping, or of a sequence."""
    found = place(path)
    listed = get_args(found) or (found.values() if isinstance(found, Mapping) else found)
    return list(dict.fromkeys(listed))


def default(path: str, name: str) -> str | None:
    """What an argument of a function is unless it is told, as text; None if that says nothing."""
    import inspect

    parameter = inspect.signature(place(path)).parameters.get(name)
    value = None if parameter is None else parameter.default
    says_nothing = value is None or value is False or value is inspect.Parameter.empty
    return None if says_nothing else text(value)


def listed(path: str) -> str:
    """The words at that place, as text."""
    return ", ".join(word or "empty" for word in words(path))


def number(path: str) -> str:
    """The number at that place, as text."""
    return text(place(path))


def text(value: Any) -> str:
    """
    Examples:
        >>> text((4.0, 2.0)), text(1e-06), text("auto")
        ('4,2', '1e-06', 'auto')
    """
    if isinstance(value, tuple):
        return ",".join(map(text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


class Words(click.ParamType[str]):
    """One of some words that are defined elsewhere."""

    name = "word"

    def __init__(self, path: str) -> None:
        self._path = path

    def _choice(self) -> click.Choice[str]:
        return click.Choice(words(self._path))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._choice().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._choice().get_metavar(param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        return self._choice().shell_complete(ctx, param, incomplete)


class Told(click.Option):
    """An option whose default is looked up when help is asked for."""

    def __init__(self, *args: Any, told: Callable[[], str | None], **options: Any) -> None:
        super().__init__(*args, **options)
        self._told = told

    def get_help_extra(self, ctx: click.Context) -> Any:
        extra = super().get_help_extra(ctx)
        known = self._told()
        return {**extra, "default": known} if known else extra


def told(path: str, name: str | None = None) -> dict[str, Any]:
    """For `click.option`: its default is that of an argument of a function, or of a field of a
    class; without a name, the number that is defined there."""
    if name is None:
        return {"cls": Told, "told": partial(number, path)}
    return {"cls": Told, "told": partial(default, path, name)}


def together(*options: Decorator[Any]) -> Decorator[Any]:
    """Some options as one, in the order in which they are listed."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given: the others keep their defaults."""
    found = {name: value for name, value in options.items() if value not in (None, ())}
    workers = found.pop("worker_columns", None)
    return found if workers is None else found | {"workers": workers.split(",")}


# Input


INPUTS = "quorate.inputs"  # in the context, the files that are read, which no output may be


def inputs() -> list[str]:
    """The files that the command reads."""
    context = click.get_current_context()
    found: list[str] = context.meta.get(INPUTS, [])
    table = context.params.get("table")
    if table is None:
        return found
    from quorate.votes.databases import asked

    source = context.params.get("votes") or context.params["comparisons"]
    return [*found, asked(source, None, table)]


def input_file(ctx: click.Context, param: click.Parameter, path: str | None) -> str | None:
    """A path that something is at, as far as that can be seen from its name."""
    if path is not None:
        require_there(path)
        ctx.meta.setdefault(INPUTS, []).append(path)
    return path


def perhaps_input_file(
    ctx: click.Context, param: click.Parameter, given: str | Sequence[str] | None
) -> Any:
    """A word, or several such as name=FILE, that may name a file to read."""
    for word in [given] if isinstance(given, str) else given or ():
        ctx.meta.setdefault(INPUTS, []).append(word.rpartition("=")[2])
    return given


def require_there(path: str) -> None:
    """Refuse a file that is not there, whatever its name says about its format."""
    from pathlib import Path

    is_pattern = any(letter in path for letter in "*?[")
    try:
        there = path in ("", "-") or "://" in path or is_pattern or Path(path).exists()
    except (OSError, ValueError):  # the reader says why
        return
    if not there:
        raise DataError(f"There is no file {path if path.isprintable() else repr(path)}.")


def source(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> str | list[str]:
    """One file, or several that are one input."""
    for path in paths:
        input_file(ctx, param, path)
    return paths[0] if len(paths) == 1 else list(paths)


VOTES = click.argument(
    "votes", nargs=-1, required=True, callback=source, type=click.Path(allow_dash=True)
)


def input_option(*names: str, help: str) -> Decorator[Any]:
    """An option that names a file to read."""
    return click.option(*names, metavar="FILE", type=click.Path(), callback=input_file, help=help)


def output_option(*names: str, help: str) -> Decorator[Any]:
    """An option that names a file to write."""
    return click.option(*names, metavar="FILE", type=click.Path(allow_dash=True), help=help)


QUERY = click.option("--query", metavar="SQL", help="What a database is asked for its votes.")
TABLE = click.option("--table", metavar="NAME", help="Table of a database that holds the votes.")
MISSING = click.option(
    "--missing",
    multiple=True,
    metavar="TEXT",
    cls=Told,
    told=partial(listed, "quorate.votes.sources:MISSING"),
    help="Cell that counts as missing; may be repeated.",
)
READING = together(
    click.option("--task-column", metavar="NAME", help="Column of the task."),
    click.option("--worker-column", metavar="NAME", help="Column of the worker."),
    click.option("--label-column", metavar="NAME", help="Column of the label."),
    click.option(
        "--wide/--no-wide",
        default=None,
        help="The table has a row for each task and a column for each worker, or has not; found by"
        " itself where there is no doubt.",
    ),
    click.option(
        "--worker-columns",
        metavar="NAME,...",
        help="Columns of a wide table that are workers.",
    ),
    click.option(
        "--tidy",
        is_flag=True,
        default=None,
        help="Labels that differ only in spaces or case are one.",
    ),
    click.option(
        "--repeats",
        type=Words("quorate.votes.reading:Repeats"),
        help="Which of a worker's repeated answers to a task count: all of them, as long as nothing"
        " else is said, the first, or the last.",
    ),
    click.option(
        "--format",
        type=Words("quorate.votes.reading:ALL_FORMATS"),
        help="Format of the input, where the file itself does not say it.",
    ),
    QUERY,
    TABLE,
    click.option(
        "--question", metavar="NAME", help="Which question of an export that holds several."
    ),
    MISSING,
)
SOURCE = together(
    click.option(
        "--format",
        type=Words("quorate.votes.sources:FORMATS"),
        help="Format of the input, where the file itself does not say it.",
    ),
    QUERY,
    TABLE,
    MISSING,
)


def names(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> list[str] | None:
    """Names with commas between them, or given one by one."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()] or None


KEEP = click.option(
    "--keep",
    metavar="NAME,...",
    multiple=True,
    callback=names,
    help="Columns of the tasks, such as their text, that are kept beside their labels; of an export"
    " fields of the task, with dots into nested ones.",
)


def gold_option(help: str) -> Decorator[Any]:
    """The option of known answers: whether they are a file or a column, the votes tell."""
    return click.option(
        "--gold",
        "--gold-column",
        "gold",
        metavar="FILE|COLUMN",
        type=click.Path(),
        callback=perhaps_input_file,
        help=help,
    )


GOLD = gold_option("Known answers: a table of task and label, or a column of the votes.")
WORKER_KINDS = input_option(
    "--worker-kinds",
    help="What workers are, human or model for instance: a table of worker and kind.",
)


# How the work is done


THREADS = click.option(
    "--threads", type=click.IntRange(min=1), help="Number of threads; all cores unless given."
)
SCALE = together(
    THREADS,
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        help="Who does the work: threads in memory, threads over blocks on disk, or the processes"
        " of a Ray cluster. In memory, unless another option here asks for more.",
    ),
    click.option(
        "--memory",
        metavar="SIZE",
        help="Memory limit, such as 2GB: votes are spilled to disk.",
    ),
    click.option(
        "--store",
        metavar="DIR",
        type=click.Path(),
        help="Directory of the votes on disk, to be used again; a temporary one unless given.",
    ),
    click.option(
        "--address", metavar="HOST:PORT", help="The Ray cluster to use; a new one unless given."
    ),
    click.option(
        "--resume", is_flag=True, help="Continue a run that was interrupted; needs its --store."
    ),
)


# Methods


DEFAULT_METHOD = partial(default, "quorate.aggregation:aggregate", "method")


def complete_method(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    """Names of methods, each with what it does."""
    from click.shell_completion import CompletionItem

    from quorate.models import METHODS

    return [
        CompletionItem(method.name, help=method.summary)
        for method in METHODS.values()
        if method.name.startswith(incomplete)
    ]


def complete_setting(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[Any]]:
    """Names of the method's options, then the words that an option can be."""
    from click.shell_completion import CompletionItem

    from quorate.models import METHODS

    method = str(ctx.params.get("method") or DEFAULT_METHOD())
    options = METHODS[method].options if method in METHODS else {}
    name, equals, start = incomplete.partition("=")
    if equals:
        known = options[name].choices if name in options else ()
        return [CompletionItem(f"{name}={word}") for word in known if word.startswith(start)]
    return [
        CompletionItem(f"{option.name}=", help=option.doc)
        for option in options.values()
        if option.name.startswith(name)
    ]


def require_method(name: str) -> str:
    """The name of a method that exists; of one that does not, which may be meant."""
    from quorate.models import method_named

    return method_named(name).name


def model_of(method: str | None, settings: Sequence[str]) -> str | AnyModel:
    """The method that was chosen, with its own options if some were set."""
    from quorate.cli.values import settings_of
    from quorate.models import make

    name = require_method(method or str(DEFAULT_METHOD()))
    return make(name, **settings_of(name, settings)) if settings else name


def method_option(function: str, help: str) -> Decorator[Any]:
    """The option for the method of a function, whose default it has."""
    return click.option(
        "-m",
        "--method",
        metavar="NAME",
        shell_complete=complete_method,
        **told(function, "method"),
        help=help,
    )


SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_setting,
    callback=perhaps_input_file,
    help="An option of the method's own; may be repeated. `quorate methods NAME` lists them.",
)
METHOD = together(
    method_option(
        "quorate.aggregation:aggregate", help="How votes become answers: see `quorate methods`."
    ),
    SETTINGS,
    click.option(
        "--max-iter",
        type=click.IntRange(min=1),
        help="Maximum number of iterations; the method's own unless given.",
    ),
    click.option(
        "--tol", type=float, help="Change at which iterations stop; the method's own unless given."
    ),
    click.option(
        "--smoothing",
        type=float,
        help="Pseudo-count added to every count; the method's own unless given.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        help="Seed for whatever is random; the method's own unless given.",
    ),
)
ORDER = together(
    click.option(
        "--ordered", is_flag=True, help="The classes have an order: that in which they sort."
    ),
    click.option("--class-order", metavar="LOW,...,HIGH", help="The classes have this order."),
)
DISCOUNT = click.option(
    "--discount/--no-discount",
    default=None,
    help="Correlated workers, such as duplicates, count for less. With auto they do unless"
    " --no-discount is given, with other methods only with --discount.",
)
BELIEF = together(ORDER, DISCOUNT)
ANSWERS = together(
    GOLD,
    input_option(
        "--features",
        help="Binary features of tasks: a table of task and feature, or of task and a column of 0"
        " and 1 for each feature.",
    ),
    BELIEF,
)


def ordered(options: dict[str, Any]) -> dict[str, Any]:
    """The options with --ordered and --class-order as the one argument that they are."""
    names = options.pop("class_order")
    return options | {"ordered": names.split(",") if names else options["ordered"]}


# What is said


PRINTING = together(
    click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object."),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Say nothing but errors, and what is asked for on standard output.",
    ),
)
