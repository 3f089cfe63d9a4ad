"""Changes of a project that are about to be written together.

Nothing of it is in memory yet: a draft that cannot be written is dropped, and nothing has happened.
What one request adds is seen by the next of the same draft.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import delete, update

from quorate.errors import DataError
from quorate.online.ledger import Ledger
from quorate.online.store import Content, Event
from quorate.service.failures import ConflictError, MissingError
from quorate.service.store import tables
from quorate.service.store.database import Changes
from quorate.votes import shown

if TYPE_CHECKING:
    from quorate.service.project import Project

Vote = tuple[str, str, str]  # task, worker, label
MANY = 30  # votes that are counted sooner at once, by arrays, than one request after the other


class Receipt(NamedTuple):
    """What became of a request: the first of its votes, how many they are, and whether the very
    same request was answered before."""

    vote: int
    size: int
    digest: str
    repeated: bool = False


class Draft:
    """What is to be written of one project."""

    def __init__(self, project: Project, known: Mapping[str, Receipt]) -> None:
        self.project = project
        self._ledger = ledger = project.online.up_to_date()
        self._names = {role: ledger.names[role] for role in tables.NAMED}
        self.new: dict[str, dict[str, int]] = {role: {} for role in tables.NAMED}
        self._next = {role: len(names.kept) for role, names in self._names.items()}
        self._said: dict[tuple[str, str], int | None] = {}
        self._receipts = dict(known)
        self._n_receipts = project.n_receipts
        self._last = project.keeper.last_vote
        self._n_gold, self._n_settlings = ledger.n_gold, ledger.n_settlings
        self.votes: list[tuple[int, int, int, int]] = []
        self._batches: list[tuple[int, int]] = []  # the first vote of a request, and how many
        self.removed: list[int] = []
        self.events: list[Event] = []
        self.changes = Changes()
        self.added_tasks: dict[int, dict[str, Any]] = {}
        self.changed_tasks: dict[int, dict[str, Any]] = {}
        self.changed_workers: dict[int, dict[str, Any]] = {}

    # Names.

    def find(self, role: str, name: str) -> int | None:
        """The number of a name that is there."""
        new = self.new[role].get(name)
        if new is not None:
            return new
        ids, absent = self._names[role].ids_for([name])
        return None if absent else ids[0]

    def require(self, role: str, name: str) -> int:
        """The number of a name, or one sentence."""
        id = self.find(role, name)
        if id is None:
            raise MissingError(f"There is no {role} {shown(name)}.")
        return id

    def _number(self, role: str, name: str) -> int:
        """The number of a name, which is new or not."""
        id = self.find(role, name)
        if id is None:
            id = self.new[role][name] = self._next[role]
            self._next[role] += 1
        return id

    def _numbers(self, role: str, names: Sequence[str]) -> list[int]:
        """The numbers of names, some of which may be new."""
        known, new = self._names[role].ids_for(names)
        if not new:
            return known
        return [self._number(role, name) for name in names]

    # Votes.

    def add_votes(
        self, votes: Sequence[Vote], key: str | None, sender: str, *, correct: bool = False
    ) -> Receipt:
        """Votes that are counted together. A worker has one vote on a task: a second one is
        refused, or corrects the first."""
        digest = _digest("correct" if correct else "add", votes)
        if (known := self._known(key, digest)) is not None:
            return known
        taken_back = self._require_votes(votes, correct)
        first = self._last + 1
        self.removed += taken_back
        columns = zip(tables.NAMED, zip(*votes, strict=True), strict=True)
        task, worker, label = (self._numbers(role, names) for role, names in columns)
        ids = range(first, first + len(votes))
        self._last += len(votes)
        self.votes += zip(ids, task, worker, label, strict=True)
        self._batches.append((first, len(votes)))
        self._said.update(((t, w), id) for (t, w, _), id in zip(votes, ids, strict=True))
        kind = "correct" if correct else "add"
        return self._receipt(key, Receipt(first, len(votes), digest), kind, sender)

    def _require_votes(self, votes: Sequence[Vote], correct: bool) -> list[int]:
        """What is wrong with any of the votes, before one is taken; the votes that they correct."""
        self.require_labels({label for _, _, label in votes})
        pairs = [(task, worker) for task, worker, _ in votes]
        self._require_open(pairs)
        if len(set(pairs)) < len(pairs):
            task, worker = next(pair for pair in pairs if pairs.count(pair) > 1)
            raise DataError(f"Worker {shown(worker)} votes twice on task {shown(task)}.")
        before = [self.vote_of(task, worker) for task, worker in pairs]
        for (task, worker), vote in zip(pairs, before, strict=True):
            if vote is None and correct:
                raise MissingError(f"Worker {shown(worker)} has no vote on task {shown(task)}.")
            if vote is not None and not correct:
                raise ConflictError(
                    f"Worker {shown(worker)} has voted on task {shown(task)} already: correct"
                    " that vote, or withdraw it."
                )
        return [vote for vote in before if vote is not None]

    def _require_open(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Refuse tasks and workers that votes may not add."""
        settings = self.project.settings
        for task, worker in pairs if not (settings.open_tasks and settings.open_workers) else ():
            if not settings.open_tasks:
                self.require("task", task)
            if not settings.open_workers:
                self.require("worker", worker)

    def withdraw(self, pairs: Sequence[tuple[str, str]], key: str | None, sender: str) -> Receipt:
        """Take the votes of workers on tasks back."""
        digest = _digest("withdraw", pairs)
        if (known := self._known(key, digest)) is not None:
            return known
        found = []
        for task, worker in dict.fromkeys(pairs):
            vote = self.vote_of(task, worker)
            if vote is None:
                raise MissingError(f"Worker {shown(worker)} has no vote on task {shown(task)}.")
            found.append(vote)
        for pair in pairs:
            self._said[pair] = None
        self.removed += found
        receipt = Receipt(found[0] if found else 0, len(found), digest)
        return self._receipt(key, receipt, "withdraw", sender)

    def vote_of(self, task: str, worker: str) -> int | None:
        """The vote of a worker on a task that counts."""
        if (task, worker) in self._said:
            return self._said[task, worker]
        return vote_in(self._ledger, task, worker)

    # Receipts.

    def _known(self, key: str | None, digest: str) -> Receipt | None:
        """What was answered to the same request; another one under its key is refused."""
        known = None if key is None else self._receipts.get(key)
        if known is None:
            return None
        if known.digest != digest:
            raise ConflictError(f"The key {shown(key)} was used for something else.")
        return known._replace(repeated=True)

    def _receipt(self, key: str | None, receipt: Receipt, kind: str, sender: str) -> Receipt:
        if key is not None:
            self._receipts[key] = receipt
        self._n_receipts += 1
        about = (key, receipt.digest, kind, receipt.vote, receipt.size)
        at = self.project.clock.wall_ms()
        row = (self.project.id, self._n_receipts, *about, at, sender)
        self.changes.add(tables.receipts, [row])
        return receipt

    # Tasks, workers, known answers.

    def add_tasks(self, tasks: Iterable[Mapping[str, Any]]) -> int:
        """New tasks, each with a name, a payload, features and a priority; those that are there are
        changed."""
        added = 0
        for task in tasks:
            about = {k: task.get(k) for k in ("payload", "features", "priority")}
            id = self.find("task", task["task"])
            if id is None:
                id = self._number("task", task["task"])
                self.added_tasks[id] = about
                added += 1
            elif id in self.added_tasks:
                self.added_tasks[id].update((k, v) for k, v in about.items() if v is not None)
            else:
                given = {k: v for k, v in about.items() if v is not None}
                if given:
                    self.change_task(id, given)
        return added

    def change_task(self, id: int, about: Mapping[str, Any]) -> None:
        """Change a task's payload, features or priority, close it or open it again."""
        self.changed_tasks.setdefault(id, {}).update(about)

    def add_worker(self, name: str, about: Mapping[str, Any]) -> int:
        """A worker who may be new, with whatever is said of them."""
        id = self._number("worker", name)
        self.changed_workers.setdefault(id, {}).update(about)
        return id

    def require_labels(self, labels: Iterable[str]) -> None:
        """Refuse labels that are none of the project's."""
        classes = self.project.settings.classes
        if classes is None:
            return
        for label in set(labels).difference(classes):
            known = ", ".join(map(shown, classes[:20]))
            raise DataError(f"There is no label {shown(label)}: there are {known}.")

    def know(self, answers: Sequence[tuple[str, str | None]]) -> int:
        """Known answers, by name; None takes one back. How many are new."""
        gold = self.project.online.ledger.gold
        new: dict[str, str | None] = {}
        self.require_labels(label for _, label in answers if label is not None)
        for task, label in answers:
            if not self.project.settings.open_tasks:
                self.require("task", task)
            if gold.get(task) != label:
                new[task] = label
        if new:
            self.events.append(
                Event(
                    self._last,
                    tuple(
                        (self._number("task", t), None if c is None else self._number("label", c))
                        for t, c in new.items()
                    ),
                )
            )
        return len(new)

    def settle(self, after: int) -> None:
        """All votes up to one were fitted."""
        self._n_settlings += 1
        self.changes.add(tables.settlings, [(self.project.id, self._n_settlings, after)])
        of = tables.checkpoints.c  # later ones are of another history
        later = (of.project == self.project.id, of.vote > after)
        self.changes.run(delete(tables.checkpoints).where(*later))

    # What is written, and what is then counted.

    def write_to(self, changes: Changes) -> None:
        """The rows and statements."""
        kept, project = self.project.kept, self.project.id
        for role, names in self.new.items():
            if role == "task":
                rows = (self._task_row(id, name) for name, id in names.items())
            else:
                kept.put_names(changes, {role: [(id, name) for name, id in names.items()]})
                continue
            changes.add(tables.tasks, rows)
        kept.put_votes(changes, self.votes, self._steps())
        kept.put_removed(changes, len(self.project.keeper.removed) + 1, self.removed)
        for event in self.events:
            kept.put_gold(changes, self._n_gold + 1, event, self._n_settlings)
            self._n_gold += len(event.gold)
        for table, changed in (
            (tables.tasks, self.changed_tasks),
            (tables.workers, self.changed_workers),
        ):
            for id, about in changed.items():
                if about:
                    these = (table.c.project == project, table.c.id == id)
                    changes.run(update(table).where(*these).values(**_stored(about)))
        for table, more in self.changes.rows.items():
            changes.add(table, more)
        changes.statements += self.changes.statements

    def _steps(self) -> list[tuple[int, int]]:
        """The first vote of each step, and how many it has: those of a request or, where there are
        many, of all requests between two events."""
        if len(self.votes) < MANY:
            return self._batches
        steps: list[tuple[int, int]] = []
        events = {event.after for event in self.events}
        for first, size in self._batches:
            if steps and first - 1 not in events:
                steps[-1] = (steps[-1][0], steps[-1][1] + size)
            else:
                steps.append((first, size))
        return steps

    def _task_row(self, id: int, name: str) -> tuple[Any, ...]:
        about = _stored(self.added_tasks.get(id, {}))
        priority = about.get("priority") or 0.0
        return (
            self.project.id,
            id,
            name,
            about.get("payload"),
            about.get("features"),
            priority,
            False,
        )

    def content(self) -> Content:
        """The same for an `Online`."""
        firsts, sizes = np.array(self._steps(), dtype=np.int64).reshape(-1, 2).T
        return Content(
            {role: list(names) for role, names in self.new.items()},
            np.array(self.votes, dtype=np.int64).reshape(-1, 4),
            np.repeat(firsts, sizes),
            self.removed,
            self.events,
        )


def vote_in(ledger: Ledger, task: str, worker: str) -> int | None:
    """The last vote of a worker on a task, if it counts."""
    task_code, worker_code = ledger.names["task"].get(task), ledger.names["worker"].get(worker)
    if task_code is None or worker_code is None:
        return None
    ballots = ledger.state.ballots
    for place in ballots.of(task_code):
        if ballots.worker.cells[place] == worker_code:
            return int(ledger.ids.cells[place])
    return None


def _stored(about: Mapping[str, Any]) -> dict[str, Any]:
    as_json = ("payload", "features")
    return {k: json.dumps(v) if k in as_json and v is not None else v for k, v in about.items()}


def _digest(kind: str, content: Any) -> str:
    text = json.dumps([kind, content], ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
