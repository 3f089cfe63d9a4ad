"""`quorate.Online`: answers that are up to date with every vote."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate import metrics
from quorate.aggregation import result_of
from quorate.answers import AnswersInMemory, Overview
from quorate.card import card
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError, require_number
from quorate.fitting import Fit, Request, Tally, conclude, run
from quorate.kernels import Codes, Floats
from quorate.labels import Codebook, Labels
from quorate.model import AnyModel, dense
from quorate.models import METHODS, Auto, DawidSkene, OneCoin, Taught, make, method_name, named
from quorate.online.checkpoints import next_due, thinned
from quorate.online.keeping import DEFAULT, Keeper
from quorate.online.ledger import ROLES, Checkpoint, KeptFit, Known, Ledger, Redo, Settled
from quorate.online.names import Names, plain
from quorate.online.next_tasks import Outlook, most_valuable
from quorate.online.settling import (
    fit_by_auto,
    in_codes_of,
    result_kept,
    settled_by_em,
    votes_of_auto,
)
from quorate.online.state import State
from quorate.online.store import Content
from quorate.result import Result
from quorate.trust import ExpectedError
from quorate.votes import KnownAnswers, Votes, complete_rows, read_table, read_votes, shown
from quorate.votes.gold import read_answers

T = TypeVar("T")


class Answer(NamedTuple):
    """What is believed of a task, and how firmly."""

    task: Any
    label: Any
    confidence: float


class Quality(NamedTuple):
    """What is known of a worker: labels, the share that is right, and its 95 % interval."""

    worker: Any
    labels: int
    accuracy: float
    low: float
    high: float


class Settling(NamedTuple):
    """A fit of the votes up to a step, which can be made without holding anybody up."""

    history: tuple[Any, ...]
    steps: int
    after: int  # the last vote that it knows of
    fit: Callable[[], Result]


class Online:
    """Votes that keep coming: each is counted as it comes, at a cost that does not grow.

    `method` is auto, dawid-skene, fast-dawid-skene, hybrid or one-coin, by name with its `options`
    or as a model. With auto, `settle` fits what `aggregate` does, and votes that come between are
    counted by one-coin, from what was settled. With `classes` no others are taken; without, a label
    that was not there before is a new class. `start`, a fitted `Result` of such a method, is what
    to go on from; with the `votes` it was fitted to, its tasks can get further votes. With a
    `half_life` a worker's votes count half after that many more votes of that worker: skill may
    drift. `gold` holds known answers, a table of task and label or a mapping: see `add_gold`.

    Examples:
        >>> online = Online(gold={"photo-3": "cat"})
        >>> online.add(("photo-1", "ann", "cat")).label
        'cat'
        >>> answers = online.add([("photo-2", "ann", "dog"), ("photo-3", "ann", "cat")])
        >>> online.label("photo-3")
        Answer(task='photo-3', label='cat', confidence=1.0)
        >>> online.worker("ann").labels, online.next_tasks(1)
        (3, ['photo-2'])
    """

    def __init__(
        self,
        method: str | AnyModel = DEFAULT,
        *,
        start: Result | None = None,
        votes: Any = None,
        gold: Any = None,
        classes: Sequence[Any] | None = None,
        half_life: float | None = None,
        **options: Any,
    ) -> None:
        if half_life is not None:
            require_number("half_life", half_life, at_least=1e-3)
        if votes is not None and start is None:
            raise UsageError("votes are those of a start: give it, or add the votes.")
        chosen = _model_for(method, options) if start is None else _model_of(start, options)
        self._auto = chosen if isinstance(chosen, Auto) else None
        self._model = _between_settlings(chosen) if isinstance(chosen, Auto) else chosen
        self.method = method_name(chosen)
        if start is not None and self._auto is not None and votes is None:
            raise UsageError("Online goes on from auto only with its votes: give them too.")
        self._half_life = half_life
        self._start, self._start_votes = start, votes
        self._classes = None if classes is None else list(classes)
        self._lock = threading.RLock()
        self._closed = False
        self._notes: list[str] = []
        self._keeper: Keeper | None = None
        self._removed: set[int] = set()  # votes that are still counted
        self._redo: Redo | None = None
        self._unsure = False  # whether something was cut short
        self._rewinds = 0
        self.ledger = self._begin()
        self._checkpoints = [self.ledger.checkpoint()]
        self._outlook: Outlook | None = None
        if gold is not None:
            self.add_gold(gold)

    @classmethod
    def open(
        cls,
        directory: str | Path,
        method: str | AnyModel | None = None,
        *,
        gold: Any = None,
        sync: bool = False,
        read_only: bool = False,
        recover: bool = False,
        **options: Any,
    ) -> Online:
        """An `Online` whose votes are kept in a directory: made there if there is none yet.

        Every call that has returned is there when it is next opened, also after the process was
        killed; with `sync` also after the machine lost its power, at the price of waiting for the
        disk. What it was made with need not be given again; `gold`, if it is given, is added to
        what is known. One process at a time can write: `close` it, or use it in a ``with`` block.
        Others can open it `read_only`, and are up to date with what is written meanwhile. With
        `recover` what cannot be read any more of a damaged file is left out, where it would else be
        refused.
        """
        if gold is not None:
            gold = _read_gold(gold)
        given = {"method": method, **options}
        if not (method is None or isinstance(method, str)):
            given |= _settings_of(_model_for(method, options))
        place = Path(directory)
        opening = {"sync": sync, "read_only": read_only, "recover": recover}
        online = Keeper.open(place, given, cls, **opening)
        if gold is not None:
            try:
                online.add_gold(gold)
            except BaseException:
                online.close()
                raise
        return online

    def keep(self, keeper: Keeper) -> None:
        """From now on be what is kept."""
        self._keeper = keeper
        keeper.catch_up(self)

    def close(self) -> None:
        """Let others open it; nothing to do for one without a place. What was counted can still be
        asked for."""
        with self._lock:
            keeper = self._keeper
            if keeper is None:
                return
            try:
                if keeper.is_of_this_process:
                    self._ready()
            finally:
                self._keeper, self._closed = None, True
                self._notes = keeper.notes
                keeper.close(self)

    def __enter__(self) -> Online:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = self.ledger.names
        tasks, workers = (f"{len(names[role]):,} {role}s" for role in ("task", "worker"))
        votes = self.ledger.n_votes - len(self._removed)
        known = f", {len(self.ledger.gold):,} known answers" if self.ledger.gold else ""
        method = self.method
        if self._auto is not None:
            method += f", {method_name(self._model)} between settlings"
        return f"Online({method}: {votes:,} votes on {tasks} by {workers}{known})"

    def _repr_html_(self) -> str:
        names = self.ledger.names
        facts = {
            "votes": f"{self.ledger.n_votes - len(self._removed):,}",
            "tasks": f"{len(names['task']):,}",
            "workers": f"{len(names['worker']):,}",
            "known answers": f"{len(self.ledger.gold):,}",
            "method": self.method,
        }
        return card("Votes as they come", facts, notes=self.notes)

    @property
    def notes(self) -> list[str]:
        """What was found amiss."""
        return self._notes if self._keeper is None else self._keeper.notes

    @property
    def n_votes(self) -> int:
        """How many votes there are."""
        with self._lock:
            self._ready()
            return self.ledger.n_votes

    def _begin(self) -> Ledger:
        """As if no vote had been added."""
        start = self._start
        if start is None:
            classes = self._classes or []
            names = {role: Names(role) for role in ROLES}
            names["label"] = Names("label", classes, closed=bool(self._classes))
            return Ledger(names, State(self._model, len(classes), self._half_life))
        book = start.codebook
        named = {"task": book.tasks, "worker": book.workers, "label": book.classes}
        names = {role: Names(role, series.to_list()) for role, series in named.items()}
        names["label"].closed = self._classes is not None
        state = State(self._model, len(book.classes), self._half_life)
        _go_on_from(state, start, self._start_votes)
        return Ledger(names, state)

    # Whole and up to date.

    def _ready(self, *, writing: bool = False, refresh: bool = True) -> None:
        """Before anything is asked or done: what was cut short has happened, or it has not."""
        keeper = self._keeper
        if keeper is not None:
            keeper.require_this_process()
            if writing:
                keeper.require_writable()
            elif keeper.database.read_only and keeper.database.changed():
                self._unsure = True
        elif writing and self._closed:
            raise UsageError("This Online is closed: open it again.")
        if self._unsure or not self.ledger.whole:
            self._recover()
        if refresh and (self._removed or self._redo is not None):
            self._refresh()

    def _recover(self) -> None:
        """What was cut short has happened if it is kept; what is not whole is made anew."""
        if self._keeper is not None:
            if not self.ledger.whole:
                self.begin_again()
            self._keeper.catch_up(self)
        elif not self.ledger.whole:
            self._redo = self._all_again(self._redo)
        self._unsure = False

    def begin_again(self) -> None:
        """Before everything that is kept is counted from the beginning."""
        self._removed, self._redo = set(), None
        self.ledger = self.ledger.at(self._checkpoints[0])
        assert self._keeper is not None
        self._keeper.forget_all()

    def _all_again(self, redo: Redo | None) -> Redo:
        """What came after the last checkpoint of a ledger that is not whole, and what was still to
        be counted again."""
        done = self.ledger.n_steps
        if redo is not None and not redo.rewound:
            done = redo.after
        again = Redo(self.ledger, self._checkpoint_before(done).steps, self._removed, done)
        return again if redo is None else again.then(redo, done - redo.after)

    def _refresh(self) -> None:
        """Count anew without the votes that were taken back; when this is cut short, it goes on
        where it was."""
        if self._redo is None:
            self._redo = Redo(self.ledger, self._step_to_go_back_to(), self._removed)
        redo = self._redo
        if not redo.rewound:
            self._rewind(redo.after)
            redo.rewound = True
        while (done := self.ledger.n_steps - redo.after) < len(redo):
            try:
                self.count_again(*redo.step(done))
            except MemoryError:
                raise
            except Exception as error:
                self.notes.append(f"Votes could not be counted again: {error}")
                redo.leave_out(done)
                if not self.ledger.whole:
                    self._ready()
                    return
        self._removed -= redo.without
        self._redo = None

    def _step_to_go_back_to(self) -> int:
        step = self.ledger.step_of(min(self._removed))
        return step if self.ledger.can_undo(step) else self._checkpoint_before(step).steps

    def _checkpoint_before(self, step: int) -> Checkpoint:
        found = None if self._keeper is None else self._keeper.checkpoint_to_go_back_to(self.ledger)
        if found is not None and found.steps <= step:
            return found
        return [c for c in self._checkpoints if c.steps <= step][-1]

    def _rewind(self, steps: int) -> None:
        """To what it was after so many steps."""
        if self.ledger.can_undo(steps):
            while self.ledger.n_steps > steps:
                self.ledger.undo()
        else:
            self.ledger = self.ledger.at(self._checkpoint_before(steps))
        self._checkpoints = [c for c in self._checkpoints if c.steps <= steps]
        self._outlook = None
        self._rewinds += 1
        if self._keeper is not None:
            self._keeper.start_anew(self.ledger.ids.height)

    def forget(self, ids: Iterable[int]) -> None:
        """Votes that were taken back, of which some may be counted."""
        counted = self.ledger.ids.values
        for id in ids:
            place = int(np.searchsorted(counted, id))
            if place < len(counted) and counted[place] == id:
                self._removed.add(id)

    def count_again(
        self, ids: Sequence[int], columns: Sequence[Sequence[Any]], event: Known
    ) -> None:
        """What is kept already: a step's votes, by name, known answers, or a settling."""
        if len(ids):
            self._count_rows(ids, columns, None)
        elif event:
            self.ledger.know(event)
        elif self.ledger.n_votes:
            self.ledger.settle(self._fitted())
        else:
            self.ledger.settle(None)

    # Votes come and go.

    def add(self, votes: Any) -> Any:
        """Count one vote, (task, worker, label), or several: any table that `aggregate` takes.

        Votes that are added together are counted together. One vote gives an `Answer`; rows give
        the answers of the tasks they are on; a table gives a table of task, label, confidence.
        """
        with self._lock:
            self._ready(writing=True)
            if isinstance(votes, tuple) and votes and not isinstance(votes[0], tuple):
                added: Any = self._add_vote(votes)
            elif isinstance(votes, list) and votes and isinstance(votes[0], (tuple, list)):
                added = self._add_rows(votes)
            else:
                added = self._add_table(votes)
            self._checkpoint_if_due()
            return added

    def _checkpoint_if_due(self) -> None:
        if self._keeper is not None:
            self._keeper.checkpoint_if_due(self)
            return
        if self.ledger.ids.height >= next_due(self._checkpoints[-1].votes):
            self._checkpoints.append(self.ledger.checkpoint())
            places = [(c.votes, c.steps) for c in reversed(self._checkpoints[1:])]
            gone = set(thinned(places))
            self._checkpoints = [c for c in self._checkpoints if (c.votes, c.steps) not in gone]

    def _next_ids(self, n: int) -> NDArray[np.int64]:
        last = self.ledger.last_id if self._keeper is None else self._keeper.last_vote
        return np.arange(last + 1, last + 1 + n)

    def _add_vote(self, vote: Sequence[Any]) -> Answer:
        _require_vote(vote)
        keeper, ledger = self._keeper, self.ledger
        codes = ledger.codes_of(vote)
        if self._start is not None:
            self._require_open(vote[:1], codes[:1])
        self._unsure = True
        if keeper is None:
            belief = ledger.count_vote(vote, codes, ledger.last_id + 1)
        else:
            id = keeper.last_vote + 1
            belief = ledger.count_vote(vote, codes, id, lambda: keeper.keep_vote(ledger, id, codes))
        self._unsure = False
        return self._answer(codes[0], belief)

    def _add_rows(self, rows: Sequence[Sequence[Any]]) -> list[Answer]:
        for row in rows:
            _require_vote(row)
        columns = list(zip(*rows, strict=True))
        return self._answers(*self._count_rows(self._next_ids(len(rows)), columns, self._keeper))

    def _count_rows(
        self,
        ids: Sequence[int] | NDArray[np.int64],
        columns: Sequence[Sequence[Any]],
        keeper: Keeper | None,
    ) -> tuple[Sequence[int], Sequence[Sequence[float]]]:
        """The tasks of some votes, and what is then believed of them."""
        found = self._look_up(columns)
        state, (task, worker, label) = self.ledger.state, found
        one_task = len(ids) == 1 or all(name == columns[0][0] for name in columns[0])

        def count() -> tuple[Sequence[int], Sequence[Sequence[float]]]:
            if one_task:
                return task[:1], [state.add(task[0], list(zip(worker, label, strict=True)))]
            tasks, posterior = state.add_table(*(np.array(c, dtype=np.int32) for c in found))
            return tasks.tolist(), posterior.tolist()

        return self._counted(columns, found, ids, count, keeper)

    def _counted(
        self,
        asked: Sequence[Sequence[Any]],
        found: Sequence[Any],
        ids: Sequence[int] | NDArray[np.int64],
        count: Callable[[], T],
        keeper: Keeper | None,
        coded: Sequence[Any] | None = None,
        first: Any = None,
    ) -> T:
        """Count a step, and keep it."""
        ledger = self.ledger

        def keep() -> None:
            assert keeper is not None
            keeper.keep_votes(ledger, ids, found if coded is None else coded)

        self._unsure = True
        kept = None if keeper is None else keep
        answer = ledger.count(asked, found, ids, count, kept, first)
        self._unsure = False
        return answer

    def _add_table(self, votes: Any) -> Any:
        table = read_table(votes, ROLES)
        frame = complete_rows(table)
        if len(frame) < len(table.frame):
            raise DataError(
                f"{len(table.frame) - len(frame)} of {len(table.frame)} rows lack a task, a worker"
                " or a label: leave them out."
            )
        if not len(frame):
            return table.kind.give(_no_answers(frame))
        return table.kind.give(self._count_table(frame))

    def _count_table(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A name that occurs often is looked up once; answers are in the tasks' order."""
        distinct = [frame[role].is_first_distinct() for role in ROLES]
        tasks, first = frame["task"].filter(distinct[0]), distinct[0].to_numpy()
        if len(tasks) == 1:
            (answer,) = self._add_rows(frame.rows())
            return pl.DataFrame([answer._asdict()])
        asked = [_worth_asking(frame[r], some) for r, some in zip(ROLES, distinct, strict=True)]
        columns = [names.to_list() for names in asked]
        names, state = self.ledger.names, self.ledger.state
        found = [names[r].look_up_many(c) for r, c in zip(ROLES, columns, strict=True)]
        self._require_open(columns[0], found[0])
        coded: list[Codes] = []

        def count() -> Floats:
            coded[:] = [
                of if len(of) == len(frame) else _gathered(frame[role], some, of)
                for role, some, of in zip(ROLES, asked, found, strict=True)
            ]
            task, worker, label = coded
            return state.add_table(task, worker, label, task[first])[1]

        ids = self._next_ids(len(frame))
        known = slice(None) if len(columns[0]) == len(tasks) else first
        posterior = self._counted(columns, found, ids, count, self._keeper, coded, known)
        return self._table(tasks, coded[0][first], posterior)

    def _look_up(self, columns: Sequence[Sequence[Any]]) -> list[list[int]]:
        """The votes' codes, -1 for a new name. What is wrong with any of the votes is known before
        one of them is counted."""
        names = self.ledger.names
        found = [names[role].look_up(some) for role, some in zip(ROLES, columns, strict=True)]
        self._require_open(columns[0], found[0])
        return found

    def _require_open(self, tasks: Sequence[Any], codes: Iterable[int]) -> None:
        """A task of a start can get votes if those it has are known."""
        if self._start is not None and self._start_votes is None:
            for name, code in zip(tasks, codes, strict=True):
                if 0 <= code < len(self._start.codebook.tasks):
                    raise DataError(
                        f"Task {shown(name)} is of the start, and its votes are not known:"
                        " give Online the votes that the start was fitted to."
                    )

    def remove(self, task: Any, worker: Any) -> None:
        """Take a worker's (last) vote on a task back, as if it had never come.

        What came after it is counted anew, when next something is asked or added: after taking
        back a recent vote that takes about as long as adding it took.
        """
        with self._lock:
            self._ready(writing=True, refresh=False)
            id = self._vote_of(task, worker)
            self._unsure = True
            if self._keeper is not None:
                self._keeper.remove(id)
            self._removed.add(id)
            self._unsure = False

    def _vote_of(self, task: Any, worker: Any) -> int:
        """The id of the last vote of a worker on a task."""
        names, ballots = self.ledger.names, self.ledger.state.ballots
        task_code, worker_code = names["task"].require(task), names["worker"].require(worker)
        for place in ballots.of(task_code):
            if ballots.worker.cells[place] != worker_code:
                continue
            if place < self.ledger.from_start:
                raise UsageError(
                    f"The vote on task {shown(task)} is one that the start was fitted to."
                )
            id: int = self.ledger.ids.cells[place - self.ledger.from_start]
            if id not in self._removed:
                return id
        raise DataError(f"Worker {shown(worker)} has no vote on task {shown(task)}.")

    # Known answers come and go.

    @property
    def gold(self) -> dict[Any, Any]:
        """The label of each task whose answer is known."""
        with self._lock:
            self._ready()
            return dict(self.ledger.gold)

    def add_gold(self, gold: Any) -> None:
        """Take answers for known: one, (task, label), or several, a mapping or any table of task
        and label.

        They are the answers of their tasks from now on, with a confidence of 1, and the tasks'
        workers are judged by them. Tasks that have no votes yet may be among them. A task that is
        known already gets the new answer.
        """
        with self._lock:
            self._ready(writing=True)
            self._know(self._new_among(_read_gold(gold)))

    def remove_gold(self, task: Any) -> None:
        """From now on a task's answer is not known: it is what its votes say."""
        with self._lock:
            self._ready(writing=True)
            if task not in self.ledger.gold:
                raise DataError(f"The answer of task {shown(task)} is not known.")
            self._know(((plain(task), None),))

    def _new_among(self, gold: KnownAnswers) -> Known:
        """The answers that were not known, or were others; what is wrong with any of them is known
        before one is taken."""
        names, known = self.ledger.names, self.ledger.gold
        tasks, labels = gold.tasks.to_list(), gold.labels.to_list()
        names["task"].look_up(tasks)
        codes, classes = names["label"].look_up(labels), names["label"].names
        spelt = [plain(x) if c < 0 else classes[c] for x, c in zip(labels, codes, strict=True)]
        rows = zip(map(plain, tasks), spelt, strict=True)
        return tuple((task, label) for task, label in rows if known.get(task) != label)

    def _know(self, known: Known) -> None:
        if not known:
            return
        ledger, keeper = self.ledger, self._keeper
        self._unsure = True
        ledger.know(known, None if keeper is None else lambda: keeper.keep_gold(ledger, known))
        self._unsure = False

    # What is believed.

    def label(self, task: Any) -> Answer:
        """What is believed of a task by what is known of its workers now."""
        with self._lock:
            self._ready()
            state, settled = self.ledger.state, self.ledger.settled
            if self.ledger.gold and task in self.ledger.gold:
                return Answer(plain(task), self.ledger.gold[task], 1.0)
            code = self.ledger.names["task"].require(task)
            if settled is not None:
                return self._settled_answer(code, settled)
            if not state.ballots.of(code):
                return self._answer(code, state.belief_in(code))
            return self._answer(code, state.posterior(code))

    def worker(self, worker: Any) -> Quality:
        """What is known of a worker. The interval takes the answers as given, but for what
        `settle` has just found."""
        with self._lock:
            self._ready()
            code = self.ledger.names["worker"].require(worker)
            if self.ledger.settled is not None:
                known = self.ledger.settled.result.workers_frame.row(code, named=True)
                return Quality(worker, *(known[name] for name in Quality._fields[1:]))
            right, wrong = self.ledger.state.sums.tally(np.array([code]))[0].tolist()
        low, high = metrics.wilson_interval(np.array([right]), np.array([right + wrong]))
        share = right / (right + wrong) if right + wrong else 0.0
        return Quality(worker, round(right + wrong), share, float(low[0]), float(high[0]))

    def answers(self) -> tuple[Codes, Codes, Floats]:
        """The codes of all tasks that have votes or are of a start, those of their answers, and the
        confidences, as `label` says it."""
        state, settled = self.ledger.state, self.ledger.settled
        tasks = np.arange(len(self.ledger.names["task"]), dtype=np.int32)
        if settled is not None:
            best, posterior = settled.answers, settled.posterior
        else:
            posterior = state.all_posteriors()
            best = state.choose_all(tasks, posterior)
        return tasks, best, np.take_along_axis(posterior, best[:, None], axis=1)[:, 0]

    @property
    def expected_error(self) -> ExpectedError:
        """Expected share of wrong answers among those that are not known, with a 90 % interval;
        see `Result.expected_error`."""
        return self.result().expected_error

    def next_tasks(self, n: int = 10, worker: Any = None) -> list[Any]:
        """The tasks where another vote of an average worker is worth most, the best first: where it
        lowers the expected error most, by what is believed now.

        Tasks whose answer is known are not among them, nor those that the `worker` has answered.
        """
        require_number("n", n, at_least=1)
        with self._lock:
            self._ready()
            names, state = self.ledger.names, self.ledger.state
            eligible = np.ones(len(names["task"]), dtype=bool)
            eligible[list(state.gold)] = False
            if worker is not None and (code := names["worker"].get(worker)) is not None:
                ballots = state.ballots
                eligible[ballots.task.values[ballots.worker.values == code]] = False
            tasks = np.flatnonzero(eligible)
            if not len(tasks):
                return []
            posterior = self._present_posterior()[tasks]
            best = most_valuable(posterior, state.sums.average(), min(int(n), len(tasks)))
            return [names["task"].names[code] for code in tasks[best].tolist()]

    def _present_posterior(self) -> Floats:
        """What is believed of each task: as of its last vote, unless that is counted hard."""
        if self.ledger.settled is not None:
            return self.ledger.settled.posterior
        if not self.ledger.state.hard:
            return self.ledger.state.belief.rows
        if self._outlook is None or not self._outlook.holds_for(self.ledger):
            self._outlook = Outlook(self.ledger)
        return self._outlook.posterior()

    def result(self) -> Result:
        """Everything, as `aggregate` gives it; without running EM any further."""
        with self._lock:
            self._ready()
            settled = self.ledger.settled
            return self._known() if settled is None else settled.result

    def _known(self) -> Result:
        votes = self._votes()
        params, engine = self.ledger.state.params(), Threads()
        fold = engine.over(votes.blocks)
        fold.begin(self._model.begin)
        stats = fold.sweep(self._model.sweep, params)
        tally, tasks = conclude(self._model, fold, votes.blocks, params, Request(engine))
        engine.close()
        if self._auto is not None:
            tally, tasks = self._as_believed(votes)
        found = Fit(
            model=self._model,
            params=params,
            stats=stats,
            steps=(self._model.progress(stats, params),),
            converged=False,
            seconds=0.0,
            tally=np.asarray(tally.workers),
            overview=tally.overview,
            tasks=tasks,
        )
        return result_of(found, votes)

    def _as_believed(self, votes: Votes) -> tuple[Tally, AnswersInMemory]:
        """The answers as `label` gives them, some of which start from what was settled."""
        _, codes, _ = self.answers()
        labels, posterior = votes.labels, self.ledger.state.all_posteriors()
        overview = Overview.of(posterior, codes, gold=labels.gold)
        workers = dense(labels.agreement(posterior))
        return Tally(workers, 0, overview), AnswersInMemory(posterior, codes)

    def settle(self) -> Result:
        """Fit all votes, and go on from there: with auto what `aggregate` fits, otherwise EM from
        what is known now until it converges."""
        with self._lock:
            self._ready(writing=True)
            settled, ledger, keeper = self._fitted(), self.ledger, self._keeper
            self._unsure = True
            ledger.settle(settled, None if keeper is None else lambda: keeper.settle(ledger))
            self._unsure = False
            if keeper is not None:
                keeper.checkpoint_if_due(self)
            return settled.result

    def take_kept_fit(self, fit: KeptFit) -> bool:
        """What was kept of the settling that is the last step; False if it cannot be read."""
        names, gold, auto = self.ledger.names, self.ledger.gold, self._auto is not None
        votes = votes_of_auto(self._labels(), names, gold) if auto else self._votes()
        result = result_kept(fit, votes)
        if result is None:
            return False
        self.ledger.settled = in_codes_of(names, result) if auto else settled_by_em(result)
        return True

    def _fitted(self) -> Settled:
        return self._in_codes(self._fit_to_make()())

    def _fit_to_make(self) -> Callable[[], Result]:
        """The fit of the votes as they are now, whenever it is made."""
        if self._auto is not None:
            return fit_by_auto(self._auto, self._labels(), self.ledger.names, self.ledger.gold)
        votes = self._votes()
        model = replace(self._model, init=self._model.confusion(self.ledger.state.params()))

        def fit() -> Result:
            engine = Threads()
            found = run(model, votes.blocks, Request(engine))
            engine.close()
            # Where it began is no option of the caller's.
            return result_of(replace(found, model=self._model), votes)

        return fit

    def _in_codes(self, result: Result) -> Settled:
        of_em = self._auto is None
        return settled_by_em(result) if of_em else in_codes_of(self.ledger.names, result)

    # For whoever looks inside, while others count: under the `lock`.

    @property
    def lock(self) -> threading.RLock:
        """Held, nothing changes."""
        return self._lock

    def up_to_date(self) -> Ledger:
        """The ledger, with everything counted that is to be; of use under the lock."""
        self._ready()
        return self.ledger

    def doubt(self, *, everything: bool = False) -> None:
        """Look again at what is kept before anything else is said: what came since, or all."""
        self._unsure = True
        if everything:
            self.ledger.whole = False

    # Settling aside, while votes come.

    def settling(self) -> Settling:
        """A settling of the votes as they are now, to be fitted while others come."""
        with self._lock:
            self._ready()
            return Settling(
                self._history(), self.ledger.n_steps, self._last_id, self._fit_to_make()
            )

    @property
    def _last_id(self) -> int:
        return self.ledger.last_id if self._keeper is None else self._keeper.last_vote

    def _history(self) -> tuple[Any, ...]:
        """What only changes by something else than further votes."""
        n_events, n_classes = len(self.ledger.events), self.ledger.state.n_classes
        return id(self.ledger), self._rewinds, n_events, n_classes

    def holds(self, settling: Settling) -> bool:
        """Whether nothing but votes has come since, few enough to be counted again."""
        with self._lock:
            self._ready()
            same = settling.history == self._history()
            return same and self.ledger.can_undo(settling.steps)

    def take_settling(self, settling: Settling, result: Result) -> None:
        """Go on as if what `holds` had been settled before the votes that came since."""
        with self._lock:
            if not self.holds(settling):
                raise UsageError("More than votes came while they were settled: settle again.")
            since = Redo(self.ledger, settling.steps, set())
            self._unsure = True
            self._rewind(settling.steps)
            self.ledger.settle(self._in_codes(result))
            for step in range(len(since)):
                self.count_again(*since.step(step))
            self._unsure = False

    def take(self, content: Content) -> None:
        """Count what was just kept by others, as if it had been read."""
        with self._lock:
            self._ready()
            assert self._keeper is not None
            self._unsure = True
            if not self._keeper.take(self, content):
                self._recover()
            self._unsure = False

    def _votes(self) -> Votes:
        """All votes, by name."""
        if self._start is not None and self._start_votes is None:
            raise UsageError("The votes of the start are not known: give them to Online.")
        names, state, labels = self.ledger.names, self.ledger.state, self._labels()
        if state.gold:
            labels = replace(labels, gold=state.known())
        return Votes.of(labels, Codebook(*(pl.Series(r, names[r].names) for r in ROLES)))

    def _labels(self) -> Labels:
        state = self.ledger.state
        labels = state.ballots.labels(state.n_classes)
        if not labels.n_labels:
            raise DataError("There are no labels to aggregate.")
        return labels

    def _settled_answer(self, task: int, settled: Settled) -> Answer:
        best, names = int(settled.answers[task]), self.ledger.names
        confidence = float(settled.posterior[task, best])
        return Answer(names["task"].names[task], names["label"].names[best], confidence)

    def _answer(self, task: int, belief: Sequence[float]) -> Answer:
        best, names = self.ledger.state.choose(task, belief), self.ledger.names
        return Answer(names["task"].names[task], names["label"].names[best], belief[best])

    def _answers(self, tasks: Sequence[int], posterior: Sequence[Sequence[float]]) -> list[Answer]:
        return [self._answer(task, p) for task, p in zip(tasks, posterior, strict=True)]

    def _table(self, names: pl.Series, tasks: Codes, posterior: Floats) -> pl.DataFrame:
        best = self.ledger.state.choose_all(tasks, posterior)
        confidence = np.take_along_axis(posterior, best[:, None], axis=1)[:, 0]
        classes = pl.Series("label", self.ledger.names["label"].names)
        return pl.DataFrame(
            [names.alias("task"), classes.gather(best), pl.Series("confidence", confidence)]
        )


def _worth_asking(column: pl.Series, first: pl.Series) -> pl.Series:
    """The names to look up: each once, unless few are repeated, when that costs less than telling
    them apart again."""
    return column.filter(first) if first.sum() < len(column) / 2 else column


def _gathered(column: pl.Series, names: pl.Series, codes: Codes) -> Codes:
    found: Codes = column.replace_strict(names, codes, return_dtype=pl.Int32).to_numpy()
    return found


def _no_answers(frame: pl.DataFrame) -> pl.DataFrame:
    empty = frame.head(0).select("task", "label")
    return empty.with_columns(pl.Series("confidence", [], dtype=pl.Float64))


def _read_gold(gold: Any) -> KnownAnswers:
    """Known answers, each with a task and a label; one pair, too."""
    if isinstance(gold, KnownAnswers):
        return gold
    if isinstance(gold, tuple) and len(gold) == 2 and not isinstance(gold[0], (tuple, list)):
        gold = [gold]
    found = read_answers(gold)
    if found.missing:
        rows = found.missing + len(found.tasks)
        raise DataError(
            f"{found.missing} of {rows} known answers lack a task or a label: leave them out."
        )
    return found


def _require_vote(vote: Sequence[Any]) -> None:
    if len(vote) != 3:
        raise DataError(f"A vote is a task, a worker and a label, not {shown(vote)}.")


def _model_for(method: str | AnyModel, options: dict[str, Any]) -> DawidSkene | OneCoin | Auto:
    return _require_online(named(method, **options))


def _model_of(start: Result, options: dict[str, Any]) -> DawidSkene | OneCoin | Auto:
    if options:
        raise UsageError(f"A start keeps its own options: leave {', '.join(options)} out.")
    return _require_online(start.model.model if isinstance(start.model, Taught) else start.model)


def _require_online(model: Any) -> DawidSkene | OneCoin | Auto:
    """The model, if each of its sums can be brought up to date by a vote, or if it is auto."""
    if isinstance(model, Auto):
        return model
    if type(model) not in (DawidSkene, OneCoin):
        raise UsageError(
            f"{method_name(model)} does not go online: auto, dawid-skene, fast-dawid-skene, hybrid"
            " and one-coin do."
        )
    em: DawidSkene | OneCoin = model
    if em.worker_prior is not None:
        raise UsageError("worker_prior does not go online: give Online a start instead.")
    return em


def _between_settlings(auto: Auto) -> OneCoin:
    """What counts votes one by one where auto is settled now and then: of the methods that can, on
    public data, the one whose answers are right most often."""
    model: Any = make("one-coin", smoothing=2.0, prior="uniform", ties=auto.ties, seed=auto.seed)
    one_coin: OneCoin = model
    return one_coin


def _settings_of(model: DawidSkene | OneCoin | Auto) -> dict[str, Any]:
    """The name and the options that make the model anew."""
    method = METHODS[method_name(model)]
    usual: Any = named(method.name)
    given = {name: getattr(model, name) for name in method.options}
    changed = {name: value for name, value in given.items() if value is not getattr(usual, name)}
    return {"method": method.name, **changed}


def _go_on_from(state: State, start: Result, votes: Any) -> None:
    """Take over what a fit believes; with its votes, these too."""
    state.grow(len(start.codebook.tasks), len(start.codebook.workers))
    of_another_model = isinstance(start.model, (Auto, Taught))
    hard = None if of_another_model else start.params.state.hard
    if votes is None:
        state.take_over(start.stats, start.posterior, start.params.state.hard)
        return
    read = read_votes(votes)
    same = (
        read.codebook.tasks.to_list() == start.codebook.tasks.to_list()
        and read.codebook.workers.to_list() == start.codebook.workers.to_list()
        and read.codebook.classes.to_list() == start.codebook.classes.to_list()
    )
    if not same:
        raise DataError("These are not the votes that the start was fitted to.")
    labels = read.labels
    task = np.repeat(np.arange(labels.n_tasks, dtype=np.int32), np.diff(labels.indptr))
    state.ballots.extend(task, labels.worker, labels.label)
    state.settle(start.posterior, hard)
