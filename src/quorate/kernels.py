"""Arrays in, arrays out: the few products and reductions every model is made of.

With ``A`` the sparse 0/1 matrix of tasks by columns (a column is a worker's label, or a worker),
an E-step is ``A @ table`` and an M-step ``A.T @ posterior``. SciPy's products release the GIL, so
blocks are swept side by side in threads. Where numba is installed and there is much to do, loops
that it has compiled do the same, to the same bits: `compiled` says when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import buffers, chunks, compiled, sparse
from quorate.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

    from quorate.loops import FarLoops, Loops

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Keys = NDArray[np.uint64]  # numbers that stand for names
KeysOf = Callable[[NDArray[np.intp]], Keys]
RowsMade = Callable[[Codes | None], Floats]  # the rows of a table that have these codes, or all

# The logarithm of a zero probability: finite, so that sums never make a NaN, and so low that a
# class with one more zero than another always loses, as in the limit of a vanishing probability.
LOG_ZERO = -1e9
ALL_BITS = 2**64 - 1

CACHED = 400_000  # numbers that fit in a cache
AT_ONCE = 40_000  # labels, whose ones are read from the cache
FEW_CLASSES = 8  # at most, for a column per truth to be faster than going label by label
SHORT = 60_000  # rows of a table that is accessed in any order
FEW_ROWS = 64  # at most, for row by row to be faster than column by column
LONG_ROW = 32  # columns from which on NumPy is fast at the maximum of a row


class Incidence(NamedTuple):
    """Sparse matrix of the weights with which tasks touch rows of a table: task ``t`` touches
    ``row[indptr[t]]`` to ``row[indptr[t + 1] - 1]``."""

    indptr: NDArray[np.integer]
    row: Codes
    height: int
    weight: Floats | None = None

    @property
    def n_tasks(self) -> int:
        return len(self.indptr) - 1

    @property
    def matrix(self) -> csr_array:
        """The sparse matrix ``matrix[task, row]``."""
        weight = _ones(len(self.row)) if self.weight is None else self.weight
        return sparse.csr_array((weight, self.row, self.indptr), shape=(self.n_tasks, self.height))

    def gather(self, table: Floats, plus: Floats | None = None) -> Floats:
        """Sum of the table's rows that each task touches, and of one that is added to all."""
        loops = self._loops(table)
        if loops is not None:
            return _gathered(loops, self.indptr, self.row, table, plus)
        sums = buffers.zeros((self.n_tasks, *table.shape[1:]))
        if sparse.csr_matvecs is None or not self._is_plain:
            sums += self.matrix @ table
        else:
            self._add(sparse.csr_matvecs, (self.n_tasks, self.height), table, sums)
        return sums if plus is None else np.add(sums, plus, out=sums)

    def gather_made(self, make: RowsMade) -> Floats:
        """The same of a table whose rows are made when they are needed."""
        return self.gather(make(None))

    def scatter(self, values: Floats) -> Rows:
        """Sum, for each row of the table, of the values of the tasks that touch it."""
        return Rows(self, values)

    def add(self, values: Floats, into: Floats) -> None:
        loops = self._loops(into)
        if loops is not None:
            loops.add(self.indptr, self.row, _flat(values, into.dtype), into.reshape(-1))
        elif sparse.csc_matvecs is None or not (self._is_plain and into.flags.c_contiguous):
            into += self.matrix.T @ values
        else:
            self._add(sparse.csc_matvecs, (self.height, self.n_tasks), values, into)

    def _add(self, loop: Any, shape: tuple[int, ...], values: Floats, into: Floats) -> None:
        """Add with a loop for the matrix or, its rows being columns there, for its transpose."""
        flat, total = _flat(values, into.dtype), into.reshape(-1)
        weight = _ones(len(self.row)) if self.weight is None else self.weight
        loop(*shape, into[:1].size, self.indptr, self.row, weight, flat, total)

    def _loops(self, table: Floats) -> FarLoops | Loops | None:
        plain = self.weight is None and self._is_plain
        return _compiled_for(table, len(self.row)) if plain else None

    @property
    def _is_plain(self) -> bool:
        return _is_plain(self.indptr, np.int32) and _is_plain(self.row, np.int32)


class ByRow(NamedTuple):
    """Labels sorted by row: a table is accessed in order."""

    row: Codes
    task: Codes
    weight: Floats | None

    def by_task(self, n_tasks: int) -> ByTask:
        indptr, row, _ = two_by_code(self.task, n_tasks, self.row, self.task)
        return ByTask(indptr, row)


class ByTask(NamedTuple):
    """Labels sorted by task, and those of a task by row, so that sums are in the same order."""

    indptr: NDArray[np.integer]
    row: Codes

    def by_row(self, height: int) -> ByRow:
        return ByRow(*sorted_with(self.row, _task_of(self.indptr), height), None)


class TallIncidence:
    """Incidence on a table with far more rows than the block has tasks. SciPy's loops access the
    table in order, and only the block, which fits in a cache, at random; compiled ones fetch the
    table's rows ahead, in the order of the tasks. Labels are kept in the order last needed."""

    def __init__(self, labels: ByRow | ByTask, n_tasks: int, height: int) -> None:
        self._labels, self.n_tasks, self.height = labels, n_tasks, height

    def gather(self, table: Floats, plus: Floats | None = None) -> Floats:
        loops = self._loops(table)
        if loops is not None:
            return _gathered(loops, *self._by_task(), table, plus)
        labels = self._by_row()
        sums = buffers.zeros((self.n_tasks, *table.shape[1:]))
        accumulate(sums, labels.task, table, labels.row, labels.weight)
        return sums if plus is None else np.add(sums, plus, out=sums)

    def gather_made(self, make: RowsMade) -> Floats:
        labels, n = self._labels, len(self.row)
        each = np.arange(n, dtype=np.int32)  # of the rows that are made, one for each label
        if isinstance(labels, ByTask):
            return Incidence(labels.indptr, each, n).gather(make(labels.row))
        made = make(labels.row)
        sums = buffers.zeros((self.n_tasks, *made.shape[1:]))
        accumulate(sums, labels.task, made, each, labels.weight)
        return sums

    def scatter(self, values: Floats) -> Rows:
        return Rows(self, values)

    def add(self, values: Floats, into: Floats) -> None:
        loops = self._loops(into)
        if loops is not None:
            loops.add(*self._by_task(), _flat(values, into.dtype), into.reshape(-1))
            return
        labels = self._by_row()
        accumulate(into, labels.row, values, labels.task, labels.weight)

    @property
    def row(self) -> Codes:
        """The row that each label touches."""
        return self._labels.row

    @property
    def matrix(self) -> csr_array:
        """The sparse matrix ``matrix[task, row]``."""
        labels = self._by_row()
        weight = _ones(len(labels.row)) if labels.weight is None else labels.weight
        shape = (self.n_tasks, self.height)
        return sparse.csr_array((weight, (labels.task, labels.row)), shape=shape)

    def _loops(self, table: Floats) -> FarLoops | Loops | None:
        labels = self._labels
        weighted = isinstance(labels, ByRow) and labels.weight is not None
        return None if weighted else _compiled_for(table, len(labels.row))

    def _by_row(self) -> ByRow:
        labels = self._labels
        if isinstance(labels, ByTask):
            self._labels = labels = labels.by_row(self.height)
        return labels

    def _by_task(self) -> ByTask:
        labels = self._labels
        if isinstance(labels, ByRow):
            self._labels = labels = labels.by_task(self.n_tasks)
        return labels


def _compiled_for(table: Floats, n_labels: int) -> FarLoops | Loops | None:
    """Compiled loops for a table that so many labels touch, where they pay."""
    if table.size <= compiled.LARGE_TABLE:
        return _compiled_near(table, n_labels)
    return compiled.far(table[:1].size, n_labels) if _is_plain(table) else None


def _compiled_near(values: Floats, n: int) -> Loops | None:
    """The same for what a cache holds, and where rows are touched in order."""
    return compiled.near(values[:1].size, n) if _is_plain(values) else None


def _is_plain(values: NDArray[Any], kind: type[np.generic] = np.float64) -> bool:
    flags = values.flags
    return bool(values.dtype == kind and flags.c_contiguous and flags.aligned)


def _gathered(
    loops: FarLoops | Loops,
    indptr: NDArray[np.integer],
    row: Codes,
    table: Floats,
    plus: Floats | None,
) -> Floats:
    sums = buffers.empty((len(indptr) - 1, *table.shape[1:]))
    added = np.zeros(table.shape[1:]) if plus is None else plus
    loops.gather(indptr, row, table.reshape(-1), _flat(added, np.float64), sums.reshape(-1))
    return sums


class Rows(NamedTuple):
    """Values of tasks yet to be added to the rows of a table, without making that table first."""

    incidence: Incidence | TallIncidence
    values: Floats

    def dense(self) -> Floats:
        table = buffers.zeros((self.incidence.height, *self.values.shape[1:]))
        self.add_to(table)
        return table

    def add_to(self, table: Floats) -> None:
        self.incidence.add(self.values, table)


def incidence(
    indptr: NDArray[np.integer], row: Codes, height: int, weight: Floats | None = None
) -> Incidence | TallIncidence:
    """Build the task-by-row incidence matrix of labels in task order, each of which touches a row;
    optionally weighted."""
    n_tasks = len(indptr) - 1
    if height <= max(n_tasks, SHORT):
        return Incidence(indptr, row, height, weight)
    sort_rows = None if weight is not None else compiled.sort_rows(len(row))
    if sort_rows is not None and _is_plain(indptr, np.int32):
        sorted_rows = row.copy()
        sort_rows(indptr, sorted_rows)
        return TallIncidence(ByTask(indptr, sorted_rows), n_tasks, height)
    task = _task_of(indptr)
    if weight is not None:
        weight = sorted_with(row, weight, height)[1]
    return TallIncidence(ByRow(*sorted_with(row, task, height), weight), n_tasks, height)


def _task_of(indptr: NDArray[np.integer]) -> Codes:
    """The task of each label."""
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))


def accumulate(
    into: Floats, at: Codes, values: Floats, of: Codes, weight: Floats | None = None
) -> None:
    """Add in place: ``into[at[i]] += values[of[i]]`` for each ``i`` in turn, times
    ``weight[i]``."""
    if sparse.coo_matmat_dense is None or not into.flags.c_contiguous:
        added = values[of]
        np.add.at(into, at, added if weight is None else (added.T * weight).T)
        return
    flat, total = _flat(values, into.dtype), into.reshape(-1)
    width = into[:1].size
    for start in range(0, len(at), AT_ONCE):  # so that the ones are read from the cache
        some = slice(start, start + AT_ONCE)
        factor = _ones(len(at[some])) if weight is None else weight[some]
        sparse.coo_matmat_dense(len(factor), width, at[some], of[some], factor, flat, total)


def _flat(values: Floats, dtype: Any) -> Floats:
    return np.ascontiguousarray(values, dtype=dtype).reshape(-1)


_shared_ones = np.ones(0)


def _ones(n: int) -> Floats:
    """Read-only array of ones, shared by the matrices of all blocks."""
    global _shared_ones
    if len(_shared_ones) < n:
        _shared_ones = np.ones(max(n, CACHED))
        _shared_ones.flags.writeable = False
    return _shared_ones[:n]


def weighted_votes(
    indptr: NDArray[np.integer], label: Codes, weight: Floats, n_classes: int
) -> Floats:
    """Sum of the weights of the labels that name each class, ``[task, class]``."""
    shape = (len(indptr) - 1, n_classes)
    if sparse.csr_todense is None or indptr.dtype != label.dtype:
        return sparse.csr_array((weight, label, indptr), shape=shape).toarray()  # type: ignore[no-any-return]
    votes = np.zeros(shape)
    sparse.csr_todense(*shape, indptr, label, _flat(weight, votes.dtype), votes)
    return votes


def vote_shares(
    indptr: NDArray[np.integer], label: Codes, n_classes: int, weight: Floats | None = None
) -> Floats:
    """Soft vote ``[task, class]``; uniform for a task without labels."""
    if weight is None:
        votes = weighted_votes(indptr, label, _ones(len(label)), n_classes)
        total = np.diff(indptr)
    else:
        votes = weighted_votes(indptr, label, weight, n_classes)
        total = votes.sum(axis=1)
    silent = total <= 0
    votes /= np.where(silent, 1, total)[:, None]
    votes[silent] = 1 / n_classes
    return votes


def task_sums(indptr: NDArray[np.integer], values: Floats) -> Floats:
    """Sum of each task's values; zero for a task without labels."""
    sums = np.zeros(len(indptr) - 1)
    labelled = np.diff(indptr) > 0
    if labelled.any():
        sums[labelled] = np.add.reduceat(values, indptr[:-1][labelled])
    return sums


def probability_correct(indptr: NDArray[np.integer], label: Codes, posterior: Floats) -> Floats:
    """Probability that each label names the truth."""
    start = np.arange(len(posterior)) * posterior.shape[1]
    return np.take(posterior, np.repeat(start, np.diff(indptr)) + label)


def by_code(codes: Codes, n_codes: int, values: NDArray[Any]) -> csc_array:
    """Sort values by their codes: ``data``, with the former ``indices`` and the start of each code
    in ``indptr``. It is a counting sort, which is how SciPy turns rows into columns.

    Examples:
        >>> sorted = by_code(np.array([1, 0, 1], dtype=np.int32), 2, np.array([5, 6, 7]))
        >>> sorted.data, sorted.indices, sorted.indptr
        (array([6, 5, 7]), array([1, 0, 2], dtype=int32), array([0, 1, 3], dtype=int32))
    """
    n = len(codes)
    _require_codes(codes, n_codes)
    row = np.arange(n + 1, dtype=np.int32 if n < np.iinfo(np.int32).max else np.int64)
    return sparse.csr_array((values, codes, row), shape=(n, n_codes)).tocsc()


def two_by_code(
    codes: Codes, n_codes: int, first: Codes, second: NDArray[Any]
) -> tuple[NDArray[np.integer], Codes, NDArray[Any]]:
    """Sort two columns by their codes: the start of each code, and the sorted columns. It is the
    same counting sort, which is how SciPy turns triplets into rows.

    Examples:
        >>> codes, first, second = np.array([[1, 0, 1], [5, 6, 7], [8, 9, 2]], dtype=np.int32)
        >>> two_by_code(codes, 2, first, second)[1:]
        (array([6, 5, 7], dtype=int32), array([9, 8, 2], dtype=int32))
    """
    n = len(codes)
    _require_codes(codes, n_codes)
    index: Any = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    start = np.zeros(n_codes + 1, dtype=index)
    if sparse.coo_tocsr is None:
        start[1:] = np.bincount(codes, minlength=n_codes).cumsum()
        order = np.argsort(codes, kind="stable")
        return start, first[order], second[order]
    sorted_first, sorted_second = np.empty(n, dtype=index), np.empty_like(second)
    columns = codes.astype(index, copy=False), first.astype(index, copy=False), second
    sparse.coo_tocsr(n_codes, 1, n, *columns, start, sorted_first, sorted_second)
    return start, sorted_first.astype(first.dtype, copy=False), sorted_second


def sorted_with(codes: Codes, values: NDArray[Any], n_codes: int) -> tuple[Codes, NDArray[Any]]:
    """Codes in order, and their values; equal codes keep their order. It is a sort by the lower and
    then by the upper half of the bits, several times as fast as by comparing.

    Examples:
        >>> sorted_with(np.array([9, 2, 9], dtype=np.int32), np.array([5, 6, 7]), 10)
        (array([2, 9, 9], dtype=int32), array([6, 5, 7]))
    """
    bits = (n_codes.bit_length() + 1) // 2
    lower = codes & np.int32((1 << bits) - 1)
    _, codes, values = two_by_code(lower, 1 << bits, codes, values)
    upper = codes >> np.int32(bits)
    return two_by_code(upper, (n_codes >> bits) + 1, codes, values)[1:]


def _require_codes(codes: Codes, n_codes: int) -> None:
    """Refuse codes out of range, which SciPy would not notice."""
    least, most = codes.min(initial=0), codes.max(initial=-1)
    if least < 0 or most >= n_codes:
        raise DataError(f"There are codes from {least} to {most}, where 0 to {n_codes - 1} can be.")


def equals_before(codes: Codes, n_codes: int) -> Codes:
    """Number of equal codes before each.

    Examples:
        >>> equals_before(np.array([1, 0, 1, 1], dtype=np.int32), 2)
        array([0, 0, 1, 2], dtype=int32)
    """
    sorted = by_code(codes, n_codes, np.zeros(len(codes), dtype=np.int8))
    before = np.empty(len(codes), dtype=np.int32)
    start = np.repeat(sorted.indptr[:-1], np.diff(sorted.indptr))
    before[sorted.indices] = np.arange(len(codes)) - start
    return before


def normalise(log_joint: Floats) -> tuple[Floats, Floats]:
    """Turn ``log p(truth, labels)`` into the posterior, in place, and return the log row sums
    too."""
    log_sum = np.empty(len(log_joint))
    loops = _compiled_near(log_joint, len(log_joint))
    for some in row_chunks(log_joint):
        part = log_joint[some]
        log_sum[some] = _normalise(part) if loops is None else _normalise_by(loops, part)
    return log_joint, log_sum


def row_chunks(values: NDArray[Any]) -> Iterator[slice]:
    """Slices of rows, short enough that intermediate arrays stay in a cache."""
    yield from slices(len(values), values[:1].size)


def slices(height: int, width: int) -> Iterator[slice]:
    """Slices of so many rows of so many numbers, short enough for a cache."""
    some = max(1, CACHED // max(1, width))
    for start in range(0, height, some):
        yield slice(start, start + some)


def _normalise(log_joint: Floats) -> Floats:
    """Normalise column by column: NumPy is several times slower at reducing many short rows."""
    highest = row_max(log_joint)
    log_joint -= highest[:, None]
    posterior = np.exp(log_joint, out=log_joint)
    total = row_sums(posterior)
    posterior /= total[:, None]
    highest += np.log(total)
    return highest


def _normalise_by(loops: Loops, log_joint: Floats) -> Floats:
    """The same by compiled loops."""
    highest, total = np.empty(len(log_joint)), np.empty(len(log_joint))
    flat = log_joint.reshape(-1)
    loops.less_highest(flat, highest)
    np.exp(log_joint, out=log_joint)
    loops.to_shares(flat, total)
    highest += np.log(total)
    return highest


def log_or(values: Floats, at_zero: float = LOG_ZERO, out: Floats | None = None) -> Floats:
    """Logarithm of the values, with ``at_zero`` for that of zero."""
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(values, out=out)
    if at_zero == LOG_ZERO:
        return np.maximum(logs, LOG_ZERO, out=logs)
    logs[values == 0] = at_zero
    return logs


def log_shares(counts: Floats, smoothing: float = 0.0, prior: Floats | None = None) -> Floats:
    """Logarithm of each label's share of a worker's labels on tasks of one truth.

    `counts` is a table ``[worker * n_classes + label, truth]``, as the result is; `prior` holds
    further counts ``[worker, truth, label]``. A truth that a worker never met has zero shares.
    """
    n_classes = counts.shape[1]
    by_worker = counts.reshape(-1, n_classes, n_classes)
    log = buffers.empty(by_worker.shape)
    loops = _compiled_near(counts, len(counts)) if prior is None else None

    def put(some: slice) -> None:
        if loops is not None:
            flat = log[some].reshape(-1)
            loops.shares_of_labels(by_worker[some].reshape(-1), smoothing, flat)
            log_or(flat, out=flat)
            return
        known = by_worker[some] + smoothing
        if prior is not None:
            known += prior[some].transpose(0, 2, 1)
        answered = np.einsum("wlt->wt", known)[:, None]
        known /= np.where(answered > 0, answered, 1)
        log_or(known, out=log[some])

    chunks.each(put, by_worker)
    return log.reshape(counts.shape)


def by_truth(weights: Floats, n_classes: int, rows: Codes | None = None) -> Floats:
    """The table ``[worker * n_classes + label, truth]`` of ``weights[worker, label, (wrong,
    right)]``, or some rows of it; one label's weights can stand for those of all.

    Examples:
        >>> weights = np.array([[[1.0, 5.0], [2.0, 7.0]]])
        >>> by_truth(weights, 2)
        array([[5., 1.],
               [2., 7.]])
        >>> by_truth(weights, 2, np.array([1, 1]))
        array([[2., 7.],
               [2., 7.]])
    """
    if rows is not None:
        worker, label = np.divmod(rows, n_classes)
        each = rows if weights.shape[1] == n_classes else worker
        chosen = np.take(weights.reshape(-1, 2), each, axis=0)
        some = buffers.empty((len(rows), n_classes))
        some[...] = chosen[:, :1]
        some.reshape(-1)[np.arange(0, some.size, n_classes) + label] = chosen[:, 1]
        return some
    table = buffers.empty((len(weights), n_classes, n_classes))
    table[...] = weights[:, :, :1]
    np.einsum("wll->wl", table)[...] = weights[:, :, 1]
    return table.reshape(-1, n_classes)


def right_and_wrong(counts: Floats, n_classes: int) -> Floats:
    """Counts ``[worker * n_classes + label, (right, wrong)]`` from the sum of
    `Labels.count_right_and_wrong`: counts by truth, or with many classes these very counts."""
    if n_classes > FEW_CLASSES:
        return counts
    by_label = counts.reshape(-1, n_classes, n_classes)
    both = buffers.empty((*by_label.shape[:2], 2))

    def put(some: slice) -> None:
        right = np.einsum("wll->wl", by_label[some])
        both[some, :, 0] = right
        np.subtract(by_label[some].sum(axis=2), right, out=both[some, :, 1])

    chunks.each(put, by_label)
    return both.reshape(-1, 2)


def weighted_log(weight: Floats | float, values: Floats) -> float:
    """Sum of ``weight * log(values)`` without the values of zero, at which a density is infinite in
    every step."""
    if isinstance(weight, float) and weight == 0:
        return 0.0
    return float(np.sum(weight * log_or(values, 0.0)))


def temper(posterior: Floats, temperature: float) -> Floats:
    """Posterior ``[task, class]`` with its log-odds divided by the temperature.

    Examples:
        >>> temper(np.array([[0.8, 0.2], [1.0, 0.0]]), 2).round(3)
        array([[0.667, 0.333],
               [1.   , 0.   ]])
    """
    if temperature == 1:
        return posterior
    tempered: Floats = (posterior / row_max(posterior)[:, None]) ** (1 / temperature)
    tempered /= row_sums(tempered)[:, None]
    return tempered


def entropy(shares: Floats) -> Floats:
    """Entropy of each row, in nats.

    Examples:
        >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(3) + 0
        array([0.693, 0.   ])
    """
    total: Floats = -(shares * log_or(shares, 0.0)).sum(axis=1)
    return total


def column_sums(values: Floats) -> Floats:
    loops = _compiled_near(values, len(values))
    if loops is None:
        return np.array([column.sum() for column in values.T])
    sums = np.empty(values.shape[1])
    loops.column_sums(values.reshape(-1), sums)
    return sums


def row_sums(values: Floats) -> Floats:
    """Sum of each row, added from left to right however many rows there are, so that a row's sum
    has the same bits in any block.

    Examples:
        >>> row_sums(np.array([[0.5, 0.25], [1.0, 2.0]]))
        array([0.75, 3.  ])
    """
    if len(values) <= FEW_ROWS:
        return np.cumsum(values, axis=1)[:, -1]
    total: Floats = values[:, 0].copy()
    for column in values.T[1:]:
        total += column
    return total


def label_sums(values: Floats) -> Floats:
    """Sum ``[worker, 1, state]`` over the labels of ``values[worker, label, state]``, in the order
    of NumPy's sum, which is several times slower over an axis so short.

    Examples:
        >>> label_sums(np.array([[[0.5, 0.25], [1.0, 2.0]]]))
        array([[[1.5 , 2.25]]])
    """
    sums: Floats
    if values.shape[2] == 1 or not values.flags.c_contiguous:  # einsum would add in another order
        sums = values.sum(axis=1, keepdims=True)
    else:
        sums = np.einsum("wls->ws", values)[:, None]
    return sums


def row_max(values: Floats) -> Floats:
    """Highest value of each row."""
    highest: Floats
    if len(values) <= FEW_ROWS or values.shape[1] >= LONG_ROW:
        highest = np.maximum.reduce(values, axis=1)
        return highest
    highest = values[:, 0].copy()
    for column in values.T[1:]:
        np.maximum(highest, column, out=highest)
    return highest


def tied(scores: Floats) -> NDArray[np.bool_]:
    """Whether each class has the highest score of its task, up to rounding."""
    best: NDArray[np.bool_] = scores >= row_max(scores)[:, None] * (1 - 1e-12)
    return best


def choose(scores: Floats, ties: str, seed: int, keys: KeysOf) -> Codes:
    """Class with the highest score; ties go to the first class, or are broken at random, by the
    keys of the tasks that are tied."""
    best = tied(scores)
    chosen: Codes = best.argmax(axis=1).astype(np.int32)
    if ties == "random":
        open_tasks = np.flatnonzero(sum(best.T, start=np.zeros(len(best), np.int32)) > 1)
        random = hashed_uniform(keys(open_tasks), scores.shape[1], seed)
        chosen[open_tasks] = np.where(best[open_tasks], random, -1.0).argmax(axis=1)
    return chosen


def harden(posterior: Floats, ties: str, seed: int, keys: KeysOf) -> Floats:
    """Posterior with all probability on the most probable class; with ``ties="shared"`` evenly on
    the tied ones."""
    if ties == "shared":
        best: Floats = tied(posterior).astype(np.float64)
        best /= best.sum(axis=1, keepdims=True)
        return best
    hard = np.zeros_like(posterior)
    hard[np.arange(len(hard)), choose(posterior, ties, seed, keys)] = 1.0
    return hard


def hashed_uniform(key: NDArray[np.integer], width: int, seed: int) -> Floats:
    """Uniform random numbers ``[key, width]``, hashed from the seed, the key and the column only,
    so that a tie is broken the same way in whatever block its task is swept (the mixer of
    SplitMix64)."""
    number = np.arange(1, width + 1, dtype=np.uint64)
    bits: NDArray[np.uint64] = key.astype(np.uint64)[:, None] * np.uint64(width) + number
    stream = np.uint64(int(seed) * 0xD1342543DE82EF95 % 2**64)
    bits = (bits + stream) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    bits ^= bits >> np.uint64(31)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def hashed_uniform_row(key: int, width: int, seed: int) -> list[float]:
    """The random numbers of one key in plain Python, which takes a tenth of the time.

    Examples:
        >>> hashed_uniform_row(7, 3, 5) == hashed_uniform(np.array([7]), 3, 5)[0].tolist()
        True
    """
    start, found = key * width + int(seed) * 0xD1342543DE82EF95, []
    for number in range(1, width + 1):
        bits = (start + number) * 0x9E3779B97F4A7C15 & ALL_BITS
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & ALL_BITS
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & ALL_BITS
        found.append(((bits ^ bits >> 31) >> 11) * 2.0**-53)
    return found
