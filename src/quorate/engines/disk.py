"""Blocks on disk swept by threads: for votes larger than memory."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

from quorate.engines.engine import Fold
from quorate.engines.threads import StreamFold, Threads
from quorate.votes.blocks import Blocks
from quorate.votes.store import (
    Progress,
    Storage,
    StoredBlocks,
    available_memory,
    filling_threads,
    in_bytes,
    spill,
)
from quorate.votes.store.owned import temporary_directory


class Disk(Threads):
    """Threads over blocks in files, within a `memory` limit (such as ``"2GB"``; half of the
    available memory by default). Votes of files are spilled to the directory `store`, where they
    stay for the next run, or to a temporary one; blocks in memory are spilled to a temporary
    one."""

    def __init__(
        self,
        n_threads: int | None = None,
        memory: str | float | None = None,
        store: str | Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(n_threads)
        self.memory = available_memory() / 2 if memory is None else in_bytes(memory)
        self._store, self._progress = store, progress

    @property
    def facts(self) -> dict[str, Any]:
        kept = "a temporary directory" if self._store is None else str(self._store)
        memory = f"{self.memory / 1e9:.1f} GB"
        return {"threads": self.n_threads, "memory limit": memory, "store": kept}

    @property
    def storage(self) -> Storage:
        threads = Threads(filling_threads(self.memory, self.n_threads))
        return Storage(
            self.memory,
            self._store,
            threads.map,
            n_threads=threads.n_threads,
            halted=threads.halted.is_set,
            progress=self._progress,
        )

    def over(self, blocks: Blocks, states: Path | None = None) -> Fold:
        if isinstance(blocks, StoredBlocks):
            return StreamFold(self, blocks, states)
        root = temporary(self)
        return StreamFold(self, spill(blocks, root), root / "states")


def temporary(owner: object) -> Path:
    """Temporary directory that is removed with its owner."""
    place = temporary_directory()
    weakref.finalize(owner, place.remove)
    return place.path
