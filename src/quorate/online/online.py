"""`quorate.Online`: answers that are up to date with every vote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from quorate import metrics
from quorate.aggregation import result_of
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError, require_number
from quorate.fitting import Fit, Request, conclude, run
from quorate.kernels import Codes, Floats
from quorate.labels import Codebook
from quorate.model import AnyModel
from quorate.models import METHODS, DawidSkene, OneCoin, method_name, named
from quorate.online.ballots import Column
from quorate.online.keeping import Keeper
from quorate.online.names import Names
from quorate.online.state import State
from quorate.result import Result
from quorate.votes import Votes, complete_rows, read_table, read_votes, shown

ROLES = ("task", "worker", "label")


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


class Online:
    """Votes that keep coming: each is counted as it comes, at a cost that does not grow.

    `method` is dawid-skene, fast-dawid-skene, hybrid or one-coin, by name with its `options` or as
    a model. With `classes` no others are taken; without, a label that was not there before is a new
    class. `start`, a fitted `Result` of such a method, is what to go on from; with the `votes` it
    was fitted to, its tasks can get further votes. With a `half_life` a worker's votes count half
    after that many more votes of that worker: skill may drift.

    Examples:
        >>> online = Online("fast-dawid-skene")
        >>> online.add(("photo-1", "ann", "cat"))
        Answer(task='photo-1', label='cat', confidence=1.0)
        >>> online.add([("photo-2", "ann", "dog"), ("photo-2", "bob", "dog")])
        [Answer(task='photo-2', label='dog', confidence=1.0)]
        >>> online.label("photo-1").label, online.worker("ann").labels
        ('cat', 2)
    """

    def __init__(
        self,
        method: str | AnyModel = "fast-dawid-skene",
        *,
        start: Result | None = None,
        votes: Any = None,
        classes: Sequence[Any] | None = None,
        half_life: float | None = None,
        **options: Any,
    ) -> None:
        if half_life is not None:
            require_number("half_life", half_life, at_least=1e-3)
        if votes is not None and start is None:
            raise UsageError("votes are those of a start: give it, or add the votes.")
        self._model = _model_for(method, options) if start is None else _model_of(start, options)
        self.method = method_name(self._model)
        self._half_life = half_life
        self._start, self._start_votes = start, votes
        self._classes = None if classes is None else list(classes)
        self._kept: Keeper | None = None
        self._begin()

    @classmethod
    def open(
        cls,
        directory: str | Path,
        method: str | AnyModel | None = None,
        *,
        sync: bool = False,
        **options: Any,
    ) -> Online:
        """An `Online` whose votes are kept in a directory: made there if there is none yet.

        Every call that has returned is there when it is next opened, also after the process was
        killed; with `sync` also after the machine lost its power, at the price of waiting for the
        disk. What it was made with need not be given again. One process at a time can have it
        open: `close` it, or use it in a ``with`` block.
        """
        given = {"method": method, **options}
        if not (method is None or isinstance(method, str)):
            given |= _settings_of(_model_for(method, options))
        keeper = Keeper.open(Path(directory), given, cls, sync=sync)
        try:
            online = cls(**keeper.settings())
            keeper.restore(online)
        except BaseException:
            keeper.close()
            raise
        online._kept = keeper
        return online

    def close(self) -> None:
        """Keep the state as it is, for the next opening; nothing to do for one without a place."""
        if self._kept is not None:
            self._refresh()
            if self._settled is None:  # else the log says to settle, which gives the same again
                self._kept.snapshot(self)
            self._kept.close()
            self._kept = None
            self._closed = True

    def __enter__(self) -> Online:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        tasks, workers = (f"{len(self._names[role]):,} {role}s" for role in ("task", "worker"))
        return f"Online({self.method}: {self.n_votes:,} votes on {tasks} by {workers})"

    @property
    def notes(self) -> list[str]:
        """What was found amiss when it was opened."""
        return [] if self._kept is None else self._kept.notes

    def _record(self, *what: Any) -> None:
        """On disk before it is done here."""
        if self._closed:
            raise UsageError("This Online is closed: open it again.")
        if self._kept is not None:
            self._kept.record(self, what)

    def _begin(self) -> None:
        """As if no vote had been added."""
        start = self._start
        if start is None:
            classes = self._classes or []
            self._names = {role: Names(role) for role in ROLES}
            self._names["label"] = Names("label", classes, closed=bool(self._classes))
            self._state = State(self._model, len(classes), self._half_life)
        else:
            book = start.codebook
            named = {"task": book.tasks, "worker": book.workers, "label": book.classes}
            self._names = {role: Names(role, series.to_list()) for role, series in named.items()}
            self._names["label"].closed = self._classes is not None
            self._state = State(self._model, len(book.classes), self._half_life)
            _go_on_from(self._state, start, self._start_votes)
        self._from_start = self._state.ballots.n_votes
        self._steps = Column(np.int64)  # votes of each addition; 0 is a settling
        self._removed: set[int] = set()
        self._settled: Result | None = None

    _closed = False

    # Votes come and go.

    def add(self, votes: Any) -> Any:
        """Count one vote, (task, worker, label), or several: any table that `aggregate` takes.

        Votes that are added together are counted together. One vote gives an `Answer`; rows give
        the answers of the tasks they are on; a table gives a table of task, label, confidence.
        """
        self._refresh()
        if isinstance(votes, tuple) and len(votes) == 3 and not isinstance(votes[0], tuple):
            return self._add_rows([votes])[0]
        if isinstance(votes, list) and votes and isinstance(votes[0], (tuple, list)):
            return self._add_rows(votes)
        return self._add_table(votes)

    def _add_rows(self, rows: Sequence[Sequence[Any]]) -> list[Answer]:
        for row in rows:
            if len(row) != 3:
                raise DataError(f"A vote is a task, a worker and a label, not {shown(row)}.")
        columns = list(zip(*rows, strict=True))
        found = self._look_up(columns)
        self._record("add", *rows)
        tasks, workers, labels = self._coded(columns, found)
        if len(rows) > 1 and any(task != tasks[0] for task in tasks):
            coded = (np.array(codes, dtype=np.int32) for codes in (tasks, workers, labels))
            answers = self._state.add_table(*coded)
            self._steps.append(len(rows))
            return self._answers(*answers)
        belief = self._state.add(tasks[0], list(zip(workers, labels, strict=True)))
        self._steps.append(len(rows))
        return [self._answer(tasks[0], belief)]

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
        tasks = frame["task"].filter(distinct[0])
        if len(tasks) == 1:
            (answer,) = self._add_rows(frame.rows())
            return pl.DataFrame([answer._asdict()])
        asked = [_worth_asking(frame[r], first) for r, first in zip(ROLES, distinct, strict=True)]
        columns = [names.to_list() for names in asked]
        codes = [self._names[r].look_up_many(c) for r, c in zip(ROLES, columns, strict=True)]
        self._require_open(columns[0], codes[0])
        if self._kept is not None or self._closed:
            self._record("add", *frame.iter_rows())
        self._coded(columns, codes)
        task, worker, label = (
            of if len(of) == len(frame) else _gathered(frame[role], names, of)
            for role, names, of in zip(ROLES, asked, codes, strict=True)
        )
        first = distinct[0].to_numpy()
        _, posterior = self._state.add_table(task, worker, label, task[first])
        self._steps.append(len(frame))
        return self._table(tasks, task[first], posterior)

    def _look_up(self, columns: Sequence[Sequence[Any]]) -> list[list[int]]:
        """The votes' codes, -1 for a new name. What is wrong with any of the votes is known before
        one of them is counted."""
        found = [self._names[r].look_up(names) for r, names in zip(ROLES, columns, strict=True)]
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

    def _coded(self, columns: Sequence[Sequence[Any]], found: Any) -> Any:
        """New names get codes, and there is room for them."""
        for role, names, codes in zip(ROLES, columns, found, strict=True):
            self._names[role].complete(names, codes)
        self._make_room()
        return found

    def _make_room(self) -> None:
        self._settled = None
        if len(self._names["label"]) > self._state.n_classes:
            self._state.widen(len(self._names["label"]))
        self._state.grow(len(self._names["task"]), len(self._names["worker"]))

    def remove(self, task: Any, worker: Any) -> None:
        """Take a worker's (last) vote on a task back, as if it had never come.

        What came after it is counted anew, when next something is asked or added: after taking
        back an old vote that takes as long as adding all that followed.
        """
        names, ballots = self._names, self._state.ballots
        task_code, worker_code = names["task"].require(task), names["worker"].require(worker)
        for place in ballots.of(task_code):
            if ballots.worker.cells[place] == worker_code and place not in self._removed:
                break
        else:
            raise DataError(f"Worker {shown(worker)} has no vote on task {shown(task)}.")
        if place < self._from_start:
            raise UsageError(f"The vote on task {shown(task)} is one that the start was fitted to.")
        self._record("remove", task, worker)
        self._removed.add(place)

    def _refresh(self) -> None:
        """Count anew without the votes that were taken back."""
        if not self._removed:
            return
        removed, names, ballots = self._removed, self._names, self._state.ballots
        steps, place = self._steps.values.tolist(), self._from_start
        columns = (ballots.task.cells, ballots.worker.cells, ballots.label.cells)
        self._begin()
        with self._unrecorded():
            self._count_again(steps, place, removed, names, columns)

    @contextmanager
    def _unrecorded(self) -> Iterator[None]:
        """For what is recorded already."""
        kept, self._kept = self._kept, None
        try:
            yield
        finally:
            self._kept = kept

    def _count_again(
        self,
        steps: Sequence[int],
        place: int,
        removed: set[int],
        names: Mapping[str, Names],
        columns: Sequence[Any],
    ) -> None:
        for n in steps:
            kept = [at for at in range(place, place + n) if at not in removed]
            place += n
            if kept:
                self._add_rows(
                    [
                        tuple(names[r].names[c[at]] for r, c in zip(ROLES, columns, strict=True))
                        for at in kept
                    ]
                )
            elif not n:
                self.settle()

    # What is believed.

    def label(self, task: Any) -> Answer:
        """What is believed of a task by what is known of its workers now."""
        self._refresh()
        code = self._names["task"].require(task)
        if self._settled is not None:
            return self._answer(code, self._settled.posterior[code].tolist())
        if not self._state.ballots.of(code):
            return self._answer(code, self._state.belief_in(code))
        return self._answer(code, self._state.posterior(code))

    def worker(self, worker: Any) -> Quality:
        """What is known of a worker. The interval takes the answers as given, but for what
        `settle` has just found."""
        self._refresh()
        code = self._names["worker"].require(worker)
        if self._settled is not None:
            known = self._settled.workers_frame.row(code, named=True)
            return Quality(worker, *(known[name] for name in Quality._fields[1:]))
        right, wrong = self._state.sums.tally(np.array([code]))[0].tolist()
        low, high = metrics.wilson_interval(np.array([right]), np.array([right + wrong]))
        share = right / (right + wrong) if right + wrong else 0.0
        return Quality(worker, round(right + wrong), share, float(low[0]), float(high[0]))

    def result(self) -> Result:
        """Everything, as `aggregate` gives it; without running EM any further."""
        self._refresh()
        if self._settled is not None:
            return self._settled
        if self._start is not None and self._start_votes is None:
            raise UsageError("The votes of the start are not known: give them to Online.")
        votes, params, engine = self._votes(), self._state.params(), Threads()
        if not votes.blocks.n_labels:
            raise DataError("There are no labels to aggregate.")
        fold = engine.over(votes.blocks)
        fold.begin(self._model.begin)
        stats = fold.sweep(self._model.sweep, params)
        tally, tasks = conclude(self._model, fold, votes.blocks, params, Request(engine))
        engine.close()
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

    def settle(self) -> Result:
        """Run EM on all votes, from what is known now until it converges, and go on from there."""
        self._refresh()
        if self._start is not None and self._start_votes is None:
            raise UsageError("The votes of the start are not known: give them to Online.")
        self._record("settle")
        state, votes, engine = self._state, self._votes(), Threads()
        model = replace(self._model, init=self._model.confusion(state.params()))
        found = run(model, votes.blocks, Request(engine))
        engine.close()
        # Where it began is no option of the caller's.
        result = result_of(replace(found, model=self._model), votes)
        state.believe_all(result.posterior, result.params.state.hard)
        self._steps.append(0)
        self._settled = result
        return result

    # Kept in a directory.

    @property
    def n_votes(self) -> int:
        """How many votes there are."""
        return self._state.ballots.n_votes - len(self._removed)

    def as_arrays(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """All of the state: names and a flag for JSON, and arrays."""
        self._refresh()
        state = self._state
        about = {
            "names": {role: self._names[role].names for role in ROLES},
            "hard": state.hard,
            "from_start": self._from_start,
        }
        return about, {**state.as_arrays(), "steps": self._steps.values}

    def take_over(self, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """A state that was kept."""
        for role in ROLES:
            closed = self._names[role].closed
            self._names[role] = Names(role, about["names"][role], closed)
        self._state = State(self._model, len(self._names["label"]), self._half_life)
        self._state.grow(len(self._names["task"]), len(self._names["worker"]))
        self._state.restore(arrays, about["hard"])
        self._from_start = about["from_start"]
        self._steps.extend(arrays["steps"])

    def do(self, what: Sequence[Any]) -> None:
        """Do again what a record says was done."""
        kind, *rest = what
        if kind == "add":
            self._refresh()
            self._add_rows([tuple(row) for row in rest])
        elif kind == "remove":
            self.remove(*rest)
        else:
            self.settle()

    def _votes(self) -> Votes:
        """All votes, by name."""
        labels = self._state.ballots.labels(self._state.n_classes)
        return Votes.of(labels, Codebook(*(pl.Series(r, self._names[r].names) for r in ROLES)))

    def _answer(self, task: int, belief: Sequence[float]) -> Answer:
        best = self._state.choose(task, belief)
        return Answer(
            self._names["task"].names[task], self._names["label"].names[best], belief[best]
        )

    def _answers(self, tasks: Codes, posterior: Floats) -> list[Answer]:
        return [self._answer(t, p) for t, p in zip(tasks.tolist(), posterior.tolist(), strict=True)]

    def _table(self, names: pl.Series, tasks: Codes, posterior: Floats) -> pl.DataFrame:
        best = self._state.choose_all(tasks, posterior)
        confidence = np.take_along_axis(posterior, best[:, None], axis=1)[:, 0]
        classes = pl.Series("label", self._names["label"].names)
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


def _model_for(method: str | AnyModel, options: dict[str, Any]) -> DawidSkene | OneCoin:
    return _require_online(named(method, **options))


def _model_of(start: Result, options: dict[str, Any]) -> DawidSkene | OneCoin:
    if options:
        raise UsageError(f"A start keeps its own options: leave {', '.join(options)} out.")
    return _require_online(start.model)


def _require_online(model: Any) -> DawidSkene | OneCoin:
    """The model, if each of its sums can be brought up to date by a vote."""
    if type(model) not in (DawidSkene, OneCoin):
        raise UsageError(
            f"{method_name(model)} does not go online: dawid-skene, fast-dawid-skene, hybrid and"
            " one-coin do."
        )
    em: DawidSkene | OneCoin = model
    if em.worker_prior is not None:
        raise UsageError("worker_prior does not go online: give Online a start instead.")
    return em


def _settings_of(model: DawidSkene | OneCoin) -> dict[str, Any]:
    """The name and the options that make the model anew."""
    method = METHODS[method_name(model)]
    usual: Any = named(method.name)
    given = {name: getattr(model, name) for name in method.options}
    changed = {name: value for name, value in given.items() if value is not getattr(usual, name)}
    return {"method": method.name, **changed}


def _go_on_from(state: State, start: Result, votes: Any) -> None:
    """Take over what a fit believes; with its votes, these too."""
    state.grow(len(start.codebook.tasks), len(start.codebook.workers))
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
    state.believe_all(start.posterior, start.params.state.hard)
