"""What a writer for a tool is: it reads the tool's export again, one record after the other, and
writes what was found in a form that the tool imports."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError, UsageError
from quorate.votes.faults import listed, shown
from quorate.votes.readers.opening import Opened


class Answer(NamedTuple):
    """What was found of a task: its label (a list where there may be several; None where it is
    undecided) and the confidence."""

    label: Any
    confidence: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found of one question: a table of task, label and confidence with the columns that
    are kept, ``posterior[task, class]``, and by functions the votes and the workers' table.

    `agent` names who says so. The labels are lists where there may be several."""

    agent: str
    labels: pl.DataFrame
    classes: pl.Series
    posterior: NDArray[np.floating]
    votes: Callable[[], pl.DataFrame]
    workers: Callable[[], pl.DataFrame]

    @cached_property
    def answers(self) -> dict[str, Answer]:
        """The answer to each task, by its name as text."""
        rows = self.labels.select("task", "label", "confidence").iter_rows()
        return {str(task): Answer(label, confidence) for task, label, confidence in rows}

    def answer(self, task: Any) -> Answer | None:
        """The answer to a task; None where there is none, or none is decided."""
        found = self.answers.get(str(task))
        return None if found is None or found.label is None else found


@dataclass(frozen=True)
class Writer(ABC):
    """A writer of what one tool imports.

    `name` is what `--as` calls it, and `title` what it is called in sentences. `needs_export` says
    whether the tool's own export is read again, for what the votes do not hold. `options` are the
    names of its options."""

    name: ClassVar[str]
    title: ClassVar[str]
    needs_export: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def write(
        self,
        outcomes: Mapping[str, Outcome],
        export: Sequence[Opened],
        file: BinaryIO,
        **options: Any,
    ) -> None:
        """Write the answers to some questions, by their names."""


def only(writer: Writer, outcomes: Mapping[str, Outcome]) -> Outcome:
    """The one outcome there is, for a format that holds no more."""
    if len(outcomes) > 1:
        raise UsageError(f"{writer.title} takes one question here: name it with --question.")
    return next(iter(outcomes.values()))


def records(writer: Writer, export: Sequence[Opened], *keys: str) -> Iterator[dict[str, Any]]:
    """The records of the export, each of which has to have these keys."""
    for file in export:
        for number, record in enumerate(file.records(), start=1):
            lost = [key for key in keys if key not in record]
            if lost:
                raise DataError(
                    f"{file.origin}, record {number} has no {' and no '.join(lost)}: it is no"
                    f" export of {writer.title} that answers can be written for."
                )
            yield record


def write_array(rows: Iterable[Mapping[str, Any]], file: BinaryIO) -> None:
    """Write rows as a JSON array, one on each line."""
    file.write(b"[")
    for number, row in enumerate(rows):
        file.write((b",\n" if number else b"\n") + as_json(row))
    file.write(b"\n]\n")


def as_json(row: Any) -> bytes:
    """
    Examples:
        >>> as_json({"text": "où"}).decode()
        '{"text": "où"}'
    """
    return json.dumps(row, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")


def require_some(
    writer: Writer, found: bool, export: Sequence[Opened], tasks: Iterable[Any]
) -> None:
    """Refuse an export that has none of the tasks."""
    if not found:
        raise DataError(
            f"{export[0].origin} has none of the tasks that were answered, such as"
            f" {listed([shown(task) for task in tasks], 2)}: name the export of {writer.title} that"
            " the votes are from."
        )
