"""Local states of blocks in files."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class StoredStates:
    """The local state of each block in a file: the last sweep's is read, and the next one's put
    elsewhere, so that a sweep that was cut short can be done again."""

    def __init__(self, place: Path, starts: Sequence[int], sweeps: int = 0) -> None:
        self._place, self._starts = place, starts
        self.sweeps = sweeps  # how many there have been
        place.mkdir(parents=True, exist_ok=True)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> Any:
        with self._file(index, self.sweeps).open("rb") as file:
            return pickle.load(file)

    def __setitem__(self, index: int, state: Any) -> None:
        place = self._file(index, self.sweeps + 1)
        beside = place.with_suffix(".part")
        with beside.open("wb") as file:
            pickle.dump(state, file, protocol=5)
        beside.replace(place)

    def _file(self, index: int, sweeps: int) -> Path:
        return self._place / f"{self._starts[index]:015d}-{sweeps % 2}.state"
