"""The votes of a pandas frame in codes, with the names as pandas has them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from quorate.errors import DataError, UsageError
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.votes import listed, shown

ROLES = ["task", "worker", "label"]
OTHERWISE = "rename it, or give quorate.aggregate the name of the column."


@dataclass(frozen=True, eq=False)
class Crowd:
    """Labels in codes, and pandas indexes of their names, in the order of the codes."""

    labels: Labels
    tasks: Any
    workers: Any
    classes: Any

    @classmethod
    def of(cls, data: Any, *, in_order: bool = False, classes: Any = None) -> Crowd:
        """The votes of a frame; names in order, or as they first appear. `classes` may be given."""
        votes = complete(data)
        task, tasks = _coded(votes["task"], in_order)
        worker, workers = _coded(votes["worker"], in_order)
        if classes is None:
            label, classes = _coded(votes["label"], in_order)
        else:
            classes = pd.Index(classes, name="label")
            label = classes.get_indexer(votes["label"])
            _require_known(votes["label"], label, classes)
        labels = Labels.from_codes(task, worker, label, n_classes=len(classes))
        return cls(labels, tasks, workers, classes)

    @property
    def is_empty(self) -> bool:
        return not self.labels.n_labels

    def with_known(self, true_labels: Any) -> Crowd:
        """The votes with known answers, a Series by task: those of other tasks are left out, and
        labels that nobody gave are further classes."""
        if true_labels is None:
            return self
        known = answers_by_task(true_labels, "true_labels")
        task = self.tasks.get_indexer(known.index)
        known, task = known[task >= 0], task[task >= 0]
        more = pd.Index(known[~known.isin(self.classes)].unique())
        classes = self.classes.append(more).rename("label") if len(more) else self.classes
        code = classes.get_indexer(known)
        gold: Codes = np.full(len(self.tasks), -1, dtype=np.int32)
        gold[task] = code
        if (gold[task] != code).any():
            raise DataError("true_labels has two different answers for one task: keep one of them.")
        labels = replace(self.labels, gold=gold, n_classes=len(classes))
        return replace(self, labels=labels, classes=classes)

    def answers(self, codes: Codes) -> Any:
        """The names of the tasks' answers, as a Series by task."""
        return pd.Series(self.classes.take(codes), index=self.tasks, name="agg_label")

    def by_class(self, values: Floats) -> Any:
        """An array ``[task, class]`` as a frame."""
        return pd.DataFrame(values, index=self.tasks, columns=self.classes)

    def by_worker(self) -> Labels:
        """The labels with each worker's as if they were of one task."""
        each = self.labels
        return Labels.from_codes(each.worker, each.worker, each.label, n_classes=each.n_classes)

    def agreement(self, answers: Codes) -> Floats:
        """The share of each worker's labels that are the answers."""
        labels = self.labels
        right = labels.label == np.repeat(answers, labels.n_said)
        given = np.bincount(labels.worker, minlength=labels.n_workers)
        share: Floats = np.bincount(labels.worker, right, labels.n_workers) / given
        return share


def complete(data: Any) -> Any:
    """Tasks, workers and labels of a frame, of the rows that have all three."""
    require_frame(data)
    votes = data[ROLES].dropna()
    lacking = len(data) - len(votes)
    if lacking:
        warnings.warn(
            f"{lacking} of {len(data)} rows lack a task, a worker or a label, and are left out.",
            stacklevel=4,
        )
    return votes


def require_frame(data: Any) -> None:
    """Refuse what is not a pandas frame of votes."""
    if not isinstance(data, pd.DataFrame):
        kind = type(data).__name__
        raise UsageError(
            f"quorate.crowdkit takes a pandas DataFrame, not {kind}: quorate.aggregate takes most."
        )
    for role in ROLES:
        if role not in data:
            raise DataError(
                f"The table has the columns {listed(data.columns)} and none called {role}:"
                f" {OTHERWISE}"
            )


def answers_by_task(answers: Any, what: str) -> Any:
    """A Series of answers by task, without those that are missing."""
    if not isinstance(answers, pd.Series):
        kind = type(answers).__name__
        raise UsageError(f"{what} is a Series of labels indexed by task, not {kind}.")
    return answers.dropna()


def accuracy(votes: Any, truth: Any, by: str | None = None) -> Any:
    """The share of right labels on tasks whose truth is known: of all, or a Series by group.

    A task may have several right labels; a column `weight` says what a vote counts."""
    tasks, names = truth.index.unique(), pd.Index(truth.unique())
    task, said = tasks.get_indexer(votes["task"]), names.get_indexer(votes["label"])
    pairs = tasks.get_indexer(truth.index) * len(names) + names.get_indexer(truth)
    right = (said >= 0) & np.isin(task * len(names) + said, pairs)
    weight = votes["weight"].to_numpy() if "weight" in votes else np.ones(len(votes))
    known = task >= 0
    counted = pd.DataFrame({"right": right * weight, "all": weight}, votes.index)[known]
    if by is None:
        return float(counted["right"].sum() / counted["all"].sum())
    group = votes["task"].map(truth) if by == "true_label" else votes[by]
    sums = counted.groupby(group[known].rename(by), observed=True).sum()
    return sums["right"] / sums["all"]


def _coded(column: Any, in_order: bool) -> tuple[Any, Any]:
    """The codes of a column's names, and the names."""
    try:
        codes, names = pd.factorize(column, sort=in_order)
    except TypeError:
        raise DataError(
            f"The column {column.name} has lists in it: for several labels of a task there is"
            " BinaryRelevance."
        ) from None
    return codes, pd.Index(names, name=column.name)


def _require_known(labels: Any, codes: Any, classes: Any) -> None:
    """Refuse labels that have no code."""
    if (codes < 0).any():
        stranger = labels[codes < 0].iloc[0]
        raise DataError(f"The table has the label {shown(stranger)}, none of {listed(classes)}.")
