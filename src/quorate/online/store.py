"""What an `Online` is kept in, whatever that is: rows go in, rows come out.

A store holds names, votes, removals, known answers and settlings, which are only ever appended, and
checkpoints of the state, which can be done without. `Content` is what is exchanged. The votes of a
directory are one (`database.py`), those of a project of the server another (`quorate.service`).
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate import __version__
from quorate.online.ledger import Checkpoint, KeptFit

# What a checkpoint raises that another version, or nobody, has written.
UNREADABLE = (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)
NumberedNames = Mapping[str, Iterable[tuple[int, Any]]]

# Known answers that were given together: the ids of a task and of its label, or None.
GoldRows = tuple[tuple[int, int | None], ...]


class Event(NamedTuple):
    """Known answers, or none for a settling; `after` is the last vote that came before."""

    after: int
    gold: GoldRows = ()


class Content(NamedTuple):
    """Rows that came after others: names by role, votes (id, task, worker, label) with the first of
    those that each was added together with, votes that were removed, and what happened between the
    votes."""

    names: dict[str, list[Any]]
    votes: NDArray[np.int64]
    batch: NDArray[np.int64]
    removed: list[int]
    events: list[Event]

    @property
    def steps(self) -> NDArray[np.int64]:
        """How many votes each step had: none for an event. Votes that were added together are a
        step."""
        batches, sizes = np.unique(self.batch, return_counts=True)
        if not self.events:
            return sizes
        after = [event.after for event in self.events]
        before = np.searchsorted(batches, after, side="right")
        steps: NDArray[np.int64] = np.insert(sizes, before, 0)
        return steps

    @property
    def n_settlings(self) -> int:
        return sum(not event.gold for event in self.events)

    def without(self, removed: Collection[int]) -> Content:
        """The same, as if some votes had never come."""
        if not removed:
            return self
        stay = ~np.isin(self.votes[:, 0], list(removed))
        return self._replace(votes=self.votes[stay], batch=self.batch[stay])


class Seen(NamedTuple):
    """Up to where a database has been read: the last vote, and how many removals, settlings and
    known answers."""

    vote: int
    removed: int
    settlings: int
    gold: int


NOTHING = Content({}, np.zeros((0, 4), np.int64), np.zeros(0, np.int64), [], [])


class VoteStore(Protocol):
    """What a `Keeper` needs of the place where votes are kept: each call is a transaction."""

    notes: list[str]
    read_only: bool

    @property
    def place(self) -> str:
        """Where it is, for sentences."""

    def settings(self) -> dict[str, Any]: ...

    def add_vote(
        self, vote: tuple[int, int, int, int], names: Mapping[str, Sequence[tuple[int, Any]]]
    ) -> None: ...

    def add(
        self, names: NumberedNames, votes: Sequence[Sequence[int]] | NDArray[np.int64]
    ) -> None: ...

    def remove(self, number: int, vote: int) -> None: ...

    def settle(self, number: int, after: int) -> None: ...

    def add_gold(self, names: NumberedNames, first: int, event: Event, settling: int) -> None: ...

    def put_answers(
        self, rows: Iterable[tuple[int, int, float]], about: Mapping[str, str]
    ) -> None: ...

    def put_checkpoint(self, vote: int, settling: int, checkpoint: Checkpoint) -> None: ...

    def checkpoint(self, vote: int, settling: int) -> Checkpoint | None: ...

    def read(self, names: Mapping[str, int], seen: Seen) -> Content: ...

    def changed(self) -> bool: ...

    def roll_back(self) -> None: ...

    def close(self) -> None: ...


def packed(checkpoint: Checkpoint) -> bytes:
    """A checkpoint in bytes; an array of zeros and ones, as hard answers are, in bits."""
    arrays, shapes = dict(checkpoint.arrays), {}
    for name, array in arrays.items():
        if array.dtype == np.float64 and array.ndim == 2 and ((array == 0) | (array == 1)).all():
            shapes[name], arrays[name] = array.shape, np.packbits(array != 0)
    about: dict[str, Any] = {
        "steps": checkpoint.steps,
        "votes": checkpoint.votes,
        "names": checkpoint.names,
        "bits": shapes,
    }
    if checkpoint.fit is not None:
        about["fitted by"] = __version__
        arrays["fit"] = np.frombuffer(checkpoint.fit.result, np.uint8)
        if checkpoint.fit.weight is not None:
            arrays["fit_weight"] = checkpoint.fit.weight
    blob = io.BytesIO()
    np.savez(blob, allow_pickle=False, about=np.array(json.dumps(about)), **arrays)
    return blob.getvalue()


def unpacked(state: bytes) -> Checkpoint:
    """The checkpoint that bytes hold; one of another version is without its fit."""
    with np.load(io.BytesIO(state), allow_pickle=False) as archive:
        arrays: dict[str, NDArray[Any]] = dict(archive)
    about = json.loads(str(arrays.pop("about")))
    for name, (height, width) in about.get("bits", {}).items():
        bits = np.unpackbits(arrays[name], count=height * width)
        arrays[name] = bits.reshape(height, width).astype(np.float64)
    fit = None
    if about.get("fitted by") == __version__:  # another version may fit otherwise
        fit = KeptFit(arrays.pop("fit").tobytes(), arrays.pop("fit_weight", None))
    return Checkpoint(about["steps"], about["votes"], tuple(about["names"]), arrays, fit)
