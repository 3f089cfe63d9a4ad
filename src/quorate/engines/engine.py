"""What an engine is: it sweeps blocks and adds, and knows nothing of models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from quorate.labels import Labels
from quorate.votes.blocks import Blocks
from quorate.votes.store import Storage

Sweep = Callable[[Labels, Any, Any], tuple[Any, Any]]


class Fold(Protocol):
    """Blocks with a local state each, which are swept."""

    @property
    def blocks(self) -> Any:
        """The blocks; those of memory may have been put into files."""

    @property
    def sweeps(self) -> int:
        """How many sweeps the states that are kept on disk have seen."""

    def resume_after(self, sweeps: int) -> None:
        """Take the states that were kept after so many sweeps."""

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        """Give each block its first state."""

    def sweep(self, sweep: Sweep, params: Any) -> Any:
        """Replace each block's state, and return the sum of what the sweeps give."""


class Engine(Protocol):
    """Who works on blocks. `storage` is where it wants votes of files to be put, None for memory;
    `shares_memory` says whether sweeps run in this process."""

    n_threads: int
    shares_memory: bool

    @property
    def storage(self) -> Storage | None: ...

    def over(self, blocks: Blocks, states: Path | None = None) -> Fold:
        """The blocks, to be swept; where they are in files, their states go to `states`."""

    def close(self) -> None:
        """Let go of what was started for it."""
