"""Local states of blocks in files."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class StoredStates:
    """The local state of each block in a file. The state of the last sweep is read, and that of the
    next written elsewhere, so that an interrupted sweep can be repeated."""

    def __init__(self, place: Path, starts: Sequence[int], sweeps: int = 0) -> None:
        self._place, self._starts = place, starts
        self.sweeps = sweeps  # so far
        place.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> Any:
        with self._file(index, self.sweeps).open("rb") as file:
            return pickle.load(file)

    def __setitem__(self, index: int, state: Any) -> None:
        place = self._file(index, self.sweeps + 1)
        unfinished = place.with_suffix(".part")
        with unfinished.open("wb") as file:
            pickle.dump(state, file, protocol=5)
        unfinished.replace(place)

    def _file(self, index: int, sweeps: int) -> Path:
        return self._place / f"{self._starts[index]:015d}-{sweeps % 2}.state"
