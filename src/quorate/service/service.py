"""The server without HTTP: projects, what is asked of them, and what goes on by itself."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from pydantic import ValidationError
from sqlalchemy import bindparam, delete, func, select, update

from quorate.errors import DataError, QuorateError
from quorate.online.store import packed
from quorate.service.clock import Clock
from quorate.service.draft import Receipt, Vote
from quorate.service.failures import ConflictError, MissingError, UnavailableError
from quorate.service.project import Project
from quorate.service.settings import Settings
from quorate.service.store import Store, tables
from quorate.service.writer import Group, Job, Writer
from quorate.votes import shown

log = logging.getLogger("quorate.serve")
BEAT = 0.25  # seconds between looks at what goes on by itself
LONG_FIT = 5.0  # seconds that nobody is made to wait for a settling
END_LEASE = delete(tables.leases).where(
    tables.leases.c.project == bindparam("of"),
    tables.leases.c.task == bindparam("leased"),
    tables.leases.c.worker == bindparam("to"),
)
SETTLE_AT_ONCE = 1 / 5  # more votes, of all: then they are fitted before it is time


class Service:
    """Everything that one server keeps; closed, all of it is in the database."""

    def __init__(self, address: str, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.store = Store(address)
        self.projects: dict[str, Project] = {}
        self._loading = threading.Lock()
        try:
            self.load_projects()
        except BaseException:
            self.store.close()
            raise
        self.writer = Writer(self.store, self.load_projects)
        self._stop = threading.Event()
        self._keeping_house = threading.Thread(target=self._keep_house, daemon=True)
        self._keeping_house.start()

    def load_projects(self) -> list[Project]:
        """Read projects that are not here yet; all that are."""
        with self._loading:
            with self.store.reading() as connection:
                all_rows = select(tables.projects).order_by(tables.projects.c.id)
                rows = connection.execute(all_rows).all()
            for id, name, settings, created, archived in rows:
                if name not in self.projects:
                    row = (id, name, Settings.model_validate_json(settings), created, archived)
                    self.projects[name] = Project(self.store, row, self.clock)
            return list(self.projects.values())

    def close(self) -> None:
        """Write everything that was asked for, and checkpoints to start from; let others lead."""
        self._stop.set()
        self._keeping_house.join()
        self.writer.close()
        if self.store.leads:
            try:
                for project in self.projects.values():
                    self._write_leases(project)
                    self.checkpoint(project)
            except QuorateError as error:
                log.warning("%s", error)
        self.store.close()

    @property
    def leads(self) -> bool:
        """Whether this server writes; if not, it reads what another one writes."""
        return self.store.leads

    def project(self, name: str) -> Project:
        """The project of that name."""
        project = self.projects.get(name)
        if project is None:
            raise MissingError(f"There is no project {shown(name)}.")
        return project

    # Projects.

    def create(self, name: str, settings: Settings) -> Future[str]:
        """A new project."""

        def run(group: Group) -> str:
            if name in self.projects:
                raise ConflictError(f"There is a project {shown(name)} already.")
            with self.store.reading() as connection:
                last = connection.execute(select(func.max(tables.projects.c.id))).scalar() or 0
            id = last + 1
            row = (id, name, settings.model_dump_json(), self.clock.wall_ms(), False)
            group.changes.add(tables.projects, [row])
            classes = enumerate(settings.classes or ())
            group.changes.add(tables.classes, [(id, i, label) for i, label in classes])
            made = (id, name, settings, row[3], False)
            group.then.append(lambda: self._take_project(made))
            return name

        return self.writer.submit(Job(run))

    def _take_project(self, made: tuple[int, str, Settings, int, bool]) -> None:
        self.projects[made[1]] = Project(self.store, made, self.clock)

    def change(self, project: Project, given: Mapping[str, Any]) -> Future[Settings]:
        """Other settings; classes and method stay what they are."""

        def run(group: Group) -> Settings:
            for fixed in ("classes", "method"):
                if fixed in given and given[fixed] != getattr(project.settings, fixed):
                    raise ConflictError(
                        f"The {fixed} of a project cannot be changed: make another one."
                    )
            merged = {**project.settings.model_dump(), **given}
            try:
                settings = Settings.model_validate(merged)
            except ValidationError as error:
                first = error.errors()[0]
                raise DataError(f"{first['loc'][0]}: {first['msg']}.") from None
            these = tables.projects.c.id == project.id
            stored = {"settings": settings.model_dump_json()}
            group.changes.run(update(tables.projects).where(these).values(**stored))
            group.then.append(lambda: self._take_settings(project, settings))
            return settings

        return self.writer.submit(Job(run, project))

    def _take_settings(self, project: Project, settings: Settings) -> None:
        with project.lock:
            project.settings = project.ranking.settings = settings
            project.ranking.touch_all()
            project.version += 1

    # Votes.

    def vote(
        self,
        project: Project,
        votes: Sequence[Vote],
        *,
        key: str | None = None,
        sender: str = "",
        correct: bool = False,
    ) -> Future[Receipt]:
        """Votes that are counted together, once they are written."""

        def run(group: Group) -> Receipt:
            return group.draft(project).add_votes(votes, key, sender, correct=correct)

        return self.writer.submit(Job(run, project, key))

    def withdraw(
        self,
        project: Project,
        pairs: Sequence[tuple[str, str]],
        *,
        key: str | None = None,
        sender: str = "",
    ) -> Future[Receipt]:
        """Take votes back, each by its task and worker."""

        def run(group: Group) -> Receipt:
            return group.draft(project).withdraw(pairs, key, sender)

        return self.writer.submit(Job(run, project, key))

    # Tasks and workers.

    def add_tasks(self, project: Project, tasks: Sequence[Mapping[str, Any]]) -> Future[int]:
        """Tasks with payloads, features, priorities and known answers; how many are new."""

        def run(group: Group) -> int:
            draft = group.draft(project)
            known = [(task["task"], task["gold"]) for task in tasks if task.get("gold") is not None]
            draft.require_labels(label for _, label in known)
            added = draft.add_tasks(tasks)
            draft.know(known)
            return added

        return self.writer.submit(Job(run, project))

    def change_task(self, project: Project, task: str, about: Mapping[str, Any]) -> Future[None]:
        """Another priority, payload or known answer; closed, or open again."""

        def run(group: Group) -> None:
            draft = group.draft(project)
            id, rest = draft.require("task", task), dict(about)
            if "gold" in rest:
                draft.know([(task, rest.pop("gold"))])
            if rest:
                draft.change_task(id, rest)

        return self.writer.submit(Job(run, project))

    def know(self, project: Project, answers: Sequence[tuple[str, str | None]]) -> Future[int]:
        """Known answers; how many are new."""
        return self.writer.submit(Job(lambda group: group.draft(project).know(answers), project))

    def add_workers(self, project: Project, workers: Sequence[Mapping[str, Any]]) -> Future[int]:
        """Workers with what is said of them."""

        def run(group: Group) -> int:
            draft = group.draft(project)
            for worker in workers:
                about = {k: v for k, v in worker.items() if k != "worker"}
                draft.add_worker(worker["worker"], about)
            return len(workers)

        return self.writer.submit(Job(run, project))

    def change_worker(
        self, project: Project, worker: str, about: Mapping[str, Any]
    ) -> Future[None]:
        """Pause a worker, or say something else of them."""

        def run(group: Group) -> None:
            draft = group.draft(project)
            draft.require("worker", worker)
            draft.add_worker(worker, about)

        return self.writer.submit(Job(run, project))

    # Settling.

    def settle(self, project: Project) -> None:
        """Fit all votes, while others come; then go on from there. Votes that keep being taken back
        meanwhile are made to wait at last, if it does not take long."""
        self.require_lead()
        if not project.online.n_votes:
            return
        for _ in range(2):
            begun = self.clock.passed()
            if self._keep_settling(project, partial(tuple, _fitted(project))):
                return
        if self.clock.passed() - begun > LONG_FIT:
            raise UnavailableError("Votes were taken back while all were settled: try again later.")
        self._keep_settling(project, lambda: _fitted(project))

    def _keep_settling(self, project: Project, fitted: Callable[[], tuple[Any, Any]]) -> bool:
        """Write a settling, unless it is not of the votes any more; whether it was."""

        def run(group: Group) -> bool:
            settling, result = fitted()
            if not project.online.holds(settling):
                return False
            group.draft(project).settle(settling.after)
            group.then.append(lambda: self._take_settling(project, settling, result))
            return True

        kept: bool = self.writer.submit(Job(run, project, alone=True)).result()
        if kept:
            self.checkpoint(project)
        return kept

    def _take_settling(self, project: Project, settling: Any, result: Any) -> None:
        with project.lock:
            try:
                project.online.take_settling(settling, result)
            except BaseException:
                project.online.doubt(everything=True)
                raise
            project.settled_votes = project.ledger.n_votes
            project.ranking.touch_all()
            project.version += 1

    def checkpoint(self, project: Project) -> None:
        """Keep the state, so that a start need not count everything."""
        with project.lock:
            ledger = project.ledger
            found = project.keeper.checkpoint_now(ledger)
            place = (ledger.last_id, ledger.n_settlings)
            removed = len(project.keeper.removed)
        if found is None or not place[0]:
            return
        state = packed(found)

        def run(group: Group) -> None:
            if removed == len(project.keeper.removed) and not group.draft(project).removed:
                changes = project.kept.checkpoint_changes(*place, state)
                group.changes.statements += changes.statements

        self.writer_or_now(Job(run, project))
        project.checkpointed = place[0]

    def writer_or_now(self, job: Job) -> None:
        """Have something written, also when nothing else is any more."""
        if self._stop.is_set() and not self._keeping_house.is_alive():
            self.writer._write([job])
            job.answer.result()
        else:
            self.writer.submit(job).result()

    # What goes on by itself.

    def _keep_house(self) -> None:
        beats = 0
        while not self._stop.wait(BEAT):
            beats += 1
            try:
                self._beat(beats)
            except QuorateError as error:
                log.warning("%s", error)
            except Exception:
                log.exception("Something that goes on by itself went wrong")

    def _beat(self, beats: int) -> None:
        if not self.leads:
            if beats % 4 == 0:
                self._follow()
            return
        for project in list(self.projects.values()):
            project.expire()
            self._write_leases(project)
            project.look_further()
            self._settle_if_due(project)
            if project.keeper.last_vote - project.checkpointed > project.votes_between:
                self.checkpoint(project)

    def _follow(self) -> None:
        """Read what another server has written, and lead when it is gone."""
        self.writer.lead()
        if not self.leads:
            for project in self.load_projects():
                project.follow()

    def _settle_if_due(self, project: Project) -> None:
        with project.lock:
            votes, settled = project.online.ledger.n_votes, project.online.ledger.settled
        new = votes - project.settled_votes
        if not new or settled is not None:
            project.settled_at = self.clock.passed()
            return
        waited = self.clock.passed() - project.settled_at
        enough = new > SETTLE_AT_ONCE * votes + 100 and waited > project.settle_took * 4
        if waited < project.settings.settle_seconds and not enough:
            return
        begun = self.clock.passed()
        try:
            self.settle(project)
        finally:
            project.settled_at = self.clock.passed()
            project.settle_took = project.settled_at - begun

    def _write_leases(self, project: Project) -> None:
        """Leases are written a moment after they are given: one that is lost costs nothing."""
        with project.lock:
            given, project.lease_changes = project.lease_changes, {}
        if not given:
            return

        def run(group: Group) -> None:
            wall, now, id = self.clock.wall_ms(), self.clock.passed(), project.id
            gone = [{"of": id, "leased": task, "to": worker} for task, worker in given]
            group.changes.run(END_LEASE, gone)
            rows = [
                {"project": id, "task": task, "worker": worker, "until": wall + _ms(until - now)}
                for (task, worker), until in given.items()
                if until is not None
            ]
            if rows:
                group.changes.run(tables.leases.insert(), rows)

        self.writer_or_now(Job(run, project))

    def require_lead(self) -> None:
        """Refuse what only the server that writes can do."""
        if not self.leads:
            raise UnavailableError(
                f"Another server writes to {self.store.place}: ask that one, or wait."
            )


def _ms(seconds: float) -> int:
    return int(seconds * 1000)


def _fitted(project: Project) -> tuple[Any, Any]:
    settling = project.online.settling()
    return settling, settling.fit()
