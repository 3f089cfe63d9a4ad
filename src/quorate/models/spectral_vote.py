"""Votes between two classes in which each worker's weight comes from eigenvectors.

What the methods share: `ghosh_svd.py`, `eigen_ratio.py` and `centred_svd.py` say which moments of
the votes to gather, and which of their eigenvectors weigh the workers.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate import kernels
from quorate.errors import UsageError
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import AnyPhase, Model, Opening, Phase, Step, Ties
from quorate.options import option

SMALL = 64  # workers up to which a dense matrix is quicker than iterating
NOTHING = 1e-10  # what counts as zero in a vector of length one


class Params(NamedTuple):
    """The weight of each worker's votes, what is taken from every task's score, and what a score is
    to be multiplied by to give log-odds."""

    weight: Floats
    centre: float
    sharpness: float = 0.0


class Stats(NamedTuple):
    """Of the tasks' scores: the sum of their sizes, that of their squares, and their number."""

    size: float
    square: float
    tasks: int


@dataclass(frozen=True, eq=False)
class SpectralVote(Model[Params, None, Stats]):
    """A vote between two classes in which each worker's weight comes from eigenvectors.

    A score's sign is the answer. For the belief, scores are taken for draws from two bells of one
    width, as far above zero as below: see `sharpness_of`. A task whose workers weigh nothing has
    its vote for a belief. Known answers are kept; they teach nothing else.
    """

    two_classes_only: ClassVar[bool] = True

    ties: Ties = option("random", "How a score of zero is decided: first, or random by seed.")
    seed: int = option(0, "Seed for ties that are broken at random.", at_least=0)

    @abstractmethod
    def gather(self, block: Labels) -> Any:
        """The moments of a block's votes, a NamedTuple."""

    @abstractmethod
    def weigh(self, moments: Any) -> tuple[Floats, float]:
        """Each worker's weight, and the centre of the scores, from all votes' moments."""

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (Opening(self._gather, self._weigh), Sharpen(self), self)

    def start(self, shape: Labels) -> None:
        require_two_classes(self.name, shape)

    def _gather(self, block: Labels, local: None) -> Any:
        return self.gather(block)

    def _weigh(self, moments: Any) -> Params:
        return Params(*self.weigh(moments))

    def sweep(self, block: Labels, params: Params, local: None) -> tuple[None, Stats]:
        score = _score(block, params)[block.n_said > 0]
        return None, Stats(float(np.abs(score).sum()), float(np.square(score).sum()), len(score))

    def estimate(self, stats: Stats, params: Params) -> Params:
        return params._replace(sharpness=sharpness_of(stats.size, stats.square, stats.tasks))

    def progress(self, stats: Stats, params: Params) -> Step:
        return Step(stats.square, None)

    def posterior(self, block: Labels, params: Params, local: None) -> Floats:
        weightless = block.task_sums(np.abs(params.weight)) == 0
        return belief_from(block, params.sharpness * _score(block, params), weightless)

    def log_joint(self, block: Labels, params: Params) -> Floats:
        """What the votes add up to, for each task and class."""
        log_joint = np.zeros((block.n_tasks, block.n_classes))
        log_joint[:, -1] = params.sharpness * _score(block, params)
        return log_joint

    def newcomer(self, stats: Stats, params: Params) -> Params:
        return params._replace(weight=np.append(params.weight, params.weight.mean()))


@dataclass(frozen=True, eq=False)
class Sharpen(Phase[Params, None, Stats]):
    """The spread of the tasks' scores tells what turns them into log-odds."""

    model: SpectralVote

    def sweep(self, block: Labels, params: Params, local: None) -> tuple[None, Stats]:
        return self.model.sweep(block, params, local)

    def estimate(self, stats: Stats, params: Params) -> Params:
        return self.model.estimate(stats, params)


def require_two_classes(method: str, labels: Labels) -> None:
    if labels.n_classes > 2:
        raise UsageError(
            f"{method} decides between two classes, and here are {labels.n_classes}: say ordered"
            " if they have an order, else use another method."
        )


def signs(block: Labels) -> Floats:
    """For each label +1 if it names the second class, -1 if the first."""
    return np.array([-1.0, 1.0])[block.label]


def vote_matrix(block: Labels, value: Floats) -> csr_array:
    """``[task, worker]``, with a value for each label, sparse."""
    return csr_array((value, block.worker, block.indptr), shape=(block.n_tasks, block.n_workers))


def _score(block: Labels, params: Params) -> Floats:
    signed = signs(block) * params.weight[block.worker]
    return kernels.task_sums(block.indptr, signed) - params.centre


def sharpness_of(size: float, square: float, tasks: int) -> float:
    """What to multiply scores by to get log-odds, if they are draws from two bells of one width.

    With scores in units of their root mean square, their mean size m estimates how far each bell
    is from zero, and 1 - m^2 its variance: the log-odds of x are 2 m x / (1 - m^2). That variance
    is not taken for less than one part in the number of tasks.
    """
    if square <= 0:
        return 0.0
    root_mean_square = np.sqrt(square / tasks)
    distance = size / tasks / root_mean_square
    return float(2 * distance / max(1 - distance**2, 1 / tasks) / root_mean_square)


def belief_from(block: Labels, log_odds: Floats, unknown: NDArray[np.bool_]) -> Floats:
    """``[task, class]`` from the log-odds of the second class; the vote for what is unknown."""
    belief = block.vote_shares()  # with known answers in their place
    if block.n_classes == 2:
        told = ~unknown if block.gold is None else ~unknown & (block.gold < 0)
        above = 0.5 * (1 + np.tanh(log_odds[told] / 2))
        belief[told] = np.stack([1 - above, above], axis=1)
    return belief


def leading_eigenvectors(matrix: csr_array, graph: csr_array) -> tuple[Floats, Floats]:
    """For each row the leading eigenvalue of its component of the graph, and its entry in that
    component's eigenvector. The entries' mean square is one, so that components weigh alike."""
    from scipy.sparse.csgraph import connected_components  # slow to import

    joined = csr_array(graph, copy=True)
    joined.eliminate_zeros()
    _, part = connected_components(joined, directed=False)
    order = np.argsort(part, kind="stable")
    size = np.bincount(part)
    end = size.cumsum()
    by_part = matrix[order][:, order]
    value, vector = by_part.diagonal(), np.ones(len(order))
    for p in np.flatnonzero(size > 1):
        rows = slice(end[p] - size[p], end[p])
        value[rows], vector[rows] = leading_eigenvector(by_part[rows, rows])
    back = np.argsort(order, kind="stable")
    return value[back], vector[back]


def leading_eigenvector(matrix: csr_array, less: Floats | None = None) -> tuple[float, Floats]:
    """The leading eigenvalue of a symmetric matrix, less the square of a vector, and its
    eigenvector with a mean square of one, and a positive sum; zeros where no sign can be told.

    Where several eigenvectors lead, it is what they leave of a vector of ones: to that Lanczos
    iterations that begin with ones converge too, and it depends on no order of the rows.
    """
    n = matrix.shape[0]
    ones = np.ones(n)
    less = np.zeros(n) if less is None else less
    if n <= SMALL:
        values, vectors = np.linalg.eigh(matrix.toarray() - np.outer(less, less))
        leading = vectors[:, values >= values[-1] - 1e-9 * max(abs(values[-1]), 1e-300)]
        value, vector = float(values[-1]), leading @ (leading.T @ ones)
    else:
        value, vector = _lanczos(lambda x: matrix @ x - less * (less @ x), ones)
        vector = vector * (vector @ ones)
    length = np.linalg.norm(vector)
    if length < NOTHING * n:
        return value, np.zeros(n)
    vector = vector * (np.sqrt(n) / length)
    return value, np.where(np.abs(vector) < NOTHING, 0.0, vector)


def _lanczos(product: Callable[[Floats], Floats], start: Floats) -> tuple[float, Floats]:
    """As exactly as can be; where many eigenvalues crowd at the top, any of them will do."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    matrix = LinearOperator((len(start), len(start)), product, dtype=float)
    for tolerance in (0.0, 1e-6, 1e-3):
        try:
            values, vectors = eigsh(matrix, k=1, which="LA", v0=start, tol=tolerance)
        except ArpackNoConvergence:
            continue
        return float(values[0]), vectors[:, 0]
    return 0.0, start
