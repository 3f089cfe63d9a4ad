"""GLAD, as loops.

J. Whitehill, P. Ruvolo, T. Wu, J. Bergsma and J. Movellan, "Whose Vote Should Count More" (2009).
With more than two classes a wrong label is any of the others evenly.

The E-step and the objective are the paper's. Its gradient steps are replaced by steps up a
quadratic that lies below the expected log-likelihood and touches it where the step begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.naive.dawid_skene import Matrix, class_shares
from tests.naive.majority import Votes
from tests.naive.one_coin import one_coin_matrix


@dataclass
class GladTrace:
    prior: list[float]
    ability: list[float]
    log_easiness: list[float]
    posterior: Matrix = field(default_factory=list)
    log_likelihood: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)


def glad(
    votes: Votes,
    n_workers: int,
    n_classes: int,
    iterations: int,
    *,
    ability_prior: tuple[float, float] = (1.0, 1.0),
    easiness_prior: tuple[float, float] = (1.0, 1.0),
    prior: list[float] | str | None = "uniform",
    gold: Mapping[int, int] | None = None,
) -> GladTrace:
    gold = gold or {}
    heard = [task for task, said in enumerate(votes) if said or task in gold]
    uniform = [1 / n_classes] * n_classes
    shares = uniform if prior is None or isinstance(prior, str) else prior
    ability = [ability_prior[0]] * n_workers
    ahead = [easiness_prior[0]] * len(votes)
    trace = GladTrace(shares, ability, ahead)
    for iteration in range(iterations + 1):
        trace.prior, trace.ability, trace.log_easiness = shares, ability, ahead
        joint = [
            joint_probability(said, shares, ability, math.exp(ahead[task]), gold.get(task))
            for task, said in enumerate(votes)
        ]
        trace.posterior = [[value / sum(row) for value in row] for row in joint]
        if iteration > 0:  # the first pass only tells where abilities go from their prior's mean
            log_likelihood = sum(math.log(sum(joint[task])) for task in heard)
            trace.log_likelihood.append(log_likelihood)
            trace.objective.append(
                log_likelihood
                + sum(log_density(a, *ability_prior) for a in ability)
                + sum(log_density(u, *easiness_prior) for u in ahead)
            )
        # Easiness, then ability, up the quadratics that touch at the products as they are now.
        before, ahead = ahead, list(ahead)
        slopes, bends = [0.0] * n_workers, [0.0] * n_workers
        for task, said in enumerate(votes):
            slope = bend = 0.0
            for worker, label in said:
                curve = touching(ability[worker] * math.exp(before[task]))
                slope += ability[worker] * (trace.posterior[task][label] - 0.5)
                bend += ability[worker] ** 2 * curve
            ahead[task] = climb(before[task], slope, bend, *easiness_prior)
            for worker, label in said:
                curve = touching(ability[worker] * math.exp(before[task]))
                slopes[worker] += math.exp(ahead[task]) * (trace.posterior[task][label] - 0.5)
                bends[worker] += math.exp(ahead[task]) ** 2 * curve
        mean, deviation = ability_prior
        ability = [
            (slope + mean / deviation**2) / (2 * bend + 1 / deviation**2)
            for slope, bend in zip(slopes, bends, strict=True)
        ]
        if prior is None:
            shares = class_shares(trace.posterior, heard, 0.0)
    return trace


def right_probability(ability: float, easiness: float) -> float:
    return 1 / (1 + math.exp(-ability * easiness))  # Eq. 1


def joint_probability(
    said: list[tuple[int, int]],
    shares: list[float],
    ability: list[float],
    easiness: float,
    answer: int | None,
) -> list[float]:
    row = []
    for truth, share in enumerate(shares):
        product = share
        for worker, label in said:
            matrix = one_coin_matrix(right_probability(ability[worker], easiness), len(shares))
            product *= matrix[truth][label]
        row.append(product if answer in (None, truth) else 0.0)
    return row


def log_density(value: float, mean: float, deviation: float) -> float:
    return -(((value - mean) / deviation) ** 2) / 2


def touching(x: float) -> float:
    """The bend of the quadratic below -log(1 + exp(x)) that touches it at x (and at -x)."""
    return math.tanh(x / 2) / (4 * x) if x else 1 / 8


def climb(u: float, slope: float, bend: float, mean: float, deviation: float) -> float:
    """Three steps up slope exp(u) - bend exp(2u) + log density: Newton's, by a curvature that is
    never too small in sign, or a shorter one where that would lead down."""

    def height(u: float) -> float:
        return slope * math.exp(u) - bend * math.exp(2 * u) + log_density(u, mean, deviation)

    for _ in range(3):
        e = math.exp(u)
        gradient = slope * e - 2 * bend * e**2 - (u - mean) / deviation**2
        step = gradient / (abs(slope) * e + 4 * bend * e**2 + 1 / deviation**2)
        bold = u + min(max(step, -1), 1)
        no_lower = height(bold) >= height(u) - 1e-12 * (1 + abs(height(u)))
        u = bold if no_lower else u + min(max(step / math.e, -0.5), 0.5)
    return u
