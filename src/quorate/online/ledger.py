"""What was counted, step by step, and the way back.

A step is counted whole or not at all: what it is about to change is copied first, and put back when
it is cut short, at whatever moment. The copies of the latest steps are kept, so that they can be
undone as quickly as they were done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Codes
from quorate.online.ballots import Column, Rows
from quorate.online.names import Names
from quorate.online.state import Image, State
from quorate.result import Result

T = TypeVar("T")

ROLES = ("task", "worker", "label")
UNDO_BYTES = 32e6
OVERHEAD = 600  # bytes of a copy beside the rows


class Before(NamedTuple):
    """Everything that a step is about to change, as it was."""

    steps: int
    votes: int
    names: tuple[int, ...]
    settled: Result | None
    state: Image
    size: int


class Checkpoint(NamedTuple):
    """The state after so many steps: with the votes that came until then it is everything."""

    steps: int
    votes: int
    names: tuple[int, ...]
    arrays: Mapping[str, NDArray[Any]]


class Ledger:
    """The names, the state, and how many votes each step had: none for a settling. `ids` tell the
    votes apart, also when others are taken back; those of a start have none."""

    def __init__(self, names: Mapping[str, Names], state: State) -> None:
        self.names, self.state = names, state
        self.from_start = state.ballots.n_votes
        self.sizes, self.ids = Column(np.int64), Column(np.int64)
        self.settled: Result | None = None
        self._undo: deque[Before] = deque()
        self._undo_bytes = 0
        self._under_way: Before | None = None

    @property
    def n_steps(self) -> int:
        return self.sizes.height

    @property
    def n_votes(self) -> int:
        return self.state.ballots.n_votes

    @property
    def n_settlings(self) -> int:
        return int(np.count_nonzero(self.sizes.values == 0))

    @property
    def last_id(self) -> int:
        return self.ids.cells[self.ids.height - 1] if self.ids.height else 0

    # A step, whole or not at all.

    def count(
        self,
        asked: Sequence[Sequence[Any]],
        found: Sequence[Any],
        ids: Sequence[int],
        count: Callable[[], T],
        keep: Callable[[], None] | None = None,
    ) -> T:
        """Count votes whose names were looked up: new ones get codes in place of -1. What was
        counted is kept before it is there for good."""
        before = self._before(*self._touched(*found[:2]))

        def step() -> T:
            for role, names, codes in zip(ROLES, asked, found, strict=True):
                self.names[role].complete(names, codes)
            self._make_room()
            answer = count()
            self.ids.extend(np.asarray(ids, dtype=np.int64))
            self.sizes.append(len(ids))
            return answer

        return self._whole(before, step, keep)

    def new_names(self) -> dict[str, list[tuple[int, Any]]]:
        """Names that came with the step that is under way, with their ids."""
        assert self._under_way is not None
        return {
            role: names.new(n)
            for (role, names), n in zip(self.names.items(), self._under_way.names, strict=True)
            if len(names) > n
        }

    def settle(self, result: Result | None, keep: Callable[[], None] | None = None) -> None:
        """Believe what a fit of all votes has found, if there are votes."""

        def step() -> None:
            if result is not None:
                self.state.believe_all(result.posterior, result.params.state.hard)
            self.sizes.append(0)
            self.settled = result

        self._whole(self._before([], []), step, keep)

    def _whole(self, before: Before, step: Callable[[], T], keep: Callable[[], None] | None) -> T:
        self._under_way = before
        try:
            self.settled = None
            done = step()
            if keep is not None:
                keep()
        except BaseException:
            self.recover()
            raise
        self._undo.append(before)
        self._undo_bytes += before.size
        self._under_way = None
        while self._undo_bytes > UNDO_BYTES and len(self._undo) > 1:
            self._undo_bytes -= self._undo.popleft().size
        return done

    def recover(self) -> None:
        """Put back what a step has changed that was cut short; done twice it does no harm."""
        before = self._under_way
        if before is None:
            return
        self.state.restore(before.state)
        for names, n in zip(self.names.values(), before.names, strict=True):
            names.cut(n)
        self.ids.cut(before.votes)
        self.sizes.cut(before.steps)
        self.settled = before.settled
        while self._undo and self._undo[-1].steps >= before.steps:
            self._undo_bytes -= self._undo.pop().size
        self._under_way = None

    def _touched(self, tasks: list[int] | Codes, workers: list[int] | Codes) -> tuple[Rows, Rows]:
        """Of the tasks, and of all workers whose sums their votes change, those that are known."""
        if isinstance(tasks, np.ndarray):
            known = np.unique(tasks[tasks >= 0])
            others = self.state.workers_on_any(known)
            return known, np.union1d(others, workers[workers >= 0])
        some = {task for task in tasks if task >= 0}
        voters = {worker for worker in workers if worker >= 0}
        for task in some:
            voters.update(self.state.workers_on(task))
        return list(some), list(voters)

    def _before(self, tasks: Rows, workers: Rows) -> Before:
        image = self.state.image(tasks, workers)
        names = tuple(map(len, self.names.values()))
        columns = (image.belief, *image.columns)
        size = OVERHEAD + 8 * (len(tasks) + len(workers)) * sum(c.width for c in columns)
        return Before(self.n_steps, self.ids.height, names, self.settled, image, size)

    def _make_room(self) -> None:
        if len(self.names["label"]) > self.state.n_classes:
            self.state.widen(len(self.names["label"]))
        self.state.grow(len(self.names["task"]), len(self.names["worker"]))

    # The way back.

    def can_undo(self, steps: int) -> bool:
        """Whether the steps after the first so many can be undone."""
        return self.n_steps == steps or (bool(self._undo) and self._undo[0].steps <= steps)

    def undo(self) -> None:
        """Undo the last step."""
        self._under_way = self._undo[-1]
        self.recover()

    def checkpoint(self) -> Checkpoint:
        names = tuple(map(len, self.names.values()))
        arrays = {name: array.copy() for name, array in self.state.as_arrays().items()}
        return Checkpoint(self.n_steps, self.ids.height, names, arrays)

    def at(self, checkpoint: Checkpoint) -> Ledger:
        """What it was then."""
        ballots = self.state.ballots
        names = {r: self.names[r].first(n) for r, n in zip(ROLES, checkpoint.names, strict=True)}
        votes = (ballots.task.values, ballots.worker.values, ballots.label.values)
        n = self.from_start + checkpoint.votes
        then = self.restored(names, [codes[:n] for codes in votes], checkpoint)
        then.sizes.extend(self.sizes.values[: checkpoint.steps])
        then.ids.extend(self.ids.values[: checkpoint.votes])
        return then

    def restored(
        self, names: Mapping[str, Names], votes: Sequence[Codes], checkpoint: Checkpoint
    ) -> Ledger:
        """A ledger with other names and votes, and the state of a checkpoint."""
        state = State(self.state.model, len(names["label"]), self.state.ballots.half_life)
        state.grow(len(names["task"]), len(names["worker"]))
        state.ballots.extend(*votes)
        state.take_arrays(checkpoint.arrays)
        then = Ledger(names, state)
        then.from_start = self.from_start
        return then

    def place_of(self, step: int) -> int:
        """How many votes came in the steps before one; looked for from the end."""
        return self.ids.height - int(self.sizes.values[step:].sum())

    def step_of(self, id: int) -> int:
        """Which step a vote came in; looked for from the end."""
        place = int(np.searchsorted(self.ids.values, id))
        n = 64
        while True:
            first = max(0, self.n_steps - n)
            ends = self.place_of(first) + self.sizes.values[first:].cumsum()
            if not first or ends[0] <= place:
                return first + int(np.searchsorted(ends, place, side="right"))
            n *= 4


class Redo:
    """The steps of a ledger after the first so many, without some votes: to be counted again."""

    def __init__(self, ledger: Ledger, after: int, without: set[int]) -> None:
        self.after = after
        self.rewound = False
        self.without = frozenset(without)
        place = ledger.place_of(after)
        ids, sizes = ledger.ids.values[place:], ledger.sizes.values[after:]
        stay = ~np.isin(ids, list(without))
        step = np.repeat(np.arange(len(sizes)), sizes)[stay]
        left = np.bincount(step, minlength=len(sizes))
        self._sizes = left[(left > 0) | (sizes == 0)].tolist()
        self._ids = ids[stay].tolist()
        ballots = ledger.state.ballots
        self._columns = [
            [ledger.names[role].names[code] for code in codes.values[-len(stay) :][stay].tolist()]
            for role, codes in zip(ROLES, (ballots.task, ballots.worker, ballots.label), strict=True)
            if len(stay)
        ]
        self._ends = np.cumsum(self._sizes, dtype=np.int64).tolist()

    def __len__(self) -> int:
        return len(self._sizes)

    def step(self, number: int) -> tuple[list[int], list[list[Any]]]:
        """The ids and the columns of names of a step; no votes are a settling."""
        votes = slice(self._ends[number] - self._sizes[number], self._ends[number])
        return self._ids[votes], [column[votes] for column in self._columns]

    def leave_out(self, number: int) -> None:
        """A step that could not be counted."""
        del self._sizes[number], self._ends[number]
