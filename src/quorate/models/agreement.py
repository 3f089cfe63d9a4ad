"""How often workers agree with each other, and the rank-one matrix that is nearest to it.

Workers with skills ``s`` in [-1, 1] who are right independently agree, beyond chance, at the rate
``s_i s_j``. Here is the graph of who met whom, and the projected gradient descent on it, of Y. Ma,
A. Olshevsky, V. Saligrama and C. Szepesvari, "Gradient Descent for Sparse Rank-One Matrix
Completion for Crowd-sourced Aggregation of Sparsely Interacting Workers" (ICML 2018).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, triu

from quorate.kernels import Codes, Floats
from quorate.labels import Labels

START = 0.5  # a skill in the positive orthant, as Theorem 2 asks
MOST = 1 - 1e-12  # without a margin too, no one's log-odds are infinite
MOST_SHORTER = 30  # times that a step is cut to a quarter: what is left is less than rounding


class Meetings(NamedTuple):
    """``pairs[a, b]``: how often the (worker, label) of row ``a`` met that of column ``b`` > ``a``
    on a task. Known answers are labels of one more worker."""

    pairs: csr_array
    labels: Floats


def meetings(block: Labels) -> Meetings:
    """How often the labels of two workers met in a block of tasks."""
    rows, local = np.unique(block.pair, return_inverse=True)
    ones = np.ones(block.n_labels)
    matrix = csr_array((ones, local, block.indptr), shape=(block.n_tasks, len(rows)))
    met = triu(matrix.T @ matrix, k=1, format="coo")
    row, column = (rows[c] for c in met.coords)
    height = block.n_workers * block.n_classes
    pairs = coo_array((met.data.astype(np.int32), (row, column)), shape=(height, height))
    labels = np.bincount(block.label, minlength=block.n_classes).astype(np.float64)
    return Meetings(pairs.tocsr(), labels)


def with_gold_as_a_worker(block: Labels) -> Labels:
    """Known answers as the labels of one more worker, who is always right."""
    n_workers = block.n_workers + 1
    if block.gold is None:
        return replace(block, n_workers=n_workers, worker_key=None)
    known = np.flatnonzero(block.gold >= 0)
    ends = block.indptr[1:][known]
    more = np.concatenate([[0], (block.gold >= 0).cumsum()])
    return replace(
        block,
        indptr=(block.indptr + more).astype(block.indptr.dtype),
        worker=np.insert(block.worker, ends, block.n_workers),
        label=np.insert(block.label, ends, block.gold[known]),
        n_workers=n_workers,
        worker_key=None,
    )


class Completion(NamedTuple):
    """Where the descent ended: the skills, the loss, how far a skill last moved, and the steps."""

    skill: Floats
    loss: float
    moved: float
    sweeps: int


class Graph(NamedTuple):
    """Who met whom, with the worker of known answers last. ``together`` is N_ij and ``agreement``
    N_ij C_ij, for i < j only; both are sums of ``pairs``. Their transposes are at hand, because
    to make them takes longer than to multiply by them."""

    pairs: coo_array
    n_classes: int
    together: csr_array
    agreement: csr_array
    transposed_together: csc_array
    transposed_agreement: csc_array
    met: Floats
    limit: Floats
    component: Codes

    @classmethod
    def of(cls, meetings: csr_array, n_classes: int, margin: float) -> Graph:
        from scipy.sparse.csgraph import connected_components  # slow to import

        pairs = meetings.tocoo()
        row, column = pairs.coords
        others = row // n_classes != column // n_classes  # a worker does not meet itself
        entries = (pairs.data[others], (row[others], column[others]))
        pairs = coo_array(entries, shape=pairs.shape)
        together = _by_worker(pairs.data.astype(np.float64), pairs, n_classes)
        everyone = np.ones(together.shape[0])
        back = together.T
        met: Floats = together @ everyone + back @ everyone
        limit = np.clip(1 - margin / np.sqrt(np.maximum(met, 1)), 0, MOST)
        component = connected_components(together, directed=False)[1]
        return cls(pairs, n_classes, together, together, back, back, met, limit, component)

    def agreeing(self, worth: Floats) -> Graph:
        """The same graph, with agreement by what pairs of labels are worth."""
        row, column = (code % self.n_classes for code in self.pairs.coords)
        agreement = _by_worker(self.pairs.data * worth[row, column], self.pairs, self.n_classes)
        return self._replace(agreement=agreement, transposed_agreement=agreement.T)

    def products(self, skill: Floats) -> tuple[Floats, Floats]:
        """``sum_j N_ij C_ij x_j`` and ``sum_j N_ij x_j^2``, for each worker i."""
        square = skill**2
        return (
            self.agreement @ skill + self.transposed_agreement @ skill,
            self.together @ square + self.transposed_together @ square,
        )

    def losses(self, skill: Floats, pull: Floats, curvature: Floats) -> Floats:
        """Lemma 3 for each component, but for what the loss is where all skills are zero."""
        return self._sums(skill * (skill * curvature / 4 - pull / 2))

    def completion(self, skill: Floats, moved: float, sweeps: int) -> Completion:
        at_zero = np.sum(self.agreement.data**2 / self.together.data) / 2
        loss = float(at_zero + self.losses(skill, *self.products(skill)).sum())
        return Completion(self._with_positive_sums(skill)[:-1], loss, moved, sweeps)

    def start(self) -> Floats:
        """In the positive orthant, or in the negative where most is at odds with known answers."""
        skill = np.minimum(START, self.limit)
        if self.agreement[:, [-1]].sum() < 0:
            skill = -skill
        skill[-1] = self.met[-1] > 0
        return skill

    def _sums(self, values: Floats) -> Floats:
        """The sum of the values over each component."""
        return np.bincount(self.component, values).astype(np.float64)

    def _with_positive_sums(self, skill: Floats) -> Floats:
        """Skills are known but for their sign, which makes each component's sum positive. Where
        there are known answers these tell the sign."""
        upside_down = self._sums(skill) < 0
        upside_down[self.component[-1]] &= self.met[-1] == 0
        return np.where(upside_down[self.component], -skill, skill)


def _by_worker(data: Floats, pairs: coo_array, n_classes: int) -> csr_array:
    row, column = (code // n_classes for code in pairs.coords)
    n_workers = pairs.shape[0] // n_classes
    return coo_array((data, (row, column)), shape=(n_workers, n_workers)).tocsr()


def step_together(graph: Graph, tol: float, max_sweeps: int) -> Completion:
    """Every worker half way to where its own loss is least; shorter where that was too far. A
    component whose loss falls by no step, or by less than rounding shows, has arrived."""
    skill = graph.start()
    pull, curvature = graph.products(skill)
    losses = graph.losses(skill, pull, curvature)
    moved, sweeps = np.inf, 0
    while moved > tol and sweeps < max_sweeps:
        best = np.divide(pull, curvature, out=skill.copy(), where=curvature > 0)
        step = (np.clip(best, -graph.limit, graph.limit) - skill) / 2
        step[-1] = 0.0
        moved, sweeps = float(np.abs(step).max()), sweeps + 1
        for shorter in range(MOST_SHORTER + 1):
            pull, curvature = graph.products(skill + step)
            now = graph.losses(skill + step, pull, curvature)
            rises = (now > losses + 1e-10 * np.abs(losses))[graph.component]  # but for rounding
            if not rises.any():
                break
            step = np.where(rises, step / 4 if shorter < MOST_SHORTER - 1 else 0.0, step)
        if not step.any():
            moved = 0.0
        skill, losses = skill + step, now
    return graph.completion(skill, moved, sweeps)


def step_in_turn(graph: Graph, tol: float, max_sweeps: int) -> Completion:
    """Algorithm 1 with the step size at which each worker's own loss is least."""
    skill = graph.start()
    together = (graph.together + graph.together.T).tocsr()
    agreement = (graph.agreement + graph.agreement.T).tocsr()
    moved, sweeps = np.inf, 0
    while moved > tol and sweeps < max_sweeps:
        before, sweeps = skill.copy(), sweeps + 1
        for i in range(len(skill) - 1):
            at = slice(together.indptr[i], together.indptr[i + 1])
            curvature = together.data[at] @ skill[together.indices[at]] ** 2
            if curvature > 0:
                at = slice(agreement.indptr[i], agreement.indptr[i + 1])
                best = agreement.data[at] @ skill[agreement.indices[at]] / curvature
                skill[i] = min(max(best, -graph.limit[i]), graph.limit[i])
        moved = float(np.abs(skill - before).max())
    return graph.completion(skill, moved, sweeps)
