"""What workers see of tasks: kept at hand for those that are likely to be handed out next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

MOST, LONGEST = 2_000, 20_000  # payloads at hand, and characters of one
AHEAD = 100  # tasks that are read with one that is not at hand
FAR_AHEAD = 1_000  # tasks that are read before anybody asks for them


class Payloads:
    """JSON of payloads by task, None where there is none; `read` asks the database."""

    def __init__(self, read: Callable[[Sequence[int]], dict[int, str | None]]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, str | None] = OrderedDict()
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
        found = self.at_hand(tasks)
        if found is not None:
            return found
        read = self._read_and_keep(tasks, likely, AHEAD)
        return [read[task] for task in tasks]

    def read_ahead(self, likely: Iterable[int]) -> None:
        """Have those at hand of tasks that are likely to come next."""
        self._read_and_keep((), likely, FAR_AHEAD)

    def _read_and_keep(
        self, tasks: Sequence[int], likely: Iterable[int], most: int
    ) -> dict[int, str | None]:
        with self._lock:
            before = self._forgotten
            ahead = [task for task in likely if task not in self._kept][:most]
        asked = [*{*tasks, *ahead}]
        if not asked:
            return {}
        read = self._read(asked)
        with self._lock:
            if before == self._forgotten:  # else some of what was read may be of yesterday
                short = {t: text for t, text in read.items() if len(text or "") <= LONGEST}
                self._kept.update(short)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return read

    def forget(self, tasks: Iterable[int] | None = None) -> None:
        """Some were changed; or all may have been."""
        with self._lock:
            self._forgotten += 1
            for task in list(self._kept) if tasks is None else tasks:
                self._kept.pop(task, None)
