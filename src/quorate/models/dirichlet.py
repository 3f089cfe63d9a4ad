"""Dirichlet distributions: moments, divergences, and estimates under a Dirichlet prior."""

from __future__ import annotations

import numpy as np

from quorate.kernels import Floats

MOST_STEPS, SMALL_STEP = 100, 1e-6
CROWD = 2.0  # pseudo-counts of the crowd's pooled matrix in each row of a worker's


def shrunk_to_crowd(counts: Floats) -> Floats:
    """Probability of each label by worker and truth, shrunk towards the crowd's: the posterior mean
    from a table of counts ``[worker * n_classes + label, truth]``. Nothing is ruled out."""
    n_classes = counts.shape[1]
    by_label = counts.reshape(-1, n_classes, n_classes)
    pooled = by_label.sum(axis=0) + 1 / n_classes
    pooled /= pooled.sum(axis=0)
    shrunk: Floats = by_label + CROWD * pooled
    shrunk /= by_label.sum(axis=1, keepdims=True) + CROWD
    table: Floats = shrunk.reshape(counts.shape)
    return table


def mean_log(concentration: Floats, axis: int = -1) -> Floats:
    """The expected logarithm of shares that have a Dirichlet distribution along the axis."""
    from scipy.special import digamma  # slow to import, and for few models

    log: Floats = digamma(concentration)
    log -= digamma(concentration.sum(axis=axis, keepdims=True))
    return log


def divergence(concentration: Floats, prior: Floats | float, axis: int = -1) -> float:
    """The Kullback-Leibler divergence of Dirichlet distributions from their prior, summed."""
    from scipy.special import gammaln

    prior = np.broadcast_to(prior, concentration.shape)
    more: Floats = concentration - prior
    return float(
        np.sum(more * mean_log(concentration, axis))
        + np.sum(gammaln(prior) - gammaln(concentration))
        + np.sum(gammaln(concentration.sum(axis=axis)) - gammaln(prior.sum(axis=axis)))
    )


def mixture_weights(likelihood: Floats, even: float) -> Floats:
    """The mixture weights under which ``likelihood[case, part]`` is largest, with `even` more cases
    that speak for all parts alike.

    By Newton's method, whose steps never leave the positive numbers where they are shortened as for
    a self-concordant function.

    Examples:
        >>> mixture_weights(np.array([[1.0, 0.5], [0.2, 0.4], [0.9, 0.1]]), even=1.0).round(2)
        array([0.71, 0.29])
    """
    n_cases, n_parts = likelihood.shape
    pseudo, total = even / n_parts, n_cases + even
    weights = np.full(n_parts, 1 / n_parts)
    for _ in range(MOST_STEPS):
        shares = likelihood / (likelihood @ weights)[:, None]
        slope = shares.sum(axis=0) + pseudo / weights - total
        bend = shares.T @ shares + np.diag(pseudo / weights**2)
        step = np.linalg.solve(bend, slope)
        length = float(np.sqrt(slope @ step))
        weights += step if length < 0.25 else step / (1 + length)
        if length < SMALL_STEP:
            break
    weights /= weights.sum()
    return weights
