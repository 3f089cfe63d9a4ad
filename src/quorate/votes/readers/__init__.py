"""Readers of what other tools write: one small file a tool, found by the signature of its exports.

`reader.Reader` is what a reader has to be. A new one is a file here and a line in `MODULES`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from quorate.votes.readers.opening import Look, Opened
from quorate.votes.readers.reader import Reader

# The classes of readers by what `format` calls them. The first that knows a file's signature reads
# it.
MODULES: Mapping[str, str] = {
    "label-studio": "label_studio:LabelStudio",
    "prodigy": "prodigy:Prodigy",
    "argilla": "argilla:Argilla",
    "labelbox": "labelbox:Labelbox",
    "doccano": "doccano:Doccano",
    "mturk": "mturk:MTurk",
    "toloka": "toloka:Toloka",
    "appen": "appen:Appen",
    "ground-truth": "ground_truth:GroundTruth",
    "cvat": "cvat:CVAT",
    "inspect": "inspect_ai:InspectAI",
    "promptfoo": "promptfoo:Promptfoo",
    "deepeval": "deepeval:DeepEval",
    "lm-eval": "lm_eval:LmEval",
    "mt-bench": "mt_bench:MTBench",
    "phoenix": "phoenix:Phoenix",
    "mlflow": "mlflow:MLflow",
    "langsmith": "langsmith:LangSmith",
    "langfuse": "langfuse:Langfuse",
}


@cache
def reader_named(name: str) -> Reader:
    """The reader that `format` calls so."""
    module, _, kind = MODULES[name].partition(":")
    found: Reader = getattr(import_module(f"{__name__}.{module}"), kind)()
    return found


def readers() -> Iterator[Reader]:
    """All readers, in the order in which they are asked."""
    return map(reader_named, MODULES)


def recognised(look: Look) -> Reader | None:
    """The reader whose tool wrote the file, if one knows it."""
    return next((reader for reader in readers() if reader.sniff(look)), None)


def nearly(look: Look) -> str | None:
    """What a file lacks to be one that a reader knows, as a sentence; None if no reader does."""
    for reader in readers():
        missing = reader.lacks(look)
        if missing:
            return f"It looks like {reader.title}, but has no {' and no '.join(missing)}."
    return None


__all__ = ["MODULES", "Look", "Opened", "Reader", "nearly", "reader_named", "readers", "recognised"]
