"""Problems for `estimate.py`: tasks whose answers are all known, of public and simulated crowds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

import quorate
from quorate import Labels
from quorate.estimation.positions import is_swapped, one_judge
from quorate.kernels import Floats
from quorate.votes import find, read_votes

DATA = Path(os.environ.get("QUORATE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
SCORED = (
    *("rte", "bird", "temp", "trec", "web", "dog", "adult2"),
    *("bm", "sp", "labelme", "d_possent", "weather", "wsd", "s_rel"),
)
N_JUDGES = 7


class Problem(NamedTuple):
    """Tasks whose answers (0 or 1) are all known, what the consensus expects, and the votes."""

    name: str
    truth: Floats
    consensus: Floats
    votes: csr_array

    @property
    def share(self) -> float:
        return float(self.truth.mean())


def problem_of(name: str, truth: NDArray[np.int64], said: NDArray[np.int64]) -> Problem:
    """The problem of votes ``said[task, judge]``, every judge on every task."""
    n_tasks, n_judges = said.shape
    task, judge = np.divmod(np.arange(n_tasks * n_judges), n_judges)
    labels = Labels.from_codes(task, judge, said.ravel(), n_classes=2)
    consensus = quorate.aggregate(labels).posterior[:, 1]
    return Problem(name, truth.astype(np.float64), consensus, csr_array(2.0 * said - 1))


def panel_of(kind: str, n_tasks: int, share: float, random: np.random.Generator) -> Problem:
    """Seven judges who are right on 72 to 92 % of the tasks; biased ones lean to the class, four of
    the correlated ones repeat the same judge in half of their votes, and misled ones all take a
    tenth of the other tasks for the class."""
    truth = np.zeros(n_tasks, dtype=np.int64)
    truth[random.permutation(n_tasks)[: max(round(share * n_tasks), 1)]] = 1
    accuracy = random.uniform(0.72, 0.92, N_JUDGES)
    of_class, of_others = accuracy, accuracy
    if kind == "biased":
        of_class, of_others = np.minimum(accuracy + 0.1, 0.97), accuracy - 0.15
    of = np.where(truth[:, None] == 1, of_class, of_others)
    right = random.random((n_tasks, N_JUDGES)) < of
    if kind == "correlated":
        repeats = random.random((n_tasks, N_JUDGES)) < np.array([0.55] * 4 + [0.0] * 3)
        right = np.where(repeats, (random.random(n_tasks) < 0.78)[:, None], right)
    if kind == "misled":
        trap = (truth == 0) & (random.random(n_tasks) < 0.1)
        right = np.where(trap[:, None], random.random((n_tasks, N_JUDGES)) < 0.05, right)
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    return problem_of(f"{kind} {share:.0%}", truth, said)


def similar_judges(n_judges: int, random: np.random.Generator) -> Problem:
    """Judges who are all about as good, on 1,000 tasks."""
    truth = (random.random(1000) < random.uniform(0.3, 0.7)).astype(np.int64)
    right = random.random((1000, n_judges)) < random.uniform(0.74, 0.82, n_judges)
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    return problem_of(f"{n_judges} similar judges", truth, said)


def crowds(second: bool) -> Iterator[Path]:
    """Directories of the public crowds of A, and of B too."""
    directories = [DATA / name for name in SCORED]
    if second and (DATA.parent / "data-second").is_dir():
        directories += sorted((DATA.parent / "data-second").iterdir())
    return (each for each in directories if (each / "labels.csv").exists())


@cache
def crowd(directory: Path) -> list[Problem]:
    """A public crowd as questions of yes and no: its commonest class and its rarest."""
    votes = pl.read_csv(directory / "labels.csv", infer_schema=False)
    gold = pl.read_csv(directory / "gold.csv", infer_schema=False)
    read = read_votes(votes)
    weighted = is_swapped(read.codebook.workers)
    if weighted:
        read, _ = one_judge(read)
    result = quorate.aggregate(read, discount=False if weighted else None)
    task = find(gold["task"], read.codebook.tasks)
    label = find(gold["label"], read.codebook.classes).fill_null(len(read.codebook.classes))
    truth = np.full(len(read.codebook.tasks), -1)
    truth[task.drop_nulls().to_numpy()] = label.filter(task.is_not_null()).to_numpy()
    known = np.flatnonzero(truth >= 0)
    labels = read.labels
    place, shape = (labels.task_of_label(), labels.worker), (labels.n_tasks, labels.n_workers)
    found = []
    for c in _asked_classes(truth[known], len(read.codebook.classes)):
        said = labels.weighted(np.where(labels.label == c, 1.0, -1.0))
        total = csr_array((said, place), shape=shape)
        one = (truth[known] == c).astype(np.float64)
        found.append(Problem(directory.name, one, result.posterior[known, c], total[known]))
    return found


def _asked_classes(truth: NDArray[np.intp], n_classes: int) -> list[int]:
    """The last of two classes; of more the commonest and the rarest that two tasks are of."""
    counts = np.bincount(truth, minlength=n_classes + 1)[:n_classes]
    some = np.flatnonzero(counts >= 2)
    if n_classes == 2 or not len(some):
        return [1] if n_classes == 2 else []
    ends = (some[counts[some].argmax()], some[counts[some].argmin()])
    return list(dict.fromkeys(int(c) for c in ends))
