"""A simulated crowd that votes on a server, so that anyone sees adaptive assignment at work."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quorate.service.client import Client
from quorate.simulation import Crowd


class Played(NamedTuple):
    """What came of it: the votes that were given, the share of wrong labels by the truth, what the
    server expects, and why there were no more votes."""

    votes: int
    error: float
    expected_error: float | None
    reason: str | None

    def as_dict(self) -> dict[str, Any]:
        """The same as a dictionary."""
        return self._asdict()


@dataclass(frozen=True)
class Players:
    """The workers of a crowd: what one says of a task depends on nothing but the two of them and
    the seed, whoever is asked when."""

    crowd: Crowd
    seed: int = 0

    @property
    def tasks(self) -> list[str]:
        return [f"task-{i}" for i in range(len(self.crowd.truth))]

    @property
    def workers(self) -> list[str]:
        return [f"worker-{i}" for i in range(len(self.crowd.confusion))]

    @property
    def classes(self) -> list[str]:
        return [f"class-{i}" for i in range(self.crowd.confusion.shape[-1])]

    def says(self, task: str, worker: str) -> str:
        """What a worker says of a task."""
        i, j = int(task.partition("-")[2]), int(worker.partition("-")[2])
        chances = self.crowd.confusion[j, self.crowd.truth[i]]
        draw = random.Random(f"{self.seed} {i} {j}").random()
        return self.classes[min(int(np.searchsorted(chances.cumsum(), draw)), len(chances) - 1)]

    def error(self, labels: list[dict[str, Any]]) -> float:
        """The share of wrong labels; a task without one is wrong as often as a guess."""
        right = {row["task"]: row["label"] for row in labels}
        truth = [self.classes[label] for label in self.crowd.truth]
        guess = 1 - 1 / len(self.classes)
        wrong = [
            guess if task not in right else float(right[task] != answer)
            for task, answer in zip(self.tasks, truth, strict=True)
        ]
        return float(np.mean(wrong))

    def set_up(self, client: Client, project: str, **settings: Any) -> None:
        """Make a project of the crowd's tasks and workers."""
        client.create(project, classes=self.classes, title="A simulated crowd", **settings)
        client.add_tasks({"task": task, "payload": {"text": task}} for task in self.tasks)
        client.add_workers(self.workers)

    def play(
        self, client: Client, most: int, told: Callable[[int], None] = lambda votes: None
    ) -> Played:
        """Random workers ask for a task and vote, until nothing is left or there are so many
        votes."""
        votes = 0
        for task, worker in self.asked(client):
            client.vote(task, worker, self.says(task, worker))
            votes += 1
            told(votes)
            if votes >= most:
                break
        summary = client.summary()
        reason = getattr(client, "reason", None)
        return Played(votes, self.error(client.labels()), summary["expected_error"], reason)

    def asked(self, client: Client) -> Iterator[tuple[str, str]]:
        """Tasks that the server hands out, with the workers who get them."""
        chance, active = random.Random(self.seed), self.workers
        while active:
            worker = chance.choice(active)
            handed = client.next(worker)
            if handed:
                yield handed[0].task, worker
            else:
                active = [other for other in active if other != worker]
