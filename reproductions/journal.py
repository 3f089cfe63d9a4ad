"""What has been found so far, so that a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import quorate
from reproductions.experiment import Cell, Plan

NAME = "unfinished.jsonl"


class Journal:
    """A line for each finished cell, on disk before it counts. A last line that was cut short is
    left out; a result of other code, data, seed or arguments is not found."""

    def __init__(self, directory: Path, fresh: bool = False) -> None:
        self.path = directory / NAME
        directory.mkdir(parents=True, exist_ok=True)
        if fresh:
            self.path.unlink(missing_ok=True)
        self._found = dict(self._lines())

    def _lines(self) -> list[tuple[str, Any]]:
        if not self.path.exists():
            return []
        found = []
        for line in self.path.read_bytes().splitlines():
            try:
                entry = json.loads(line)
                found.append((entry["cell"], entry["result"]))
            except (ValueError, KeyError, TypeError):
                continue
        return found

    def __contains__(self, fingerprint: str) -> bool:
        return fingerprint in self._found

    def __getitem__(self, fingerprint: str) -> Any:
        return self._found[fingerprint]

    def add(self, fingerprint: str, result: Any) -> None:
        line = json.dumps({"cell": fingerprint, "result": result})
        # A newline first: what a killed run left of its last line stays a line of its own.
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}")
            file.flush()
            os.fsync(file.fileno())
        self._found[fingerprint] = json.loads(line)["result"]

    def close(self) -> None:
        """Everything was found and written elsewhere."""
        self.path.unlink(missing_ok=True)


def fingerprint(experiment: str, cell: Cell, plan: Plan, data: Mapping[str, str]) -> str:
    """A checksum of everything that a cell's result depends on."""
    parts = [
        *(experiment, cell.key, cell.function.__qualname__),
        *(json.dumps(dict(cell.arguments), sort_keys=True), str((plan.seed, plan.quick)), _code()),
        json.dumps(dict(data), sort_keys=True),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _code() -> str:
    """A checksum of the experiments and of Quorate itself."""
    digest = hashlib.sha256()
    for package in (Path(__file__).resolve().parent, Path(quorate.__file__).resolve().parent):
        for path in sorted(package.rglob("*.py")):
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
