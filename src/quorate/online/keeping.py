"""An `Online` in a directory: its settings and votes in a database, and what is made of them."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError, QuorateError, UsageError
from quorate.kernels import Codes
from quorate.online import takeover
from quorate.online.checkpoints import next_due
from quorate.online.database import NAME, Database
from quorate.online.ledger import ROLES, SETTLING, Checkpoint, KeptFit, Known, Ledger, Settled
from quorate.online.names import Names
from quorate.online.settling import kept_fit
from quorate.online.store import NOTHING, Content, Event, Seen, VoteStore
from quorate.result import load

if TYPE_CHECKING:
    from quorate.online.online import Online

DEFAULT = "auto"
FORMER_DEFAULT = "fast-dawid-skene"  # of versions that did not keep what was not given
TRUTH = "settings"
ANSWERS = "answers as of"  # the last vote, removals, settlings and known answers
START, START_VOTES = "start", "votes of start"

forks = 0  # how often this process was forked from another that had imported this


def _forked() -> None:
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Keeper:
    """Keeps one `Online`, and brings it up to date with what is kept."""

    def __init__(self, database: VoteStore) -> None:
        self.database = database
        self.notes = database.notes
        self.removed: set[int] = set()
        self.last_vote = 0
        self._forks = forks
        self._due = next_due(0)  # votes of the next checkpoint
        self._settled = False  # since the last checkpoint
        self._uncountable: set[int] = set()

    @classmethod
    def open(
        cls,
        directory: Path,
        given: Mapping[str, Any],
        make: Callable[..., Online],
        *,
        sync: bool,
        read_only: bool,
        recover: bool,
    ) -> Online:
        """What is kept in a directory, or a new one that is made with what is given."""
        if read_only and not (directory / NAME).exists():
            raise DataError(f"There is no Online in {directory}.")
        old = None if (directory / NAME).exists() else takeover.old_settings(directory)
        chosen = {name: value for name, value in given.items() if value is not None}
        if not (directory / NAME).exists():
            make(**{**(old or {}), **chosen})  # what cannot be made leaves nothing behind
        database = Database(directory, sync=sync, read_only=read_only, recover=recover)
        try:
            keeper = cls(database)
            if TRUTH not in database.settings():
                keeper._create(database, make, {**(old or {}), **chosen}, old)
            else:
                keeper._require_same(chosen)
            online = make(**keeper._settings())
            online.keep(keeper)
        except BaseException:
            database.close()
            raise
        return online

    def _create(
        self,
        database: Database,
        make: Callable[..., Online],
        given: dict[str, Any],
        old: dict[str, Any] | None,
    ) -> None:
        """All in one transaction, what an old directory holds with it."""
        files: dict[str, str | bytes] = {}
        start, votes = given.pop("start", None), given.pop("votes", None)
        if old is not None:
            files |= takeover.old_files(database.directory)
        if start is not None:
            files[START] = _bytes_of(start.write)
            if votes is not None:
                from quorate.votes import read_table

                files[START_VOTES] = _bytes_of(read_table(votes, ROLES).frame.write_parquet)
        if START not in files:
            given.setdefault("method", DEFAULT if old is None else FORMER_DEFAULT)
        files[TRUTH] = json.dumps(given, default=_refuse)
        begun = make(**_made_with(files)).ledger.names
        names = {role: begun[role].names for role in ROLES}
        content = NOTHING._replace(names=names)
        if old is not None:
            content, notes = takeover.old_votes(database.directory, names)
            self.notes += notes
            if not old:
                self.notes.append("settings.json could not be read: the settings are those given.")
        numbered = {role: enumerate(some) for role, some in content.names.items()}
        database.create(files, numbered, content)

    def _settings(self) -> dict[str, Any]:
        """What to make the `Online` with."""
        return _made_with(self.database.settings())

    def _require_same(self, given: dict[str, Any]) -> None:
        """Settings of the first opening hold; given again they have to be the same."""
        where = self.database.place
        if "start" in given or "votes" in given:
            raise UsageError(f"{where} has begun already: leave start and votes out.")
        kept = _kept_settings(self.database.settings())
        for option, value in json.loads(json.dumps(given, default=_refuse)).items():
            if kept.get(option) != value:
                was = kept.get(option)
                raise UsageError(f"{where} was made with {option} {was!r}, not {value!r}.")

    @property
    def is_of_this_process(self) -> bool:
        return self._forks == forks

    def require_this_process(self) -> None:
        if self._forks != forks:
            raise UsageError(
                f"{self.database.place} was opened before this process was forked from the one"
                " that has it open: open it here, with read_only=True while the other has it."
            )

    def require_writable(self) -> None:
        if self.database.read_only:
            raise UsageError(f"{self.database.place} was opened to read only.")

    # What is kept.

    def keep_vote(self, ledger: Ledger, id: int, codes: Sequence[int]) -> None:
        """The vote that was counted last, and its names."""
        new = ledger.new_names()
        self.database.add_vote((id, *ledger.ids_of(codes)), new)
        if new:
            self._names_are_kept(ledger, new)
        self.last_vote = id

    def keep_votes(
        self, ledger: Ledger, ids: Sequence[int] | NDArray[np.int64], codes: Sequence[Any]
    ) -> None:
        """The votes that were counted last, and their names."""
        rows = np.empty((4, len(ids)), dtype=np.int64)
        rows[0] = ids
        for i, (role, code) in enumerate(zip(ROLES, codes, strict=True), start=1):
            rows[i] = ledger.names[role].ids.values[code]
        new = ledger.new_names()
        self.database.add(new, rows)
        self._names_are_kept(ledger, new)
        self.last_vote = int(ids[-1])

    def _names_are_kept(self, ledger: Ledger, new: Mapping[str, list[tuple[int, Any]]]) -> None:
        for role, some in new.items():
            ledger.names[role].kept.extend(map(itemgetter(1), some))

    def remove(self, id: int) -> None:
        self.database.remove(len(self.removed) + 1, id)
        self.removed.add(id)

    def keep_gold(self, ledger: Ledger, known: Known) -> None:
        """The known answers that were taken last, with the names of tasks that have no votes."""
        tasks, new_tasks = ledger.names["task"].ids_for(task for task, _ in known)
        classes, label = ledger.names["label"], [label for _, label in known]
        labels = [None if x is None else classes.ids.cells[classes.require(x)] for x in label]
        new = ledger.new_names()
        rows = Event(self.last_vote, tuple(zip(tasks, labels, strict=True)))
        first = ledger.n_gold - len(known) + 1
        names = {**new, "task": new_tasks} if new_tasks else new
        self.database.add_gold(names, first, rows, ledger.n_settlings)
        self._names_are_kept(ledger, new)
        ledger.names["task"].learn(name for _, name in new_tasks)

    def settle(self, ledger: Ledger) -> None:
        self.database.settle(ledger.n_settlings, self.last_vote)
        self._settled = True

    # What is made of it.

    def catch_up(self, online: Online) -> None:
        """Count what is kept and not counted yet; what cannot be counted is left out, and said."""
        while not self._caught_up(online):
            online.begin_again()
        if self._settled and not self.database.read_only:
            self.checkpoint_if_due(online)

    def _caught_up(self, online: Online) -> bool:
        """Whether everything was counted, or left out, and the ledger is whole."""
        self.database.roll_back()
        ledger = online.ledger
        known = {role: len(ledger.names[role].kept) for role in ROLES}
        seen = Seen(ledger.last_id, len(self.removed), ledger.n_settlings, ledger.n_gold)
        content = self.database.read(known, seen)
        if any(event.after < seen.vote for event in content.events):
            return False  # it came between votes that are counted
        return self.take(online, content)

    def take(self, online: Online, content: Content) -> bool:
        """Count rows that are kept and came after what is counted; whether the ledger is whole."""
        ledger = online.ledger
        for role, names in content.names.items():
            ledger.names[role].learn(names)
        for column, role in enumerate(ROLES, start=1):
            if (content.votes[:, column] >= len(ledger.names[role].kept)).any():
                raise DataError(f"{self.database.place} is damaged: it lacks names of {role}s.")
        events = [_by_name(event, ledger.names) for event in content.events]
        self.removed.update(content.removed)
        online.forget(content.removed)
        if len(content.votes):
            self.last_vote = int(content.votes[-1, 0])
        content = content.without(self.removed | self._uncountable)
        steps = content.steps
        done = 0
        if not ledger.n_steps and len(steps):
            done = self._restore(online, content, events)
        return self._count(online, content, steps[done:], events)

    def _restore(self, online: Online, content: Content, events: Sequence[Known]) -> int:
        """The state of the latest checkpoint that can be taken; how many steps that is."""
        for checkpoint in self._checkpoints(content.steps, events):
            if self._take(checkpoint, online, content, events):
                return checkpoint.steps
        return 0

    def _take(
        self, checkpoint: Checkpoint, online: Online, content: Content, events: Sequence[Known]
    ) -> bool:
        ledger, steps = online.ledger, content.steps
        votes, sizes = content.votes[: checkpoint.votes], steps[: checkpoint.steps]
        n_events = int(np.count_nonzero(sizes == 0))
        names, codes = {}, []
        ballots = ledger.state.ballots
        columns = (ballots.task.values, ballots.worker.values, ballots.label.values)
        for i, role in enumerate(ROLES):
            of_role = content.events[:n_events] if role == "label" else []
            ids, places = _with_gold(votes[:, 1 + i], votes[:, 0], of_role)
            names[role], code = _in_order(ledger.names[role], ids)
            codes.append(np.concatenate([columns[i], code[places]]))
        if tuple(map(len, names.values())) != tuple(checkpoint.names):
            return False
        restored = ledger.restored(names, codes, checkpoint)
        restored.ids.extend(votes[:, 0])
        restored.take_steps(sizes, events[:n_events])
        online.ledger = restored
        fit = checkpoint.fit if checkpoint.steps == len(steps) else None
        if fit is not None and not online.take_kept_fit(fit):
            online.ledger = ledger
            return False
        self._due = self._due_after(restored)
        return True

    def _checkpoints(
        self, sizes: NDArray[np.int64], events: Sequence[Known]
    ) -> Iterator[Checkpoint]:
        """Those that some steps can go on from, the latest first. What a settling has found is more
        than the state: if it was not kept, and is the last step, the settling has to be counted."""
        settlings = 2**62
        while (found := self.database.checkpoint(self.last_vote, settlings)) is not None:
            n_settlings, settled_last = _settlings_in(sizes[: found.steps], events)
            lacks_fit = settled_last and found.fit is None and found.steps == len(sizes)
            if not lacks_fit and int(sizes[: found.steps].sum()) == found.votes:
                yield found
            settlings = n_settlings - 1

    def _count(
        self,
        online: Online,
        content: Content,
        steps: NDArray[np.int64],
        events: Sequence[Known],
    ) -> bool:
        """Count the last `steps` of some content, and of its events."""
        place = len(content.votes) - int(steps.sum())
        ahead = iter(events[len(events) - int(np.count_nonzero(steps == 0)) :])
        names = [online.ledger.names[role].kept for role in ROLES]
        for size in steps.tolist():
            rows = content.votes[place : place + size]
            place += size
            columns = [[kept[id] for id in rows[:, 1 + i].tolist()] for i, kept in enumerate(names)]
            event: Known = SETTLING if size else next(ahead)
            try:
                online.count_again(rows[:, 0].tolist(), columns, event)
                self._settled = self._settled or not (size or event)
            except MemoryError:
                raise
            except Exception as error:
                self.notes.append(f"{size:,} votes that are kept could not be counted: {error}")
                self._uncountable.update(rows[:, 0].tolist())
                if not online.ledger.whole:
                    return False
        return True

    def checkpoint_if_due(self, online: Online) -> None:
        """It can be done without: what goes wrong is only noted."""
        if online.ledger.ids.height < self._due and not self._settled:
            return
        try:
            self._put_checkpoint(online.ledger)
        except QuorateError as error:
            self.notes.append(str(error))

    def _put_checkpoint(self, ledger: Ledger) -> None:
        self._due, self._settled = self._due_after(ledger), False
        checkpoint = self.checkpoint_now(ledger)
        if checkpoint is not None:
            self.database.put_checkpoint(ledger.last_id, ledger.n_settlings, checkpoint)

    def checkpoint_now(self, ledger: Ledger) -> Checkpoint | None:
        """What is to be kept of the state; nothing while some votes cannot be counted: who opens it
        does not know of them yet, and would take others for them."""
        if self._uncountable:
            return None
        checkpoint = ledger.checkpoint()
        if ledger.settled is not None:
            checkpoint = checkpoint._replace(fit=self._fit_to_keep(ledger.settled))
        return checkpoint

    def _fit_to_keep(self, settled: Settled) -> KeptFit | None:
        try:
            return kept_fit(settled.result)
        except (OSError, pl.exceptions.PolarsError) as error:  # no room for temporary files, say
            self.notes.append(f"What was settled is fitted again when it is next opened: {error}.")
            return None

    def forget_all(self) -> None:
        """Before everything that is kept is read again."""
        self.removed.clear()
        self.last_vote, self._due = 0, next_due(0)

    def _due_after(self, ledger: Ledger) -> int:
        """How many votes there are when the next checkpoint is due: after a settling at once, since
        a checkpoint of that itself is none to go back to."""
        votes = ledger.ids.height
        return votes + 1 if ledger.settled is not None else next_due(votes)

    def start_anew(self, votes: int) -> None:
        """After so many votes others will be counted."""
        self._due = min(self._due, next_due(votes))

    def checkpoint_to_go_back_to(self, ledger: Ledger) -> Checkpoint | None:
        """The latest that is not of a settling, of which it has the state only."""
        sizes, events = ledger.sizes.values, ledger.events
        for found in self._checkpoints(sizes, events):
            if not _settlings_in(sizes[: found.steps], events)[1]:
                return found
        return None

    def put_answers(self, online: Online) -> None:
        """The answers of all tasks and a checkpoint to go on from, unless they are there."""
        ledger = online.ledger
        as_of = f"{self.last_vote} {len(self.removed)} {ledger.n_settlings} {ledger.n_gold}"
        if self.database.settings().get(ANSWERS) == as_of:
            return
        self._put_checkpoint(ledger)
        self.database.put_answers(self._answers(online), {ANSWERS: as_of})

    def _answers(self, online: Online) -> Iterable[tuple[int, int, float]]:
        ledger = online.ledger
        if not len(ledger.names["task"]):
            return []
        tasks, best, confidence = online.answers()
        ids = (ledger.names["task"].ids.values[tasks], ledger.names["label"].ids.values[best])
        return zip(*(column.tolist() for column in (*ids, confidence)), strict=True)

    def close(self, online: Online) -> None:
        """Close the database, with the answers in it."""
        if not self.is_of_this_process:
            return  # it is the other process that has it open
        try:
            if not self.database.read_only:
                self.put_answers(online)
        except QuorateError as error:
            self.notes.append(str(error))
        finally:
            self.database.close()


def _settlings_in(sizes: NDArray[np.int64], events: Sequence[Known]) -> tuple[int, bool]:
    """How many of some steps are settlings, and whether the last one is."""
    those = events[: int(np.count_nonzero(sizes == 0))]
    return sum(not event for event in those), len(sizes) > 0 and not sizes[-1] and not those[-1]


def _in_order(known: Names, ids: NDArray[np.int64]) -> tuple[Names, Codes]:
    """The names that came first, and those of some votes in the order of these; and the codes that
    gives the votes."""
    first = np.arange(len(known))
    order = pl.Series(np.concatenate([first, ids])).unique(maintain_order=True).to_numpy()
    code = np.zeros(len(known.kept), dtype=np.int32)
    code[order] = np.arange(len(order))
    return known.some(order), code[ids]


def _with_gold(
    ids: NDArray[np.int64], votes: NDArray[np.int64], events: Sequence[Event]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The labels of votes with those of known answers, in the order of time; and which are the
    votes'."""
    answers = [(e.after, label) for e in events for _, label in e.gold if label is not None]
    if not answers:
        return ids, np.ones(len(ids), dtype=bool)
    after, labels = np.array(answers, dtype=np.int64).T
    before = np.searchsorted(votes, after, side="right")
    of_votes = np.insert(np.ones(len(ids), dtype=bool), before, False)
    return np.insert(ids, before, labels), of_votes


def _by_name(event: Event, names: Mapping[str, Names]) -> Known:
    """Known answers by name; checked, so that a name that is not there is a row that is lost."""
    tasks, classes = names["task"].kept, names["label"].kept
    try:
        return tuple((tasks[t], None if c is None else classes[c]) for t, c in event.gold)
    except IndexError:
        raise DataError("The votes are damaged: there lack names of known answers.") from None


def _kept_settings(kept: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(kept[TRUTH])
    if START not in kept:
        settings.setdefault("method", FORMER_DEFAULT)
    return settings


def _made_with(kept: Mapping[str, str | bytes]) -> dict[str, Any]:
    settings = _kept_settings(kept)
    if START in kept:
        settings["start"] = load(io.BytesIO(kept[START]))  # type: ignore[arg-type]
        if START_VOTES in kept:
            settings["votes"] = pl.read_parquet(io.BytesIO(kept[START_VOTES]))  # type: ignore[arg-type]
    return settings


def _bytes_of(write: Callable[[Any], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def _refuse(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise UsageError(f"{value!r} cannot be kept: use numbers and text.")
