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

`variant="centred-svd"` answers each question by a singular vector instead: see `centred_svd.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import AnyModel, AnyPhase, Method, Model, Phase, Step, Ties, by_worker
from quorate.models.centred_svd import CentredSVD
from quorate.models.ordered import ByThreshold, classes_from, monotone
from quorate.models.spectral_vote import belief_from, require_two_classes, sharpness_of, signs
from quorate.options import option

NOISE = "Standard deviation of the first messages, whose mean is 1; 0 starts from the vote."
TOL = "Stop when the direction of all messages turns by less: one minus its cosine."


@dataclass(frozen=True, eq=False)
class KOS(ByThreshold):
    """Message passing between tasks and workers. With more than two classes their order matters.

    `objective` is by what factor messages grew in an iteration (for ``"centred-svd"`` the sum of
    the squared scores), summed over the thresholds. The belief in the answer is the least sure of
    the beliefs, above or not, that it rests on.

    Examples:
        >>> import quorate
        >>> crowd = quorate.simulate(np.full((10, 2, 2), [[0.9, 0.1], [0.1, 0.9]]), 100, 5)
        >>> result = quorate.fit(quorate.KOS(), crowd.labels)
        >>> result.converged, int((result.answers != crowd.truth).sum())
        (True, 0)
    """

    variant: Literal["messages", "centred-svd"] = option(
        "messages",
        "How each question is answered: messages, as in the papers, or centred-svd, by a singular"
        " vector.",
    )
    noise: float = option(1.0, NOISE, at_least=0, only_with={"variant": "messages"})
    tol: float = option(1e-8, TOL, at_least=0, only_with={"variant": "messages"})
    max_iter: int = option(
        100, "Maximum number of iterations.", at_least=1, only_with={"variant": "messages"}
    )
    ties: Ties = option("random", "How a score of zero is decided: first, or random by seed.")
    seed: int = option(0, "Seed for the noise, and for ties broken at random.", at_least=0)

    def question(self, threshold: int, n_classes: int) -> AnyModel:
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


@by_worker("total")
class Params(NamedTuple):
    """Each worker's sum of signed messages, what to multiply them by so that they do not grow, the
    sum of the squares of all messages, and what turns a score into log-odds."""

    total: Floats
    scale: float
    square: float
    sharpness: float


@by_worker("total")
class Stats(NamedTuple):
    """Sums of signed messages, of their squares, and of the tasks' scores."""

    total: Floats | Rows
    square: float
    overlap: float  # the product of this sweep's messages and the last one's
    labels: int
    score_size: float
    score_square: float
    tasks: int


class Local(NamedTuple):
    """Of each label ``a * x``, the task's message to the worker, signed; of each task the score."""

    message: Floats
    score: Floats


@dataclass(frozen=True, eq=False)
class Messages(Model[Params, Local | None, Stats]):
    """Message passing for two classes (the first paper)."""

    noise: float = option(1.0, NOISE, at_least=0)
    tol: float = option(1e-8, TOL, at_least=0)
    max_iter: int = option(100, "Maximum number of iterations.", at_least=1)
    ties: Ties = option("random", "How a score of zero is decided: first, or random by seed.")
    seed: int = option(0, "Seed for the noise, and for ties broken at random.", at_least=0)

    def start(self, shape: Labels) -> None:
        require_two_classes("message passing", shape)

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (Noise(self), self)

    def sweep(self, block: Labels, params: Params, local: Local | None) -> tuple[Local, Stats]:
        """y, what the worker's other tasks make of the worker (all of them for a new task), and
        the answer of each task to it."""
        said: Floats = (params.scale * params.total)[block.worker]
        overlap = 0.0
        if local is not None:
            said -= params.scale * local.message
        answered, stats = answer(block, said)
        if local is not None:
            overlap = _product(answered.message, local.message)
        return answered, stats._replace(overlap=overlap)

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

    def posterior(self, block: Labels, params: Params, local: Local | None) -> Floats:
        assert local is not None  # every task has been swept
        said = signs(block) * np.repeat(local.score, block.n_said) - local.message
        silent = kernels.task_sums(block.indptr, np.abs(said)) == 0
        return belief_from(block, params.sharpness * local.score, silent)

    def newcomer(self, stats: Stats, params: Params) -> Params:
        return params._replace(total=np.append(params.total, params.total.mean()))


@dataclass(frozen=True, eq=False)
class Noise(Phase[Any, Local | None, Stats]):
    """The first messages of the workers: around one, for the crowd is better than chance."""

    model: Messages

    def sweep(self, block: Labels, params: None, local: Local | None) -> tuple[Local, Stats]:
        return answer(block, 1 + self.model.noise * _normal(block, self.model.seed))

    def estimate(self, stats: Stats, params: None) -> Params:
        return self.model.estimate(stats, params)


def answer(block: Labels, said: Floats) -> tuple[Local, Stats]:
    """The tasks' messages to the workers, from the workers' to the tasks."""
    sign = signs(block)
    score = kernels.task_sums(block.indptr, sign * said)
    message = np.repeat(score, block.n_said)
    message *= sign
    message -= said  # a x: what the others make of the task, and whether the worker says so
    return Local(message, score), Stats(
        total=block.crowd.scatter(message),
        square=_product(message, message),
        overlap=0.0,
        labels=block.n_labels,
        score_size=float(np.abs(score).sum()),
        score_square=_product(score, score),
        tasks=int((block.n_said > 0).sum()),
    )


def _product(one: Floats, other: Floats) -> float:
    """By one core, in one order: the threads sweep blocks."""
    return float(np.einsum("i,i->", one, other))


def _normal(block: Labels, seed: int) -> Floats:
    """A normal number for each label that depends on the seed, the task and the worker only."""
    uniform = kernels.hashed_uniform(block.vote_keys(), 2, seed)
    radius = np.sqrt(-2 * np.log1p(-uniform[:, 0]))
    normal: Floats = radius * np.cos(2 * np.pi * uniform[:, 1])
    return normal


METHODS = (
    Method(
        "kos",
        KOS,
        "Messages between tasks and workers; a question for each threshold between classes.",
        "Karger, Oh and Shah, Iterative Learning for Reliable Crowdsourcing Systems (2011), and"
        " Efficient Crowdsourcing for Multi-class Labeling (2013)",
    ),
)
