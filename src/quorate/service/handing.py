"""Which task a worker gets next, or why there is none."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from quorate.service.failures import ForbiddenError, MissingError
from quorate.service.payloads import AHEAD
from quorate.service.project import Project, Worker
from quorate.votes import shown


class Handout(NamedTuple):
    """A task to label, with its payload in JSON; `seconds` is how long it waits for the vote."""

    task: str
    payload: str | None
    seconds: float


class Handed(NamedTuple):
    """Tasks for a worker; without any, the reason."""

    tasks: list[Handout]
    reason: str | None


async def hand_out(project: Project, worker: str, n: int = 1) -> Handed:
    """The n tasks where a vote of this worker is worth most. A task that the worker has got and not
    answered is given again. It is done straight away, unless somebody has to be waited for."""
    if project.lock.acquire(blocking=False):
        try:
            leased, reason = _lease(project, worker, n)
        finally:
            project.lock.release()
    else:
        leased, reason = await asyncio.to_thread(_lease, project, worker, n)
    ids = [id for id, _, _ in leased]
    payloads = project.payloads.at_hand(ids)
    if payloads is None:
        payloads = await asyncio.to_thread(_read_payloads, project, ids)
    tasks = [
        Handout(name, payload, seconds)
        for (_, name, seconds), payload in zip(leased, payloads, strict=True)
    ]
    return Handed(tasks, reason)


def _lease(
    project: Project, worker: str, n: int
) -> tuple[list[tuple[int, str, float]], str | None]:
    """Tasks (number, name, seconds) that are the worker's now; without any, the reason."""
    with project.lock:
        ids, reason = _chosen(project, worker, n)
        kept = project.names("task").kept
        to = _id_of(project, worker)
        return [(id, kept[id], project.give_lease(id, to)) for id in ids], None if ids else reason


def _read_payloads(project: Project, ids: list[int]) -> list[str | None]:
    with project.lock:
        likely = project.ranking.likely(AHEAD)
    return project.payloads.of(ids, likely)


def _id_of(project: Project, worker: str) -> int:
    id = project.id_of("worker", worker)
    assert id is not None
    return id


def _chosen(project: Project, worker: str, n: int) -> tuple[list[int], str | None]:
    id, ledger = project.id_of("worker", worker), project.ledger
    if id is None:
        raise MissingError(f"There is no worker {shown(worker)}: add them first.")
    about = project.workers.get(id, Worker())
    if about.paused:
        raise ForbiddenError(f"Worker {shown(worker)} is paused.")
    answered = project.answered(id)
    held = [task for task in project.leases.of(id) if task not in answered][:n]
    if len(held) == n:
        return held, None
    if about.capacity is not None and len(answered) + len(held) >= about.capacity:
        return held, f"Worker {worker} has taken on as many tasks as agreed."
    if (reason := stopped(project)) is not None:
        return held, reason
    more = _checks(project, answered | set(held))
    code = ledger.names["worker"].get(worker)
    left = n - len(held) - len(more)
    if left > 0:
        taken = list(answered | set(held) | set(more))
        more += project.ranking.best_for(ledger, code, taken, left)
    if not held and not more:
        standing = project.ranking.standing(ledger)
        return [], _nothing_left(project, standing.open)
    return held + more, None


def stopped(project: Project) -> str | None:
    """The limit that is reached, as `assign` would stop at it."""
    rule = project.settings
    if project.archived:
        return "The project is archived."
    if rule.budget is not None:
        coming = sum(project.cost_of(worker) for _, worker, _ in project.leases)
        if project.spent + coming + rule.cost > rule.budget:
            return "The budget is spent."
    if rule.target_error is not None:
        standing = project.ranking.standing(project.ledger)
        if standing.tasks and standing.error <= rule.target_error and project.ledger.n_votes:
            return f"The expected error is down to {rule.target_error}."
    return None


def _nothing_left(project: Project, open: int) -> str:
    if open:
        return "Nothing is left for this worker: the open tasks wait for others."
    target = project.settings.target_confidence
    if not len(project.ranking):
        return "There are no tasks yet."
    if target is None:
        return "Every task has the votes it needs."
    return f"Every task has a confidence of {target}, or all the votes it may get."


def _checks(project: Project, taken: set[int]) -> list[int]:
    """Now and then a task whose answer is known, so that workers are judged by it."""
    gold = project.ledger.gold
    if not gold or project.random.random() >= project.settings.gold_rate:
        return []
    ids, _ = project.names("task").ids_for(gold)
    closed = project.ranking.closed.values
    fresh = [id for id in ids if id not in taken and id < len(closed) and not closed[id]]
    return [project.random.choice(fresh)] if fresh else []
