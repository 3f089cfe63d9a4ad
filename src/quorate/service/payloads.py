"""What workers see of tasks: kept at hand for those that are likely to be handed out next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Protocol

MOST, LONGEST = 2_000, 20_000  # payloads at hand, and characters of one
AHEAD = 100  # tasks that are read with one that is not at hand
FAR_AHEAD = 1_000  # tasks that are read before anybody asks for them


class Reading(Protocol):
    """Ask the database for the payloads of some tasks, in JSON, but for those that are longer."""

    def __call__(self, tasks: Sequence[int], longest: int = ...) -> dict[int, str | None]: ...


class Payloads:
    """JSON of payloads by task, None where there is none."""

    def __init__(self, read: Reading) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, str | None] = OrderedDict()
        self._long: set[int] = set()  # tasks whose payloads are too long to be kept
        self._forgotten = 0  # how often something was

    def at_hand(self, tasks: Sequence[int]) -> list[str | None] | None:
        """Those of some tasks; None if the database has to be asked."""
        with self._lock:
            try:
                return [self._kept[task] for task in tasks]
            except KeyError:
                return None

    def of(self, tasks: Sequence[int], likely: Iterable[int]) -> list[str | None]:
        """Those of some tasks, and a few ahead of the tasks that are likely to come next."""
        self.read_ahead([*tasks, *likely])
        found = self.at_hand(tasks)
        if found is None:
            read = self._read(tasks)
            found = [read[task] for task in tasks]
        return found

    def read_ahead(self, likely: Iterable[int]) -> None:
        """Have those at hand of tasks that are likely to come next."""
        with self._lock:
            before = self._forgotten
            ahead = [task for task in likely if task not in self._kept and task not in self._long]
        if not ahead:
            return
        read = self._read(ahead, LONGEST)
        with self._lock:
            if before == self._forgotten:  # else some of what was read may be of yesterday
                self._kept.update(read)
                self._long.update(task for task in ahead if task not in read)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)

    def forget(self, tasks: Iterable[int] | None = None) -> None:
        """Some were changed; or all may have been."""
        with self._lock:
            self._forgotten += 1
            for task in [*self._kept, *self._long] if tasks is None else tasks:
                self._kept.pop(task, None)
                self._long.discard(task)
