"""The worker graph: who shares tasks with whom, and whether skills can be told from it.

Y. Ma, A. Olshevsky, V. Saligrama and C. Szepesvari, "Gradient Descent for Sparse Rank-One Matrix
Completion for Crowd-Sourced Aggregation of Sparsely Interacting Workers" (ICML 2018): two workers
are joined by an edge of weight ``N_ij``, the number of tasks they share. Theorem 1: skills can be
told in a connected graph if and only if it has an odd cycle. Theorem 3: the error of the skills is
governed by the smallest eigenvalue of the signless Laplacian ``D + N``.

The matrix ``N`` is never held. Three workers on one task are an odd cycle, so only tasks with two
workers can make a graph without one; and with ``A`` the 0/1 matrix of tasks by workers and ``c``
the workers' numbers of tasks, ``N = A.T @ A - diag(c)``, so that a product with it is two with
``A``.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, lobpcg

from quorate.kernels import Codes, Floats
from quorate.labels import Labels

SMALL = 400  # workers, up to which all eigenvalues are computed
MOST_STEPS = 60
TOLERANCE = 1e-2  # of the eigenvalue, relatively: it goes into a bound of orders of magnitude


class Graph(NamedTuple):
    """``component[worker]``, numbered by size, largest first; ``alone[worker]``: shares no task;
    ``open[component]``: several workers and no odd cycle (nor a known answer), so that their skills
    cannot be told."""

    component: Codes
    size: NDArray[np.int64]
    alone: NDArray[np.bool_]
    open: NDArray[np.bool_]

    @property
    def told(self) -> NDArray[np.bool_]:
        """The workers whose skills can be told from whom they agree with."""
        known: NDArray[np.bool_] = ~self.alone & ~self.open[self.component]
        return known


def worker_graph(labels: Labels) -> Graph:
    """Components and odd cycles, in time and memory linear in the labels (without repeats)."""
    n = labels.n_workers
    start, stop = _neighbours(labels, labels.n_tasks > 0)
    _, component = connected_components(_edges(start, stop, n), directed=False)
    size = np.bincount(component)
    rank = np.argsort(-size, kind="stable")
    place = np.empty_like(rank)
    place[rank] = np.arange(len(rank))
    component, size = place[component].astype(np.int32), size[rank]
    per_task = np.diff(labels.indptr)
    closed = np.zeros(len(size), dtype=bool)
    for settles in (per_task > 2, _known(labels) & (per_task > 0)):
        closed[component[labels.worker[labels.indptr[:-1][settles]]]] = True
    bipartite = ~closed & (size > 1)
    bipartite[_with_odd_cycle(labels, component, bipartite)] = False
    return Graph(component, size, size[component] == 1, bipartite)


def _known(labels: Labels) -> NDArray[np.bool_]:
    """Tasks with a known answer: whoever labelled one can be judged by it."""
    return np.zeros(labels.n_tasks, dtype=bool) if labels.gold is None else labels.gold >= 0


def _neighbours(
    labels: Labels, of_tasks: NDArray[np.bool_] | bool
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Each label's worker and the next one's of the same task: they join all of a task's."""
    within = np.ones(labels.n_labels, dtype=bool)
    within[labels.indptr[1:][np.diff(labels.indptr) > 0] - 1] = False
    within &= np.repeat(np.broadcast_to(of_tasks, labels.n_tasks), np.diff(labels.indptr))
    first = np.flatnonzero(within)
    return labels.worker[first], labels.worker[first + 1]


def _edges(start: Codes, stop: Codes, n: int) -> csr_array:
    return coo_array((np.ones(len(start), dtype=np.int8), (start, stop)), shape=(n, n)).tocsr()


def _with_odd_cycle(
    labels: Labels, component: Codes, among: NDArray[np.bool_]
) -> NDArray[np.integer]:
    """Which of these components, whose tasks have at most two workers, have an odd cycle: those
    whose double cover (every worker twice, every edge from one side to the other) is connected."""
    first = np.minimum(labels.indptr[:-1], max(labels.n_labels - 1, 0))
    pairs = (np.diff(labels.indptr) == 2) & among[component[labels.worker[first]]]
    start, stop = _neighbours(labels, pairs)
    n = labels.n_workers
    cover = _edges(np.concatenate([start, start + n]), np.concatenate([stop + n, stop]), 2 * n)
    _, side = connected_components(cover, directed=False)
    odd = side[:n] == side[n:]
    return np.unique(component[odd & among[component]])


class Eigenvalue(NamedTuple):
    """The smallest eigenvalue, whether it settled (if not, it is an upper bound), and the worker
    in whom it is most at home."""

    value: float
    settled: bool
    worker: int


def smallest_eigenvalue(labels: Labels, workers: NDArray[np.bool_], seed: int) -> Eigenvalue | None:
    """Of the signless Laplacian ``D + N`` of these workers, who are whole components."""
    code = np.flatnonzero(workers)
    n = len(code)
    if not n:
        return None
    incidence = csr_array(
        (np.ones(labels.n_labels), labels.worker, labels.indptr),
        shape=(labels.n_tasks, labels.n_workers),
    )[:, code]
    others = np.diff(incidence.indptr) - 1.0
    degree = incidence.T @ np.maximum(others, 0)
    diagonal = degree - np.bincount(incidence.indices, minlength=n)

    def product(x: Floats) -> Floats:
        result: Floats = incidence.T @ (incidence @ x) + diagonal[:, None] * x
        return result

    settled = True
    if n <= SMALL:
        values, vectors = np.linalg.eigh(product(np.eye(n)))
    else:
        laplacian = LinearOperator((n, n), matvec=product, matmat=product, dtype=np.float64)
        values, vectors = _lowest(laplacian, degree, seed)
        error = float(np.linalg.norm(product(vectors[:, :1]) - values[0] * vectors[:, :1]))
        settled = bool(error <= 2 * TOLERANCE * values[0])
    at = int(np.argmax(np.abs(vectors[:, 0])))
    return Eigenvalue(max(float(values[0]), 0.0), settled, int(code[at]))


def _lowest(laplacian: LinearOperator, degree: Floats, seed: int) -> tuple[Floats, Floats]:
    """From the workers who share least, and from noise."""
    n = len(degree)
    start = np.random.default_rng(seed).normal(size=(n, 2))
    start[:, 0] = 0
    start[np.argmin(degree), 0] = 1
    inverse = 1 / np.maximum(degree, 1)[:, None]
    scale = LinearOperator(
        (n, n),
        matvec=lambda x: inverse * x.reshape(n, -1),
        matmat=lambda x: inverse * x,
        dtype=np.float64,
    )
    with warnings.catch_warnings(action="ignore"):  # that it did not settle is a field
        values, vectors = lobpcg(
            laplacian,
            start,
            M=scale,
            tol=TOLERANCE * max(float(degree.min()), 1e-3),
            maxiter=MOST_STEPS,
            largest=False,
        )
    order = np.argsort(values)
    return values[order], np.real(vectors[:, order])
