"""GLAD: workers have abilities, tasks have difficulties.

J. Whitehill, P. Ruvolo, T. Wu, J. Bergsma and J. Movellan, "Whose Vote Should Count More: Optimal
Integration of Labels from Labelers of Unknown Expertise" (NIPS 2009). A label is right with
probability ``1 / (1 + exp(-ability * easiness))`` (Eq. 1): ability (alpha) may be negative, for who
is against us; easiness (beta) is positive, and difficulty its inverse. With more than two classes
a wrong label is any of the others, evenly. Abilities and the logarithms of easiness have normal
priors.

The paper climbs by gradients between E-steps. Here each sweep climbs a quadratic that
touches the logistic's logarithm from below where it stands,

    -log(1 + exp(x)) >= -x/2 - bend(x0) x^2 + constant,    bend(x) = tanh(x/2) / (4x)

(T. Jaakkola and M. Jordan, 2000), so that an ability has its best value in closed form, tasks are
climbed each for itself, and no step can make the objective fall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import (
    AnyPhase,
    Method,
    Model,
    Phase,
    Step,
    by_worker,
    dense,
    objective_settled,
)
from quorate.models.em import class_shares, possible_tasks, require_array, require_prior
from quorate.options import option

ROUNDING = 1e-12  # near the top heights differ by rounding only, which is not to choose the step
CLIMBS = 3  # on a task's easiness, in each sweep
LARGEST = 1e6  # mean of a prior, or inverse of its deviation


@by_worker("ability")
class Params(NamedTuple):
    """``ability[worker]``; ``crowd`` is the mean ability of the labels' workers: what a newcomer is
    taken to have."""

    log_prior: Floats
    ability: Floats
    crowd: float
    marginals: Floats
    moved: float = np.inf

    @property
    def prior(self) -> Floats:
        return np.exp(self.log_prior)


@by_worker("abilities")
class Stats(NamedTuple):
    """For each worker the quadratic's slope and bend in ability, and how many labels there are."""

    abilities: Floats | Rows
    classes: Floats
    log_likelihood: float
    log_easiness: float
    impossible: int


class Local(NamedTuple):
    """The belief, the log easiness that it was found under, and the one to go on with."""

    posterior: Floats
    log_easiness: Floats
    ahead: Floats


@dataclass(frozen=True, eq=False)
class GLAD(Model[Params, Local, Stats]):
    """Abilities and difficulties; the objective is the log-likelihood of the votes with the truths
    summed out, plus the log densities of abilities and difficulties under their priors.

    Examples:
        >>> import quorate
        >>> task, worker, label = [0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1]
        >>> labels = quorate.Labels.from_codes(task, worker, label)
        >>> quorate.fit(quorate.GLAD(), labels).labels["difficulty"].round(2).to_list()
        [0.45, 0.26]
    """

    takes_weights: ClassVar[bool] = True

    ability_prior: tuple[float, float] = option(
        (1.0, 1.0),
        "Mean and standard deviation of the normal prior of abilities.",
        at_least=(-LARGEST, 1 / LARGEST),
        parts=("mean", "deviation"),
    )
    easiness_prior: tuple[float, float] = option(
        (1.0, 1.0),
        "Mean and standard deviation of the normal prior of log easiness.",
        at_least=(-LARGEST, 1 / LARGEST),
        parts=("mean", "deviation"),
    )
    prior: Any = option(
        "uniform",
        "Class shares: uniform, as in the paper, estimated, or given, as one share for each class"
        " or such as yes=0.7,no=0.3.",
    )
    tol: float = option(1e-5, "Stop when the objective changes by less, relatively.", at_least=0)
    max_iter: int = option(200, "Maximum number of iterations.", at_least=1)
    ties: Literal["first", "random"] = option(
        "random", "How ties are broken: first, or random by seed."
    )
    seed: int = option(0, "Seed for ties that are broken at random.", at_least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_prior(self.prior)

    def start(self, shape: Labels) -> None:
        if not isinstance(self.prior, str):
            require_array("prior", self.prior, (shape.n_classes,))

    def phases(self, shape: Labels) -> tuple[AnyPhase, ...]:
        return (PriorMean(self), self)

    def begin(self, block: Labels) -> Local:
        easiness = np.full(block.n_tasks, float(self.easiness_prior[0]))
        return Local(block.vote_shares(), easiness, easiness)

    def sweep(self, block: Labels, params: Params, local: Local) -> tuple[Local, Stats]:
        """E-step, a climb of each task's easiness, and what the abilities' climb needs."""
        per_task = np.diff(block.indptr)
        ability = params.ability[block.worker]
        x = ability * np.repeat(np.exp(local.ahead), per_task)
        log_wrong, bend = _logistic(x)
        log_joint = self._log_joint(block, params, x, log_wrong)
        posterior, log_evidence = kernels.normalise(block.clamped(log_joint))

        lean = kernels.probability_correct(block.indptr, block.label, posterior) - 0.5
        lean, bend, counts = map(block.weighted, (lean, bend, np.ones_like(lean)))
        ahead = self._climb(
            local.ahead,
            kernels.task_sums(block.indptr, ability * lean),
            kernels.task_sums(block.indptr, ability * ability * bend),
        )
        easiness = np.repeat(np.exp(ahead), per_task)
        quadratic = np.stack([easiness * lean, easiness * easiness * bend, counts], axis=1)
        possible = possible_tasks(block, log_evidence)
        stats = Stats(
            block.crowd.scatter(quadratic),
            block.class_sums(posterior),
            float(log_evidence.sum(where=possible)),
            _log_normal(local.ahead, *self.easiness_prior),
            int((block.has_evidence & ~possible).sum()),
        )
        return Local(posterior, local.ahead, ahead), stats

    def log_joint(self, block: Labels, params: Params, difficulty: float | None = None) -> Floats:
        """``log p(truth, labels)`` of tasks that are all so difficult, or as the prior has it."""
        easiness = np.exp(self.easiness_prior[0]) if difficulty is None else 1 / difficulty
        x = params.ability[block.worker] * easiness
        return self._log_joint(block, params, x, _logistic(x)[0])

    def _log_joint(self, block: Labels, params: Params, x: Floats, log_wrong: Floats) -> Floats:
        """The likelihood of a label is sigma(x) when right, 1 - sigma(x) over the others when not;
        the logarithms differ by x and that number's."""
        others = np.log(max(block.n_classes - 1, 1))
        named, always = block.weighted(x + others), block.weighted(log_wrong - others)
        log_joint = kernels.weighted_votes(block.indptr, block.label, named, block.n_classes)
        log_joint += kernels.task_sums(block.indptr, always)[:, None]
        log_joint += params.log_prior
        return log_joint

    def _climb(self, log_easiness: Floats, slope: Floats, bend: Floats) -> Floats:
        """Up ``slope e - bend e^2 + log density`` with ``e = exp(log_easiness)``, never down.

        Within half a unit its second derivative is at most e times the curvature below, so that
        the cautious step cannot overshoot; the bold one is taken where it does not.
        """
        mean, deviation = self.easiness_prior

        def height(u: Floats) -> Floats:
            e = np.exp(u)
            return (slope - bend * e) * e - ((u - mean) / deviation) ** 2 / 2

        here = height(log_easiness)
        for _ in range(CLIMBS):
            e = np.exp(log_easiness)
            gradient = (slope - 2 * bend * e) * e - (log_easiness - mean) / deviation**2
            curvature = (np.abs(slope) + 4 * bend * e) * e + 1 / deviation**2
            step = gradient / curvature
            bold = log_easiness + np.clip(step, -1, 1)
            cautious = log_easiness + np.clip(step / np.e, -0.5, 0.5)
            no_lower = height(bold) >= here - ROUNDING * (1 + np.abs(here))
            log_easiness = np.where(no_lower, bold, cautious)
            here = height(log_easiness)
        return log_easiness

    def estimate(self, stats: Stats, params: Params) -> Params:
        found = self.m_step(stats)
        moved = float(np.abs(found.marginals - params.marginals).sum())
        return found._replace(moved=moved)

    def m_step(self, stats: Stats) -> Params:
        """The abilities at the top of the quadratic, and the class shares."""
        slope, bend, labels = dense(stats.abilities).T
        mean, deviation = self.ability_prior
        ability = (slope + mean / deviation**2) / (2 * bend + 1 / deviation**2)
        return Params(
            kernels.log_or(class_shares(self.prior, stats.classes)),
            ability,
            float(ability @ labels / labels.sum()),
            stats.classes / stats.classes.sum(),
        )

    def progress(self, stats: Stats, params: Params) -> Step:
        priors = stats.log_easiness + _log_normal(params.ability, *self.ability_prior)
        return Step(
            stats.log_likelihood + priors,
            stats.log_likelihood,
            params.moved,
            impossible=stats.impossible,
        )

    def converged(self, steps: Sequence[Step]) -> bool:
        return objective_settled(steps, self.tol)

    def posterior(self, block: Labels, params: Params, local: Local) -> Floats:
        return local.posterior

    def per_task(self, block: Labels, params: Params, local: Local) -> Mapping[str, Floats]:
        return {"difficulty": np.exp(-local.log_easiness)}

    def newcomer(self, stats: Stats, params: Params) -> Params:
        return params._replace(ability=np.append(params.ability, params.crowd))


@dataclass(frozen=True, eq=False)
class PriorMean(Phase[Any, Local, Stats]):
    """The first sweep, under abilities that are all their prior's mean."""

    model: GLAD

    def sweep(self, block: Labels, params: None, local: Local) -> tuple[Local, Stats]:
        ability = np.full(block.n_workers, float(self.model.ability_prior[0]))
        shares = class_shares(self.model.prior, np.ones(block.n_classes))
        return self.model.sweep(block, Params(kernels.log_or(shares), ability, 0.0, shares), local)

    def estimate(self, stats: Stats, params: None) -> Params:
        return self.model.m_step(stats)


def _logistic(x: Floats) -> tuple[Floats, Floats]:
    """``log(1 - sigma(x))`` and the bend of the quadratic below it that touches it at x."""
    size = np.abs(x)
    fall = np.expm1(-size)
    log_wrong = -np.maximum(x, 0) - np.log(2 + fall)
    tanh = -fall / (2 + fall)
    bend = np.divide(tanh, 4 * size, out=np.full_like(x, 1 / 8), where=size > 0)
    return log_wrong, bend


def _log_normal(value: Floats, mean: float, deviation: float) -> float:
    """The log density of them all, without its constant."""
    return float(-np.sum(((value - mean) / deviation) ** 2) / 2)


METHODS = (
    Method(
        "glad",
        GLAD,
        "An ability for each worker, a difficulty for each task.",
        "Whitehill, Ruvolo, Wu, Bergsma and Movellan, Whose Vote Should Count More: Optimal"
        " Integration of Labels from Labelers of Unknown Expertise (2009)",
    ),
)
