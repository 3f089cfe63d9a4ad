"""A simulated crowd, with its truth and its workers' confusion matrices."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quorate import metrics
from quorate.card import MOST_ROWS, Listing, Share, card
from quorate.kernels import Codes, Floats
from quorate.labels import Codebook, Labels

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False, repr=False)
class Crowd:
    """Simulated labels, the truth behind them, and the workers' confusion matrices.

    ``truth[task]`` is the right class and ``confusion[worker, truth, label]`` the confusion
    matrix of a rested worker. With several right answers ``truth[task, class]`` is 1 where a class
    is right, ``confusion[worker, class, truth, label]`` is about whether it is named, and
    ``labels`` has a label for each class that a worker names, or -1 for one who names none.

    For each worker `kind` is honest, spammer, inverted or colluder, `group` the number of its group
    of judges, or -1, and `ability` GLAD's, NaN for spammers; for each task `difficulty` is GLAD's.
    ``feature_rate[feature, class]`` is how often tasks of a class have a feature. `prior` are the
    class shares; with several right answers, the rate at which each class is right.

    `votes`, `gold` and `features` are tables by name, as `quorate.aggregate` reads them.
    """

    labels: Labels
    truth: Codes
    confusion: Floats
    prior: Floats | None = None
    kind: NDArray[np.str_] | None = None
    group: Codes | None = None
    ability: Floats | None = None
    difficulty: Floats | None = None
    feature_rate: Floats | None = None
    task_names: pl.Series | None = None
    worker_names: pl.Series | None = None

    @property
    def several(self) -> bool:
        """Whether tasks have several right answers."""
        return self.truth.ndim == 2

    @cached_property
    def accuracy(self) -> Floats:
        """Accuracy of each worker while rested; with several right answers, averaged over
        classes."""
        share = self._shares()
        if self.several:
            right = np.diagonal(self.confusion, axis1=2, axis2=3)
            accuracy = ((1 - share) * right[..., 0] + share * right[..., 1]).mean(axis=1)
        else:
            accuracy = np.diagonal(self.confusion, axis1=1, axis2=2) @ share
        return np.asarray(accuracy)

    def _shares(self) -> Floats:
        n_classes = self.labels.n_classes
        return np.full(n_classes, 1 / n_classes) if self.prior is None else self.prior

    @cached_property
    def codebook(self) -> Codebook:
        """Names: tasks t1, t2, ..., workers w1, w2, ..., classes a, b, ..., features f1, ..."""
        labels = self.labels
        tasks = _numbered("task", "t", labels.n_tasks)
        workers = _numbered("worker", "w", labels.n_workers)
        return Codebook(
            tasks if self.task_names is None else self.task_names,
            workers if self.worker_names is None else self.worker_names,
            _class_names(labels.n_classes),
            _numbered("feature", "f", labels.n_features) if labels.n_features else None,
        )

    @cached_property
    def votes(self) -> pl.DataFrame:
        """A table of task, worker and label. With several right answers there is a row for each
        class that a worker names, and one without a label for a worker who names none."""
        import polars as pl

        book, labels = self.codebook, self.labels
        return pl.DataFrame(
            [
                book.tasks.gather(self._task),
                book.workers.gather(labels.worker),
                _named(book.classes, labels.label),
            ]
        )

    @cached_property
    def gold(self) -> pl.DataFrame:
        """A table of task and true label, with GLAD's difficulty where tasks have one."""
        import polars as pl

        book = self.codebook
        if self.several:
            task, code = _right_classes(self.truth)
            return pl.DataFrame([book.tasks.gather(task), _named(book.classes, code)])
        table = pl.DataFrame([book.tasks, book.classes.gather(self.truth)])
        if self.difficulty is not None:
            table = table.with_columns(pl.Series("difficulty", self.difficulty))
        return table

    @cached_property
    def workers(self) -> pl.DataFrame:
        """A table of worker, votes and accuracy, with kind, group and ability where there are
        any."""
        import polars as pl

        columns = [self.codebook.workers, pl.Series("votes", self._votes_of_workers)]
        if self.kind is not None:
            columns.append(pl.Series("kind", self.kind.tolist()))
        if self.group is not None and (self.group >= 0).any():
            group = pl.Series("group", self.group + 1)
            columns.append(group.set(group == 0, None))
        if self.ability is not None:
            columns.append(pl.Series("ability", self.ability).fill_nan(None))
        return pl.DataFrame([*columns, pl.Series("accuracy", self.accuracy)])

    @cached_property
    def features(self) -> pl.DataFrame | None:
        """A table of task and feature, a row for each feature that a task has."""
        import polars as pl

        book, matrix = self.codebook, self.labels.features
        if matrix is None or book.features is None:
            return None
        task = np.repeat(np.arange(self.labels.n_tasks), np.diff(matrix.indptr))
        return pl.DataFrame([book.tasks.gather(task), book.features.gather(matrix.indices)])

    @property
    def vote_error(self) -> float:
        """The share of tasks that the majority vote gets wrong, a tie by its share; with several
        right answers the share of the questions whether a class is right."""
        if not self.several:
            return metrics.error(self.labels.vote_shares(), self.truth)
        labels = self.labels
        chosen = labels.label >= 0
        cell = self._task[chosen] * labels.n_classes + labels.label[chosen]
        named = np.bincount(cell, minlength=self.truth.size).reshape(self.truth.shape)
        asked = np.bincount(self._task[self._first], minlength=labels.n_tasks)[:, None]
        wrong = np.where(2 * named == asked, 0.5, (2 * named > asked) != self.truth)
        return float(wrong.mean())

    def __repr__(self) -> str:
        labels = self.labels
        people = ", ".join(f"{n:,} {kind}" for kind, n in self._kinds.items())
        return (
            f"Crowd({labels.n_tasks:,} tasks, {labels.n_workers:,} workers"
            f"{f' ({people})' if people else ''}, {self._first.sum():,} votes,"
            f" {labels.n_classes} classes; mean accuracy {self.accuracy.mean():.3f})"
        )

    def _repr_html_(self) -> str:
        labels = self.labels
        facts = {
            "tasks": f"{labels.n_tasks:,}",
            "workers": ", ".join(f"{n:,} {kind}" for kind, n in self._kinds.items())
            or f"{labels.n_workers:,}",
            "votes": f"{self._first.sum():,}",
            "classes": f"{labels.n_classes}",
            "mean accuracy": f"{self.accuracy.mean():.3f}",
        }
        names = self.codebook.workers
        best = self.accuracy.argsort()[::-1][:MOST_ROWS].tolist()
        rows = [(names[i], Share(float(self.accuracy[i]))) for i in best]
        listing = Listing("The best workers", ("worker", "accuracy"), rows)
        return card("Simulated crowd", facts, [listing])

    def as_dict(self) -> dict[str, Any]:
        """The dictionary that `quorate simulate --json` prints."""
        count = self._votes_of_workers
        return {
            "tasks": self.labels.n_tasks,
            "workers": self.labels.n_workers,
            "classes": self.labels.n_classes,
            "votes": int(count.sum()),
            "least_active": int(count.min()),
            "most_active": int(count.max()),
            "kinds": self._kinds,
            "mean_accuracy": float(self.accuracy.mean()),
            "vote_error": self.vote_error,
        }

    @property
    def _kinds(self) -> dict[str, int]:
        """The number of workers of each kind, the most frequent first."""
        return dict(Counter([] if self.kind is None else self.kind.tolist()).most_common())

    @cached_property
    def _task(self) -> NDArray[np.int64]:
        """The task of each label."""
        return np.repeat(np.arange(self.labels.n_tasks), np.diff(self.labels.indptr))

    @cached_property
    def _first(self) -> NDArray[np.bool_]:
        """Whether each label is the first of its worker on its task."""
        first = np.ones(self.labels.n_labels, dtype=bool)
        if self.several:
            first[1:] = (np.diff(self._task) != 0) | (np.diff(self.labels.worker) != 0)
        return first

    @property
    def _votes_of_workers(self) -> NDArray[np.int64]:
        """The number of votes of each worker; to name several classes is one vote."""
        return np.bincount(self.labels.worker[self._first], minlength=self.labels.n_workers)


def choices(task: Codes, worker: Codes, named: Codes) -> tuple[Codes, Codes, Codes]:
    """Votes ``named[class, i]`` as a label for each class that is named, or -1 where none is.

    Examples:
        >>> named = np.array([[1, 0], [1, 0]], dtype=np.int32)
        >>> choices(np.array([0, 1]), np.array([5, 6]), named)
        (array([0, 0, 1]), array([5, 5, 6]), array([ 0,  1, -1]))
    """
    vote, label = _right_classes(named.T)
    return task[vote], worker[vote], label


def _right_classes(right: Codes) -> tuple[NDArray[Any], NDArray[Any]]:
    """Row and class of each cell of ``right[row, class]`` that is not 0, in order of rows; a row
    without one has the class -1."""
    row, code = np.nonzero(np.column_stack([right, ~right.any(axis=1)]))
    return row, np.where(code < right.shape[1], code, -1)


def _numbered(name: str, letter: str, n: int) -> pl.Series:
    import polars as pl

    return pl.select(pl.format(letter + "{}", pl.int_range(1, n + 1)).alias(name)).to_series()


def _class_names(n: int) -> pl.Series:
    """Names of the classes: letters, or numbers if there are more; they sort in code order."""
    import polars as pl

    if n <= 26:
        return pl.Series("label", [chr(ord("a") + i) for i in range(n)])
    return pl.Series("label", [f"c{i:0{len(str(n))}}" for i in range(1, n + 1)])


def _named(names: pl.Series, code: NDArray[np.integer]) -> pl.Series:
    """The names of codes; null for -1."""
    import polars as pl

    index = pl.Series(code)
    return names.gather(index.set(index < 0, None))
