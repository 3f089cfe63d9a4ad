"""What a model is, and the expectation-maximisation shape that most models share.

A model is a frozen dataclass of hyper-parameters with pure methods. Sweeping a block of tasks under
the current parameters gives statistics; statistics add; parameters are estimated from the sum. Hard
EM and gold answers are transforms of the posterior between the sweep and the count.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from quorate import kernels
from quorate.errors import require_choice, require_number, require_shape
from quorate.kernels import Floats, Rows
from quorate.labels import BLOCK_SIZE, FEW_BLOCKS, LEAST_BLOCK, Labels

Ties = Literal["first", "random", "shared"]


class Step(NamedTuple):
    """What one sweep showed: the objective, the marginal log-likelihood of the votes, how far the
    class marginals had moved, how many answers changed, whether answers were hard, and how many
    tasks were impossible: their evidence is zero, and left out of the sums."""

    objective: float
    log_likelihood: float | None
    moved: float = np.inf
    changed: int = -1
    hard: bool = False
    impossible: int = 0


class Off(NamedTuple):
    """How far the confidences of a method were off on public sets: by how much the log-odds of the
    error that they say were ``too_low``, and how far they lay ``around`` that, in root mean
    square."""

    too_low: float = 2.0
    around: float = 1.2


class Model(Protocol):
    """What the loop in ``fit`` asks of a model; ``params``, ``local`` and ``stats`` are its own.

    ``local`` is per-task state and never leaves its block. ``stats`` is a NamedTuple of arrays and
    numbers that are added field by field, in block order. The fields of either that have a row (or
    rows) for each worker are named in its ``by_worker``, so that what travels is only what a part
    of the crowd needs.
    """

    @property
    def max_iter(self) -> int: ...
    @property
    def ties(self) -> Ties: ...
    @property
    def seed(self) -> int: ...

    def start(self, labels: Labels) -> Any:
        """The parameters to begin with; None to begin from the local state of ``begin``."""

    def begin(self, block: Labels) -> Any: ...
    def sweep(self, block: Labels, params: Any, local: Any) -> tuple[Any, Any]: ...
    def estimate(self, stats: Any, params: Any) -> Any: ...
    def progress(self, stats: Any, params: Any) -> Step: ...
    def converged(self, steps: Sequence[Step]) -> bool: ...

    def posterior(self, block: Labels, params: Any, local: Any) -> Floats:
        """The final belief ``[task, class]``."""

    # A model may also have `per_task(block, params, local)`: more columns for the table of labels,
    # such as each task's difficulty, by name; and `learned`, like `posterior`, where what workers
    # are judged by is another belief. A model whose belief is a product of a factor for each vote
    # may have `log_joint(block, params, **per_task)`: by it labels are explained. `off_by` says how
    # much its confidences are to be trusted, where that is not what most models' are.

    def newcomer(self, stats: Any, params: Any) -> Any:
        """The parameters with one more worker, who is the crowd's average."""

    def confusion(self, params: Any) -> Floats | None:
        """``[worker, truth, label]``, where the model has such a thing."""

    def history(self, stats: Any, params: Any) -> Floats | None:
        """The expected counts ``[worker, truth, label]``, for `worker_prior` of a later fit."""


class Params(NamedTuple):
    """``skill`` is what the model knows of each worker; the rest is of the crowd as a whole, and
    for a model that learns from them of the tasks' features ``[feature, class]``.

    A Bayesian model also has a posterior over its parameters: the pseudo-counts in
    ``concentration``, and ``divergence``, how far they are from their prior's; ``log_prior`` is
    then the shares' mean log.
    """

    log_prior: Floats
    skill: Floats
    marginals: Floats
    moved: float = np.inf
    hard: bool = False
    note: str = ""  # what the user should know of how it went
    feature_rate: Floats | None = None
    unmixed_rate: Floats | None = None
    concentration: Floats = np.empty(0)
    divergence: float = 0.0

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("skill", "concentration")

    @property
    def prior(self) -> Floats:
        """What is believed of a task without labels."""
        weights = np.exp(self.log_prior)
        shares: Floats = weights / weights.sum()
        return shares


class Stats(NamedTuple):
    """``counts`` has a row (or rows) for each worker, ``features`` for each feature; ``classes`` is
    the posterior's sum, and ``overlap`` that of its products, class by class; ``opening`` is what
    a start other than the vote gathers in the first pass."""

    counts: Floats | Rows
    classes: Floats
    log_likelihood: float = 0.0
    log_complete: float = 0.0
    changed: int = 0
    impossible: int = 0
    features: Floats | Rows | float = 0.0
    overlap: Floats | float = 0.0
    opening: Any = 0

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("counts",)


class Start(NamedTuple):
    """Where EM can begin other than from the vote: what to gather of each block in the first pass,
    and how the confusion matrices ``[worker, truth, label]`` follow from the sum; where they do
    not, why, as a sentence without its full stop."""

    gather: Callable[[Labels, EM], Any]
    solve: Callable[[Any, EM], Floats | str]


# The starts that `init` can name beside the vote.
STARTS: dict[str, Start] = {}


@dataclass(frozen=True, eq=False)
class EM(ABC):
    """The shared options and the loop's pieces; a model adds its own E-step, count and M-step.

    Options:
        smoothing: pseudo-count added to every count of the M-step, and to every class's for the
            prior; 0 gives maximum likelihood.
        prior_smoothing: the pseudo-count for the class prior alone; None for the same.
        prior: class shares: ``"estimated"``, ``"uniform"``, or given, one share for each class.
        zeros: what a probability of zero does: ``"exclude"`` rules the class out, ``"skip"`` leaves
            the factor out of the product.
        harden: when the E-step puts all belief on the likeliest class: ``"never"``, ``"always"``,
            or ``"settled"``, once the class marginals move by less than ``switch_at``.
        switch_at: see ``harden``.
        ties: how a hard step breaks ties: ``"random"`` by seed, ``"first"`` or ``"shared"``.
        stop: what must change by less than ``tol``: ``"objective"``, relatively, or
            ``"marginals"``, the sum of the absolute changes of the class shares.
        tol: see ``stop``.
        max_iter: at most so many iterations.
        init: ``"vote"``, ``"spectral"`` (the moments of three groups of workers), or confusion
            matrices ``[worker, truth, label]`` to begin from.
        groups: of the spectral start: workers by their code ``"modulo"`` 3, or ``"random"`` by
            seed.
        floor: of the spectral start: the least a confusion matrix's entry can be.
        power_restarts: of the spectral start: random vectors that the power method begins from.
        power_iter: of the spectral start: iterations of the power method.
        worker_prior: what is known of the workers from before, as counts
            ``[worker, truth, label]`` that are added at every iteration.
        seed: for ties broken at random, and for the spectral start.
    """

    params_type: ClassVar[type[Params]] = Params
    stats_type: ClassVar[type[Stats]] = Stats
    weighs_votes: ClassVar[bool] = True

    smoothing: float = 0.0
    prior_smoothing: float | None = None
    prior: str | Floats = "estimated"
    zeros: Literal["exclude", "skip"] = "exclude"
    harden: Literal["never", "always", "settled"] = "never"
    switch_at: float = 0.005
    ties: Ties = "random"
    stop: Literal["objective", "marginals"] = "objective"
    tol: float = 1e-6
    max_iter: int = 200
    init: str | Floats = "vote"
    worker_prior: Floats | None = None
    seed: int = 0
    groups: Literal["modulo", "random"] = "modulo"
    floor: float = 1e-6
    power_restarts: int = 50
    power_iter: int = 50

    def __post_init__(self) -> None:
        require_choice("zeros", self.zeros, ("exclude", "skip"))
        require_choice("harden", self.harden, ("never", "always", "settled"))
        require_choice("ties", self.ties, ("first", "random", "shared"))
        require_choice("stop", self.stop, ("objective", "marginals"))
        require_number("smoothing", self.smoothing, at_least=0)
        require_number("prior_smoothing", self._prior_smoothing, at_least=0)
        require_number("tol", self.tol, at_least=0)
        require_number("switch_at", self.switch_at, at_least=0)
        require_number("max_iter", self.max_iter, at_least=1)
        require_number("seed", self.seed, at_least=0)
        require_choice("groups", self.groups, ("modulo", "random"))
        require_number("floor", self.floor, at_least=1e-12)
        require_number("power_restarts", self.power_restarts, at_least=1)
        require_number("power_iter", self.power_iter, at_least=1)
        if isinstance(self.prior, str):
            require_choice("prior", self.prior, ("estimated", "uniform"))
        if isinstance(self.init, str):
            require_choice("init", self.init, ("vote", *STARTS))

    @property
    def _prior_smoothing(self) -> float:
        return self.smoothing if self.prior_smoothing is None else self.prior_smoothing

    # What a model adds.

    @abstractmethod
    def log_joint(self, block: Labels, params: Params) -> Floats:
        """``log p(truth, labels)`` for each task and class, in an array of its own."""

    @abstractmethod
    def count(self, block: Labels, posterior: Floats) -> Floats | Rows:
        """The expected counts that the M-step needs, a row (or rows) for each worker."""

    @abstractmethod
    def learn(self, counts: Floats, worker_prior: Floats | None) -> Floats:
        """The M-step: each worker's skill from the counts."""

    @abstractmethod
    def skill_from(self, confusion: Floats) -> Floats:
        """Each worker's skill from a confusion matrix ``[worker, truth, label]``."""

    @abstractmethod
    def pool(self, counts: Floats) -> Floats:
        """The counts of all workers as if they were one."""

    @abstractmethod
    def log_skill_prior(self, params: Params) -> float:
        """The log density of the skills under their prior, without its constant."""

    @abstractmethod
    def confusion(self, params: Params) -> Floats:
        """``[worker, truth, label]``."""

    @abstractmethod
    def history(self, stats: Stats, params: Params) -> Floats:
        """The expected counts ``[worker, truth, label]``."""

    # The loop's pieces.

    def start(self, labels: Labels) -> Params | None:
        shape = (labels.n_workers, labels.n_classes, labels.n_classes)
        if self.worker_prior is not None:
            require_shape("worker_prior", self.worker_prior, shape)
        if isinstance(self.prior, np.ndarray):
            require_shape("prior", self.prior, (labels.n_classes,))
        if isinstance(self.init, str):
            return None
        require_shape("init", self.init, shape)
        return self._start_from(self.init)

    def begin(self, block: Labels) -> Floats:
        """The vote, with gold answers in their place."""
        shares = block.vote_shares()
        return self._harden(block, shares) if self.harden == "always" else shares

    def sweep(self, block: Labels, params: Params | None, local: Floats) -> tuple[Floats, Stats]:
        """E-step and count; with no parameters yet, the count of the start."""
        if params is None:
            opening = self._start.gather(block, self) if self._start else 0
            return local, self._count(block, local)._replace(opening=opening)
        posterior, log_evidence = self._e_step(block, params)
        possible = block.heard & (log_evidence > kernels.LOG_ZERO / 2)
        hard = self._harden(block, posterior) if params.hard else posterior
        stats = self._count(block, hard)._replace(
            log_likelihood=float(log_evidence.sum(where=possible)),
            impossible=int((block.heard & ~possible).sum()),
        )
        if params.hard:
            log_complete = log_evidence + np.log(kernels.row_max(posterior))
            changed = block.heard & np.any(hard != local, axis=1)
            stats = stats._replace(
                log_complete=float(log_complete.sum(where=possible)), changed=int(changed.sum())
            )
        return hard, stats

    def estimate(self, stats: Stats, params: Params | None) -> Params:
        note = params.note if params else ""
        if params is None and self._start:
            found = self._start.solve(stats.opening, self)
            if not isinstance(found, str):
                return self._start_from(found)
            note = f"{found}: it began from the vote instead."
        marginals = stats.classes / stats.classes.sum()
        log_prior = kernels.log_or(self._prior(stats.classes))
        skill = self.learn(dense(stats.counts), self.worker_prior)
        if params is None:
            return Params(log_prior, skill, marginals, hard=self.harden == "always", note=note)
        moved = float(np.abs(marginals - params.marginals).sum())
        settled = self.harden == "settled" and params.moved < self.switch_at
        return Params(log_prior, skill, marginals, moved, params.hard or settled, note)

    def progress(self, stats: Stats, params: Params) -> Step:
        evidence = stats.log_complete if params.hard else stats.log_likelihood
        estimated = isinstance(self.prior, str) and self.prior == "estimated"
        smoothing = self._prior_smoothing if estimated else 0.0
        objective = (
            evidence + self.log_skill_prior(params) + kernels.weighted_log(smoothing, params.prior)
        )
        return Step(
            objective,
            stats.log_likelihood,
            params.moved,
            stats.changed,
            params.hard,
            stats.impossible,
        )

    def converged(self, steps: Sequence[Step]) -> bool:
        now = steps[-1]
        if now.hard and now.changed == 0:
            return True
        if self.stop == "marginals":
            return now.moved < self.tol
        if len(steps) < 2 or steps[-2].hard != now.hard:
            return False
        return abs(now.objective - steps[-2].objective) <= self.tol * abs(now.objective)

    def posterior(self, block: Labels, params: Params, local: Floats) -> Floats:
        """Hard answers are how it learned, not how sure it is: the belief is always soft."""
        return self._e_step(block, params)[0] if params.hard else local

    def newcomer(self, stats: Stats, params: Params) -> Params:
        average = self.learn(self.pool(dense(stats.counts)), None)
        return params._replace(skill=np.concatenate([params.skill, average]))

    @property
    def _start(self) -> Start | None:
        return STARTS.get(self.init) if isinstance(self.init, str) else None

    def _start_from(self, confusion: Floats) -> Params:
        prior = self._prior(np.ones(confusion.shape[1]))
        return Params(
            kernels.log_or(prior), self.skill_from(confusion), prior, hard=self.harden == "always"
        )

    def _e_step(self, block: Labels, params: Params) -> tuple[Floats, Floats]:
        log_joint = self.log_joint(block, params)
        clamp(log_joint, block)
        return kernels.normalise(log_joint)

    def _harden(self, block: Labels, posterior: Floats) -> Floats:
        return kernels.harden(posterior, self.ties, self.seed, block.first_task)

    def _count(self, block: Labels, posterior: Floats) -> Stats:
        return Stats(self.count(block, posterior), block.class_sums(posterior))

    def _prior(self, classes: Floats) -> Floats:
        """Class shares from the posterior's sums, or as they are given."""
        return class_shares(self.prior, classes, self._prior_smoothing)

    def _evidence(self, log_probability: Floats) -> Floats:
        """What the E-step adds up: with ``zeros="skip"`` a factor of zero adds nothing."""
        if self.zeros == "skip":
            return np.where(log_probability == kernels.LOG_ZERO, 0.0, log_probability)
        return log_probability


def class_shares(prior: str | Floats, classes: Floats, smoothing: float = 0.0) -> Floats:
    """The shares of the classes: given, uniform, or estimated from the posterior's sums."""
    if isinstance(prior, str):
        weights = np.ones_like(classes) if prior == "uniform" else classes + smoothing
    else:
        weights = prior
    shares: Floats = weights / weights.sum()
    return shares


def clamp(log_joint: Floats, block: Labels) -> None:
    """Rule out, in place, all but the known answers of the tasks that have one."""
    if block.gold is not None:
        known = np.flatnonzero(block.gold >= 0)
        kept = log_joint[known, block.gold[known]]
        log_joint[known] = 2 * kernels.LOG_ZERO * (block.n_labels + 1)
        log_joint[known, block.gold[known]] = kept


def dense(field: Any) -> Any:
    """A field of the statistics with every row in its place."""
    if isinstance(field, Rows):
        return field.dense()
    return _each(dense, field) if isinstance(field, tuple) else field


def add(total: Any, stats: Any) -> Any:
    """The sum of two statistics, field by field; the total's arrays are reused."""
    if total is None:
        return dense(stats)
    if isinstance(stats, Rows):
        stats.add_to(total)
        return total
    if isinstance(stats, tuple):
        return _each(add, total, stats)
    total += stats
    return total


RUNS = 32  # or more, with very many blocks; enough for a slower core to get fewer
WORTH_A_TABLE = 2  # labels for each row of a table that is made for them


def run_length(n_blocks: int, labels: Labels) -> int:
    """How many blocks' statistics are added one after the other, of so many such blocks: a run has
    a table of its own, which has to be worth it, and the runs are shared among threads."""
    n_labels = n_blocks * (LEAST_BLOCK if n_blocks < FEW_BLOCKS else BLOCK_SIZE)
    height = labels.n_workers * labels.n_classes
    n_runs = min(max(RUNS, n_blocks // RUNS), max(1, n_labels // (WORTH_A_TABLE * height)))
    even = 1 << (n_runs.bit_length() - 1)
    return -(-n_blocks // even)


class Tree:
    """Adds the sums of runs of blocks pairwise, those sums pairwise, and so on: an order that
    depends on their number alone, so that any engine gives the same bits. What is given to it is
    its own.

    Examples:
        >>> total = Tree()
        >>> for number in range(20):
        ...     total.add((number, 1.0))
        >>> total.result()
        (190, 20.0)
    """

    def __init__(self) -> None:
        self._branches: list[tuple[int, Any]] = []  # sums of 1, 2, 4, ... runs, the larger first

    def add(self, run: Any) -> None:
        size, total = 1, run
        while self._branches and self._branches[-1][0] == size:
            total = add(self._branches.pop()[1], total)
            size *= 2
        self._branches.append((size, total))

    def result(self) -> Any:
        """The sum of all; nothing can be added afterwards."""
        total = None
        for _, branch in reversed(self._branches):
            total = branch if total is None else add(branch, total)
        return total


def _each(function: Callable[..., Any], *tuples: Any) -> Any:
    """The function of the tuples' fields, as a tuple of their kind."""
    kind = type(tuples[0])
    fields = map(function, *tuples)
    return kind(*fields) if hasattr(kind, "_fields") else tuple(fields)
