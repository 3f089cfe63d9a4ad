"""Credible intervals of the workers' accuracies, from what the others say of the same tasks.

Every interval comes from the votes and the gold answers alone, whatever the method. The model is a
one-coin model: a worker is right with one probability, wrong answers are equally likely, and the
accuracies of the crowd have a beta distribution that is estimated from the votes. Then

- a label is right with the probability that the *other* votes give it, so that no worker is judged
  by their own vote; the likelihood of a worker's accuracy is a product over labels, and a histogram
  of those probabilities is all that it needs;
- the others' accuracies are not known either. How much that flattens the likelihood follows from
  the missing information (T. Louis, 1982), task by task, with the others' own variances.

Both are sums over tasks, swept twice, from where the accuracies of the plain one-coin model settle.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from quorate import buffers, kernels
from quorate.engines.engine import Fold
from quorate.kernels import Floats, Incidence, Rows
from quorate.labels import Labels
from quorate.model import by_worker, dense

MOST_VOTES = 2_000_000  # more would take longer than the fit
PASSES = 8  # at most, of the plain one-coin model
LEAVE_ONE_OUT = 1  # passes in which each worker is judged by the others, before the last
TOLERANCE = 0.005  # mean change of the accuracies at which they have settled
MIN_PROBABILITY = 0.01  # of an accuracy, or of a class
START_STRENGTH = 10  # pseudo-labels of the crowd's average at the start
LOG_ODDS = np.linspace(-7, 7, 30)  # of the nodes between 0 and 1
NODES = np.concatenate([[0.0], 1 / (1 + np.exp(-LOG_ODDS)), [1.0]])
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
    crowd = _crowd(fold.sweep(_vote_stats, None), None)
    for _ in range(passes):
        before, crowd = crowd, _crowd(fold.sweep(_one_coin_stats, crowd), crowd)
        if float(np.abs(crowd.accuracy - before.accuracy).mean()) < TOLERANCE:
            break
    for _ in range(LEAVE_ONE_OUT):
        spread, variance = _estimate(fold.sweep(_support_from_others, crowd), crowd, last=False)
        crowd = crowd._replace(accuracy=clipped(spread.accuracy), variance=variance)
    return _estimate(fold.sweep(_support_from_others, crowd), crowd, last=True)[0]


def _vote_stats(block: Labels, params: None, state: Any) -> tuple[Any, VoteStats]:
    shares = block.vote_shares()
    return state, VoteStats(block.agreement(shares), block.class_sums(shares))


def _one_coin_stats(block: Labels, crowd: CrowdEstimate, state: Any) -> tuple[Any, VoteStats]:
    posterior = _posterior_of(block, crowd, _weight(crowd, block.n_classes))
    return state, VoteStats(block.agreement(posterior), block.class_sums(posterior))


def _weight(crowd: CrowdEstimate, n_classes: int) -> Floats:
    """Log-odds that each worker's label adds to its class."""
    p = crowd.accuracy
    weight: Floats = np.log(p) - np.log((1 - p) / max(n_classes - 1, 1))
    return weight


def _posterior_of(block: Labels, crowd: CrowdEstimate, weight: Floats) -> Floats:
    log_joint = block.weighted_votes(weight) + crowd.log_prior
    return kernels.normalise(block.clamped(log_joint))[0]


def _crowd(stats: VoteStats, before: CrowdEstimate | None) -> CrowdEstimate:
    """Estimate of the crowd from right and wrong labels, shrunk to the crowd's average; the prior
    is that of the plain vote."""
    tally = dense(stats.tally)
    average = tally[:, 0].sum() / max(tally.sum(), 1)
    accuracy = (tally[:, 0] + START_STRENGTH * average) / (tally.sum(axis=1) + START_STRENGTH)
    if before is not None:
        return before._replace(accuracy=clipped(accuracy))
    shares = np.maximum(stats.classes / stats.classes.sum(), MIN_PROBABILITY)
    return CrowdEstimate(clipped(accuracy), np.zeros(len(tally)), np.log(shares / shares.sum()))


def clipped(accuracy: Floats) -> Floats:
    """The accuracies, kept away from 0 and 1."""
    return np.clip(accuracy, MIN_PROBABILITY, 1 - MIN_PROBABILITY)


def _support_from_others(
    block: Labels, crowd: CrowdEstimate, state: Any
) -> tuple[Any, SupportStats]:
    """Sweep a block for the probability that the other votes give to each worker's labels."""
    weight = _weight(crowd, block.n_classes)
    posterior = _posterior_of(block, crowd, weight)
    correct = kernels.probability_correct(block.indptr, block.label, posterior)
    by_others = correct / (correct + (1 - correct) * np.exp(weight)[block.worker])
    information = _information(block, crowd, posterior, correct)
    return state, SupportStats(_histogram(block, by_others), block.crowd.scatter(information))


def _histogram(block: Labels, values: Floats) -> Floats | Rows:
    """Histogram of the values per worker, each value split between the nodes on its two sides."""
    with np.errstate(divide="ignore"):  # the log-odds of 0 and of 1 are beyond all nodes
        log_odds = np.log(values / (1 - values))
    place = (log_odds - LOG_ODDS[0]) / (LOG_ODDS[1] - LOG_ODDS[0])
    node = np.clip(place + 1, 0, len(NODES) - 2).astype(np.int32)
    above = (values - NODES[node]) / (NODES[node + 1] - NODES[node])
    row = block.worker * np.int32(len(NODES)) + node
    both = np.concatenate([row, row + np.int32(1)])
    share = np.concatenate([1 - above, above])
    each = np.arange(len(both) + 1, dtype=np.int32)
    height = block.n_workers * len(NODES)
    return Incidence(each, both, height).scatter(share[:, None])


def _information(block: Labels, crowd: CrowdEstimate, posterior: Floats, correct: Floats) -> Floats:
    """Observed information of each label on its worker's accuracy, and the part due to others.

    The first is the information if the truth were known, less its variance. The second sums over
    the task's other workers the squared covariance with them, times their variance: two workers
    with the same label are right together."""
    p, by = crowd.accuracy, block.worker
    if_right, if_wrong, slope = 1 / p**2, 1 / (1 - p) ** 2, 1 / (p * (1 - p)) ** 2
    weight = crowd.variance * slope
    of_class = block.weighted_votes(weight)  # [task, class]
    unlike = np.repeat(np.einsum("tc,tc,tc->t", posterior, posterior, of_class), block.n_said)
    alike = kernels.probability_correct(block.indptr, block.label, of_class)
    squared, slope = correct**2, slope[by]
    unlike -= squared * alike
    both = buffers.empty((block.n_labels, 2))
    both[:, 0] = if_wrong[by] + correct * (if_right - if_wrong)[by]
    both[:, 0] -= slope * (correct - squared)
    both[:, 1] = slope * squared * ((1 - correct) ** 2 * (alike - weight[by]) + unlike)
    return both


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
