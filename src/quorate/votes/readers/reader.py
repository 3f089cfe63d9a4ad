"""What a reader of a tool's export is: it knows the export by its signature, and says of each
record which votes and known answers are in it, and what is dropped and why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from quorate.votes.readers.opening import Look, Opened

NOTHING: Mapping[str, Any] = {}


class Judged(NamedTuple):
    """A task that is a model's answer to an item. It is called like the item where an export has
    answers of one model only, and like both elsewhere."""

    item: Any
    model: str


class Vote(NamedTuple):
    """One worker's answer to one question about a task.

    `label` is what was said, or a list where a worker may choose several or none. `item` holds the
    task's own fields (its text, its address), of which those that the user asks for are kept."""

    task: Any
    worker: Any
    label: Any
    question: str = ""
    seconds: float | None = None
    time: Any = None
    item: Mapping[str, Any] = NOTHING


class Known(NamedTuple):
    """The known answer to a question about a task."""

    task: Any
    label: Any
    question: str = ""


class Dropped(NamedTuple):
    """Something that is no vote; `reason` completes a sentence such as "2 cancelled"."""

    reason: str


Found = Vote | Known | Dropped


@dataclass(frozen=True)
class Reader(ABC):
    """A reader of one tool's exports.

    `name` is what `format` calls it, and `title` what it is called in sentences. A file is this
    tool's if one of its first records has all keys of one of the `signatures`; it is nearly so if
    one has the first key of a signature and lacks others. A tool whose exports cannot be told by
    keys alone overrides `sniff`. The members of an archive are read one after the other, each like
    a file by itself, unless the reader `takes_archives` as a whole.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    signatures: ClassVar[tuple[tuple[str, ...], ...]] = ()
    takes_archives: ClassVar[bool] = False

    def sniff(self, look: Look) -> bool:
        """Whether a file is this tool's."""
        return any(look.has(*keys) for keys in self.signatures)

    def lacks(self, look: Look) -> list[str]:
        """Keys that a file would need to be this tool's; none if it is not even nearly so."""
        for keys in self.signatures:
            if look.has(keys[0]) and not look.has(*keys):
                return [key for key in keys if not look.has(key)]
        return []

    @abstractmethod
    def read(self, export: Opened) -> Iterator[Found]:
        """Votes, known answers and what is dropped, in the order of the records."""
