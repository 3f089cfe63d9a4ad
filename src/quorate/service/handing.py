"""Which task a worker gets next, or why there is none."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from quorate.service.failures import ForbiddenError, MissingError
from quorate.service.project import Project, Worker
from quorate.votes import shown


class Handout(NamedTuple):
    """A task to label, with its payload; `seconds` is how long it waits for the vote."""

    task: str
    payload: Any
    seconds: float


class Handed(NamedTuple):
    """Tasks for a worker; without any, the reason."""

    tasks: list[Handout]
    reason: str | None


def hand_out(project: Project, worker: str, n: int = 1) -> Handed:
    """The n tasks where a vote of this worker is worth most. A task that the worker has got and not
    answered is given again."""
    with project.lock:
        ids, reason = _chosen(project, worker, n)
        seconds = [project.give_lease(id, _id_of(project, worker)) for id in ids]
    if not ids:
        return Handed([], reason)
    about = project.payloads(ids)
    tasks = []
    for id, left in zip(ids, seconds, strict=True):
        payload = about[id]["payload"]
        tasks.append(Handout(about[id]["name"], payload and json.loads(payload), left))
    return Handed(tasks, None)


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
