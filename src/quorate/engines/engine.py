"""The interface of engines: they sweep blocks and add, and know nothing of models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from quorate.labels import Labels
from quorate.votes.blocks import Blocks
from quorate.votes.store import Storage

Sweep = Callable[[Labels, Any, Any], tuple[Any, Any]]


def stateless(engine: Engine, blocks: Blocks) -> Fold:
    """A fold over blocks for sweeps that need no local state."""
    fold = engine.over(blocks)
    fold.begin(no_state)
    return fold


def no_state(block: Labels) -> None:
    """No local state, of blocks whose sweeps need none."""
    return


class Fold(Protocol):
    """Blocks to sweep, each with a local state."""

    @property
    def blocks(self) -> Any:
        """The blocks; those of memory may have been put into files."""

    @property
    def sweeps(self) -> int:
        """Number of sweeps after which the states on disk were kept."""

    def resume_after(self, sweeps: int) -> None:
        """Take the states that were kept after this number of sweeps."""

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        """Give each block its first state."""

    def sweep(self, sweep: Sweep, params: Any, *, keep: bool = True) -> Any:
        """Replace each block's state, unless `keep` is false, and return the sum of the
        statistics."""


class Engine(Protocol):
    """Sweeps blocks. `storage` is where votes of files are spilled to, None for memory;
    `shares_memory` says whether sweeps run in this process."""

    n_threads: int
    shares_memory: bool

    @property
    def storage(self) -> Storage | None: ...

    def over(self, blocks: Blocks, states: Path | None = None) -> Fold:
        """A fold over the blocks; where they are in files, their states go to `states`."""

    def close(self) -> None:
        """Release threads, processes and directories that the engine started."""
