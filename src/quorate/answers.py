"""Posterior and answer of every task: arrays in memory or in files, behind the same interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.votes.blocks import Blocks

NEAR_TIE = 0.1  # the lead of the best class over the second
STRATA, WIDTH = 320, 0.05  # strata of confidence, each so wide in -log(1 - confidence)


class Overview(NamedTuple):
    """Summary of the answers of some tasks; summaries of different tasks add.

    It has the number of tasks, of answers in each class, the sum of the confidences, the number of
    near ties, of answers left undecided because their confidence is too low, and of tasks whose
    answer is known. Of the others, ``strata`` has for each stratum of confidence the sum of the
    error probabilities, the number of answers in each class, and what is left of these answers'
    posterior, in shares of the other classes."""

    tasks: int
    answered: Floats
    confidence: float
    near_ties: int
    undecided: int
    known: int
    strata: Floats

    @classmethod
    def of(
        cls,
        posterior: Floats,
        answers: Codes,
        min_confidence: float = 0.0,
        gold: Codes | None = None,
    ) -> Overview:
        tasks, n_classes = posterior.shape
        confidence, others = _split(posterior, answers)
        near_ties = int((confidence - kernels.row_max(others) < NEAR_TIE).sum())
        answered = np.bincount(answers, minlength=n_classes).astype(np.float64)
        undecided = int((confidence < min_confidence).sum())
        if gold is None:
            known, strata = 0, _strata(confidence, others, answers)
        else:
            unknown = gold < 0
            known = tasks - int(unknown.sum())
            strata = _strata(confidence[unknown], others[unknown], answers[unknown])
        total = float(confidence.sum())
        return cls(tasks, answered, total, near_ties, undecided, known, strata)


def _split(posterior: Floats, answers: Codes) -> tuple[Floats, Floats]:
    """The probability of each task's answer, and the posterior with a zero in its place."""
    others = posterior.copy()
    flat = others.reshape(-1)
    place = np.arange(0, flat.size, posterior.shape[1]) + answers
    confidence: Floats = flat[place]
    flat[place] = 0.0
    return confidence, others


def stratum(confidence: Floats) -> NDArray[np.intp]:
    """The stratum of each confidence; the last are the most confident."""
    error = np.maximum(1 - confidence, np.exp(-STRATA * WIDTH))
    return np.minimum(-np.log(error) / WIDTH, STRATA - 1).astype(np.intp)


def least_confidence(stratum: int) -> float:
    """The confidence at which a stratum begins."""
    return float(-np.expm1(-stratum * WIDTH))


def _strata(confidence: Floats, others: Floats, answers: Codes) -> Floats:
    """The strata of an overview; `others` is changed."""
    tasks, n_classes = others.shape
    error = np.maximum(1 - confidence, 0.0)
    place = stratum(1 - error).astype(np.int32)
    total = kernels.row_sums(others)
    others /= np.where(total > 0, total, 1.0)[:, None]
    others[total <= 0] = 1 / n_classes
    left = np.zeros((STRATA, n_classes))
    kernels.accumulate(left, place, others, np.arange(tasks, dtype=np.int32))
    chosen = np.bincount(place * np.int32(n_classes) + answers, minlength=left.size)
    return np.column_stack(
        [
            np.bincount(place, error, minlength=STRATA),
            chosen.reshape(left.shape).astype(np.float64),
            left,
        ]
    )


class Part(NamedTuple):
    """Answers of some tasks: ``posterior[task, class]``, the code of the chosen class, and the
    model's other values for each task, by name."""

    posterior: Floats
    codes: Codes
    per_task: Mapping[str, Floats]

    @property
    def confidence(self) -> Floats:
        """The probability of each task's answer."""
        chosen: Floats = self.posterior[np.arange(len(self.codes)), self.codes]
        return chosen


class Answers(ABC):
    """The posterior and the answer of every task, in parts that are those of the votes' names."""

    @property
    @abstractmethod
    def in_files(self) -> bool:
        """Whether parts are in files, and read when they are asked for."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of parts."""

    @abstractmethod
    def part(self, index: int) -> Part: ...

    @property
    @abstractmethod
    def whole(self) -> Part:
        """All tasks, in memory."""

    def parts(self) -> Iterator[Part]:
        return map(self.part, range(len(self)))


@dataclass(frozen=True, eq=False)
class AnswersInMemory(Answers):
    """Arrays of all tasks."""

    posterior: Floats
    codes: Codes
    per_task: Mapping[str, Floats] = field(default_factory=dict)
    in_files = False

    def __len__(self) -> int:
        return 1

    def part(self, index: int) -> Part:
        return self.whole

    @property
    def whole(self) -> Part:
        return Part(self.posterior, self.codes, self.per_task)


@dataclass(frozen=True, eq=False)
class AnswersInFiles(Answers):
    """A file of arrays for each block, in a directory."""

    place: Path
    starts: Sequence[int]
    in_files = True

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, index: int) -> Part:
        with np.load(_file(self.place, self.starts[index])) as arrays:
            parts = dict(arrays)
        return Part(parts.pop("posterior"), parts.pop("codes"), parts)

    @cached_property
    def whole(self) -> Part:
        posterior, codes, more = zip(*self.parts(), strict=True)
        per_task = {name: np.concatenate([part[name] for part in more]) for name in more[0]}
        return Part(np.concatenate(posterior), np.concatenate(codes), per_task)

    def in_memory(self) -> AnswersInMemory:
        return AnswersInMemory(*self.whole)


class KeepInMemory:
    """Collects the answers of blocks that are swept in this process."""

    def __init__(self, blocks: Blocks) -> None:
        self._posterior = np.empty((blocks.n_tasks, blocks.shape.n_classes))
        self._codes = np.empty(blocks.n_tasks, dtype=np.int32)
        self._per_task: dict[str, Floats] = {}

    def __call__(self, block: Labels, part: Part) -> None:
        tasks = slice(block.first_task, block.first_task + block.n_tasks)
        self._posterior[tasks], self._codes[tasks] = part.posterior, part.codes
        for name, values in part.per_task.items():
            self._per_task.setdefault(name, np.empty(len(self._codes)))[tasks] = values

    def answers(self) -> AnswersInMemory:
        return AnswersInMemory(self._posterior, self._codes, self._per_task)


@dataclass(frozen=True)
class KeepInFiles:
    """Writes the answers of each block to a file, from whichever process sweeps it."""

    place: Path

    def __call__(self, block: Labels, part: Part) -> None:
        path = _file(self.place, block.first_task)
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            arrays: Any = {**part.per_task, "posterior": part.posterior, "codes": part.codes}
            np.savez(file, **arrays)
        unfinished.replace(path)


def _file(place: Path, start: int) -> Path:
    return place / f"{start:015d}.npz"
