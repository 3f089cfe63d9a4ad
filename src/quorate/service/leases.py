"""Tasks that were handed out and wait for their vote: each until its time is up.

Time is what has passed, not what clocks say, so that a clock that jumps gives no task away twice
and keeps none for ever. In the database a lease ends at a time of day; a server that starts takes
it for the rest of that, and at most for a whole lease.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator


class Leases:
    """By worker and task."""

    def __init__(self) -> None:
        self._until: dict[int, dict[int, float]] = {}
        self._ends: list[tuple[float, int, int]] = []
        self._holders: dict[int, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._until.values()))

    def __iter__(self) -> Iterator[tuple[int, int, float]]:
        for worker, held in self._until.items():
            for task, until in held.items():
                yield task, worker, until

    def holders(self, task: int) -> int:
        """How many workers have it."""
        return self._holders.get(task, 0)

    def of(self, worker: int) -> list[int]:
        """The tasks a worker has, the first one first."""
        return list(self._until.get(worker, ()))

    def give(self, task: int, worker: int, until: float) -> None:
        """Hand a task out, or prolong it."""
        held = self._until.setdefault(worker, {})
        if task not in held:
            self._holders[task] = self._holders.get(task, 0) + 1
        held[task] = until
        heapq.heappush(self._ends, (until, task, worker))

    def take(self, task: int, worker: int) -> bool:
        """Take a task back; whether the worker had it."""
        held = self._until.get(worker)
        if held is None or held.pop(task, None) is None:
            return False
        if not held:
            del self._until[worker]
        self._holders[task] -= 1
        if not self._holders[task]:
            del self._holders[task]
        return True

    def expired(self, now: float) -> list[tuple[int, int]]:
        """Take back what has waited too long: (task, worker)."""
        gone = []
        while self._ends and self._ends[0][0] <= now:
            until, task, worker = heapq.heappop(self._ends)
            if self._until.get(worker, {}).get(task) == until:
                self.take(task, worker)
                gone.append((task, worker))
        return gone
