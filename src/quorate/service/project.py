"""A project in memory: what its rows add up to."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from quorate.online import Online
from quorate.online.keeping import Keeper
from quorate.online.ledger import Ledger
from quorate.service.clock import Clock
from quorate.service.draft import Draft, Receipt, vote_in
from quorate.service.leases import Leases
from quorate.service.payloads import FAR_AHEAD, Payloads
from quorate.service.ranking import Ranking
from quorate.service.settings import Settings
from quorate.service.store import ProjectVotes, Store, tables

RECENT_KEYS = 20_000  # whose receipts need not be looked up
WORKER_FIELDS = ("kind", "cost", "capacity", "paused", "alias")


class Worker(NamedTuple):
    """What was said of a worker."""

    kind: str | None = None
    cost: float | None = None
    capacity: int | None = None
    paused: bool = False
    alias: str | None = None


class Project:
    """Votes, tasks, workers and leases. Only the writer's thread changes it, under the `lock`."""

    def __init__(
        self, store: Store, row: tuple[int, str, Settings, int, bool], clock: Clock
    ) -> None:
        self.id, self.name, self.settings, self.created, self.archived = row
        self.store, self.clock = store, clock
        self.kept = ProjectVotes(store, self.id, read_only=True)
        self.keeper = Keeper(self.kept)
        self.online = self._empty()
        self.lock = self.online.lock
        self.ranking, self.leases = Ranking(self.settings), Leases()
        self.payloads = Payloads(self.kept.payloads)
        self.workers: dict[int, Worker] = {}
        self.random = random.Random(self.id)
        self.version = 0  # how often something has changed
        self.n_receipts, self.spent = 0, 0.0
        self.settled_votes, self.settled_at, self.settle_took = 0, clock.passed(), 2.0
        self.checkpointed = 0  # the last vote that a checkpoint knows of
        self.lease_changes: dict[tuple[int, int], float | None] = {}
        self.cached: tuple[Any, Any] | None = None  # what was last reckoned, and of what
        self.diagnosed: tuple[Any, Any] | None = None
        self._answered: dict[int, set[int]] = {}
        self._recent: OrderedDict[str, Receipt] = OrderedDict()
        self._load()

    def _empty(self) -> Online:
        classes = self.settings.classes
        return Online(self.settings.method, classes=None if classes is None else list(classes))

    # From the database.

    def _load(self) -> None:
        self.online.keep(self.keeper)
        self._load_about()
        with self.store.reading() as connection:
            leased = select(tables.leases).where(tables.leases.c.project == self.id)
            rows = connection.execute(leased).all()
        now, wall = self.clock.passed(), self.clock.wall_ms()
        for _, task, worker, until in rows:
            left = min((until - wall) / 1000, self.settings.lease_seconds)
            if left > 0 and self.vote_of_ids(task, worker) is None:
                self.leases.give(task, worker, now + left)
                self.ranking.lease(task, 1)
        self._reckon_costs()
        self.settled_votes = self.online.ledger.n_votes if self.online.ledger.settled else 0

    def _load_about(self) -> None:
        """What is said of tasks and workers beside their names."""
        with self.store.reading() as connection:
            of = tables.tasks.c
            said = (of.priority != 0) | of.closed
            query = select(of.id, of.priority, of.closed).where(of.project == self.id, said)
            about = connection.execute(query).all()
            them = tables.workers.c
            columns = [them[name] for name in WORKER_FIELDS]
            query_workers = select(them.id, *columns).where(them.project == self.id)
            workers = connection.execute(query_workers).all()
            last = select(func.max(tables.receipts.c.id)).where(
                tables.receipts.c.project == self.id
            )
            self.n_receipts = connection.execute(last).scalar() or 0
        with self.lock:
            self.ranking.grow(len(self.names("task").kept))
            for id, priority, closed in about:
                if id < len(self.ranking):
                    self.ranking.priority.values[id] = priority
                    self.ranking.closed.values[id] = closed
            self.workers = {id: Worker(*rest) for id, *rest in workers}
            self.ranking.touch_all()

    def recover(self) -> None:
        """Whether the last thing was written is not known: the database is asked."""
        self.online.doubt()
        self.follow(anyway=True)

    def follow(self, *, anyway: bool = False) -> bool:
        """Catch up with what another server writes; whether there was anything."""
        with self.lock:
            before = self._seen()
            self.online.up_to_date()
            if before == self._seen() and not anyway:
                return False
            self._answered.clear()
            self.payloads.forget()
            self._load_about()
            self._reckon_costs()
            self.version += 1
            return True

    def _seen(self) -> tuple[Any, ...]:
        names = [len(self.online.ledger.names[role].kept) for role in tables.NAMED]
        return (*names, self.keeper.last_vote, len(self.keeper.removed), self.n_events)

    @property
    def n_events(self) -> int:
        """Settlings and times that answers were made known."""
        return len(self.online.ledger.events)

    # What is counted once it is written.

    def take(self, draft: Draft) -> None:
        """What a draft holds is in the database: now it is counted."""
        with self.lock:
            content = draft.content()
            if draft.votes or draft.removed or draft.events or any(draft.new.values()):
                self.online.take(content)
            ledger = self.online.up_to_date()
            self.ranking.grow(len(ledger.names["task"].kept))
            self._take_about(draft)
            self._take_votes(draft)
            self.n_receipts = draft._n_receipts
            for key, receipt in draft._receipts.items():
                self._recent[key] = receipt
            while len(self._recent) > RECENT_KEYS:
                self._recent.popitem(last=False)
            self.version += 1

    def _take_about(self, draft: Draft) -> None:
        for id, about in {**draft.added_tasks, **draft.changed_tasks}.items():
            if about.get("priority") is not None:
                self.ranking.priority.values[id] = about["priority"]
            if about.get("closed") is not None:
                self.ranking.closed.values[id] = about["closed"]
            self.ranking.touch([id])
        self.payloads.forget(draft.changed_tasks)
        for id, about in draft.changed_workers.items():
            self.workers[id] = self.workers.get(id, Worker())._replace(**about)

    def _take_votes(self, draft: Draft) -> None:
        for _, task, worker, _ in draft.votes:
            if worker in self._answered:
                self._answered[worker].add(task)
            self.take_lease(task, worker)
            self.spent += self.cost_of(worker)
        self.ranking.touch(vote[1] for vote in draft.votes)
        for event in draft.events:
            self.ranking.touch({task for task, _ in event.gold})
        if draft.removed:
            self._answered.clear()
            self.ranking.touch_all()
            self._reckon_costs()

    def _reckon_costs(self) -> None:
        """What the votes have cost."""
        ledger = self.online.up_to_date()
        ids = ledger.names["worker"].ids.values
        cast = np.bincount(ledger.state.ballots.worker.values, minlength=len(ids)).tolist()
        self.spent = sum(n * self.cost_of(id) for id, n in zip(ids.tolist(), cast, strict=True))

    def cost_of(self, worker: int) -> float:
        """What a vote of a worker costs."""
        own = self.workers.get(worker)
        return self.settings.cost if own is None or own.cost is None else own.cost

    # Names and votes.

    def names(self, role: str) -> Any:
        """The names of tasks, workers or labels, as the ledger has them."""
        return self.online.ledger.names[role]

    def id_of(self, role: str, name: str) -> int | None:
        """The number of a name."""
        ids, new = self.names(role).ids_for([name])
        return None if new else ids[0]

    def vote_of(self, task: str, worker: str) -> int | None:
        """The last vote of a worker on a task, if it counts."""
        return vote_in(self.online.up_to_date(), task, worker)

    def vote_of_ids(self, task: int, worker: int) -> int | None:
        """The same, by number."""
        kept = self.names("task").kept, self.names("worker").kept
        if task >= len(kept[0]) or worker >= len(kept[1]):
            return None
        return self.vote_of(kept[0][task], kept[1][worker])

    def answered(self, worker: int) -> set[int]:
        """The tasks that a worker has voted on."""
        known = self._answered.get(worker)
        if known is None:
            ledger = self.online.up_to_date()
            ballots, names = ledger.state.ballots, ledger.names
            code = names["worker"].get(names["worker"].kept[worker])
            tasks = [] if code is None else ballots.task.values[ballots.worker.values == code]
            known = set(names["task"].ids.values[tasks].tolist()) if code is not None else set()
            self._answered[worker] = known
        return known

    def receipts(self, keys: Sequence[str], look_up: bool) -> dict[str, Receipt]:
        """What was answered to requests with these keys: lately, or at any time if the database is
        to be asked."""
        found = {key: self._recent[key] for key in keys if key in self._recent}
        rest = [key for key in keys if key not in found] if look_up else []
        if rest and self.n_receipts:
            for key, *receipt in self.kept.receipts(rest):
                found[key] = Receipt(*receipt)
        return found

    def votes_under(self, key: str) -> list[tuple[int, int]]:
        """The first votes, and how many, of requests under a key, or one that goes on behind it."""
        of = tables.receipts.c
        these = (of.key == key) | of.key.startswith(f"{key}-", autoescape=True)
        query = select(of.vote, of.size).where(of.project == self.id, these)
        with self.store.reading() as connection:
            return [(vote, size) for vote, size in connection.execute(query)]

    def look_further(self) -> None:
        """If anybody asks for tasks, read what they will be shown, and bring the ranking up to
        date, a few tasks at a time: so that nobody waits for that."""
        behind = self.ranking.in_demand
        if behind:
            with self.lock:
                likely = self.ranking.likely(FAR_AHEAD)
            self.payloads.read_ahead(likely)
        while behind:
            with self.lock:
                behind = self.ranking.look_further(self.ledger)
                self.ranking.in_demand = behind

    # Leases.

    def expire(self) -> list[tuple[int, int]]:
        """Tasks whose time is up are there for others."""
        with self.lock:
            gone = self.leases.expired(self.clock.passed())
            for task, worker in gone:
                self.ranking.lease(task, -1)
                self.lease_changes[task, worker] = None
            return gone

    def give_lease(self, task: int, worker: int) -> float:
        """Hand a task out; how long it waits."""
        seconds = self.settings.lease_seconds
        until = self.clock.passed() + seconds
        if task not in self.leases.of(worker):
            self.ranking.lease(task, 1)
        self.leases.give(task, worker, until)
        self.lease_changes[task, worker] = until
        return seconds

    def take_lease(self, task: int, worker: int) -> bool:
        """Take a task back; whether the worker had it."""
        if not self.leases.take(task, worker):
            return False
        self.ranking.lease(task, -1)
        self.lease_changes[task, worker] = None
        return True

    def about(self, tasks: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        """What the database holds of some tasks."""
        of = tables.tasks.c
        query = select(of.id, of.name, of.payload, of.features, of.priority, of.closed)
        query = query.where(of.project == self.id, of.id.in_(list(tasks)))
        with self.store.reading() as connection:
            return {row.id: dict(row._mapping) for row in connection.execute(query)}

    @property
    def votes_between(self) -> int:
        """Votes between two checkpoints: a server starts seldom, and counts these in seconds."""
        return max(20_000, self.checkpointed // 20)

    @property
    def ledger(self) -> Ledger:
        """The ledger, up to date: under the lock."""
        return self.online.up_to_date()
