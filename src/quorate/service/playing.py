"""A simulated crowd at work on a server: workers with known truth, who ask for tasks and vote.

What each worker says of each task is drawn beforehand. So it does not depend on who is asked first,
and two ways of asking can be compared on the same answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate.errors import UsageError
from quorate.service.client import Client

if TYPE_CHECKING:
    from quorate.kernels import Codes
    from quorate.simulation.crowd import Crowd
    from quorate.votes.store import Progress

PROJECT = "simulated"
CONNECTIONS = 8
MOST_ANSWERS = 20_000_000  # of all workers to all tasks, which are drawn beforehand


@dataclass(frozen=True)
class Play:
    """What a simulated crowd did on a server, and how good the answers became.

    `wrong` is the share of tasks whose answer is wrong or missing, `expected_error` what the server
    says of it, and `reason` why it asked for no more votes.
    """

    project: str
    tasks: int
    workers: int
    votes: int
    wrong: float
    expected_error: float | None
    reason: str | None
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return asdict(self)


def draw(**how: Any) -> Crowd:
    """A crowd of `quorate.simulate` in which every worker has an answer to every task."""
    from quorate.simulation import simulate
    from quorate.simulation.drawing import TASKS, WORKERS

    for name in ("several", "labels_per_task", "assignment"):
        if how.get(name) is not None:
            option = "votes-per-task" if name == "labels_per_task" else name
            raise UsageError(f"--{option} is not for --against: the server says who labels what.")
    n_workers, n_tasks = how.get("workers", WORKERS), how.get("n_tasks", TASKS)
    if n_workers * n_tasks > MOST_ANSWERS:
        raise UsageError(
            f"{n_tasks:,} tasks and {n_workers:,} workers are more than {MOST_ANSWERS:,} answers to"
            " draw beforehand: take fewer."
        )
    return simulate(**how, assignment="clique")


def answers_of(crowd: Crowd) -> Codes:
    """The class that each worker says of each task, ``[task, worker]``."""
    shape = (crowd.labels.n_tasks, crowd.labels.n_workers)
    worker, label = crowd.labels.worker.reshape(shape), crowd.labels.label.reshape(shape)
    answers = np.empty(shape, dtype=np.int32)
    np.put_along_axis(answers, worker, label, axis=1)
    return answers


def set_up(client: Client, project: str, crowd: Crowd, **settings: Any) -> None:
    """Make the project, with the crowd's classes, tasks and workers."""
    book = crowd.codebook
    client.create(project, classes=book.classes.to_list(), **settings)
    client.add_tasks(
        {"task": task, "payload": {"text": f"Simulated task {task}"}} for task in book.tasks
    )
    client.add_workers(book.workers.to_list())


def play(
    crowd: Crowd,
    connect: Callable[[], Client],
    *,
    connections: int = CONNECTIONS,
    pace: float | None = None,
    progress: Progress | None = None,
) -> Play:
    """Let the workers ask for tasks and vote until nobody is asked for more.

    `connect` makes a client of the project. The workers share so many `connections`; with a `pace`
    they give so many votes a second, so that one can watch.
    """
    began = time.monotonic()
    table = _Table(crowd, None if pace is None else connections / pace, progress)
    workers = crowd.codebook.workers.to_list()
    shares = [workers[i::connections] for i in range(min(connections, len(workers)))]
    with ThreadPoolExecutor(len(shares)) as threads:
        reasons = list(threads.map(lambda share: table.serve(connect, share), shares))
    with connect() as client:
        client.settle()
        return Play(
            str(client.project),
            crowd.labels.n_tasks,
            len(workers),
            table.votes,
            wrong_share(client, crowd),
            client.summary()["expected_error"],
            next((reason for reason in reasons if reason), None),
            time.monotonic() - began,
        )


def wrong_share(client: Client, crowd: Crowd) -> float:
    """Share of the tasks whose answer on the server is wrong or missing."""
    said = {row["task"]: row["label"] for row in client.labels()}
    gold = zip(crowd.codebook.tasks, crowd.codebook.classes.gather(crowd.truth), strict=True)
    return float(np.mean([said.get(task) != label for task, label in gold]))


class _Table:
    """Where the workers sit: what each would say, and how many votes there are."""

    def __init__(self, crowd: Crowd, wait: float | None, progress: Progress | None) -> None:
        book = crowd.codebook
        self._answers, self._classes = answers_of(crowd), book.classes.to_list()
        self._task = {task: code for code, task in enumerate(book.tasks)}
        self._worker = {worker: code for code, worker in enumerate(book.workers)}
        self._wait, self._progress = wait, progress
        self._lock = threading.Lock()
        self.votes = 0

    def serve(self, connect: Callable[[], Client], workers: Sequence[str]) -> str | None:
        """Some workers, in turn, until a round in which none of them is asked; why."""
        with connect() as client:
            asked = True
            while asked:
                asked = False
                for worker in workers:
                    asked |= self._one(client, worker)
            return client.reason

    def _one(self, client: Client, worker: str) -> bool:
        handed = client.next(worker)
        for task in handed:
            code = self._answers[self._task[task.task], self._worker[worker]]
            client.vote(task.task, worker, self._classes[code])
            self._count()
        return bool(handed)

    def _count(self) -> None:
        with self._lock:
            self.votes += 1
            if self._progress is not None:
                self._progress("votes", self.votes, None, f"{self.votes:,}")
        if self._wait is not None:
            time.sleep(self._wait)
