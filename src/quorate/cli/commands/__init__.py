"""The commands, each thin: what goes in, which function is called, what comes out."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

SUMMARIES = {
    "aggregate": "Turn VOTES into labels.",
    "assign": "Say which worker to ask about which task next.",
    "compare": "Score several methods on the same votes.",
    "convert": "Write VOTES of any kind as one long table.",
    "data": "List, check and fetch public data sets.",
    "demo": "See methods at work on a simulated crowd.",
    "diagnose": "Say what is wrong with a crowd, and whom to mistrust.",
    "estimate": "Estimate shares or means over all tasks, with intervals.",
    "explain": "Say why tasks have their labels.",
    "methods": "List the methods, or the options of one.",
    "panel": "Say how many independent judges a panel is worth, and what each adds.",
    "rank": "Rank systems by comparisons of pairs.",
    "report": "Make a page of what VOTES tell: workers, disputed tasks, classes, what to ask next.",
    "review": "List the tasks of VOTES that a person should look at, the least certain first.",
    "serve": "Take votes over HTTP, and hand out the next task.",
    "scores": "Turn numeric ratings into a consensus score for each task.",
    "simulate": "Draw a crowd whose truth is known.",
}


class CommandTable(MutableMapping[str, click.Command]):
    """The commands by name, each imported when it is asked for: listing them needs none."""

    def __getitem__(self, name: str) -> click.Command:
        if name not in SUMMARIES:
            raise KeyError(name)
        command: click.Command = getattr(import_module(f"{__name__}.{name}"), name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(SUMMARIES)

    def __len__(self) -> int:
        return len(SUMMARIES)

    def __contains__(self, name: object) -> bool:
        return name in SUMMARIES

    def __setitem__(self, name: str, command: click.Command) -> None:
        raise TypeError("Commands are modules of quorate.cli.commands.")

    def __delitem__(self, name: str) -> None:
        raise TypeError("Commands are modules of quorate.cli.commands.")
