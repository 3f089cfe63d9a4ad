"""Credible intervals of the workers' accuracies, from what the others say of the same tasks.

Every interval comes from the votes and the gold answers alone, whatever the method. The model is a
one-coin model: a worker is right with one probability, wrong answers are equally likely, and the
accuracies of the crowd have a beta distribution that is estimated from the votes. Then

- a label is right with the probability that the *other* votes give it, so that no worker is judged
  by their own vote; the likelihood of a worker's accuracy is a product over labels, and a histogram
  of those probabilities is all that it needs;
- the others' accuracies are not known either. How much that flattens the likelihood follows from
  the missing information (T. Louis, 1982), task by task, with the others' own variances.

Both are sums over tasks, swept a few times from the plain vote until the accuracies settle.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from quorate import kernels
from quorate.engines.engine import Fold
from quorate.kernels import Floats, Rows, TallIncidence
from quorate.labels import Labels
from quorate.model import by_worker, dense

MOST_VOTES = 2_000_000  # more would take longer than the fit
PASSES = 8
TOLERANCE = 0.005  # mean change of the accuracies at which they have settled
MIN_PROBABILITY = 0.01  # of an accuracy, or of a class
START_STRENGTH = 10  # pseudo-labels of the crowd's average at the start
NODES = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-7, 7, 30))), [1.0]])
GRID = (np.arange(64) + 0.5) / 64  # accuracies
MEANS = np.linspace(0.3, 0.95, 27)  # of the candidate beta distributions
STRENGTHS = np.array([2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128.0])  # their pseudo-counts
MOST_WORKERS = 2_000  # from whom the crowd's distribution is estimated
CHUNK = 10_000  # workers whose intervals are computed together
MIN_POWER = 0.05  # that a likelihood is raised to
LOWEST, HIGHEST = 0.025, 0.975


class Spread(NamedTuple):
    """The 95 % interval of each worker's accuracy and its posterior mean.

    `power` is the exponent that flattened each likelihood, because the others' accuracies are not
    known either; `worth` is the number of pseudo-labels that the crowd's average counts as."""

    low: Floats
    high: Floats
    accuracy: Floats
    power: Floats
    worth: float


@by_worker("accuracy", "variance")
class CrowdEstimate(NamedTuple):
    """The current estimate of the crowd: the workers' accuracies, their variances, the prior."""

    accuracy: Floats
    variance: Floats
    log_prior: Floats


@by_worker("tally")
class VoteStats(NamedTuple):
    """Expected right and wrong labels of each worker by the plain vote, and the class sums."""

    tally: Floats | Rows
    classes: Floats


@by_worker("support", "information")
class SupportStats(NamedTuple):
    """Support of each worker's labels by the other votes.

    ``support[worker, node]`` is a histogram of the probabilities that the others give to the
    worker's labels; ``information[worker]`` the observed information on the accuracy, and the part
    of the variance that depends on the others' accuracies."""

    support: Floats | Rows
    information: Floats | Rows


def accuracy_intervals(fold: Fold, passes: int = PASSES) -> Spread:
    """Compute the 95 % intervals of all workers' accuracies."""
    crowd = _start(fold.sweep(_vote_stats, None))
    for _ in range(passes):
        spread, variance = _estimate(fold.sweep(_support_from_others, crowd), crowd, last=False)
        moved = float(np.abs(spread.accuracy - crowd.accuracy).mean())
        accuracy = clipped((crowd.accuracy + spread.accuracy) / 2)
        crowd = crowd._replace(accuracy=accuracy, variance=variance)
        if moved < TOLERANCE:
            break
    return _estimate(fold.sweep(_support_from_others, crowd), crowd, last=True)[0]


def _vote_stats(block: Labels, params: None, state: Any) -> tuple[Any, VoteStats]:
    shares = block.vote_shares()
    return state, VoteStats(block.agreement(shares), block.class_sums(shares))


def _start(stats: VoteStats) -> CrowdEstimate:
    """Estimate of the crowd from the plain vote, shrunk to the crowd's average."""
    tally = dense(stats.tally)
    average = tally[:, 0].sum() / max(tally.sum(), 1)
    accuracy = (tally[:, 0] + START_STRENGTH * average) / (tally.sum(axis=1) + START_STRENGTH)
    shares = np.maximum(stats.classes / stats.classes.sum(), MIN_PROBABILITY)
    return CrowdEstimate(clipped(accuracy), np.zeros(len(tally)), np.log(shares / shares.sum()))


def clipped(accuracy: Floats) -> Floats:
    """The accuracies, kept away from 0 and 1."""
    return np.clip(accuracy, MIN_PROBABILITY, 1 - MIN_PROBABILITY)


def _support_from_others(
    block: Labels, crowd: CrowdEstimate, state: Any
) -> tuple[Any, SupportStats]:
    """Sweep a block for the probability that the other votes give to each worker's labels."""
    p = crowd.accuracy
    weight = np.log(p) - np.log((1 - p) / max(block.n_classes - 1, 1))
    log_joint = block.weighted_votes(weight) + crowd.log_prior
    posterior, _ = kernels.normalise(block.clamped(log_joint))
    correct = kernels.probability_correct(block.indptr, block.label, posterior)
    by_others = correct / (correct + (1 - correct) * np.exp(weight)[block.worker])
    information = _information(block, crowd, posterior, correct)
    return state, SupportStats(_histogram(block, by_others), block.crowd.scatter(information))


def _histogram(block: Labels, values: Floats) -> Floats | Rows:
    """Histogram of the values per worker, each value split between the nodes on its two sides."""
    node = np.clip(np.searchsorted(NODES, values, side="right") - 1, 0, len(NODES) - 2)
    above = (values - NODES[node]) / (NODES[node + 1] - NODES[node])
    row = block.worker * np.int32(len(NODES)) + node.astype(np.int32)
    both = np.concatenate([row, row + np.int32(1)])
    share = np.concatenate([1 - above, above])
    place = np.arange(len(both), dtype=np.int32)
    height = block.n_workers * len(NODES)
    return TallIncidence(both, place, len(both), height).scatter(share[:, None])


def _information(block: Labels, crowd: CrowdEstimate, posterior: Floats, correct: Floats) -> Floats:
    """Observed information of each label on its worker's accuracy, and the part due to others.

    The first is the information if the truth were known, less its variance. The second sums over
    the task's other workers the squared covariance with them, times their variance: two workers
    with the same label are right together."""
    p = crowd.accuracy[block.worker]
    slope = 1 / (p * (1 - p))
    observed = correct / p**2 + (1 - correct) / (1 - p) ** 2 - slope**2 * correct * (1 - correct)
    weight = crowd.variance / (crowd.accuracy * (1 - crowd.accuracy)) ** 2
    of_class = block.weighted_votes(weight)  # [task, class]
    task = block.task_of_label()
    alike = of_class[task, block.label]
    unlike = (posterior**2 * of_class).sum(axis=1)[task] - correct**2 * alike
    alike = alike - weight[block.worker]
    dependent = correct**2 * ((1 - correct) ** 2 * alike + unlike)
    return np.stack([observed, slope**2 * dependent], axis=1)


def _estimate(stats: SupportStats, crowd: CrowdEstimate, last: bool) -> tuple[Spread, Floats]:
    """Posterior of each worker's accuracy, the crowd's distribution times the flattened likelihood,
    and the variances of the accuracies.

    The quantiles are computed in the `last` pass only."""
    log_chance = _log_chance(len(crowd.log_prior))
    support = dense(stats.support).reshape(-1, len(NODES))
    observed, dependent = dense(stats.information).T
    prior = _accuracy_prior(support[:: -(-len(support) // MOST_WORKERS)] @ log_chance)
    average = float(prior @ GRID)
    spread = float(prior @ (GRID - average) ** 2)
    observed = np.maximum(observed, 1e-6)
    alone = 1 / (observed + 1 / spread)
    variance = np.minimum(alone * (1 + dependent * alone), spread)
    power = np.clip((1 / variance - 1 / spread) / observed, MIN_POWER, 1)
    mean, low, high = np.zeros((3, len(support)))
    for start in range(0, len(support), CHUNK):
        at = slice(start, start + CHUNK)
        log_likelihood = support[at] @ log_chance
        mean[at] = _posterior(log_likelihood, prior) @ GRID
        if not last:
            continue
        flattened = _posterior(log_likelihood * power[at, None], prior)
        low[at], high[at] = (_quantile(flattened, q) for q in (LOWEST, HIGHEST))
    worth = average * (1 - average) / spread - 1  # of the beta distribution with that variance
    return Spread(low, high, mean, power, worth), variance


def _accuracy_prior(log_likelihood: Floats) -> Floats:
    """Distribution of accuracies on the grid: an average of beta distributions, each weighted by
    how well it explains the workers."""
    betas = _candidates()
    likelihood = np.exp(log_likelihood - kernels.row_max(log_likelihood)[:, None])
    evidence = kernels.log_or(likelihood @ betas.T).sum(axis=0)
    weights = np.exp(evidence - evidence.max())
    weights /= np.cumsum(weights)[-1]
    prior: Floats = weights @ betas
    return prior


@cache
def _log_chance(n_classes: int) -> Floats:
    """Log-probability ``[node, accuracy]`` of a label to which the others give the node's
    probability."""
    wrong = (1 - GRID) / max(n_classes - 1, 1)
    log_chance: Floats = np.log(NODES[:, None] * GRID + (1 - NODES)[:, None] * wrong)
    log_chance.flags.writeable = False
    return log_chance


@cache
def _candidates() -> Floats:
    """The candidate beta distributions on the grid, which are the same for every crowd."""
    a = (MEANS[:, None] * STRENGTHS).ravel()[:, None]
    b = ((1 - MEANS)[:, None] * STRENGTHS).ravel()[:, None]
    betas, _ = kernels.normalise((a - 1) * np.log(GRID) + (b - 1) * np.log1p(-GRID))
    betas.flags.writeable = False
    return betas


def _posterior(log_likelihood: Floats, prior: Floats) -> Floats:
    posterior, _ = kernels.normalise(log_likelihood + kernels.log_or(prior))
    return posterior


def _quantile(posterior: Floats, q: float) -> Floats:
    """Quantile of each posterior, interpolated within its cell of the grid."""
    below = np.cumsum(posterior, axis=1)
    cell = np.minimum((below < q).sum(axis=1), len(GRID) - 1)
    row = np.arange(len(posterior))
    in_cell = posterior[row, cell]
    before = below[row, cell] - in_cell
    part = np.clip((q - before) / np.maximum(in_cell, 1e-300), 0, 1)
    quantile: Floats = (cell + part) / len(GRID)
    return quantile
