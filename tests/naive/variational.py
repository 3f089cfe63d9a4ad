"""Variational Bayes as loops: what MACE and IBCC share.

Truths and parameters are taken as independent. The belief in truths comes from the geometric means
of the parameters; the bound is the evidence they give, less how far posteriors are from priors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from scipy.special import digamma
from tests.naive.dawid_skene import Matrix, Trace, class_shares, joint_probability
from tests.naive.majority import Votes, vote_shares

# From a belief (None for a given start): the geometric means of the confusion matrices, their
# means, and what the bound gains or loses by their posterior.
Update = Callable[[Matrix | None], tuple[list[Matrix], list[Matrix], float]]


def geometric_means(counts: list[float]) -> list[float]:
    total = digamma(sum(counts))
    return [math.exp(digamma(n) - total) for n in counts]


def divergence(counts: list[float], prior: list[float]) -> float:
    """KL(Dirichlet(counts) || Dirichlet(prior))."""
    total = math.lgamma(sum(counts)) - math.lgamma(sum(prior))
    for n, pseudo, mean in zip(counts, prior, geometric_means(counts), strict=True):
        total += math.lgamma(pseudo) - math.lgamma(n) + (n - pseudo) * math.log(mean)
    return total


def variational(
    votes: Votes,
    n_classes: int,
    iterations: int,
    update: Update,
    *,
    gold: Mapping[int, int] | None,
    prior: list[float] | None,
    prior_pseudo: float,
    prior_is_believed: bool,
    started: bool,
) -> Trace:
    """So many iterations from the vote, or from what ``update`` has to start with. The class shares
    are given, or estimated, or have a Dirichlet posterior."""
    gold = gold or {}
    heard = [task for task, said in enumerate(votes) if said or task in gold]
    belief = vote_shares(votes, n_classes, gold)
    trace = Trace([], [])
    marginals: list[float] = []
    for iteration in range(iterations):
        at_start = started and iteration == 0
        weights, trace.confusion, gain = update(None if at_start else belief)
        before = marginals
        marginals = class_shares(belief, heard, 0.0)
        if at_start:
            marginals = prior or [1 / n_classes] * n_classes
        moved = math.inf
        if before:
            moved = sum(abs(now - then) for now, then in zip(marginals, before, strict=True))
        if prior is not None:
            shares = prior
        elif prior_is_believed:
            counts = [prior_pseudo] * n_classes
            for truth in range(n_classes):
                for task in heard:
                    counts[truth] += 0.0 if at_start else belief[task][truth]
            shares = geometric_means(counts)
            gain -= divergence(counts, [prior_pseudo] * n_classes)
        else:
            shares = class_shares(belief, heard, prior_pseudo)
            if at_start:
                shares = [1 / n_classes] * n_classes
            if prior_pseudo > 0:
                gain += prior_pseudo * sum(math.log(share) for share in shares)
        trace.prior = [share / sum(shares) for share in shares]
        joint = joint_probability(votes, shares, weights, gold, False)
        belief = trace.posterior = [[value / sum(row) for value in row] for row in joint]
        trace.objective.append(gain + sum(math.log(sum(joint[task])) for task in heard))
        trace.moved.append(moved)
        trace.changed.append(0)
        trace.hard.append(False)
    return trace
