"""Pairs of workers who share tasks: how many they share, and who agrees more than skills explain.

Pairs are counted in runs of workers, each run by one sparse product, and only sums and suspects
are kept: memory is bounded however many pairs there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels, metrics, sparse
from quorate.kernels import Codes, Floats
from quorate.labels import FAR_APART, Labels
from quorate.special import bdtrc, ndtr, ndtri

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RUN = 1_000_000  # pairs of labels in one sparse product
MOST = 300_000_000  # with more, only the pairs of a random sample of the workers are counted
ENOUGH_SHARED = 8  # tasks, for a pair to be tested
ENOUGH_PAIRS = 20  # tested, to compare a pair with the others
LEAST_COPIED = 0.25  # share of the labels
MOST_SUSPECTS = 100_000
SURE = 0.95
SCORES = np.linspace(-20, 20, 4001)
MOST_SLOT_BITS = 22  # of the slots in which pairs are counted to see whether any share enough


class PairCounts(NamedTuple):
    """Pairs of workers by code, the number of tasks they share, and on how many they agree."""

    first: Codes
    second: Codes
    shared: NDArray[np.int64]
    agreed: NDArray[np.int64]

    def where(self, kept: NDArray[Any]) -> PairCounts:
        return PairCounts(*(column[kept] for column in self))


class Suspects(NamedTuple):
    """Pairs that agree too much: the share of agreement that their skills explain, and the p-value
    of the observed one."""

    pairs: PairCounts
    expected: Floats
    p: Floats

    @property
    def copied(self) -> Floats:
        """Share of the labels that would have to be copied to explain the agreement."""
        observed = self.pairs.agreed / self.pairs.shared
        share: Floats = (observed - self.expected) / (1 - self.expected)
        return share

    def where(self, kept: NDArray[Any]) -> Suspects:
        return Suspects(self.pairs.where(kept), self.expected[kept], self.p[kept])


class Pairs(NamedTuple):
    """Summary of the pairs that share a task, of all workers or of a sample.

    `pairs` is their number, `least` and `median` are of the number of shared tasks. For the pairs
    of workers whose skills are identified there are the Frobenius norm of ``N`` and a bound on the
    norm of the agreements' noise."""

    pairs: int
    sampled: bool
    least: int
    median: float
    weight_norm: float
    noise_norm: float
    tested: int
    suspects: Suspects


def summarise_pairs(
    labels: Labels,
    confusion: Floats,
    prior: Floats,
    judged: NDArray[np.bool_],
    seed: int,
    group: Codes | None = None,
) -> Pairs:
    """Summarise all pairs in one pass.

    `confusion` and `prior` say how much agreement skills explain; pairs of the same
    ``group[worker]`` are left out of what is usual among the others."""
    runs, sampled = count_pairs(labels, seed)
    histogram = np.zeros(int(np.bincount(labels.worker).max()) + 1, dtype=np.int64)
    tests = _Tests(confusion, prior, group)
    rows = np.zeros(labels.n_workers)
    squares = 0.0
    for pairs in runs:
        histogram += np.bincount(pairs.shared, minlength=len(histogram))
        known = pairs.where(judged[pairs.first])
        squares += 2 * float((known.shared.astype(np.float64) ** 2).sum())
        for end in (known.first, known.second):
            rows += np.bincount(end, known.shared**-0.5, minlength=len(rows))
        tests.add(pairs.where(pairs.shared >= ENOUGH_SHARED))
    count = int(histogram.sum())
    return Pairs(
        pairs=count,
        sampled=sampled,
        least=int(np.flatnonzero(histogram)[0]) if count else 0,
        median=_median(histogram),
        weight_norm=squares**0.5,
        noise_norm=_deviation(labels.n_classes, count) * float(rows.max(initial=0.0)),
        tested=tests.tested,
        suspects=tests.suspects(),
    )


def suspects_among(
    runs: Iterable[PairCounts], confusion: Floats, prior: Floats, group: Codes | None = None
) -> Suspects:
    """Pairs that agree significantly more than skills explain; they share enough tasks."""
    tests = _Tests(confusion, prior, group)
    for pairs in runs:
        tests.add(pairs)
    return tests.suspects()


class _Tests:
    """Accumulates the suspects of all runs, and the scores of the pairs of different groups."""

    def __init__(self, confusion: Floats, prior: Floats, group: Codes | None) -> None:
        self.tested = 0
        self._confusion, self._prior, self._group = confusion, prior, group
        self._spread = np.zeros(len(SCORES) + 1, dtype=np.int64)
        nobody = np.empty(0, dtype=np.int32)
        nothing = PairCounts(nobody, nobody, nobody.astype(np.int64), nobody.astype(np.int64))
        self._found = [Suspects(nothing, np.empty(0), np.empty(0))]

    def add(self, pairs: PairCounts) -> None:
        suspects, scores = _test(pairs, self._confusion, self._prior)
        self.tested += len(scores)
        if self._group is not None:
            scores = scores[self._group[pairs.first] != self._group[pairs.second]]
        where = np.searchsorted(SCORES, scores)
        self._spread += np.bincount(where, minlength=len(self._spread))
        self._found.append(suspects)
        if sum(len(s.p) for s in self._found) > MOST_SUSPECTS:
            self._found = [_most_significant(self._found)]

    def suspects(self) -> Suspects:
        return _beyond_other_pairs(_most_significant(self._found), self._spread, self.tested)


def _deviation(n_classes: int, pairs: int) -> float:
    """Hoeffding bound on the deviation of the agreement beyond chance, (k a - 1) / (k - 1), from
    its mean, times ``sqrt(N_ij)`` and for all pairs at once."""
    k = n_classes
    return k / (k - 1) * float(np.sqrt(np.log(2 * max(pairs, 1) / (1 - SURE)) / 2))


def may_share(labels: Labels, least: int) -> bool:
    """Whether a pair of workers can share so many tasks: no, where not even all pairs that are
    hashed to one slot do. That is far cheaper than to count each pair by itself.

    Examples:
        >>> labels = Labels.from_codes([0, 0, 1, 1, 2, 2], [0, 1, 1, 0, 0, 2], [0, 0, 1, 1, 0, 1])
        >>> may_share(labels, 2), may_share(labels, 3)
        (True, False)
    """
    n_pairs = int((labels.n_said.astype(np.int64) ** 2).sum())
    bits = min(n_pairs.bit_length(), MOST_SLOT_BITS)
    pairs_in_slot = np.zeros(1 << bits, dtype=np.int32)
    end, worker = np.repeat(labels.indptr[1:], labels.n_said), labels.worker.astype(np.uint64)
    place, apart = np.arange(labels.n_labels), 1
    one_more = np.int32(1)  # of the slots' own type, without which NumPy is many times slower
    while len(place := place[place + apart < end[place]]):
        one, other = worker[place], worker[place + apart]
        pair = np.minimum(one, other) * np.uint64(labels.n_workers) + np.maximum(one, other)
        slot = pair * FAR_APART >> np.uint64(64 - bits)
        np.add.at(pairs_in_slot, slot.view(np.int64), one_more)
        if pairs_in_slot[slot].max() >= least:
            return True
        apart += 1
    return False


def count_pairs(labels: Labels, seed: int) -> tuple[Iterator[PairCounts], bool]:
    """Count every pair that shares a task, once, in runs; and say whether workers were sampled."""
    per_task = np.diff(labels.indptr).astype(np.int64)
    work = np.bincount(labels.worker, np.repeat(per_task, per_task), minlength=labels.n_workers)
    sampled = bool(work.sum() > MOST)
    n = labels.n_workers
    drawn = kernels.hashed_uniform(labels.worker_keys(), 1, seed)[:, 0]
    order = drawn.argsort(kind="stable") if sampled else np.arange(n)
    done = work[order].cumsum()
    limit = min(done[-1], MOST)
    cuts = np.searchsorted(done, [*np.arange(RUN, limit, RUN), limit], side="right")
    return _runs(labels, order, np.unique([0, *np.maximum(cuts, 1)])), sampled


def _runs(
    labels: Labels, order: NDArray[np.int64], edges: NDArray[np.int64]
) -> Iterator[PairCounts]:
    """Runs of pairs. One matrix has both counts: shared tasks in the high half of a number,
    agreements in the low."""
    n = labels.n_workers
    place = np.empty(n, dtype=np.int32)
    place[order] = np.arange(n)
    worker = place[labels.worker]
    workers_of_task = _rows(labels.indptr, worker, n)
    task = np.repeat(np.arange(labels.n_tasks, dtype=np.int64), np.diff(labels.indptr))
    answer = task * labels.n_classes + labels.label
    order_of_answers = np.argsort(answer, kind="stable")
    answer = answer[order_of_answers]
    starts = np.flatnonzero(np.diff(answer, prepend=-1, append=-1)).astype(np.int32)
    workers_of_answer = _rows(starts, worker[order_of_answers], n)
    del task, answer, order_of_answers
    tasks, answers = workers_of_task.T.tocsr(), workers_of_answer.T.tocsr()
    for start, stop in pairwise(edges):
        shared = (tasks[start:stop] @ workers_of_task).astype(np.int64)
        shared.data <<= 32
        both = (shared + answers[start:stop] @ workers_of_answer).tocoo()
        del shared
        first, second = both.row + start, both.col
        once = first < second
        yield PairCounts(
            order[first[once]].astype(np.int32),
            order[second[once]].astype(np.int32),
            both.data[once] >> 32,
            both.data[once] & 0xFFFFFFFF,
        )


def _rows(indptr: NDArray[np.integer], worker: Codes, n: int) -> csr_array:
    ones = np.ones(len(worker), dtype=np.int32)
    return sparse.csr_array((ones, worker, indptr), shape=(len(indptr) - 1, n))


def _test(pairs: PairCounts, confusion: Floats, prior: Floats) -> tuple[Suspects, Floats]:
    """Pairs that agree significantly more than their skills explain, each tested by itself; and
    every pair's score, its distance from the expectation in standard deviations."""
    expected = _expected_agreement(pairs, confusion, prior)
    mean, variance = pairs.shared * expected, pairs.shared * expected * (1 - expected)
    scores = (pairs.agreed - mean) / np.sqrt(np.maximum(variance, 1e-12))
    tail = np.asarray(bdtrc(np.maximum(pairs.agreed - 1, 0), pairs.shared, expected), np.float64)
    p = np.where(pairs.agreed > 0, tail, 1.0)
    suspects = Suspects(pairs, expected, p)
    return suspects.where((p < 0.01) & (suspects.copied >= LEAST_COPIED)), scores


def _expected_agreement(pairs: PairCounts, confusion: Floats, prior: Floats) -> Floats:
    """Probability that two workers, independent given the truth, give the same label."""
    flat = confusion.reshape(len(confusion), -1)
    weight = np.repeat(prior, confusion.shape[2])
    expected = np.empty(len(pairs.first))
    step = max(1, RUN // flat.shape[1])
    for start in range(0, len(expected), step):
        part = slice(start, start + step)
        first, second = flat[pairs.first[part]], flat[pairs.second[part]]
        expected[part] = np.einsum("pc,c,pc->p", first, weight, second)
    return np.clip(expected, 1e-9, 1 - 1e-9)


def _most_significant(found: list[Suspects]) -> Suspects:
    """The most significant suspects of all runs."""
    columns = zip(*(s.pairs for s in found), strict=True)
    together = Suspects(
        PairCounts(*map(np.concatenate, columns)),
        np.concatenate([s.expected for s in found]),
        np.concatenate([s.p for s in found]),
    )
    if len(together.p) <= MOST_SUSPECTS:
        return together
    limit = np.partition(together.p, MOST_SUSPECTS // 2)[MOST_SUSPECTS // 2]
    return together.where(together.p <= limit)


def _beyond_other_pairs(suspects: Suspects, spread: NDArray[np.int64], tested: int) -> Suspects:
    """Tasks that are easy or hard for all make everybody agree more than skills explain: a pair
    is held against the other pairs' scores, and against the number of pairs that were tested."""
    if not tested:
        return suspects
    centre, scale = 0.0, 1.0
    others = int(spread.sum())
    if others >= ENOUGH_PAIRS:
        middle = np.searchsorted(spread.cumsum() / others, [0.25, 0.5, 0.75])
        low, centre, high = np.append(SCORES, SCORES[-1])[middle]
        centre, scale = max(centre, 0.0), max((high - low) / 1.349, 1.0)
    score = -ndtri(np.maximum(suspects.p, 1e-300))
    p = ndtr(-(score - centre) / scale)
    suspects = suspects._replace(p=p).where(metrics.discoveries(p, tested))
    order = np.argsort(suspects.p, kind="stable")
    return suspects.where(order)


def _median(histogram: NDArray[np.int64]) -> float:
    total = histogram.sum()
    if not total:
        return 0.0
    middle = np.searchsorted(histogram.cumsum(), [(total + 1) // 2, total // 2 + 1])
    return float(middle.mean())
