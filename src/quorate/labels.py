"""Labels: the votes as codes, in task order. Codebook: the names of the codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from quorate import buffers, kernels, sparse
from quorate.card import Listing, Share, card
from quorate.errors import DataError
from quorate.kernels import Codes, Floats, Incidence, Keys, Rows, TallIncidence

if TYPE_CHECKING:
    import polars as pl
    from scipy.sparse import csr_array

# Tasks and labels of a block: few enough that its posterior stays in a cache, and enough that
# threads seldom wait for each other; fewer where there would be few blocks.
BLOCK_SIZE, LEAST_BLOCK, FEW_BLOCKS = 600_000, 150_000, 16
LARGEST_CODE = np.iinfo(np.int32).max
FAR_APART = np.uint64(0x9E3779B97F4A7C15)  # keys of tasks, so that sums with workers' do not meet


class NameKeys:
    """Keys of names, computed when they are first asked for; a slice of them is as lazy."""

    def __init__(self, names: pl.Series, keys: Callable[[pl.Series], Keys]) -> None:
        self._names, self._keys = names, keys

    @cached_property
    def all(self) -> Keys:
        return self._keys(self._names)

    def part(self, start: int, stop: int) -> NameKeys:
        """The keys of a run of names."""
        return NameKeys(self._names[start:stop], self._keys)

    def of(self, which: slice | NDArray[Any]) -> Keys:
        """The keys of some names: only those are computed, unless all have been."""
        if "all" in self.__dict__ or isinstance(which, slice):
            return self.all[which]
        names = self._names
        return self._keys(names.filter(which) if which.dtype == bool else names.gather(which))

    def __reduce__(self) -> tuple[Callable[[Keys], Keys], tuple[Keys]]:
        return np.asarray, (self.all,)


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """Task ``t`` has labels ``indptr[t]`` to ``indptr[t + 1]``: ``worker[i]`` said ``label[i]``.

    A slice of whole tasks is again a ``Labels``. A worker may label a task more than once: repeats
    count. ``gold[t]`` is the known answer of a task, or -1. ``features[t, f]``, a sparse matrix, is
    1 where a task has a feature. ``weight[i]`` is the weight of a label, where not all have 1: a
    label of weight 2 counts as the same label twice. Keys stand for the names of tasks and workers
    in whatever is drawn at random: without them codes do, which depend on the order of the rows.

    Examples:
        >>> labels = Labels.from_codes(task=[1, 0, 1], worker=[0, 0, 1], label=[1, 0, 1])
        >>> labels.n_tasks, labels.n_workers, labels.n_classes
        (2, 2, 2)
        >>> labels[1:2].worker
        array([0, 1], dtype=int32)
    """

    indptr: NDArray[np.integer]
    worker: Codes
    label: Codes
    n_workers: int
    n_classes: int
    gold: Codes | None = None
    first_task: int = 0
    features: csr_array | None = None
    weight: Floats | None = None
    task_key: Keys | NameKeys | None = None
    worker_key: Keys | NameKeys | None = None

    def __post_init__(self) -> None:
        if self.n_workers * self.n_classes > LARGEST_CODE:
            raise DataError(
                f"{self.n_workers:,} workers times {self.n_classes:,} classes is more than Quorate"
                " can index: check that the label column holds classes."
            )

    @classmethod
    def from_codes(
        cls,
        task: NDArray[np.integer] | list[int],
        worker: NDArray[np.integer] | list[int],
        label: NDArray[np.integer] | list[int],
        *,
        n_tasks: int | None = None,
        n_workers: int | None = None,
        n_classes: int | None = None,
        gold: NDArray[np.integer] | list[int] | None = None,
        features: csr_array | None = None,
        weight: Floats | list[float] | None = None,
    ) -> Labels:
        """Labels from parallel arrays of codes in any order; labels of a task keep their order.
        Labels in bytes are moved as bytes, which takes less time."""
        of, by = (np.asarray(a, dtype=np.int32) for a in (task, worker))
        said = np.asarray(label)
        said = said if said.dtype == np.int8 else said.astype(np.int32, copy=False)
        n_tasks = _size(of, n_tasks)
        weight = None if weight is None else np.asarray(weight, dtype=np.float64)
        if np.any(of[1:] < of[:-1]):
            if weight is not None:
                weight = kernels.two_by_code(of, n_tasks, by, weight)[2]
            indptr, by, said = kernels.two_by_code(of, n_tasks, by, said)
        else:
            indptr = np.concatenate([[0], np.bincount(of, minlength=n_tasks).cumsum()])
        return cls(
            indptr.astype(np.int32 if len(of) <= LARGEST_CODE else np.int64, copy=False),
            by,
            said.astype(np.int32, copy=False),
            _size(by, n_workers),
            _size(said, n_classes),
            None if gold is None else np.asarray(gold, dtype=np.int32),
            features=features,
            weight=weight,
        )

    @property
    def n_tasks(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_labels(self) -> int:
        return len(self.label)

    @property
    def n_features(self) -> int:
        return 0 if self.features is None else int(self.features.shape[1])

    def __repr__(self) -> str:
        known = 0 if self.gold is None else int((self.gold >= 0).sum())
        more = [
            *([f"{known:,} known answers"] if known else []),
            *([f"{self.n_features:,} features"] if self.n_features else []),
            *(["weights"] if self.weight is not None else []),
        ]
        return (
            f"Labels({self.n_labels:,} labels of {self.n_tasks:,} tasks by {self.n_workers:,}"
            f" workers in {self.n_classes:,} classes{''.join(f', {part}' for part in more)})"
        )

    def _repr_html_(self) -> str:
        known = 0 if self.gold is None else int((self.gold >= 0).sum())
        facts = {
            "labels": f"{self.n_labels:,}",
            "tasks": f"{self.n_tasks:,}",
            "workers": f"{self.n_workers:,}",
            "classes": f"{self.n_classes:,}",
            "known answers": f"{known:,}",
            "features": f"{self.n_features:,}",
        }
        said = np.bincount(self.label[self.label >= 0], minlength=self.n_classes)
        rows = [(i, int(n), Share(n / max(self.n_labels, 1))) for i, n in enumerate(said.tolist())]
        return card(
            "Labels in codes", facts, [Listing("Classes", ("code", "labels", "share"), rows)]
        )

    def __getitem__(self, tasks: slice) -> Labels:
        start, stop, step = tasks.indices(self.n_tasks)
        if step != 1:
            raise IndexError("a slice of Labels is a run of whole tasks")
        first, last = self.indptr[start], self.indptr[max(start, stop)]
        return replace(
            self,
            indptr=(self.indptr[start : max(start, stop) + 1] - first).astype(np.int32),
            worker=self.worker[first:last],
            label=self.label[first:last],
            weight=None if self.weight is None else self.weight[first:last],
            gold=None if self.gold is None else self.gold[start:stop],
            first_task=self.first_task + start,
            features=None if self.features is None else self.features[start : max(start, stop)],
            task_key=_run(self.task_key, start, stop),
        )

    def cuts(self, size: int | None = None) -> list[int]:
        """Boundaries of runs of about ``size`` tasks and labels. They depend on the labels alone,
        so that sums over blocks are the same on any number of threads."""
        cost = self.indptr + np.arange(self.n_tasks + 1)
        size = size or block_size(int(cost[-1]))
        cuts = np.searchsorted(cost, np.arange(size, int(cost[-1]), size))
        edges: list[int] = np.unique(np.concatenate([[0], cuts, [self.n_tasks]])).tolist()
        return edges

    def blocks(self, size: int | None = None) -> Iterator[Labels]:
        """Runs of whole tasks, cut as `cuts` says."""
        for start, stop in pairwise(self.cuts(size)):
            yield self[start:stop]

    def without_repeats(self) -> Labels:
        """The labels without a worker's repeated labels of a task: only the first is kept."""
        kept = np.ones(self.n_labels, dtype=bool)
        kept[self.repeats()] = False
        return self.only(kept)

    def only(self, kept: NDArray[np.bool_], **changes: Any) -> Labels:
        """The kept labels, of the same tasks, workers and classes.

        Examples:
            >>> labels = Labels.from_codes(task=[0, 0, 1], worker=[0, 1, 0], label=[1, 0, 1])
            >>> labels.only(np.array([True, False, True])).indptr
            array([0, 1, 2], dtype=int32)
        """
        before = np.concatenate([[0], kept.cumsum()])
        indptr = before[self.indptr].astype(self.indptr.dtype)
        weight = None if self.weight is None else self.weight[kept]
        of_each = {"worker": self.worker[kept], "label": self.label[kept], "weight": weight}
        return replace(self, indptr=indptr, **{**of_each, **changes})

    def only_tasks(self, kept: NDArray[np.bool_]) -> Labels:
        """The kept tasks, renumbered, without features."""
        labels = self.only(np.repeat(kept, self.n_said), features=None)
        return replace(
            labels,
            indptr=np.append(labels.indptr[:-1][kept], labels.indptr[-1]),
            gold=None if self.gold is None else self.gold[kept],
            first_task=0,
            task_key=self.task_keys(kept),
        )

    def parts(self, n_parts: int, seed: int) -> NDArray[np.int8]:
        """A random part for each label, hashed from the seed, the task and the worker only: a
        worker's repeated answers to a task are in the same part."""
        random = kernels.hashed_uniform(self.vote_keys(), 1, seed)[:, 0]
        return (random * n_parts).astype(np.int8)

    def task_keys(self, tasks: slice | NDArray[Any] = slice(None)) -> Keys:
        """What is drawn at random for tasks is drawn by these: by the names, where they are known,
        and not by the order of the rows."""
        if isinstance(self.task_key, NameKeys):
            return self.task_key.of(tasks)
        if self.task_key is not None:
            return self.task_key[tasks]
        return np.arange(self.first_task, self.first_task + self.n_tasks, dtype=np.uint64)[tasks]

    def worker_keys(self) -> Keys:
        """The same for workers."""
        if isinstance(self.worker_key, NameKeys):
            return self.worker_key.all
        if self.worker_key is not None:
            return self.worker_key
        return np.arange(self.n_workers, dtype=np.uint64)

    def vote_keys(self) -> Keys:
        """The same for labels: a worker's repeated answers to a task have the same."""
        task = np.repeat(self.task_keys(), self.n_said)
        return task * FAR_APART + self.worker_keys()[self.worker]

    def repeats(self) -> NDArray[np.integer]:
        """Indices of the labels of a task that the same worker had labelled before."""
        blocks = list(self.blocks(max(LEAST_BLOCK, self.n_workers)))  # each is sorted in a cache
        starts = self.indptr[[block.first_task - self.first_task for block in blocks]]
        if len(blocks) < 2:
            of_each = [block._repeats_by_worker() for block in blocks]
        else:
            with ThreadPoolExecutor(2) as pool:
                of_each = list(pool.map(Labels._repeats_by_worker, blocks))
        none = np.empty(0, dtype=self.indptr.dtype)
        return np.concatenate([none, *map(np.add, starts, of_each)])

    def _repeats_by_worker(self) -> NDArray[np.integer]:
        place = np.arange(self.n_labels, dtype=self.indptr.dtype)
        shape = (self.n_tasks, self.n_workers)
        by_worker = sparse.csr_array((place, self.worker, self.indptr), shape=shape).tocsc()
        task, start = by_worker.indices, by_worker.indptr
        again = task[1:] == task[:-1]
        again[start[(start > 0) & (start < self.n_labels)] - 1] = False
        repeats: NDArray[np.integer] = by_worker.data[1:][again]
        return repeats

    def with_workers(self, code: Codes, n_workers: int) -> Labels:
        """The same labels with other codes of the workers."""
        return replace(self, worker=code[self.worker], n_workers=n_workers, worker_key=None)

    def with_classes(self, code: Codes, n_classes: int) -> Labels:
        """The same labels with other codes of the classes."""
        gold = self.gold
        if gold is not None:
            gold = np.where(gold >= 0, code[gold], np.int32(-1))
        return replace(self, label=code[self.label], n_classes=n_classes, gold=gold)

    def above(self, threshold: int) -> Labels:
        """The labels of a question with two answers: is the class above the threshold?

        Examples:
            >>> Labels.from_codes([0, 0, 0], [0, 1, 2], [0, 1, 2]).above(0).label
            array([0, 1, 1], dtype=int32)
        """
        is_above = (np.arange(self.n_classes) > threshold).astype(np.int32)
        return self.with_classes(is_above, 2)

    @cached_property
    def thresholds(self) -> tuple[Labels, ...]:
        """Binary labels of each threshold between ordered classes; cached, for every sweep."""
        return tuple(self.above(threshold) for threshold in range(self.n_classes - 1))

    @property
    def n_said(self) -> NDArray[np.integer]:
        """Number of labels of each task."""
        return np.diff(self.indptr)

    def task_of_label(self) -> NDArray[np.intp]:
        """The task of each label, numbered from the block's first."""
        return np.repeat(np.arange(self.n_tasks), self.n_said)

    @cached_property
    def has_evidence(self) -> NDArray[np.bool_]:
        """Whether each task has labels or a gold answer: only such tasks are learned from."""
        labelled: NDArray[np.bool_] = np.diff(self.indptr) > 0
        return labelled if self.gold is None else labelled | (self.gold >= 0)

    def class_sums(self, posterior: Floats) -> Floats:
        """Sum of the posterior over the tasks with labels or a gold answer."""
        return kernels.column_sums(
            posterior if self.has_evidence.all() else posterior[self.has_evidence]
        )

    @property
    def pair(self) -> Codes:
        """The (worker, label) of each label: row ``worker * n_classes + label`` of a table."""
        return self.worker * np.int32(self.n_classes) + self.label

    @cached_property
    def pairs(self) -> Incidence | TallIncidence:
        """Incidence of tasks by (worker, label)."""
        height = self.n_workers * self.n_classes
        return kernels.incidence(self.indptr, self.pair, height, self.weight)

    @cached_property
    def crowd(self) -> Incidence | TallIncidence:
        """Incidence of labels by worker, without weights: values of labels add up to workers'."""
        return kernels.incidence(
            np.arange(self.n_labels + 1, dtype=np.int32), self.worker, self.n_workers
        )

    @cached_property
    def traits(self) -> Incidence | TallIncidence | None:
        """Incidence of tasks by their features."""
        if self.features is None:
            return None
        present = self.features.indices.astype(np.int32, copy=False)
        return kernels.incidence(self.features.indptr, present, self.n_features)

    @cached_property
    def said(self) -> Incidence | TallIncidence:
        """Incidence of labels by (worker, label), with the rows of ``pairs``."""
        each = np.arange(self.n_labels + 1, dtype=np.int32)
        return kernels.incidence(each, self.pair, self.n_workers * self.n_classes, self.weight)

    def vote_shares(self) -> Floats:
        """The soft vote ``[task, class]``, with gold answers put in."""
        return self.with_known(
            kernels.vote_shares(self.indptr, self.label, self.n_classes, self.weight)
        )

    def with_known(self, posterior: Floats) -> Floats:
        """The posterior ``[task, class]``, changed in place, with gold answers put in."""
        if self.gold is not None:
            known = self.gold >= 0
            posterior[known] = np.eye(self.n_classes)[self.gold[known]]
        return posterior

    def clamped(self, log_joint: Floats) -> Floats:
        """``log p(truth, labels)``, changed in place: on tasks with a gold answer every other class
        is ruled out."""
        if self.gold is not None:
            known = np.flatnonzero(self.gold >= 0)
            kept = log_joint[known, self.gold[known]]
            log_joint[known] = 2 * kernels.LOG_ZERO * (self.n_labels + 1)
            log_joint[known, self.gold[known]] = kept
        return log_joint

    def weighted_votes(self, weight: Floats) -> Floats:
        """Votes per task and class, weighted by ``weight[worker]``."""
        each = self.weighted(weight[self.worker])
        return kernels.weighted_votes(self.indptr, self.label, each, self.n_classes)

    def task_sums(self, weight: Floats) -> Floats:
        """Sum of ``weight[worker]`` over each task's labels."""
        return kernels.task_sums(self.indptr, self.weighted(weight[self.worker]))

    def counts(self, posterior: Floats) -> Floats:
        """Expected counts ``[worker * n_classes + label, truth]``."""
        counts = np.zeros((self.n_workers * self.n_classes, self.n_classes))
        for block in self.blocks():
            start = block.first_task - self.first_task
            block.pairs.scatter(posterior[start : start + block.n_tasks]).add_to(counts)
        return counts

    def agreement(self, posterior: Floats) -> Floats | Rows:
        """Expected number of right and of wrong labels of each worker, without weights."""
        both = buffers.empty((self.n_labels, 2))
        both[:, 0] = kernels.probability_correct(self.indptr, self.label, posterior)
        np.subtract(1.0, both[:, 0], out=both[:, 1])
        return self.crowd.scatter(both)

    def agreement_with_gold(self) -> Floats | Rows:
        """Number of right and of wrong labels of each worker on tasks with a gold answer."""
        assert self.gold is not None
        truth = np.repeat(self.gold, self.n_said)
        right = self.label == truth
        counted = np.stack([right, ~right], axis=1) & (truth >= 0)[:, None]
        return self.crowd.scatter(counted.astype(np.float64))

    def weighted_agreement(self, posterior: Floats) -> Floats | Rows:
        """Expected weight of right and of wrong labels of each worker."""
        correct = kernels.probability_correct(self.indptr, self.label, posterior)
        right, wrong = self.weighted(correct), self.weighted(1 - correct)
        return self.crowd.scatter(np.stack([right, wrong], axis=1))

    def sum_right_and_wrong(self, weights: Floats) -> Floats:
        """Sums ``[task, class]`` over a task's labels of their ``weights[worker, label, (wrong,
        right)]``: the right one where a label names the class. One label's weights can stand for
        those of all."""
        if self.n_classes <= kernels.FEW_CLASSES:
            return self.pairs.gather_made(partial(kernels.by_truth, weights, self.n_classes))
        of_each = np.broadcast_to(weights, (len(weights), self.n_classes, 2))
        wrong, right = self.said.gather(of_each.reshape(-1, 2)).T
        sums = kernels.weighted_votes(self.indptr, self.label, right - wrong, self.n_classes)
        sums += kernels.task_sums(self.indptr, wrong)[:, None]
        return sums

    def count_right_and_wrong(self, posterior: Floats) -> Floats | Rows:
        """Expected counts of right and wrong labels of each (worker, label).

        With few classes, where that is faster, counts by truth; `kernels.right_and_wrong` turns
        their sum into the former."""
        if self.n_classes <= kernels.FEW_CLASSES:
            return self.pairs.scatter(posterior)
        correct = kernels.probability_correct(self.indptr, self.label, posterior)
        return self.said.scatter(np.stack([correct, 1 - correct], axis=1))

    def weighted(self, values: Floats) -> Floats:
        """Values of the labels, times the labels' weights."""
        return values if self.weight is None else values * self.weight


def block_size(cost: int) -> int:
    """Number of tasks and labels of a block, for `cost` tasks and labels in all."""
    return min(BLOCK_SIZE, max(LEAST_BLOCK, cost // FEW_BLOCKS))


def joined(parts: Sequence[Labels]) -> Labels:
    """Concatenate the tasks of several `Labels` with the same workers and classes.

    Examples:
        >>> some = Labels.from_codes(task=[0, 0, 1], worker=[0, 1, 0], label=[1, 0, 1])
        >>> joined([some, some]).indptr
        array([0, 2, 3, 5, 6], dtype=int32)
    """
    first = parts[0]
    said = np.concatenate([part.n_said for part in parts])
    weights, gold, features = (
        [getattr(part, name) for part in parts] for name in ("weight", "gold", "features")
    )
    keys = None if first.task_key is None else [part.task_keys() for part in parts]
    return replace(
        first,
        indptr=np.concatenate([[0], said.cumsum()]).astype(np.int32),
        worker=np.concatenate([part.worker for part in parts]),
        label=np.concatenate([part.label for part in parts]),
        weight=None if first.weight is None else np.concatenate(weights),
        gold=None if first.gold is None else np.concatenate(gold),
        first_task=0,
        features=None if first.features is None else sparse.csr_array(sparse.vstack(features)),
        task_key=None if keys is None else np.concatenate(keys),
    )


def _run(keys: Keys | NameKeys | None, start: int, stop: int) -> Keys | NameKeys | None:
    """The keys of a run of tasks."""
    if isinstance(keys, NameKeys):
        return keys.part(start, stop)
    return None if keys is None else keys[start:stop]


def _size(codes: Codes, declared: int | None) -> int:
    return declared if declared is not None else int(codes.max(initial=-1)) + 1


@dataclass(frozen=True, eq=False, repr=False)
class Codebook:
    """The names of the codes, each series in code order and of the type it came in."""

    tasks: pl.Series
    workers: pl.Series
    classes: pl.Series
    features: pl.Series | None = None

    def __repr__(self) -> str:
        classes = ", ".join(repr(name) for name in self.classes.head(5))
        more = ", ..." if len(self.classes) > 5 else ""
        features = "" if self.features is None else f", {len(self.features):,} features"
        return (
            f"Codebook({len(self.tasks):,} tasks, {len(self.workers):,} workers,"
            f" {len(self.classes):,} classes ({classes}{more}){features})"
        )

    def _repr_html_(self) -> str:
        named = {"tasks": self.tasks, "workers": self.workers, "classes": self.classes}
        if self.features is not None:
            named["features"] = self.features
        facts = {name: f"{len(names):,}" for name, names in named.items()}
        rows = [(name, ", ".join(map(str, names.head(6)))) for name, names in named.items()]
        return card("Names of the codes", facts, [Listing("First names", ("of", "names"), rows)])

    @classmethod
    def numbered(cls, labels: Labels) -> Codebook:
        """Codebook in which codes are their own names."""
        import polars as pl

        return cls(
            *(
                pl.Series(name, np.arange(n, dtype=np.int64))
                for name, n in (
                    ("task", labels.n_tasks),
                    ("worker", labels.n_workers),
                    ("label", labels.n_classes),
                )
            )
        )
