"""Several right answers: every option of every task is a question of its own, yes or no.

V. B. Sinha, S. Rao and V. N. Balasubramanian, "Fast Dawid-Skene: A Fast Vote Aggregation Scheme for
Sentiment Classification" (KDD WISDOM 2018), section 6. A worker who labelled a task and did not
choose an option said no to it; a row without a label is of a worker who chose none at all. The
paper throws the questions of all options together; here each option is a problem of its own, so
that a worker may be good at one and bad at another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.io import Kind, ReadReport, Votes, complete_rows, find, read_table, split_labels
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.result import NEAR_TIE, Overview, Result, worker_table

NO_YES = pl.Series("label", [False, True])


def questions(votes: Votes) -> Iterator[Votes]:
    """For each option, in order, the votes on whether it is right: of every worker who labelled a
    task one vote, however often the option was named."""
    labels = votes.labels
    task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))
    visits, visit = np.unique(task * labels.n_workers + labels.worker, return_inverse=True)
    visited, worker = np.divmod(visits, labels.n_workers)
    dtypes = {role: t for role, t in votes.kind.dtypes.items() if role != "label"}
    book = replace(votes.codebook, classes=NO_YES)
    for option in range(labels.n_classes):
        chosen = np.zeros(len(visits), dtype=np.int32)
        chosen[visit[labels.label == option]] = 1
        asked = Labels.from_codes(
            visited,
            worker,
            chosen,
            n_tasks=labels.n_tasks,
            n_workers=labels.n_workers,
            n_classes=2,
        )
        yield Votes(asked, book, votes.report, replace(votes.kind, dtypes=dtypes))


def read_answer_sets(
    gold: Any,
    *,
    separator: str | None,
    columns: Mapping[str, str | None],
    missing: Sequence[str],
) -> pl.DataFrame:
    """A table of task and label, a row for each right option (without a label if there is none),
    from such a table, one with joined labels, or a mapping from task to option or options."""
    if isinstance(gold, Mapping):
        gold = [(task, label) for task, known in gold.items() for label in _each(known)]
    table = read_table(gold, ("task", "label"), columns=columns, missing=missing, strict=False)
    frame = complete_rows(table, missing, but=("label",))
    return frame if separator is None else split_labels(frame, separator)


def known_answers(
    gold: pl.DataFrame, options: pl.Series, notes: list[str]
) -> Iterator[pl.DataFrame]:
    """For each option, in order, a table of task and whether the option is right. Of a task that
    is named at all every right option is, so that the others are wrong."""
    code = find(gold["label"], options)
    strange = gold["label"].filter(code.is_null()).drop_nulls().n_unique()
    if strange:
        notes.append(f"{strange} options of the gold answers were never chosen, and are left out.")
    tasks = gold["task"].unique(maintain_order=True)
    for option in range(len(options)):
        right = gold["task"].filter(code == option).unique()
        yield pl.DataFrame({"task": tasks, "label": tasks.is_in(right.implode())})


def _each(known: Any) -> list[Any]:
    return list(known) or [None] if isinstance(known, (list, tuple, set, frozenset)) else [known]


@dataclass(frozen=True, eq=False)
class Multilabel:
    """What a fit gives when tasks have several right answers.

    ``results[option]`` is the whole result for an option, with its workers and their confusion
    matrices, whose classes are False and True. ``posterior[task, option]`` is the belief that an
    option is right, and ``answers[task, option]`` whether it is taken to be.
    """

    results: Mapping[Any, Result]
    n_labels: int
    method: str
    kind: Kind
    read: ReadReport
    separator: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> Any:
        """A table of task, label and confidence with a row for each option that is right, and a row
        without a label for a task that has none. Where the votes came joined by a separator, so do
        the labels: a row for each task."""
        return self.kind.give(self.labels_frame)

    @property
    def workers(self) -> Any:
        """A table of option, worker, labels, accuracy and its 95 % interval (low, high)."""
        return self.kind.give(self.workers_frame)

    @property
    def classes(self) -> list[Any]:
        """The options."""
        return list(self.results)

    @cached_property
    def posterior(self) -> Floats:
        return np.stack([result.posterior[:, 1] for result in self.results.values()], axis=1)

    @cached_property
    def answers(self) -> NDArray[np.bool_]:
        return np.stack([result.answers == 1 for result in self.results.values()], axis=1)

    @cached_property
    def confidence(self) -> Floats:
        """For each task and option the belief in the answer, yes or no."""
        return np.where(self.answers, self.posterior, 1 - self.posterior)

    @property
    def overview(self) -> Overview:
        """Of the options that are right; a task is nearly tied if one of its options is."""
        near = (np.abs(2 * self.posterior - 1) < NEAR_TIE).any(axis=1)
        right = self.answers.sum(axis=0).astype(np.float64)
        sure = float(self.confidence.mean(axis=1).sum())
        return Overview(len(self.answers), right, sure, int(near.sum()))

    @cached_property
    def tally(self) -> Floats:
        """For each worker the expected number of right and wrong answers, over all options."""
        total: Floats = sum((result.tally for result in self.results.values()), start=np.zeros(2))
        return total

    @cached_property
    def labels_frame(self) -> pl.DataFrame:
        whole = self.confidence.prod(axis=1)  # the belief that it is right about every option
        if self.separator is not None:
            return self._joined(whole, self.separator)
        task, option = np.nonzero(self.answers)
        none = np.flatnonzero(~self.answers.any(axis=1))
        names = self._options.gather(option)
        label = pl.concat([names, pl.Series(names.name, [None] * len(none), dtype=names.dtype)])
        confidence = np.concatenate([self.posterior[task, option], whole[none]])
        order = np.argsort(np.concatenate([task, none]), kind="stable")
        return pl.DataFrame(
            [
                self._tasks.gather(np.concatenate([task, none])[order]),
                label.gather(order),
                pl.Series("confidence", confidence[order]),
            ]
        )

    def _joined(self, confidence: Floats, separator: str) -> pl.DataFrame:
        task, option = np.nonzero(self.answers)
        chosen = pl.DataFrame({"task": task, "label": self._options.gather(option)})
        joined = chosen.group_by("task").agg(pl.col("label").cast(pl.String).str.join(separator))
        tasks = pl.DataFrame({"task": np.arange(len(self.answers))})
        label = tasks.join(joined, on="task", how="left", maintain_order="left")["label"]
        return pl.DataFrame([self._tasks, label.fill_null(""), pl.Series("confidence", confidence)])

    @cached_property
    def workers_frame(self) -> pl.DataFrame:
        return self._by_option({option: r.workers_frame for option, r in self.results.items()})

    @cached_property
    def crowd_frame(self) -> pl.DataFrame:
        """The workers over all options, whose errors are taken to be independent."""
        total = np.maximum(self.tally.sum(axis=1), 1e-12)
        accuracy = self.tally[:, 0] / total
        below, above = np.zeros((2, len(total)))
        for result in self.results.values():
            share = result.tally.sum(axis=1) / total
            quality = result.workers_frame.select("accuracy", "low", "high").to_numpy()
            below += (share * (quality[:, 0] - quality[:, 1])) ** 2
            above += (share * (quality[:, 2] - quality[:, 0])) ** 2
        interval = accuracy - np.sqrt(below), accuracy + np.sqrt(above)
        return worker_table(self._any.codebook.workers, self.tally, interval)

    @cached_property
    def posterior_frame(self) -> pl.DataFrame:
        """The belief as a table: task, and a column for each option."""
        columns = zip(self.classes, self.posterior.T, strict=True)
        return pl.DataFrame([self._tasks, *(pl.Series(str(name), c) for name, c in columns)])

    @property
    def confusion_frame(self) -> pl.DataFrame:
        """Confusion matrices as a table of option, worker, truth, label, probability and its 95 %
        interval (low, high)."""
        return self._by_option({option: r.confusion_frame for option, r in self.results.items()})

    @property
    def converged(self) -> bool:
        return all(result.converged for result in self.results.values())

    @property
    def iterations(self) -> int:
        """Those of the option that took most."""
        return max(result.iterations for result in self.results.values())

    @property
    def log_likelihood(self) -> float | None:
        """The sum over the options; None for a method that has none."""
        values = [result.log_likelihood for result in self.results.values()]
        return None if None in values else float(sum(v for v in values if v is not None))

    @property
    def objective(self) -> list[float]:
        """The sum over the options of what was reached."""
        return [sum(result.objective[-1] for result in self.results.values())]

    @property
    def seconds(self) -> float:
        return sum(result.seconds for result in self.results.values())

    @property
    def _any(self) -> Result:
        return next(iter(self.results.values()))

    @property
    def _tasks(self) -> pl.Series:
        return self._any.codebook.tasks.alias("task")

    @property
    def _options(self) -> pl.Series:
        return pl.Series("label", self.classes)

    def _by_option(self, frames: Mapping[Any, pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(
            frame.select(pl.lit(option).alias("option"), pl.all())
            for option, frame in frames.items()
        )
