"""Write the parts of the documentation that the code knows: `make reference`.

The options and the paper of every method, the tables of methods, the page of the command line and
the list of public names. Everything else on a page is written by hand and kept; a method that has
no page yet gets one from its docstrings.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, get_args, is_typeddict

import click

import quorate
from quorate import crowdkit, datasets, metrics
from quorate.cli import main
from quorate.model import Method, Model
from quorate.models import METHODS
from quorate.options import Option, options_of

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NAVIGATION = re.compile(r"(# generated: methods\n).*?( *# end\n)", re.DOTALL)
PART = re.compile(r"<!-- generated: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def pages() -> dict[Path, str]:
    """What every generated page, or page with a generated part, has to hold."""
    index = DOCS / "methods" / "index.md"
    written = {page_of(method): method_page(method) for method in METHODS.values()}
    written[index] = filled(index.read_text(), {"methods": methods_table("", uses=True)})
    readme = ROOT / "README.md"
    written[readme] = filled(readme.read_text(), {"methods": methods_table("docs/methods/")})
    commands = DOCS / "reference" / "command-line.md"
    written[commands] = filled(commands.read_text(), {"commands": command_sections()})
    written[DOCS / "reference" / "python.md"] = python_page()
    site = ROOT / "zensical.toml"
    written[site] = NAVIGATION.sub(rf"\g<1>{navigation()}\g<2>", site.read_text())
    return written


def filled(text: str, parts: Mapping[str, str]) -> str:
    """The text with what stands between the markers of each part replaced."""

    def fill(found: re.Match[str]) -> str:
        name = found[1]
        return (
            f"<!-- generated: {name} -->\n{parts[name]}\n<!-- end -->"
            if name in parts
            else found[0]
        )

    return PART.sub(fill, text)


# Methods.


def page_of(method: Method) -> Path:
    """Where the page of a method is."""
    return DOCS / "methods" / f"{method.name}.md"


def method_page(method: Method) -> str:
    """The page of a method: what is there, or a new one, with its generated parts."""
    path = page_of(method)
    text = path.read_text() if path.exists() else new_page(method)
    return filled(text, {"about": about(method), "options": options_table(method)})


def new_page(method: Method) -> str:
    """A page made of the docstrings of the method's module and class."""
    module = inspect.getmodule(method.model)
    described = [inspect.getdoc(part) or "" for part in (module, method.model)]
    text = "\n\n".join(re.split(r"\n+Examples?:\n", part)[0].strip() for part in described)
    return (
        f"# {method.name}\n\n<!-- generated: about -->\n<!-- end -->\n\n{text}\n\n"
        "## Options\n\n<!-- generated: options -->\n<!-- end -->\n"
    )


def about(method: Method) -> str:
    """What the method is in one sentence, its paper, its class, and what it can do."""
    lines = [method.summary, ""]
    if method.paper != "-":
        lines.append(wrapped(f"- **Paper:** {method.paper}.", indent="  "))
    lines.append(f'- **In Python:** `{call(method)}`, or the name `"{method.name}"`.')
    lines.append(f"- **On the command line:** `-m {method.name}`.")
    lines += [f"- {sentence}" for sentence in abilities(method)]
    return "\n".join(lines)


def call(method: Method) -> str:
    """How the model of a method is made in Python."""
    own = options_of(method.model)
    changed = {k: v for k, v in method.settings.items() if k not in own or own[k].default != v}
    settings = ", ".join(f"{name}={json.dumps(value)}" for name, value in changed.items())
    return f"quorate.{method.model.__name__}({settings})"


def abilities(method: Method) -> Iterator[str]:
    """What the method can do that others cannot, and the other way round."""
    model = method.model
    if model.two_classes_only:
        yield "Two classes only; more need an [order](ordered.md)."
    if model.learns_from_features:
        yield "Learns from [features of the tasks](../guides/votes.md#features-of-tasks)."
    if model.takes_weights:
        yield "Can [discount correlated workers](../guides/judges.md)."


def options_table(method: Method) -> str:
    """The options of a method: default, possible values and meaning."""
    rows = [
        (f"`{option.name}`", f"`{shown(option.default)}`", values(option), option.doc)
        for option in method.options.values()
    ]
    return table(("option", "default", "values", "meaning"), rows)


def shown(value: Any) -> str:
    """A default as one types it."""
    if isinstance(value, tuple):
        return ",".join(f"{part:g}" for part in value)
    return (
        f"{value:g}"
        if isinstance(value, float)
        else str(value).lower()
        if value is None
        else str(value)
    )


def values(option: Option) -> str:
    """What values an option can have, in words."""
    words = [f"`{choice}`" for choice in option.choices]
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (
            ("at least", option.at_least),
            ("above", option.above),
            ("at most", option.at_most),
        )
        if isinstance(bound, (int, float))
    ]
    return ", ".join(words + ([" and ".join(bounds)] if bounds else []))


def methods_table(folder: str, *, uses: bool = False) -> str:
    """Every method with what it does, linked to its page, and when to use it."""
    head = ("method", "what it does", "use it when") if uses else ("method", "what it does")
    rows = [
        (f"[`{m.name}`]({folder}{m.name}.md)", m.summary, *([use_of(m)] if uses else []))
        for m in METHODS.values()
    ]
    return table(head, rows)


def use_of(method: Method) -> str:
    """The sentence under the heading "When to use it" of the method's page."""
    path = page_of(method)
    text = path.read_text() if path.exists() else ""
    found = re.search(
        r"^## When to use it\n\n(.+?)(?:\.\s|\.?\n\n)", text, re.MULTILINE | re.DOTALL
    )
    return " ".join(found[1].split()) if found else ""


def navigation() -> str:
    """The entries of the methods' pages in the site's navigation."""
    return "".join(f'    {{ "{name}" = "methods/{name}.md" }},\n' for name in METHODS)


# The command line.


def command_sections() -> str:
    """Every command with its arguments and options, as its help has them."""
    return "\n\n".join(section(*command) for command in commands(main, "quorate"))


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """The commands of a group, and those of its groups, by their full names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def section(name: str, command: click.Command) -> str:
    """A command: its help, and a table of what it takes."""
    context = click.Context(command, info_name=name, **main.context_settings)
    text = inspect.cleandoc(command.help or "").replace("\b\n", "").split("\f")[0].strip()
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    rows = [row(parameter, context) for parameter in command.params if not hidden(parameter)]
    parts = [f"## {name}", paragraphs(text), f"    {usage}"]
    return "\n\n".join([*parts, table(("option", "default", "meaning"), rows)])


def paragraphs(text: str) -> str:
    """Help as Markdown: examples, which are indented, stay as they are."""
    parts = re.split(r"\n{2,}", text)
    return "\n\n".join(part if part.startswith(" ") else wrapped(part) for part in parts)


def hidden(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.hidden


def row(parameter: click.Parameter, context: click.Context) -> tuple[str, str, str]:
    """An argument or option: how it is written, its default, and its help."""
    if not isinstance(parameter, click.Option):
        name = parameter.make_metavar(context)
        return (
            f"`{name}`",
            "",
            getattr(parameter, "help", None) or ARGUMENTS.get(parameter.name or "", ""),
        )
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    kind = "" if parameter.is_flag or parameter.count else f" `{metavar(parameter, context)}`"
    extra = parameter.get_help_extra(context)
    return names + kind, extra.get("default", ""), parameter.help or ""


def metavar(parameter: click.Parameter, context: click.Context) -> str:
    """What stands for the value of an option."""
    return parameter.make_metavar(context).removesuffix(" RANGE")


# Click has no help for arguments.
ARGUMENTS = {
    "votes": "Files of votes, which are one input; `-` for standard input.",
    "comparisons": "Files of comparisons, which are one input; `-` for standard input.",
    "name": "A name; without one all are listed.",
    "names": "Names of data sets, or `all`.",
    "database": "A SQLite file, or postgresql://user@host/name; project.db unless given.",
    "id": "The token, as `quorate serve token list` names it.",
}


# Python.


def python_page() -> str:
    """An entry for every public name, in groups."""
    groups = {
        "Functions": [n for n in public() if inspect.isfunction(getattr(quorate, n))],
        "Results and votes": [n for n in public() if is_plain_class(getattr(quorate, n))],
        "Methods": models(),
        "Errors": [n for n in public() if is_kind(getattr(quorate, n), Exception)],
    }
    sections = [section_of(title, quorate, names) for title, names in groups.items()]
    sections += [
        section_of("Keyword arguments", quorate, keyword_groups(groups["Functions"])),
        section_of("Parts of results, models and methods", quorate, PARTS),
        section_of("quorate.metrics", metrics, functions_of(metrics)),
        section_of("quorate.datasets", datasets, documented(datasets)),
        section_of("quorate.crowdkit", crowdkit, crowdkit.__all__),
    ]
    return "# Python\n\n" + "\n\n".join(sections) + "\n"


# What attributes of public objects are, and what a model is made of, by their full names.
PARTS = (
    "quorate.votes.reading.ReadReport",
    "quorate.answers.Overview",
    "quorate.trust.recalibration.ExpectedError",
    "quorate.comparison.Score",
    "quorate.diagnosis.facts.Finding",
    "quorate.diagnosis.facts.Agreement",
    "quorate.diagnosis.facts.WorkerGraph",
    "quorate.diagnosis.facts.AgreeingPair",
    "quorate.diagnosis.facts.WorkerGroup",
    "quorate.diagnosis.facts.WorkerKind",
    "quorate.diagnosis.theory.Knowledge",
    "quorate.trust.correlated.groups.Group",
    "quorate.online.online.Answer",
    "quorate.online.online.Quality",
    "quorate.model.Model",
    "quorate.model.Phase",
    "quorate.model.Step",
    "quorate.model.Method",
    "quorate.options.Option",
    "quorate.models.em.EM",
    "quorate.models.moments.Spectral",
)


def keyword_groups(functions: Iterable[str]) -> list[str]:
    """The typed groups of keyword arguments that functions take as ``**how``, and their parts."""
    found: dict[str, None] = {}
    for function in functions:
        for kind in keywords_of(getattr(quorate, function)):
            found |= dict.fromkeys(f"{k.__module__}.{k.__name__}" for k in with_parts(kind))
    return list(found)


def keywords_of(function: Any) -> Iterator[Any]:
    """The type of a function's ``**`` argument, where it is a group."""
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            yield from get_args(parameter.annotation)


def with_parts(kind: Any) -> Iterator[Any]:
    """A group of keyword arguments, and those of its module that it is made of."""
    yield kind
    for part in vars(import_module(kind.__module__)).values():
        if is_typeddict(part) and part.__annotations__.items() < kind.__annotations__.items():
            yield part


def section_of(title: str, home: ModuleType, names: Iterable[str]) -> str:
    """A heading, and an entry for each name."""
    return "\n\n".join([f"## {title}", *(f"::: {full_name(home, name)}" for name in names)])


def full_name(home: ModuleType, name: str) -> str:
    """Where a name is defined, as mkdocstrings wants it."""
    if "." in name:
        resolve_name(name)  # raises where there is no such thing
        return name
    thing = getattr(home, name)
    return f"{thing.__module__}.{thing.__qualname__}"


def models() -> list[str]:
    """The classes of models: those that are named in the package, and those of methods."""
    named = [name for name in public() if is_kind(getattr(quorate, name), Model)]
    return list(dict.fromkeys([*named, *(m.model.__name__ for m in METHODS.values())]))


def public() -> list[str]:
    return [name for name in quorate.__all__ if not name.startswith("__")]


def is_kind(thing: Any, kind: type) -> bool:
    return inspect.isclass(thing) and issubclass(thing, kind)


def is_plain_class(thing: Any) -> bool:
    return inspect.isclass(thing) and not issubclass(thing, (Model, Exception))


def functions_of(module: ModuleType) -> list[str]:
    """The public functions that a module itself defines."""
    return [
        name
        for name, thing in vars(module).items()
        if inspect.isfunction(thing) and thing.__module__ == module.__name__ and name[0] != "_"
    ]


def documented(module: ModuleType) -> list[str]:
    """The functions and classes of a module's public names."""
    names = [getattr(module, name) for name in module.__all__]
    return [
        thing.__name__ for thing in names if inspect.isclass(thing) or inspect.isfunction(thing)
    ]


# Markdown.


def wrapped(text: str, indent: str = "") -> str:
    """Prose in lines that end at 100 columns."""
    lines = textwrap.wrap(" ".join(text.split()), 98, subsequent_indent=indent)
    return "\n".join(lines)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table; a bar within a cell is escaped."""
    head = list(head)
    lines = [head, ["---"] * len(head), *([cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
