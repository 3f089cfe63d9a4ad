"""Dirichlet distributions: moments, divergences, and estimates under a Dirichlet prior."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from quorate import buffers, chunks, kernels
from quorate.kernels import Floats

MOST_STEPS, SMALL_STEP = 100, 1e-6
CROWD = 2.0  # pseudo-counts of the crowd's pooled matrix in each row of a worker's
FIRST_PRECISION, SURE_AS = 8.0, 10.0  # the mode of a precision, and its worth in draws

# Pseudo-counts ``[worker, label, state]`` of the prior of some workers' rows, from their counts.
RowPrior = Callable[[Floats], Floats]


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
    from quorate.special import digamma  # slow to import, and for few models

    log: Floats = digamma(concentration)
    log -= digamma(_sums(concentration, axis))
    return log


def _sums(concentration: Floats, axis: int) -> Floats:
    """The sum along an axis, which is kept."""
    if concentration.ndim == 3 and axis == 1:
        return kernels.label_sums(concentration)
    sums: Floats = concentration.sum(axis=axis, keepdims=True)
    return sums


def divergence(
    concentration: Floats, prior: Floats | float, axis: int = -1, log: Floats | None = None
) -> float:
    """The Kullback-Leibler divergence of Dirichlet distributions from their prior, summed; `log`
    is their `mean_log`, where it is at hand."""
    from quorate.special import gammaln

    more: Floats = concentration - prior
    return float(
        np.sum(more * (mean_log(concentration, axis) if log is None else log))
        + np.sum(gammaln(_sums(concentration, axis)) - _sums(gammaln(concentration), axis))
        - _log_normalisers(prior, concentration.shape, axis)
    )


def _log_normalisers(prior: Floats | float, shape: tuple[int, ...], axis: int) -> float:
    """The logarithms of what normalises Dirichlet densities, summed over an array of this shape, in
    which one that is the same for many is looked at once."""
    from quorate.special import gammaln

    some = np.array(prior, ndmin=len(shape))
    whole = list(some.shape)
    whole[axis] = shape[axis]
    some = np.broadcast_to(some, whole)
    logs = gammaln(some.sum(axis=axis)) - gammaln(some).sum(axis=axis)
    return float(logs.sum()) * math.prod(shape) / some.size


def same_for_all(prior: Floats) -> RowPrior:
    """A prior ``[label, state]`` that is every worker's."""
    return lambda counts: prior


class RowPosterior(NamedTuple):
    """Dirichlet posteriors of workers' rows, as tables ``[worker * n_labels + label, state]``: the
    ``pseudo_counts``, and the mean logarithms ``log_rows``."""

    log_rows: Floats
    pseudo_counts: Floats


def row_posterior(counts: Floats, row_prior: RowPrior) -> RowPosterior:
    """The posterior of rows from counts ``[worker, label, state]``."""
    pseudo_counts, log_rows = buffers.empty(counts.shape), buffers.empty(counts.shape)

    def put(some: slice) -> None:
        pseudo_counts[some] = counts[some] + row_prior(counts[some])
        log_rows[some] = mean_log(pseudo_counts[some], axis=1)

    chunks.each(put, counts)
    shape = (-1, counts.shape[2])
    return RowPosterior(log_rows.reshape(shape), pseudo_counts.reshape(shape))


def row_divergence(
    pseudo_counts: Floats, log_rows: Floats, prior_of: Callable[[slice], Floats]
) -> float:
    """How far the posteriors ``[worker, label, state]`` are from the priors of some workers."""

    def of(some: slice) -> float:
        return divergence(pseudo_counts[some], prior_of(some), axis=1, log=log_rows[some])

    return sum(chunks.each(of, pseudo_counts))


class PriorDraws(NamedTuple):
    """Of labels that are drawn one after the other, each either from the prior's mean or as an
    earlier one (Polya's urn): the expected number ``[label, state]`` that come from the prior's
    mean, and how that grows with the precision."""

    expected: Floats
    rate: float


def prior_draws(counts: Floats, row_prior: RowPrior) -> PriorDraws:
    """The draws from the prior among counts ``[worker, label, state]``.

    With them the precision and mean of a prior are estimated by the fixed-point iteration of T. P.
    Minka, "Estimating a Dirichlet Distribution" (2000), under which the counts get ever likelier.
    """
    from quorate.special import digamma

    def of(some: slice) -> PriorDraws:
        prior = row_prior(counts[some])
        expected = (prior * (digamma(counts[some] + prior) - digamma(prior))).sum(axis=0)
        precision, n = _sums(prior, prior.ndim - 2), kernels.label_sums(counts[some])
        return PriorDraws(expected, float(np.sum(digamma(n + precision) - digamma(precision))))

    draws = chunks.each(of, counts)
    expected = sum((some.expected for some in draws), np.zeros(counts.shape[1:]))
    return PriorDraws(expected, sum(some.rate for some in draws))


def next_precision(draws: PriorDraws) -> float:
    """The next precision of Minka's iteration; where counts say little, near the first.

    Examples:
        >>> alike, apart = np.array([[[5.0], [5.0]]] * 9), np.array([[[9.0], [0.0]], [[0.0], [9]]])
        >>> even = np.full((2, 1), FIRST_PRECISION / 2)
        >>> bool(next_precision(prior_draws(alike, same_for_all(even))) > FIRST_PRECISION)
        True
        >>> bool(next_precision(prior_draws(apart, same_for_all(even))) < FIRST_PRECISION)
        True
    """
    return float(draws.expected.sum() + SURE_AS) / (draws.rate + SURE_AS / FIRST_PRECISION)


def log_density_of_precision(precision: float) -> float:
    """Of the Gamma prior that keeps `next_precision` near the first, without its constant."""
    return SURE_AS * float(np.log(precision) - precision / FIRST_PRECISION)


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
