"""Runs of `quorate aggregate` on random votes, and what they have to give."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaos.attack import FailureError, require
from chaos.children import Command, Ran, quorate

METHODS = (
    "dawid-skene",
    "fast-dawid-skene",
    "hybrid",
    "one-coin",
    "majority",
    "glad",
    "kos",
    "mace",
    "ibcc",
    "ebcc",
    "hierarchical",
    "two-kinds",
    "one-coin-bayes",
    "iwmv",
    "m3v",
    "rank-one",
    "spectral",
    "eigen-ratio",
    "ghosh-svd",
    "auto",
)
ITERATIVE = ("dawid-skene", "one-coin", "glad", "mace", "ibcc", "hybrid")


def write_votes(
    path: Path, seed: int, n_tasks: int = 300, n_workers: int = 12, repeats: bool = False
) -> list[tuple[str, str, str]]:
    """Votes of workers of different accuracy, as CSV in random order; the rows."""
    chance = random.Random(seed)
    accuracy = [chance.uniform(0.45, 0.95) for _ in range(n_workers)]
    rows = []
    for task in range(n_tasks):
        truth = chance.random() < 0.4
        for worker in chance.sample(range(n_workers), chance.randint(2, 5)):
            for _ in range(1 + (repeats and chance.random() < 0.2)):
                right = chance.random() < accuracy[worker]
                rows.append((f"t{task}", f"w{worker}", "yes" if right == truth else "no"))
    if repeats:
        rows.append((rows[0][0], rows[0][1], "maybe"))
    chance.shuffle(rows)
    write_rows(path, ["task", "worker", "label"], rows)
    return rows


def write_gold(path: Path, seed: int, n: int = 40) -> None:
    chance = random.Random(seed)
    rows = [(f"t{task}", chance.choice(["yes", "no"])) for task in range(n)]
    write_rows(path, ["task", "label"], rows)


def write_rows(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    path.write_text("".join(",".join(row) + "\n" for row in [header, *rows]))


class Run:
    """`quorate aggregate` with some options; labels and workers go to files of a name."""

    def __init__(self, place: Path, votes: Path | str, *options: object) -> None:
        self.place, self.arguments = place, ("aggregate", votes, *options)

    def outputs(self, name: str) -> tuple[Path, Path]:
        return self.place / f"{name}.csv", self.place / f"{name}-workers.csv"

    def _all(self, name: str, options: Sequence[object]) -> list[object]:
        labels, workers = self.outputs(name)
        return [*self.arguments, "-o", labels, "--workers", workers, *options]

    def start(self, name: str, *options: object, **how: Any) -> Command:
        return Command(self._all(name, options), self.place, **how)

    def end(self, name: str, *options: object, **how: Any) -> Ran:
        return quorate(*self._all(name, options), place=self.place, **how)

    def written(self, name: str) -> tuple[bytes | None, bytes | None]:
        labels, workers = (
            path.read_bytes() if path.exists() else None for path in self.outputs(name)
        )
        return labels, workers

    def expected(self, name: str = "expected") -> tuple[bytes | None, bytes | None]:
        """What it gives in memory."""
        ran = self.end(name)
        if ran.status:
            raise FailureError(f"in memory: {ran}")
        return self.written(name)

    def require(self, name: str, expected: tuple[bytes | None, bytes | None], what: str) -> None:
        """The files are the same to the byte."""
        labels, workers = self.written(name)
        differ = _rows_apart(labels, expected[0])
        require(not differ, f"{what}: {differ} of the labels' rows differ")
        differ = _rows_apart(workers, expected[1])
        require(not differ, f"{what}: {differ} of the workers' rows differ")

    def require_nothing(self, name: str, what: str) -> None:
        left = [path.name for path in self.outputs(name) if path.exists()]
        require(not left, f"{what}: {left} is there")


def _rows_apart(one: bytes | None, other: bytes | None) -> str:
    if one == other:
        return ""
    if one is None or other is None:
        return "all"
    pair = one.splitlines(), other.splitlines()
    apart = sum(a != b for a, b in zip(*pair, strict=False)) + abs(len(pair[0]) - len(pair[1]))
    return f"{apart} of {len(pair[1])}"
