"""One thread writes: what many requests ask for at the same time goes into one transaction.

A request is answered when its transaction is committed, and not before. While one is under way the
next requests gather, so that more of them share a transaction the more there are.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from quorate.errors import QuorateError
from quorate.service.draft import Draft, Receipt
from quorate.service.failures import RepeatedError, UnavailableError
from quorate.service.project import Project
from quorate.service.store import Store
from quorate.service.store.database import Changes

log = logging.getLogger("quorate.serve")
MOST_JOBS = 400  # in a transaction
MOST_WAITING = 20_000  # requests; more are turned away


@dataclass(eq=False)
class Job:
    """What is to be written, of which project, and under which key."""

    run: Callable[[Group], Any]
    project: Project | None = None
    key: str | None = None
    alone: bool = False  # in a transaction of its own
    answer: Future[Any] = field(default_factory=Future)


class Group:
    """Jobs that are written together."""

    def __init__(self, known: dict[int, dict[str, Receipt]]) -> None:
        self._known = known
        self.drafts: dict[int, Draft] = {}
        self.changes = Changes()
        self.then: list[Callable[[], None]] = []

    def draft(self, project: Project) -> Draft:
        """What is to be written of a project."""
        draft = self.drafts.get(project.id)
        if draft is None:
            draft = Draft(project, self._known.get(project.id, {}))
            self.drafts[project.id] = draft
        return draft


Answered = tuple[Job, Any, QuorateError | None]


def _unexpected(error: BaseException) -> UnavailableError:
    log.error("A request could not be written", exc_info=error)
    return UnavailableError("Something went wrong here, and nothing changed: the log says what.")


class Writer:
    """A thread with a queue."""

    def __init__(self, store: Store, projects: Callable[[], Iterable[Project]]) -> None:
        self.store, self._projects = store, projects
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closing = False
        self._doubtful: set[Project] = set()
        self._thread = threading.Thread(target=self._run, name="quorate-writer", daemon=True)
        self.groups = self.jobs = 0
        self._thread.start()

    def submit(self, job: Job) -> Future[Any]:
        """The answer, once it is committed."""
        if self._closing:
            raise UnavailableError("The server is stopping.")
        if self._queue.qsize() > MOST_WAITING:
            raise UnavailableError("More is asked for than can be written: try again later.")
        self._queue.put(job)
        return job.answer

    def lead(self) -> None:
        """Take the lead, if nobody has it."""
        self.submit(Job(lambda group: None, alone=True)).result()

    def close(self) -> None:
        """Write what was asked for until now, and stop."""
        self._closing = True
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        waiting: list[Job | None] = []
        while True:
            waiting.append(self._queue.get())
            while len(waiting) < MOST_JOBS and not self._queue.empty():
                waiting.append(self._queue.get())
            for alone, some in groupby(waiting, key=lambda job: job is None or job.alone):
                jobs = [job for job in some if job is not None]
                for together in [[job] for job in jobs] if alone else [jobs]:
                    if together:
                        self._write(together)
            if None in waiting:
                return
            waiting.clear()

    def _write(self, jobs: Sequence[Job], *, look_up: bool = False) -> None:
        """All in one transaction; if that cannot be, each in its own. Hardly a key comes twice: the
        database is asked for them only if one may have, which then fails or is there already."""
        group: Group | None = None
        try:
            self._recover()
            group = Group(self._receipts(jobs, look_up))
            answers = self._drafted(group, jobs)
            if not look_up and any(failure and job.key for job, _, failure in answers):
                raise RepeatedError("A key may have been used before.")
            self._commit(group, len(jobs))
        except BaseException as error:
            if isinstance(error, RepeatedError) and not look_up:
                self._write(jobs, look_up=True)
                return
            self._doubtful |= {draft.project for draft in group.drafts.values()} if group else set()
            if len(jobs) > 1 and not isinstance(error, UnavailableError):
                for job in jobs:
                    self._write([job], look_up=True)
                return
            told = error if isinstance(error, QuorateError) else _unexpected(error)
            answers = [(job, None, told) for job in jobs]
        else:
            self._count(group)
        for job, answer, failure in answers:
            if not job.answer.set_running_or_notify_cancel():
                continue
            if failure is None:
                job.answer.set_result(answer)
            else:
                job.answer.set_exception(failure)

    def _drafted(self, group: Group, jobs: Sequence[Job]) -> list[Answered]:
        answers: list[Answered] = []
        for job in jobs:
            try:
                answers.append((job, job.run(group), None))
            except QuorateError as error:
                answers.append((job, None, error))
        return answers

    def _commit(self, group: Group, n_jobs: int) -> None:
        for draft in group.drafts.values():
            draft.write_to(group.changes)
        if group.changes:
            self.store.write(group.changes)
            self.groups += 1
            self.jobs += n_jobs

    def _count(self, group: Group) -> None:
        """What is written stays written, whatever happens here."""
        for draft in group.drafts.values():
            try:
                draft.project.take(draft)
            except Exception:
                log.exception("%s could not be counted, and is read again", draft.project.name)
                self._doubtful.add(draft.project)
        for action in group.then:
            try:
                action()
            except Exception:
                log.exception("What was written could not be taken over")
                self._doubtful |= {draft.project for draft in group.drafts.values()}

    def _recover(self) -> None:
        """Look again at projects of which it is not known what was written: at all of them after
        taking the lead. Here, since nothing may be written and counted at the same time."""
        if not self.store.leads and self.store.lead():
            log.warning("This server writes now.")
            self._doubtful |= set(self._projects())
        for project in list(self._doubtful):
            project.recover()
            self._doubtful.discard(project)

    def _receipts(self, jobs: Sequence[Job], look_up: bool) -> dict[int, dict[str, Receipt]]:
        """What was answered before under the keys of these jobs, lately or ever."""
        asked: dict[Project, list[str]] = {}
        for job in jobs:
            if job.key is not None and job.project is not None:
                asked.setdefault(job.project, []).append(job.key)
        return {project.id: project.receipts(keys, look_up) for project, keys in asked.items()}
