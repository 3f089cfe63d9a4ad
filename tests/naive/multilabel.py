"""Several right answers as questions, in loops: section 6 of "Fast Dawid-Skene" (2018)."""

from __future__ import annotations

Choice = tuple[str, str, str]


def questions_about(choices: list[Choice], option: str) -> list[tuple[str, str, bool]]:
    """Task, worker, and whether the worker chose the option, of everyone who labelled the task."""
    votes = []
    for task in dict.fromkeys(task for task, _, _ in choices):
        workers = sorted({w for t, w, _ in choices if t == task}, key=order_of(choices))
        votes += [(task, worker, (task, worker, option) in choices) for worker in workers]
    return votes


def order_of(choices: list[Choice]):
    """Workers stand in the order in which they first appear."""
    workers = list(dict.fromkeys(worker for _, worker, _ in choices))
    return workers.index
