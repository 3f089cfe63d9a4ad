"""Blocks on disk, swept by threads: for votes larger than memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quorate.engines.threads import Blocks, Sweep, Threads
from quorate.labels import Labels
from quorate.store import StoredBlocks, StoredStates


class Stream(Blocks):
    """Each block is read when a thread comes to it, those that follow are fetched meanwhile, and
    its state is put beside it: only a few blocks are in memory at a time."""

    blocks: StoredBlocks
    local: StoredStates

    def __init__(self, threads: Threads, blocks: StoredBlocks, states: StoredStates) -> None:
        super().__init__(threads, blocks, states)

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        super().begin(begin)
        self.local.sweeps += 1

    def sweep(self, sweep: Sweep, params: Any) -> Any:
        ahead = 2 * self.threads.n_threads

        def sweep_and_fetch(block: Labels, params: Any, state: Any) -> tuple[Any, Any]:
            self.blocks.fetch_after(block, ahead)
            return sweep(block, params, state)

        stats = super().sweep(sweep_and_fetch, params)
        self.local.sweeps += 1
        return stats
