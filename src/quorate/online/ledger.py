"""What was counted, step by step, and the way back.

A step that is cut short leaves a ledger that is not whole, which is then made anew from a
checkpoint and the votes that came after it. The latest steps can be undone as quickly as they were
done, since sums of votes that count fully are exact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Codes, Floats
from quorate.online.ballots import Column
from quorate.online.names import Names
from quorate.online.state import State, Undo
from quorate.result import Result

T = TypeVar("T")

ROLES = ("task", "worker", "label")
MOST_BELIEFS = 50_000  # of tasks, kept to undo the latest steps


class Settled(NamedTuple):
    """What a fit of all votes has found: the result, and its posterior and answers in the codes of
    the ledger; whether it counts hard answers, or None if it is of another model than the state's,
    so that later votes start from its posterior."""

    result: Result
    posterior: Floats
    answers: Codes
    hard: bool | None


# Known answers that are given together, task and label by name; a label of None takes the answer
# back. Without any it is a settling.
Known = tuple[tuple[Any, Any], ...]
SETTLING: Known = ()

# A step that can be undone: what it changed, and before it the names, its votes, what was settled
# and what was known. Every vote makes one, so it is a bare tuple.
Done = tuple[Undo, tuple[int, ...], int, Settled | None, Known]


class KeptFit(NamedTuple):
    """A settled result as it is saved, and the weights of its votes where some are discounted."""

    result: bytes
    weight: Floats | None


class Checkpoint(NamedTuple):
    """The state after so many steps: with the votes that came until then it is everything. If the
    last step is a settling, there has to be what that found too (`fit`), or it is fitted again."""

    steps: int
    votes: int
    names: tuple[int, ...]
    arrays: Mapping[str, NDArray[Any]]
    fit: KeptFit | None = None


class Ledger:
    """The names, the state, and how many votes each step had: none for an event, a settling or
    known answers, which is in `events`. `ids` tell the votes apart, also when others are taken
    back; those of a start have none. `gold` are the answers that are known, by name."""

    def __init__(self, names: Mapping[str, Names], state: State) -> None:
        self.names, self.state = names, state
        self._tasks, self._workers, self._classes = (names[role] for role in ROLES)
        state.keys = names["task"].keys
        self.from_start = state.ballots.n_votes
        self.sizes, self.ids = Column(np.int64), Column(np.int64)
        self.events: list[Known] = []
        self.gold: dict[Any, Any] = {}
        self.settled: Settled | None = None
        self.whole = True
        self._names_before = self._n_names()
        self._done: deque[Done] = deque()
        self._n_beliefs = 0

    @property
    def n_steps(self) -> int:
        return self.sizes.height

    @property
    def n_votes(self) -> int:
        return self.state.ballots.n_votes

    @property
    def n_settlings(self) -> int:
        return sum(not event for event in self.events)

    @property
    def n_gold(self) -> int:
        """How often an answer was made known, or taken back."""
        return sum(map(len, self.events))

    @property
    def last_id(self) -> int:
        return self.ids.cells[self.ids.height - 1] if self.ids.height else 0

    # A step.

    def count(
        self,
        asked: Sequence[Sequence[Any]],
        found: Sequence[Any],
        ids: Sequence[int] | NDArray[np.int64],
        count: Callable[[], T],
        keep: Callable[[], None] | None = None,
        first: slice | NDArray[np.bool_] | None = None,
    ) -> T:
        """Count votes whose names were looked up: new ones get codes in place of -1. They are there
        for good when they are kept, and gone when that fails. `first` tells which tasks come first
        of the same."""
        self._names_before = self._n_names()
        self.whole = False
        for role, names, codes in zip(ROLES, asked, found, strict=True):
            self.names[role].complete(names, codes)
        tasks = _once(found[0]) if first is None else found[0][first]
        done = (self.state.before(tasks), self._names_before, len(ids), self.settled, ())
        wider = self._make_room()
        self._know_new_tasks()
        self.settled = None
        answer = count()
        self.ids.append(ids[0]) if len(ids) == 1 else self.ids.extend(np.asarray(ids))
        self.sizes.append(len(ids))
        self._remember(done, wider)
        self._keep(keep, done)
        return answer

    def count_vote(
        self,
        vote: Sequence[Any],
        codes: list[int],
        id: int,
        keep: Callable[[], None] | None = None,
    ) -> list[float]:
        """`count` for one vote, which is most of what is done: straight."""
        before = self._names_before = self._n_names()
        self.whole = False
        new = -1 in codes
        if new:
            for i, role in enumerate(ROLES):
                if codes[i] < 0:
                    codes[i] = self.names[role].append(vote[i])
        task, worker, label = codes
        done = (self.state.before((task,)), before, 1, self.settled, ())
        wider = new and self._make_room()
        if new and self.gold:
            self._know_new_tasks()
        self.settled = None
        belief = self.state.add(task, ((worker, label),))
        self.ids.append(id)
        self.sizes.append(1)
        self._remember(done, wider)
        self._keep(keep, done)
        return belief

    def codes_of(self, vote: Sequence[Any]) -> list[int]:
        """The codes of a vote's names, -1 for a new one that is fit for a code."""
        task, worker, label = vote
        return [self._tasks.code(task), self._workers.code(worker), self._classes.code(label)]

    def ids_of(self, codes: Sequence[int]) -> tuple[int, int, int]:
        """The numbers under which a vote's names are kept."""
        task, worker, label = codes
        tasks, workers, classes = self._tasks.ids, self._workers.ids, self._classes.ids
        return tasks.cells[task], workers.cells[worker], classes.cells[label]

    def _n_names(self) -> tuple[int, ...]:
        return len(self._tasks.names), len(self._workers.names), len(self._classes.names)

    def _remember(self, done: Done, wider: bool) -> None:
        """For `undo`; what was believed of fewer classes is of no use."""
        if wider:
            self._forget_done()
            return
        self._done.append(done)
        self._n_beliefs += len(done[0].tasks)
        while self._n_beliefs > MOST_BELIEFS:
            self._n_beliefs -= len(self._done.popleft()[0].tasks)

    def _forget_done(self) -> None:
        self._done.clear()
        self._n_beliefs = 0

    def _keep(self, keep: Callable[[], None] | None, done: Done) -> None:
        """Keep the last step; what cannot be kept is undone, now or when it is made anew."""
        if keep is not None:
            try:
                keep()
            except BaseException:
                if self.state.exact and self._done and self._done[-1] is done:
                    self.undo()
                raise
        self.whole = True

    def new_names(self) -> dict[str, list[tuple[int, Any]]]:
        """Names that came with the last step, with their ids."""
        new: dict[str, list[tuple[int, Any]]] = {}
        if self._names_before == self._n_names():
            return new
        for role, before, now in zip(ROLES, self._names_before, self._n_names(), strict=True):
            if now > before:
                new[role] = self.names[role].new(before)
        return new

    def settle(self, settled: Settled | None, keep: Callable[[], None] | None = None) -> None:
        """Believe what a fit of all votes has found, if there are votes."""
        self.whole = False
        if settled is not None:
            self.state.settle(settled.posterior, settled.hard)
        self.events.append(SETTLING)
        self.sizes.append(0)
        self.settled = settled
        self._forget_done()
        if keep is not None:
            keep()
        self.whole = True

    # Known answers.

    def know(self, known: Known, keep: Callable[[], None] | None = None) -> None:
        """From now on these answers are known, or are not any more; a label is fit for a code."""
        before = self._names_before = self._n_names()
        self.whole = False
        labels = [label for _, label in known if label is not None]
        self._classes.complete(labels, self._classes.look_up(labels))
        codes = [code for task, _ in known if (code := self._tasks.get(task)) is not None]
        were = tuple((task, self.gold.get(task)) for task, _ in known)
        done = (self.state.before(_once(codes)), before, 0, self.settled, were)
        wider = self._make_room()
        self.settled = None
        self.take_known(known)
        for code in codes:
            self.state.reconsider(code)
        self.events.append(known)
        self.sizes.append(0)
        self._remember(done, wider)
        self._keep(keep, done)

    def take_known(self, known: Known) -> None:
        """Take answers for known, whether or not they are counted."""
        for task, label in known:
            if label is None:
                self.gold.pop(task, None)
            else:
                self.gold[task] = label
                self._tasks.expected = task
            code = self._tasks.get(task)
            if code is not None:
                self.state.know(code, None if label is None else self._classes.require(label))

    def _know_new_tasks(self) -> None:
        """Answers that were known before their tasks had votes."""
        if self.gold:
            for code in range(self._names_before[0], len(self._tasks)):
                label = self.gold.get(self._tasks.names[code])
                if label is not None:
                    self.state.know(code, self._classes.require(label))

    def _make_room(self) -> bool:
        """Whether there are new classes."""
        n_tasks, n_workers, n_classes = self._n_names()
        wider = n_classes > self.state.n_classes
        if wider:
            self.state.widen(n_classes)
        self.state.grow(n_tasks, n_workers)
        return wider

    # The way back.

    def can_undo(self, steps: int) -> bool:
        """Whether the steps after the first so many can be undone."""
        return self.whole and self.state.exact and self.n_steps - steps <= len(self._done)

    def undo(self) -> None:
        """Undo the last step."""
        self.whole = False
        undo, n_names, n_votes, settled, were_known = self._done.pop()
        self._n_beliefs -= len(undo.tasks)
        self.state.undo(undo)
        if not n_votes:
            self.events.pop()
            self.take_known(were_known)
        for names, n in zip(self.names.values(), n_names, strict=True):
            names.cut(n)
        self.ids.cut(self.ids.height - n_votes)
        self.sizes.cut(self.n_steps - 1)
        self.settled = settled
        self.whole = True

    def checkpoint(self) -> Checkpoint:
        names = self._n_names()
        arrays = {name: array.copy() for name, array in self.state.as_arrays().items()}
        return Checkpoint(self.n_steps, self.ids.height, names, arrays)

    def at(self, checkpoint: Checkpoint) -> Ledger:
        """What it was then."""
        ballots = self.state.ballots
        names = {r: self.names[r].first(n) for r, n in zip(ROLES, checkpoint.names, strict=True)}
        votes = (ballots.task.values, ballots.worker.values, ballots.label.values)
        n = self.from_start + checkpoint.votes
        then = self.restored(names, [codes[:n] for codes in votes], checkpoint)
        sizes = self.sizes.values[: checkpoint.steps]
        then.ids.extend(self.ids.values[: checkpoint.votes])
        then.take_steps(sizes, self.events[: np.count_nonzero(sizes == 0)])
        return then

    def take_steps(self, sizes: NDArray[np.int64], events: Sequence[Known]) -> None:
        """The steps of a ledger that was restored, whose votes and beliefs are there already."""
        for event in events:
            self.take_known(event)
        self.events += events
        self.sizes.extend(sizes)

    def restored(
        self, names: Mapping[str, Names], votes: Sequence[Codes], checkpoint: Checkpoint
    ) -> Ledger:
        """A ledger with other names and votes, and the state of a checkpoint; the steps are yet to
        be taken."""
        state = State(self.state.model, len(names["label"]), self.state.ballots.half_life)
        state.grow(len(names["task"]), len(names["worker"]))
        state.ballots.extend(*votes)
        state.take_arrays(checkpoint.arrays)
        then = Ledger(names, state)
        then.from_start = self.from_start
        return then

    def place_of(self, step: int) -> int:
        """How many votes came in the steps before one."""
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
    """The steps of a ledger after the first so many (and `until` others), without some votes: to
    be counted again."""

    def __init__(
        self, ledger: Ledger, after: int, without: set[int], until: int | None = None
    ) -> None:
        self.after = after
        self.rewound = False
        self.without = frozenset(without)
        sizes = ledger.sizes.values[after:until]
        place = int(ledger.sizes.values[:after].sum()) if until else ledger.place_of(after)
        votes = slice(place, place + int(sizes.sum()))
        ids = ledger.ids.values[votes]
        stay = ~np.isin(ids, list(without))
        step = np.repeat(np.arange(len(sizes)), sizes)[stay]
        left = np.bincount(step, minlength=len(sizes))
        self._sizes = left[(left > 0) | (sizes == 0)].tolist()
        events = iter(ledger.events[np.count_nonzero(ledger.sizes.values[:after] == 0) :])
        self._events = [SETTLING if size else next(events) for size in self._sizes]
        self._ids = ids[stay].tolist()
        ballots = ledger.state.ballots
        self._columns = [
            [
                ledger.names[role].names[code]
                for code in codes.values[ledger.from_start :][votes][stay].tolist()
            ]
            for role, codes in zip(
                ROLES, (ballots.task, ballots.worker, ballots.label), strict=True
            )
        ]
        self._ends = np.cumsum(self._sizes, dtype=np.int64).tolist()

    def __len__(self) -> int:
        return len(self._sizes)

    def step(self, number: int) -> tuple[list[int], list[list[Any]], Known]:
        """The ids and the columns of names of a step; no votes are an event."""
        votes = slice(self._ends[number] - self._sizes[number], self._ends[number])
        columns = [column[votes] for column in self._columns]
        return self._ids[votes], columns, self._events[number]

    def leave_out(self, number: int) -> None:
        """A step that could not be counted."""
        votes = slice(self._ends[number] - self._sizes[number], self._ends[number])
        for values in (self._ids, *self._columns):
            del values[votes]
        del self._sizes[number], self._events[number]
        self._ends = np.cumsum(self._sizes, dtype=np.int64).tolist()

    def then(self, other: Redo, done: int) -> Redo:
        """After these steps those of another that are not done yet."""
        start = other._ends[done - 1] if done else 0
        self._sizes += other._sizes[done:]
        self._events += other._events[done:]
        self._ids += other._ids[start:]
        for column, more in zip(self._columns, other._columns, strict=True):
            column += more[start:]
        self._ends = np.cumsum(self._sizes, dtype=np.int64).tolist()
        self.without |= other.without
        return self


def _once(tasks: list[int] | Codes) -> Sequence[int] | Codes:
    if isinstance(tasks, np.ndarray):
        return np.unique(tasks)
    return tasks if len(tasks) == 1 else list(set(tasks))
