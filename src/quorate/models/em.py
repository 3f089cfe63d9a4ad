"""Expectation-maximisation, the shape that most models share.

The E-step turns the parameters into the posterior of each task, whose expected counts are the
statistics; the M-step estimates the parameters from their sum. EM begins from the vote, from
moments of the votes (`Spectral`), or from confusion matrices that are given.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.errors import UsageError, require_choice, require_shape
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import AnyPhase, Model, Phase, Start, Step, Ties, by_worker, objective_settled
from quorate.models.moments import Moments, Spectral, WorkerGroups
from quorate.options import option

INIT = (
    "Where it begins: the vote, spectral (the moments of three groups of workers), or confusion"
    " matrices of the workers (probabilities), from a file, a table, an array or an earlier result."
)
PRIOR = (
    "Class shares: estimated, uniform, root (between the two: the square root of estimated"
    " ones), or given, as one share for each class or such as yes=0.7,no=0.3."
)
SMOOTHING = (
    "Pseudo-count added to every count of the M-step, and to every class's; 0 gives maximum"
    " likelihood."
)
PRIORS = ("estimated", "uniform", "root")
ZEROS = (
    "What a probability of zero does: exclude rules the class out, skip leaves the factor out of"
    " the product."
)


class EMState(NamedTuple):
    """What EM carries from one iteration to the next beside a model's own parameters: the log of
    the class prior, the class marginals and how far they moved, whether answers are hard, and what
    the user should know of how it began."""

    log_prior: Floats
    marginals: Floats
    moved: float = np.inf
    hard: bool = False
    note: str = ""

    @property
    def prior(self) -> Floats:
        """What is believed of a task without labels."""
        weights = np.exp(self.log_prior)
        shares: Floats = weights / weights.sum()
        return shares


class Evidence(NamedTuple):
    """What every E-step shows: the sum of the posterior over tasks, the marginal log-likelihood,
    and the number of impossible tasks, which it leaves out."""

    classes: Floats
    log_likelihood: float = 0.0
    impossible: int = 0

    @classmethod
    def of(cls, block: Labels, posterior: Floats, log_evidence: Floats) -> Evidence:
        possible = possible_tasks(block, log_evidence)
        return cls(
            block.class_sums(posterior),
            float(log_evidence.sum(where=possible)),
            int(np.count_nonzero(block.has_evidence & ~possible)),
        )


@by_worker("counts")
class Stats(NamedTuple):
    """Expected counts, in the rows of workers that the model says, and the evidence."""

    counts: Floats | Rows
    evidence: Evidence


class EMParams(Protocol):
    @property
    def state(self) -> EMState: ...
    @property
    def prior(self) -> Floats: ...


class EMStats(Protocol):
    @property
    def counts(self) -> Floats | Rows: ...
    @property
    def evidence(self) -> Evidence: ...


P = TypeVar("P", bound=EMParams)
S = TypeVar("S", bound=EMStats)


@dataclass(frozen=True, eq=False)
class EM(Model[P, Floats, S]):
    """The loop of expectation-maximisation; a model adds its E-step, its counts and its M-step."""

    takes_weights: ClassVar[bool] = True
    is_bound: ClassVar[bool] = False  # the objective: the likelihood itself is out of reach

    prior: Any = option("estimated", PRIOR)
    prior_smoothing: float | None = option(
        None,
        "Pseudo-count of every class for the class prior alone; by default the same as smoothing.",
        at_least=0,
        only_with={"prior": "estimated"},
    )
    worker_prior: Any = option(
        None,
        "What is known of the workers from before: counts of truth and label, which are added at"
        " every iteration, from a file, a table, an array or an earlier result.",
    )
    stop: Literal["objective", "marginals"] = option(
        "objective",
        "What must change by less than tol: the objective, relatively, or the marginals, the sum"
        " of the absolute changes of the class shares.",
    )
    tol: float = option(1e-6, "Stop when what `stop` names changes by less.", at_least=0)
    max_iter: int = option(200, "Maximum number of iterations.", at_least=1)
    ties: Ties = option("random", "How ties are broken: first, random by seed, or shared.")
    seed: int = option(0, "Seed for whatever is random.", at_least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_prior(self.prior)
        if isinstance(self.init, str) and not _names_a_file(self.init):
            require_choice("init", self.init, ("vote", "spectral"))

    # What a model adds.

    @property
    def init(self) -> Any:
        return "vote"

    @property
    def smoothing(self) -> float:
        return 0.0

    @property
    def class_smoothing(self) -> float:
        """The pseudo-count of each class."""
        return self.smoothing if self.prior_smoothing is None else self.prior_smoothing

    @abstractmethod
    def log_joint(self, block: Labels, params: P) -> Floats:
        """``log p(truth, labels)`` for each task and class, in an array of its own."""

    @abstractmethod
    def count(self, block: Labels, posterior: Floats, evidence: Evidence) -> S:
        """The statistics: expected counts under the posterior."""

    @abstractmethod
    def m_step(self, stats: S, state: EMState) -> P:
        """The parameters under which the expected counts are likeliest."""

    @abstractmethod
    def from_confusion(self, confusion: Floats) -> P:
        """The parameters to begin with, from confusion matrices ``[worker, truth, label]``."""

    def from_moments(self, confusion: Floats, vote: S) -> P:
        """The same where there is a count of the vote beside the matrices."""
        return self.from_confusion(confusion)

    def from_vote(self, vote: S, note: str = "") -> P:
        """The parameters to begin with, from the count of the vote."""
        return self.m_step(vote, self.first_state(vote.evidence.classes)._replace(note=note))

    def log_density(self, params: P) -> float:
        """The log density of the parameters under their prior, without its constant."""
        return 0.0

    # The loop.

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        start = Spectral() if is_word(self.init, "spectral") else self.init
        if isinstance(start, Spectral):
            group = start.groups_of(shape.worker_keys(), self.seed)
            return (FromMoments(self, start, group), self)
        return (FromVote(self), self) if isinstance(start, str) else (self,)

    def start(self, shape: Labels) -> P | None:
        matrices = (shape.n_workers, shape.n_classes, shape.n_classes)
        if self.worker_prior is not None:
            require_array("worker_prior", self.worker_prior, matrices)
        if not isinstance(self.prior, str):
            require_array("prior", self.prior, (shape.n_classes,))
        if isinstance(self.init, Spectral) or is_word(self.init, "vote", "spectral"):
            return None
        require_array("init", self.init, matrices)
        return self.from_confusion(self.init)

    @property
    def starts_from(self) -> Start:
        """The posterior follows from the parameters, unless a model has another sweep."""
        return "nothing" if type(self).sweep is EM.sweep else "last"

    def begin(self, block: Labels) -> Floats:
        """The vote, with gold answers in their place."""
        return block.vote_shares()

    def sweep(self, block: Labels, params: P, local: Floats) -> tuple[Floats, S]:
        posterior, log_evidence = self.e_step(block, params)
        return posterior, self.count(block, posterior, Evidence.of(block, posterior, log_evidence))

    def e_step(self, block: Labels, params: P) -> tuple[Floats, Floats]:
        """The posterior ``[task, class]``, and the log-probability of each task's labels."""
        return kernels.normalise(block.clamped(self.log_joint(block, params)))

    def estimate(self, stats: S, params: P) -> P:
        return self.m_step(stats, self.next_state(stats.evidence.classes, params.state))

    def first_state(self, classes: Floats) -> EMState:
        """The class prior, from the sums of the posterior or as it is given."""
        shares = class_shares(self.prior, classes, self.class_smoothing)
        return EMState(kernels.log_or(shares), _shares(classes))

    def next_state(self, classes: Floats, before: EMState) -> EMState:
        state = self.first_state(classes)
        moved = float(np.abs(state.marginals - before.marginals).sum())
        return state._replace(moved=moved, note=before.note)

    def even_state(self, n_classes: int) -> EMState:
        """The class prior before anything was counted."""
        return self.first_state(np.ones(n_classes))

    def progress(self, stats: S, params: P) -> Step:
        smoothing = self.class_smoothing if is_word(self.prior, "estimated") else 0.0
        fit, log_likelihood = self.log_fit(stats, params), stats.evidence.log_likelihood
        return Step(
            fit + self.log_density(params) + kernels.weighted_log(smoothing, params.prior),
            None if self.is_bound else log_likelihood,
            params.state.moved,
            changed=0,
            impossible=stats.evidence.impossible,
        )

    def log_fit(self, stats: S, params: P) -> float:
        """What the objective adds the parameters' log density to."""
        return stats.evidence.log_likelihood

    def converged(self, steps: Sequence[Step]) -> bool:
        if self.stop == "marginals":
            return steps[-1].moved < self.tol
        return objective_settled(steps, self.tol)

    def posterior(self, block: Labels, params: P, local: Floats) -> Floats:
        return local

    # How a vote is predicted: by the states that a task can be in, which here are the classes.

    def states(self, block: Labels, params: P, local: Floats) -> Floats:
        """The belief ``[task, state]`` by which votes are predicted."""
        return self.posterior(block, params, local)

    def chances(self, params: P) -> Floats:
        """The probability ``[worker * n_classes + label, state]`` that a worker gives a label."""
        confusion = self.confusion(params)
        assert confusion is not None
        return confusion.transpose(0, 2, 1).reshape(-1, confusion.shape[1])

    def notes(self, params: P) -> tuple[str, ...]:
        return (params.state.note,) if params.state.note else ()


@dataclass(frozen=True, eq=False)
class FromVote(Phase[Any, Floats, Any]):
    """The opening of EM from the vote: its expected counts give the first parameters."""

    model: EM[Any, Any]

    @property
    def starts_from(self) -> Start:
        return "first"

    def sweep(self, block: Labels, params: None, local: Floats) -> tuple[Floats, Any]:
        return local, self.model.count(block, local, Evidence(block.class_sums(local)))

    def estimate(self, stats: Any, params: None) -> Any:
        return self.model.from_vote(stats)


class VoteAndMoments(NamedTuple):
    vote: Any
    moments: Moments


@dataclass(frozen=True, eq=False)
class FromMoments(Phase[Any, Floats, VoteAndMoments]):
    """The opening of EM from moments; from the vote where the moments have no solution."""

    model: EM[Any, Any]
    spectral: Spectral
    group: WorkerGroups

    @property
    def starts_from(self) -> Start:
        return "first"

    def sweep(self, block: Labels, params: None, local: Floats) -> tuple[Floats, VoteAndMoments]:
        vote = self.model.count(block, local, Evidence(block.class_sums(local)))
        return local, VoteAndMoments(vote, self.spectral.gather(block, self.group))

    def estimate(self, stats: VoteAndMoments, params: None) -> Any:
        found = self.spectral.solve(stats.moments, self.group, self.model.seed)
        if isinstance(found, str):
            return self.model.from_vote(stats.vote, f"{found}: it began from the vote instead.")
        return self.model.from_moments(found, stats.vote)


def class_shares(prior: str | Floats, classes: Floats, smoothing: float = 0.0) -> Floats:
    """The shares of the classes: given, uniform, or estimated from the posterior's sums."""
    if not isinstance(prior, str):
        return _shares(prior)
    if prior == "uniform":
        return _shares(np.ones_like(classes))
    counted = classes + smoothing
    return _shares(np.sqrt(counted) if prior == "root" else counted)


def _shares(weights: Floats) -> Floats:
    """The weights' shares; all zero where nothing was counted."""
    total = weights.sum()
    shares: Floats = weights / (total if total else 1.0)
    return shares


def possible_tasks(block: Labels, log_evidence: Floats) -> NDArray[np.bool_]:
    """The tasks with labels or a known answer whose evidence is not zero."""
    return block.has_evidence & (log_evidence > kernels.LOG_ZERO / 2)


def without_zeros(log_probability: Floats) -> Floats:
    """Log-probabilities in which a factor of zero adds nothing to a sum."""
    return np.where(log_probability == kernels.LOG_ZERO, 0.0, log_probability)


def is_word(value: Any, *words: str) -> bool:
    """Whether an option that may be an array, a table, ... is one of these words."""
    return isinstance(value, str) and value in words


def require_prior(prior: Any) -> None:
    """Refuse a text that is neither a known word nor shares; shares are read where classes have
    names."""
    if not isinstance(prior, str) or "," in prior or "=" in prior:
        return
    if prior not in PRIORS:
        raise no_prior(prior)


def no_prior(text: str) -> UsageError:
    """What is wrong with a text that is neither a known word nor shares."""
    return UsageError(
        f"prior is {', '.join(PRIORS)}, or shares such as yes=0.7,no=0.3; not {text!r}."
    )


def require_array(option: str, value: Any, shape: tuple[int, ...]) -> None:
    """Refuse what is not an array of that shape: names and files are for `aggregate`."""
    if not isinstance(value, np.ndarray):
        raise UsageError(f"{option} has to be an array here, in the order of the codes.")
    require_shape(option, value, shape)


def _names_a_file(text: str) -> bool:
    return text == "-" or any(sign in text for sign in "./\\")
