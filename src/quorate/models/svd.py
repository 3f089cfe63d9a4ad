"""Ghosh-SVD: between two classes, the sign of the votes' leading singular vector.

A. Ghosh, S. Kale and P. McAfee, "Who Moderates the Moderators? Crowdsourcing Abuse Detection in
User-Generated Content" (EC 2011). With ``A[task, worker]`` +1 for a vote for the second class, -1
for the first and 0 for none, A has rank one but for noise when each worker is right with one
probability: a column of truths times a row of skills. The paper's A is full; where votes are
missing, a worker weighs more the more the worker voted.

The singular vector of the tasks is ``A @ v``, with v the leading eigenvector of ``A.T @ A``, which
is sparse, for only workers who share a task meet in it, and a sum over tasks.

Workers who are not joined by any chain of shared tasks are problems of their own, and each of these
components has its own vector. Its sign is that which makes the crowd better than chance: the
workers' entries add up to more than zero, which is to say that answers agree with the vote.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from quorate import kernels
from quorate.errors import UsageError, require_choice, require_number
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.model import Step, Ties

SMALL = 64  # below so many workers a dense matrix is quicker than iterating
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
class SpectralVote(ABC):
    """A vote between two classes in which each worker's weight comes from eigenvectors.

    The first sweep gathers moments of the votes, the second the spread of the tasks' scores, and
    the third the answers. A score's sign is the answer. For the belief, scores are taken for draws
    from two bells of one width, as far above zero as below: see `sharpness_of`. A task whose
    workers weigh nothing has its vote for a belief. Known answers are kept; they teach nothing
    else.

    Options:
        ties: how a score of zero is decided: ``"random"`` by seed, or ``"first"``.
        seed: for ties broken at random.
    """

    method: ClassVar[str]
    two_classes_only: ClassVar[bool] = True
    params_type: ClassVar[type[Params]] = Params
    stats_type: ClassVar[type[Stats]] = Stats

    ties: Ties = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("ties", self.ties, ("first", "random", "shared"))
        require_number("seed", self.seed, at_least=0)

    @abstractmethod
    def gather(self, block: Labels) -> NamedTuple:
        """The moments of a block's votes."""

    @abstractmethod
    def weigh(self, moments: Any) -> tuple[Floats, float]:
        """Each worker's weight, and the centre of the scores, from all votes' moments."""

    @property
    def max_iter(self) -> int:
        return 2

    def start(self, labels: Labels) -> None:
        require_two_classes(self.method, labels)

    def begin(self, block: Labels) -> None:
        return None

    def sweep(self, block: Labels, params: Params | None, local: None) -> tuple[None, Any]:
        if params is None:
            return None, self.gather(block)
        score = _score(block, params)[block.n_said > 0]
        return None, Stats(float(np.abs(score).sum()), float(np.square(score).sum()), len(score))

    def estimate(self, stats: Any, params: Params | None) -> Params:
        if params is None:
            return Params(*self.weigh(stats))
        return params._replace(sharpness=sharpness_of(stats.size, stats.square, stats.tasks))

    def progress(self, stats: Stats, params: Params) -> Step:
        return Step(stats.square, None)

    def converged(self, steps: Sequence[Step]) -> bool:
        return len(steps) == self.max_iter

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

    def confusion(self, params: Params) -> Floats | None:
        return None

    def history(self, stats: Stats, params: Params) -> None:
        return None


class Gram(NamedTuple):
    """``A.T @ A``: for each two workers, on how many tasks they agree less those they do not."""

    gram: csr_array


@dataclass(frozen=True, eq=False)
class GhoshSVD(SpectralVote):
    """The sign of the leading singular vector of tasks by workers; `objective` is the sum of the
    components' squared singular values.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.GhoshSVD(), labels).answers
        array([0, 1], dtype=int32)
    """

    method = "ghosh-svd"

    def gather(self, block: Labels) -> Gram:
        votes = vote_matrix(block, signs(block))
        return Gram(votes.T @ votes)

    def weigh(self, moments: Gram) -> tuple[Floats, float]:
        return leading_eigenvectors(moments.gram, moments.gram)[1], 0.0


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


def belief_from(block: Labels, log_odds: Floats, unknown: Any) -> Floats:
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
