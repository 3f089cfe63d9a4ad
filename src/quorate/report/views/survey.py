"""One pass over votes and answers, block by block: what a report counts, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.answers import Part
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.result import Result

Numbers = NDArray[np.integer[Any]]
SUMS = (
    "n_overruled",
    "n_without_majority",
    "n_settled",
    "confusion",
    "sureness",
    "histogram",
    "matrices",
    "shared",
    "agreed",
)
SHOWN = 50  # tasks in a list
ALONE = 10  # tasks on which a worker stands alone
BINS = 20  # of confidence
SETTLED = 0.95  # the confidence at which an answer is settled, as for `explain`


class Segment(NamedTuple):
    """Votes of some tasks with the names and the answers of these tasks; `number` is its place
    among the segments."""

    labels: Labels
    part: Part
    names: pl.Series
    number: int = 0

    @property
    def task(self) -> Codes:
        """The task of each label."""
        labels = self.labels
        return np.repeat(np.arange(labels.n_tasks, dtype=np.int32), np.diff(labels.indptr))


def segments(result: Result) -> Iterator[Segment]:
    """The votes in the parts in which the answers are."""
    votes = result.votes
    assert votes is not None
    if not result.tasks.in_files:
        yield Segment(votes.labels, result.tasks.whole, result.codebook.tasks)
        return
    for i, names in enumerate(votes.blocks.segments()):
        yield Segment(votes.blocks[i], result.tasks.part(i), names, i)


@dataclass(frozen=True, eq=False)
class Row:
    """A task as a report lists it: its place in the votes (segment, and index there), its name,
    answer and confidence, the label that most votes name (None where several do), and how many
    votes it has."""

    place: tuple[int, int]
    task: Any
    label: Any
    confidence: float
    majority: Any
    votes: int


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts of some tasks, which add; rows are those that a report lists.

    ``confusion[truth, label]`` holds expected counts of all labels, ``matrices[i, truth, label]``
    those of worker i of the workers that were asked for; ``shared[i, j]`` is on how many tasks two
    of these both voted, ``agreed[i, j]`` on how many alike. ``sureness`` has for each class the sum
    of the confidences of its tasks, ``histogram`` counts tasks by confidence,
    ``n_settled`` those whose answer is settled.
    """

    disputed: tuple[Row, ...]
    overruled: tuple[Row, ...]
    n_overruled: int
    n_without_majority: int
    n_settled: int
    confusion: Floats
    sureness: Floats
    histogram: Floats
    matrices: Floats
    shared: Floats
    agreed: Floats
    against_all: tuple[tuple[Row, ...], ...]
    shown: int

    def __add__(self, other: Survey) -> Survey:
        alone = zip(self.against_all, other.against_all, strict=True)
        sums = {name: getattr(self, name) + getattr(other, name) for name in SUMS}
        return replace(
            self,
            disputed=_first(self.disputed + other.disputed, self.shown, least=True),
            overruled=_first(self.overruled + other.overruled, self.shown, least=False),
            against_all=tuple(_first(a + b, ALONE, least=False) for a, b in alone),
            **sums,
        )


def survey(result: Result, workers: Codes, shown: int = SHOWN) -> Survey:
    """Count over all tasks, with confusion matrices and agreement of these workers, and as many
    rows as are `shown`."""
    return reduce(add, (_survey(segment, result, workers, shown) for segment in segments(result)))


def _survey(segment: Segment, result: Result, workers: Codes, n_shown: int) -> Survey:
    labels, part = segment.labels, segment.part
    task = segment.task
    count, top, several = majority(labels, task)
    confidence = part.confidence
    votes_for_answer = _votes_for(labels, task, part.codes)
    overruled = ~several & (top >= 0) & (votes_for_answer < count)
    unknown = np.full(labels.n_tasks, True) if labels.gold is None else labels.gold < 0
    rows = _Rows(segment, result, top, several)
    place = np.full(labels.n_workers, -1, dtype=np.int32)
    place[workers] = np.arange(len(workers))
    shown = place[labels.worker]
    shared, agreed = _meetings(labels, task, shown, len(workers))
    return Survey(
        disputed=rows.of(_lowest(np.where(unknown, confidence, 2.0), unknown, n_shown)),
        overruled=rows.of(_lowest(np.where(overruled, -confidence, 2.0), overruled, n_shown)),
        n_overruled=int(overruled.sum()),
        n_without_majority=int(several.sum()),
        n_settled=int((confidence >= SETTLED).sum()),
        confusion=_confusion(labels, part, task, np.zeros(labels.n_labels, dtype=np.int32), 1)[0],
        sureness=np.bincount(part.codes, confidence, labels.n_classes).astype(np.float64),
        histogram=np.histogram(confidence, BINS, (0, 1))[0].astype(float),
        matrices=_confusion(labels, part, task, shown, len(workers)),
        shared=shared,
        agreed=agreed,
        against_all=_against_all(segment, rows, task, shown, len(workers)),
        shown=n_shown,
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of tasks of a segment."""

    segment: Segment
    result: Result
    top: Codes
    several: NDArray[np.bool_]

    def of(self, tasks: Numbers) -> tuple[Row, ...]:
        labels, part, names, number = self.segment
        classes = self.result.codebook.classes
        return tuple(
            Row(
                (number, t),
                names[t],
                classes[int(part.codes[t])],
                float(part.posterior[t, part.codes[t]]),
                None if self.several[t] or self.top[t] < 0 else classes[int(self.top[t])],
                int(labels.indptr[t + 1] - labels.indptr[t]),
            )
            for t in tasks.tolist()
        )


def majority(labels: Labels, task: Codes) -> tuple[Numbers, Codes, NDArray[np.bool_]]:
    """For each task how often its most frequent label was said, which that is (-1 without votes),
    and whether several are."""
    said_of = task.astype(np.int64) * labels.n_classes + labels.label
    pairs, counts = np.unique(said_of, return_counts=True)
    of, said = pairs // labels.n_classes, (pairs % labels.n_classes).astype(np.int32)
    most = np.zeros(labels.n_tasks, dtype=np.int64)
    np.maximum.at(most, of, counts)
    is_top = counts == most[of]
    top = np.full(labels.n_tasks, -1, dtype=np.int32)
    top[of[is_top][::-1]] = said[is_top][::-1]
    return most, top, np.bincount(of[is_top], minlength=labels.n_tasks) > 1


def _votes_for(labels: Labels, task: Codes, answers: Codes) -> Numbers:
    """The number of votes for each task's answer."""
    return np.bincount(task[labels.label == answers[task]], minlength=labels.n_tasks)


def _lowest(values: Floats, among: NDArray[np.bool_], most: int) -> Numbers:
    """The tasks with the lowest values, the lowest first."""
    n = min(most, int(among.sum()))
    if not n:
        return np.zeros(0, dtype=np.int64)
    first = np.argpartition(values, n - 1)[:n]
    return first[np.argsort(values[first], kind="stable")]


def _first(rows: tuple[Row, ...], n: int, least: bool) -> tuple[Row, ...]:
    """The rows with the lowest or the highest confidence."""
    return tuple(sorted(rows, key=lambda row: row.confidence if least else -row.confidence)[:n])


def _confusion(labels: Labels, part: Part, task: Codes, group: Codes, n: int) -> Floats:
    """``[group, truth, label]``: expected counts, of labels whose group is not -1."""
    k = labels.n_classes
    inside = group >= 0
    cell = group[inside].astype(np.int64) * k + labels.label[inside]
    of = task[inside]
    counts = np.stack([np.bincount(cell, part.posterior[of, t], n * k) for t in range(k)])
    return counts.astype(np.float64).reshape(k, n, k).transpose(1, 0, 2)


def _meetings(labels: Labels, task: Codes, shown: Codes, n: int) -> tuple[Floats, Floats]:
    """On how many tasks two of the workers both voted, and on how many alike."""
    from scipy.sparse import csr_array

    inside = shown >= 0
    of, who, said = task[inside], shown[inside], labels.label[inside]
    ones = np.ones(len(of))
    met = csr_array((ones, (of, who)), (labels.n_tasks, n))
    met.data = np.minimum(met.data, 1)
    alike = np.zeros((n, n))
    for label in range(labels.n_classes):
        chosen = said == label
        each = csr_array((ones[chosen], (of[chosen], who[chosen])), (labels.n_tasks, n))
        each.data = np.minimum(each.data, 1)
        alike += (each.T @ each).toarray()
    return (met.T @ met).toarray(), alike


def _against_all(
    segment: Segment, rows: _Rows, task: Codes, shown: Codes, n: int
) -> tuple[tuple[Row, ...], ...]:
    """For each worker the tasks on which nobody else differs from the answer, and two agree."""
    labels, part = segment.labels, segment.part
    wrong = labels.label != part.codes[task]
    n_wrong = np.bincount(task[wrong], minlength=labels.n_tasks)
    several = np.diff(labels.indptr) > 2
    alone = np.flatnonzero(wrong & (shown >= 0) & (n_wrong[task] == 1) & several[task])
    alone = alone[np.argsort(-part.confidence[task[alone]], kind="stable")]
    return tuple(rows.of(task[alone[shown[alone] == worker]][:ALONE]) for worker in range(n))
