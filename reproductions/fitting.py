"""Everything that experiments ask of Quorate's fits: the one place that knows how they are called.

Fits run on one thread: experiments run side by side, one process for each core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quorate import datasets, metrics
from quorate.aggregation import fit
from quorate.engines.threads import Threads
from quorate.heldout import weigh_features
from quorate.kernels import Codes, Floats
from quorate.labels import Codebook, Labels
from quorate.models import METHODS, DawidSkene, EigenRatio, NaiveBayes, Ordered, make
from quorate.online.state import State
from quorate.result import Result
from quorate.votes import find, read_features, read_votes
from quorate.votes.several import questions

# Naive Bayes is Dawid-Skene where there are no features.
WITHOUT_FEATURES = tuple(name for name in METHODS if name != "naive-bayes")
TABLES = ("labels", "gold")  # the files of a data set without an entry in the catalogue
DEFAULT_SMOOTHING, DEFAULT_SEED = NaiveBayes.smoothing, NaiveBayes.seed


def fitted(method: str, labels: Labels, **options: Any) -> Result:
    """The result of a method on labels; the spectral start takes workers in turn, as its published
    program does."""
    if method == "spectral":
        options = {"groups": "modulo", **options}
    return fit(make(method, **options), labels, engine=Threads(1))


def fitted_eigen_ratio_in_order(labels: Labels) -> Result:
    """The result of EigenRatio on the thresholds between ordered classes."""
    return fit(Ordered(EigenRatio()), labels, engine=Threads(1))


def takes(method: str, labels: Labels) -> bool:
    """Whether a method can be fitted to labels of that many classes."""
    return labels.n_classes <= 2 or not METHODS[method].two_classes_only


def feature_weight(labels: Labels, smoothing: float, seed: int) -> float:
    """The features' weight that predicts held-out votes best; `seed` says which are held out."""
    model = NaiveBayes(smoothing=smoothing, seed=seed)
    return float(weigh_features(model, labels, engine=Threads(1)).feature_weight)


def share_wrong(posterior: Floats, truth: Codes) -> float:
    """Share of the tasks whose truth is known that are wrong, ties shared evenly."""
    return metrics.error(posterior, truth)


def calibration_error(posterior: Floats, truth: Codes) -> float:
    """The expected calibration error."""
    return metrics.calibration_error(posterior, truth)


def votes_and_gold(name: str, directory: Path) -> tuple[Labels, Codebook, Codes]:
    """A data set: labels, names, and each task's truth, which is -1 where it is not known and the
    number of classes where it is a class that nobody named."""
    return _with_truth(datasets.votes(name, directory), datasets.gold(name, directory))


def votes_and_gold_in(folder: Path) -> tuple[Labels, Codebook, Codes]:
    """The same of the files labels.csv and gold.csv of a folder."""
    votes, gold = (pl.read_csv(folder / f"{name}.csv", infer_schema=False) for name in TABLES)
    return _with_truth(votes, gold)


def _with_truth(votes: pl.DataFrame, gold: pl.DataFrame) -> tuple[Labels, Codebook, Codes]:
    read = read_votes(votes)
    task = find(gold["task"], read.codebook.tasks)
    label = find(gold["label"], read.codebook.classes).fill_null(read.labels.n_classes)
    truth = np.full(read.labels.n_tasks, -1, dtype=np.int32)
    voted = task.is_not_null()
    truth[task.filter(voted).to_numpy()] = label.filter(voted).to_numpy()
    return read.labels, read.codebook, truth


def feature_table(name: str, directory: Path) -> tuple[pl.Series, Any]:
    """The tasks that a data set names with features, and their feature matrix."""
    read = read_features(datasets.features(name, directory))
    return read.tasks, read.matrix


def positions(names: pl.Series, among: pl.Series) -> pl.Series:
    """The place of each name among others; null where it is not there."""
    return find(names, among)


def questions_of_options(
    votes: Iterable[tuple[Any, Any, Any]],
) -> list[tuple[Any, Sequence[Any], Labels]]:
    """Votes with several right answers as one question for each option: the option, the names of
    the tasks, and who says yes."""
    read = read_votes(list(votes), unlabelled=True)
    tasks = read.codebook.tasks.to_list()
    asked = zip(read.codebook.classes, questions(read), strict=True)
    return [(option, tasks, question.labels) for option, question in asked]


class Arrivals:
    """Tasks that arrive one by one with all of their votes, after a fit of the first ones."""

    def __init__(self, start: Result, first: Labels) -> None:
        assert isinstance(start.model, DawidSkene)
        self._state = State(start.model, first.n_classes)
        self._n_workers, self._n_tasks = first.n_workers, first.n_tasks
        self._state.grow(first.n_tasks, first.n_workers)
        task = np.repeat(np.arange(first.n_tasks, dtype=np.int32), np.diff(first.indptr))
        self._state.ballots.extend(task, first.worker, first.label)
        self._state.believe_all(start.posterior, start.params.state.hard)

    def answer(self, votes: Sequence[tuple[int, int]]) -> int:
        """The answer that a new task with these (worker, label) pairs gets at once."""
        task = self._n_tasks
        self._n_tasks += 1
        self._state.grow(self._n_tasks, self._n_workers)
        return int(self._state.choose(task, self._state.add(task, list(votes))))
