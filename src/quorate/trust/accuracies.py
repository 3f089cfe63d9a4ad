"""How sure a worker's accuracy is: from what the others say of the tasks that the worker labelled.

Every interval here comes from the votes and known answers alone, whatever the method. A worker is
taken to be right with one probability and else wrong evenly, and the crowd's probabilities to have
a beta distribution that is found from the votes. Then

- a label is right with the probability that the *other* votes give it, so that no worker is judged
  by their own vote; the likelihood of a worker's accuracy is a product over labels, and a histogram
  of those probabilities is all that it needs;
- the others' accuracies are not known either. By how much that flattens the likelihood follows from
  the information that is missing (T. Louis, 1982), task by task, with the others' own variances.

Both are sums over tasks, swept a few times from the plain vote until the accuracies settle.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quorate import kernels
from quorate.engines.engine import Fold
from quorate.kernels import Floats, Rows, TallIncidence
from quorate.labels import Labels
from quorate.model import dense

MOST_VOTES = 2_000_000  # with more it would take longer than the fit
PASSES = 8
SETTLED = 0.005  # how far accuracies may still move, on average
LEAST = 0.01  # accuracy, or share of a class, that a vote is weighed by
START_AS = 10  # labels of the crowd's average that a worker begins with
NODES = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-7, 7, 30))), [1.0]])
GRID = (np.arange(64) + 0.5) / 64  # accuracies
MEANS = np.linspace(0.3, 0.95, 27)  # of the beta distributions that the crowd's may be
STRENGTHS = np.array([2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128.0])
MOST_JUDGED = 2_000  # workers from whom the crowd's distribution is found
AT_ONCE = 10_000  # workers whose intervals are found together
FLATTEST = 0.05  # a likelihood is raised to no lower power
LOWEST, HIGHEST = 0.025, 0.975


class Spread(NamedTuple):
    """The 95 % interval of each worker's accuracy; the accuracy itself; the power that its
    likelihood was raised to, for the others' accuracies are not known either; and as how many
    labels of each worker the crowd's average counts."""

    low: Floats
    high: Floats
    accuracy: Floats
    power: Floats
    worth: float


class Trusted(NamedTuple):
    """What the crowd is taken to be: workers' accuracies and how uncertain they are."""

    accuracy: Floats
    variance: Floats
    log_prior: Floats

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("accuracy", "variance")


class Voted(NamedTuple):
    """By the vote: expected right and wrong labels of each worker, and the classes' shares."""

    tally: Floats | Rows
    classes: Floats

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("tally",)


class Backed(NamedTuple):
    """``backing[worker, node]``: how often the others believe in the worker's label as the node
    says; ``information[worker]``: what the votes tell of the accuracy, and what of it hangs on the
    others' accuracies."""

    backing: Floats | Rows
    information: Floats | Rows

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("backing", "information")


def accuracy_intervals(fold: Fold, passes: int = PASSES) -> Spread:
    """The intervals of all workers' accuracies."""
    trusted = _start(fold.sweep(_vote, None))
    for _ in range(passes):
        found = _judge(fold.sweep(_listen, trusted), trusted, last=False)
        moved = float(np.abs(found.spread.accuracy - trusted.accuracy).mean())
        trusted = trusted._replace(
            accuracy=inside((trusted.accuracy + found.spread.accuracy) / 2),
            variance=found.variance,
        )
        if moved < SETTLED:
            break
    return _judge(fold.sweep(_listen, trusted), trusted, last=True).spread


def _vote(block: Labels, params: None, state: Any) -> tuple[Any, Voted]:
    shares = block.vote_shares()
    return state, Voted(block.agreement(shares), block.class_sums(shares))


def _start(voted: Voted) -> Trusted:
    tally = dense(voted.tally)
    average = tally[:, 0].sum() / max(tally.sum(), 1)
    accuracy = (tally[:, 0] + START_AS * average) / (tally.sum(axis=1) + START_AS)
    shares = np.maximum(voted.classes / voted.classes.sum(), LEAST)
    return Trusted(inside(accuracy), np.zeros(len(tally)), np.log(shares / shares.sum()))


def inside(accuracy: Floats) -> Floats:
    return np.clip(accuracy, LEAST, 1 - LEAST)


def _listen(block: Labels, trusted: Trusted, state: Any) -> tuple[Any, Backed]:
    """A sweep for what the others say of each worker's labels."""
    p = trusted.accuracy
    weight = np.log(p) - np.log((1 - p) / max(block.n_classes - 1, 1))
    log_joint = block.weighted_votes(weight) + trusted.log_prior
    posterior, _ = kernels.normalise(block.clamped(log_joint))
    belief = kernels.belief_in_labels(block.indptr, block.label, posterior)
    by_others = belief / (belief + (1 - belief) * np.exp(weight)[block.worker])
    information = _information(block, trusted, posterior, belief)
    return state, Backed(_histogram(block, by_others), block.crowd.scatter(information))


def _histogram(block: Labels, values: Floats) -> Floats | Rows:
    """Each value is shared between the nodes on its two sides."""
    node = np.clip(np.searchsorted(NODES, values, side="right") - 1, 0, len(NODES) - 2)
    above = (values - NODES[node]) / (NODES[node + 1] - NODES[node])
    row = block.worker * np.int32(len(NODES)) + node.astype(np.int32)
    both = np.concatenate([row, row + np.int32(1)])
    share = np.concatenate([1 - above, above])
    place = np.arange(len(both), dtype=np.int32)
    height = block.n_workers * len(NODES)
    return TallIncidence(both, place, len(both), height).scatter(share[:, None])


def _information(block: Labels, trusted: Trusted, posterior: Floats, belief: Floats) -> Floats:
    """For each label what it tells of its worker's accuracy: what it would if the truth were known,
    less the variance of that; and the sum over the task's other workers of the squared covariance
    with them, times their variance. The two of a task that share a label are right together."""
    p = trusted.accuracy[block.worker]
    slope = 1 / (p * (1 - p))
    told = belief / p**2 + (1 - belief) / (1 - p) ** 2 - slope**2 * belief * (1 - belief)
    unsure = trusted.variance / (trusted.accuracy * (1 - trusted.accuracy)) ** 2
    of_class = block.weighted_votes(unsure)  # [task, class]
    task = np.repeat(np.arange(block.n_tasks), block.n_said)
    alike = of_class[task, block.label]
    unlike = (posterior**2 * of_class).sum(axis=1)[task] - belief**2 * alike
    alike = alike - unsure[block.worker]
    hanging = belief**2 * ((1 - belief) ** 2 * alike + unlike)
    return np.stack([told, slope**2 * hanging], axis=1)


class _Found(NamedTuple):
    spread: Spread
    variance: Floats


def _judge(backed: Backed, trusted: Trusted, last: bool) -> _Found:
    """Each worker's posterior: the crowd's distribution times the likelihood, flattened; its
    quantiles only at last."""
    wrong = (1 - GRID) / max(len(trusted.log_prior) - 1, 1)
    log_chance = np.log(NODES[:, None] * GRID + (1 - NODES)[:, None] * wrong)
    backing = dense(backed.backing).reshape(-1, len(NODES))
    told, hanging = dense(backed.information).T
    crowd = _crowd(backing[:: -(-len(backing) // MOST_JUDGED)] @ log_chance)
    average = float(crowd @ GRID)
    spread = float(crowd @ (GRID - average) ** 2)
    told = np.maximum(told, 1e-6)
    alone = 1 / (told + 1 / spread)
    variance = np.minimum(alone * (1 + hanging * alone), spread)
    power = np.clip((1 / variance - 1 / spread) / told, FLATTEST, 1)
    mean, low, high = np.zeros((3, len(backing)))
    for start in range(0, len(backing), AT_ONCE):
        at = slice(start, start + AT_ONCE)
        log_likelihood = backing[at] @ log_chance
        mean[at] = _posterior(log_likelihood, crowd) @ GRID
        if not last:
            continue
        flattened = _posterior(log_likelihood * power[at, None], crowd)
        low[at], high[at] = (_quantile(flattened, q) for q in (LOWEST, HIGHEST))
    worth = average * (1 - average) / spread - 1  # of the beta distribution with that variance
    return _Found(Spread(low, high, mean, power, worth), variance)


def _crowd(log_likelihood: Floats) -> Floats:
    """The distribution of accuracies on the grid: beta distributions, averaged by how well each
    explains the workers."""
    a = (MEANS[:, None] * STRENGTHS).ravel()[:, None]
    b = ((1 - MEANS)[:, None] * STRENGTHS).ravel()[:, None]
    betas, _ = kernels.normalise((a - 1) * np.log(GRID) + (b - 1) * np.log1p(-GRID))
    likelihood = np.exp(log_likelihood - kernels.row_max(log_likelihood)[:, None])
    evidence = kernels.log_or(likelihood @ betas.T).sum(axis=0)
    weights, _ = kernels.normalise(evidence[None])
    crowd: Floats = weights[0] @ betas
    return crowd


def _posterior(log_likelihood: Floats, crowd: Floats) -> Floats:
    posterior, _ = kernels.normalise(log_likelihood + kernels.log_or(crowd))
    return posterior


def _quantile(posterior: Floats, q: float) -> Floats:
    """Within its cell of the grid, evenly."""
    below = np.cumsum(posterior, axis=1)
    cell = np.minimum((below < q).sum(axis=1), len(GRID) - 1)
    row = np.arange(len(posterior))
    inside = posterior[row, cell]
    before = below[row, cell] - inside
    part = np.clip((q - before) / np.maximum(inside, 1e-300), 0, 1)
    quantile: Floats = (cell + part) / len(GRID)
    return quantile
