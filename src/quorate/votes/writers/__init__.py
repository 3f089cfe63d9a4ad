"""Writers of what other tools read: one small file a tool, the mirror of the readers.

`writer.Writer` is what a writer has to be. A new one is a file here and a line in `MODULES`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO

from quorate.errors import UsageError, require_choice
from quorate.votes.sources import opened_files
from quorate.votes.writers.writer import Answer, Outcome, Writer

# The classes of writers by what `--as` calls them.
MODULES: Mapping[str, str] = {
    "label-studio": "label_studio:Tasks",
    "label-studio-predictions": "label_studio:Predictions",
    "argilla": "argilla:Argilla",
    "prodigy": "prodigy:Prodigy",
    "mturk": "mturk:MTurk",
    "huggingface": "huggingface:HuggingFace",
}
NAMES = tuple(MODULES)


@cache
def writer_named(name: str) -> Writer:
    """The writer that `--as` calls so."""
    module, _, kind = MODULES[name].partition(":")
    found: Writer = getattr(import_module(f"{__name__}.{module}"), kind)()
    return found


def writer_for(tool: str, export: Any, options: Mapping[str, Any]) -> Writer:
    """The writer for a tool, refused where it cannot write what is asked of it."""
    require_choice("tool", tool, NAMES)
    writer = writer_named(tool)
    for name in options:
        if name not in writer.options:
            raise UsageError(f"{name} has no effect on what {writer.title} imports: leave it out.")
    if writer.needs_export and (export == "-" or not opened_files(export)):
        raise UsageError(
            f"What {writer.title} imports needs its export, which is read again: name the file."
        )
    return writer


def write_for(
    tool: str, outcomes: Mapping[str, Outcome], export: Any, file: BinaryIO, **options: Any
) -> None:
    """Write what was found of some questions to an open file, in the form that a tool imports.

    `export` is the tool's export that the votes are from, which is read again for what votes do
    not hold."""
    writer = writer_for(tool, export, options)
    files = opened_files(export) if writer.needs_export else []
    writer.write(outcomes, files, file, **options)


__all__ = ["MODULES", "NAMES", "Answer", "Outcome", "Writer", "write_for", "writer_for"]
