"""KOS: messages between tasks and workers, and for more than two classes a question per threshold.

D. R. Karger, S. Oh and D. Shah, "Iterative Learning for Reliable Crowdsourcing Systems" (NIPS 2011)
for two classes, and "Efficient Crowdsourcing for Multi-class Labeling" (SIGMETRICS 2013) for k, by
k - 1 questions "is the class above l?": the answer is the first class that its task is not above.

A task tells each of its workers what the others make of it, and a worker tells each task what the
worker's other tasks make of the worker. With a label's sign ``a`` (+1 for the second class, -1 for
the first), the task's message x and the worker's message y belong to the label. A sweep holds its
block's x; what one block has to know of another is a worker's sum of ``a * x``, which is all that
is learned: the message of a worker to a task is that sum less the task's own part in it. Messages
begin around one, for the crowd is taken to be better than chance; where a few votes and much noise
turn it the other way, so that the sums add up to less than zero, all messages change their sign.

`variant="centred-svd"` answers each question by the sign of a leading singular vector instead: that
of the matrix of signs ``[task, worker]``, less the mean of each column (over all tasks, also those
the worker did not label). It is what the column KOS of a published table was made with: Y. Zhang,
X. Chen, D. Zhou and M. I. Jordan, "Spectral Methods meet EM" (2014), Table 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from quorate import kernels
from quorate.errors import require_choice, require_number
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import Model, Step, Ties
from quorate.models.ordered import ByThreshold, classes_from, monotone
from quorate.models.svd import (
    SpectralVote,
    belief_from,
    leading_eigenvector,
    require_two_classes,
    sharpness_of,
    signs,
    vote_matrix,
)


@dataclass(frozen=True, eq=False)
class Kos(ByThreshold):
    """Message passing between tasks and workers. With more than two classes their order matters.

    `objective` is by what factor messages grew in an iteration (for ``"centred-svd"`` the sum of
    the squared scores), summed over the thresholds. The belief in the answer is the least sure of
    the beliefs, above or not, that it rests on.

    Options:
        variant: ``"messages"``, or ``"centred-svd"``: see above.
        noise: messages begin with a mean of one and this standard deviation.
        tol: stop when the direction of all messages turns by less: one minus its cosine.
        max_iter: at most so many iterations.
        ties: how a score of zero is decided: ``"random"`` by seed, or ``"first"``.
        seed: for the noise, and for ties broken at random.

    Examples:
        >>> import quorate
        >>> crowd = quorate.simulate(np.full((10, 2, 2), [[0.9, 0.1], [0.1, 0.9]]), 100, 5)
        >>> result = quorate.fit(quorate.Kos(), crowd.labels)
        >>> result.converged, int((result.answers != crowd.truth).sum())
        (True, 0)
    """

    variant: Literal["messages", "centred-svd"] = "messages"
    noise: float = 1.0
    tol: float = 1e-8
    max_iter: int = 100
    ties: Ties = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("variant", self.variant, ("messages", "centred-svd"))
        require_choice("ties", self.ties, ("first", "random", "shared"))
        require_number("noise", self.noise, at_least=0)
        require_number("tol", self.tol, at_least=0)
        require_number("max_iter", self.max_iter, at_least=1)
        require_number("seed", self.seed, at_least=0)

    def question(self, threshold: int, n_classes: int) -> Model:
        if self.variant == "centred-svd":
            return CentredSVD(self.ties, self.seed)
        return Messages(self.noise, self.tol, self.max_iter, self.ties, self.seed)

    def put_together(self, above: Floats) -> Floats:
        """The first class that the task is not above, as sure as the least sure step to it; what
        is left goes to the other classes as in ordered classes."""
        n_tasks, n_thresholds = above.shape
        task = np.arange(n_tasks)
        passed = np.logical_and.accumulate(above >= 0.5, axis=1)
        answer = passed.sum(axis=1)
        sure = np.where(passed, above, 1.0).min(axis=1, initial=1.0)
        stopped = answer < n_thresholds
        sure[stopped] = np.minimum(sure[stopped], 1 - above[task[stopped], answer[stopped]])
        belief = classes_from(monotone(above))
        belief[task, answer] = 0.0
        others = belief.sum(axis=1, keepdims=True)
        belief[others[:, 0] == 0] = 1.0
        others[others == 0] = max(n_thresholds, 1)
        belief *= (1 - sure[:, None]) / others
        belief[task, answer] = sure
        return belief


class Params(NamedTuple):
    """Each worker's sum of signed messages, what to multiply them by so that they do not grow, the
    sum of the squares of all messages, and what turns a score into log-odds."""

    total: Floats
    scale: float
    square: float
    sharpness: float

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("total",)


class Stats(NamedTuple):
    total: Floats | Rows
    square: float
    overlap: float  # the product of this sweep's messages and the last one's
    labels: int
    score_size: float
    score_square: float
    tasks: int

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("total",)


class Local(NamedTuple):
    """Of each label ``a * x``, the task's message to the worker, signed; of each task the score."""

    message: Floats
    score: Floats


@dataclass(frozen=True, eq=False)
class Messages:
    """Message passing for two classes (the first paper)."""

    params_type: ClassVar[type[Params]] = Params
    stats_type: ClassVar[type[Stats]] = Stats

    noise: float = 1.0
    tol: float = 1e-8
    max_iter: int = 100
    ties: Ties = "random"
    seed: int = 0

    def start(self, labels: Labels) -> None:
        require_two_classes("message passing", labels)

    def begin(self, block: Labels) -> None:
        return None

    def sweep(
        self, block: Labels, params: Params | None, local: Local | None
    ) -> tuple[Local, Stats]:
        sign = signs(block)
        said = self._from_workers(block, params, local)
        score = kernels.task_sums(block.indptr, sign * said)
        message = np.repeat(score, block.n_said)
        message *= sign
        message -= said  # a x: what the others make of the task, and whether the worker says so
        return Local(message, score), Stats(
            total=block.crowd.scatter(message),
            square=_product(message, message),
            overlap=0.0 if local is None else _product(message, local.message),
            labels=block.n_labels,
            score_size=float(np.abs(score).sum()),
            score_square=_product(score, score),
            tasks=int((block.n_said > 0).sum()),
        )

    def _from_workers(self, block: Labels, params: Params | None, local: Local | None) -> Floats:
        """y: what the worker's other tasks make of the worker; all of them for a new task."""
        if params is None:
            return 1 + self.noise * _normal(block, self.seed)
        said: Floats = (params.scale * params.total)[block.worker]
        if local is not None:
            said -= params.scale * local.message
        return said

    def estimate(self, stats: Stats, params: Params | None) -> Params:
        assert isinstance(stats.total, np.ndarray)
        scale = np.sqrt(stats.labels / stats.square) if stats.square > 0 else 0.0
        if stats.total.sum() < 0:
            scale = -scale
        sharpness = sharpness_of(stats.score_size, stats.score_square, stats.tasks)
        return Params(stats.total, float(scale), stats.square, sharpness)

    def progress(self, stats: Stats, params: Params) -> Step:
        lengths = np.sqrt(stats.square) * np.sqrt(params.square)
        moved = 1 - stats.overlap / lengths if lengths > 0 else 0.0
        return Step(float(np.sqrt(stats.square / stats.labels)), None, moved=float(moved))

    def converged(self, steps: Sequence[Step]) -> bool:
        return steps[-1].moved <= self.tol

    def posterior(self, block: Labels, params: Params, local: Local) -> Floats:
        said = signs(block) * np.repeat(local.score, block.n_said) - local.message
        silent = kernels.task_sums(block.indptr, np.abs(said)) == 0
        return belief_from(block, params.sharpness * local.score, silent)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        return params._replace(total=np.append(params.total, params.total.mean()))

    def confusion(self, params: Params) -> None:
        return None

    def history(self, stats: Stats, params: Params) -> None:
        return None


def _product(one: Floats, other: Floats) -> float:
    """By one core, in one order: the threads sweep blocks."""
    return float(np.einsum("i,i->", one, other))


def _normal(block: Labels, seed: int) -> Floats:
    """A normal number for each label that depends on the seed, the task and the worker only."""
    task = block.first_task + np.repeat(np.arange(block.n_tasks), block.n_said)
    lots = kernels.task_lots(task * block.n_workers + block.worker, 2, seed)
    radius = np.sqrt(-2 * np.log1p(-lots[:, 0]))
    normal: Floats = radius * np.cos(2 * np.pi * lots[:, 1])
    return normal


class Columns(NamedTuple):
    """The Gram matrix of the signs, each worker's sum of signs, and the number of tasks."""

    gram: csr_array
    total: Floats | Rows
    tasks: int


@dataclass(frozen=True, eq=False)
class CentredSVD(SpectralVote):
    """The leading singular vector of the signs, centred by column: ``A - 1 m'``. Its workers' side
    is the eigenvector of ``A'A - n m m'``, and its tasks' side ``A v - m'v``."""

    method = "centred-svd"

    def gather(self, block: Labels) -> Columns:
        votes = vote_matrix(block, signs(block))
        tasks = int((block.n_said > 0).sum())
        return Columns(votes.T @ votes, block.crowd.scatter(signs(block)), tasks)

    def weigh(self, moments: Columns) -> tuple[Floats, float]:
        assert isinstance(moments.total, np.ndarray)
        mean = moments.total / moments.tasks
        _, weight = leading_eigenvector(moments.gram, less=np.sqrt(moments.tasks) * mean)
        return weight, float(mean @ weight)
