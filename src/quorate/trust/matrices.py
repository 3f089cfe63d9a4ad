"""Credible intervals of the entries of Dawid-Skene's confusion matrices, from the votes alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from quorate import kernels
from quorate.engines.engine import Fold
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import by_worker, dense
from quorate.models.dawid_skene import by_label_and_truth
from quorate.models.one_coin import one_coin_confusion
from quorate.trust.accuracies import (
    HIGHEST,
    LOWEST,
    MIN_POWER,
    MIN_PROBABILITY,
    MOST_WORKERS,
    PASSES,
    STRENGTHS,
    TOLERANCE,
    Spread,
    clipped,
)

WIDTHS = np.geomspace(0.2, 1.0, 9)  # candidate powers
ENOUGH_ENTRIES, MOST_SIMULATIONS = 1500, 8  # to estimate the coverage from
MIN_PSEUDO_COUNT = 1e-3


class Intervals(NamedTuple):
    """Estimate and 95 % interval of every confusion matrix entry ``[worker, truth, label]``."""

    mean: Floats
    low: Floats
    high: Floats


@by_worker("log_chance")
class Matrices(NamedTuple):
    """Log confusion matrices, with a row for each (worker, label) and a column for each truth, and
    the log prior; the crowd's matrix counts as ``worth`` pseudo-labels of each worker and truth."""

    log_chance: Floats
    log_prior: Floats
    worth: float = 0.0


@by_worker("counts", "variances")
class ConfusionStats(NamedTuple):
    """Expected counts in the rows and columns of `Matrices`, the variances of whether each label
    belongs there, and the class sums."""

    counts: Floats | Rows
    variances: Floats | Rows
    classes: Floats


def confusion_intervals(
    fold: Fold, spread: Spread, n_classes: int, passes: int = 3 * PASSES
) -> Intervals:
    """Compute the 95 % intervals of all confusion matrix entries.

    The model is Dawid-Skene whose rows have a Dirichlet distribution around the crowd's. Labels
    that may belong to another truth carry less information on an entry, and count for less (Louis,
    1982). What that leaves out, above all that the other workers' matrices are not known either, is
    corrected by simulation from the fit: simulated crowds label the same tasks, and the intervals
    are widened until they cover 95 % of the simulated crowds' matrices.
    """
    fit = _fit_matrices(fold, spread, n_classes, passes, None)
    n_workers = len(spread.accuracy)
    n_simulations = min(MOST_SIMULATIONS, -(-ENOUGH_ENTRIES // (n_workers * n_classes**2)))
    coverage = np.zeros(len(WIDTHS))
    for seed in range(n_simulations):
        crowd = _simulated_crowd(fit, seed)
        refit = _fit_matrices(fold, spread, n_classes, passes, crowd)
        coverage += [_coverage(refit, crowd, spread.power * width) for width in WIDTHS]
    width = np.interp(LOWEST - HIGHEST, -coverage / n_simulations, WIDTHS)
    low, high = _matrix_intervals(fit, spread.power * width)
    mean = np.exp(fit.matrices.log_chance).reshape(fit.counts.shape).transpose(0, 2, 1)
    return Intervals(mean, low, high)


@by_worker("cumulative")
class SimulatedCrowd(NamedTuple):
    """A crowd drawn from the posterior: the cumulative probabilities of the labels for each worker
    and truth ``[worker, truth, label]``, and those of the truths."""

    cumulative: Floats
    prior_cumulative: Floats
    seed: int

    @property
    def chance(self) -> Floats:
        chance: Floats = np.diff(self.cumulative, axis=2, prepend=0.0)
        return chance

    def relabelled(self, block: Labels) -> Labels:
        """The block with labels of the simulated crowd, drawn by hashed uniforms."""
        seed = 2 * self.seed
        drawn = kernels.hashed_uniform(block.task_keys(), 1, seed)[:, 0]
        truth = np.searchsorted(self.prior_cumulative[:-1], drawn)
        cumulative = self.cumulative[block.worker, np.repeat(truth, block.n_said), :-1]
        label = (kernels.hashed_uniform(block.vote_keys(), 1, seed + 1) > cumulative).sum(axis=1)
        gold = None if block.gold is None else np.where(block.gold < 0, -1, truth)
        return replace(block, label=label.astype(np.int32), gold=gold)


class SweepParams(NamedTuple):
    """Parameters of a sweep: the matrices, and the crowd whose labels replace the real ones."""

    matrices: Matrices
    crowd: SimulatedCrowd | None


class ConfusionFit(NamedTuple):
    """Expected counts and variances ``[worker, label, truth]``, and the matrices they come from."""

    counts: Floats
    variances: Floats
    matrices: Matrices


def _fit_matrices(
    fold: Fold, spread: Spread, n_classes: int, passes: int, crowd: SimulatedCrowd | None
) -> ConfusionFit:
    """Fit the matrices by EM, started from the accuracies alone."""
    chance = one_coin_confusion(clipped(spread.accuracy), n_classes)
    shares = np.full(n_classes, 1 / n_classes)
    matrices = Matrices(np.log(chance).reshape(-1, n_classes), np.log(shares))
    for _ in range(passes):
        stats = fold.sweep(_e_step, SweepParams(matrices, crowd))
        before = matrices.log_chance
        counts = by_label_and_truth(dense(stats.counts))
        matrices = _m_step(counts, stats.classes, spread.worth)
        if float(np.abs(np.exp(matrices.log_chance) - np.exp(before)).mean()) < TOLERANCE / 5:
            break
    stats = fold.sweep(_e_step, SweepParams(matrices, crowd))
    counts, variances = map(by_label_and_truth, (dense(stats.counts), dense(stats.variances)))
    return ConfusionFit(counts, variances, matrices)


def _simulated_crowd(fit: ConfusionFit, seed: int) -> SimulatedCrowd:
    """Draw a crowd from the Dirichlet posterior of the rows."""
    counts, _, matrices = fit
    share = np.exp(matrices.log_chance).reshape(counts.shape)
    n_labels = counts.sum(axis=1, keepdims=True)
    random = np.random.default_rng([seed, len(counts)])
    rows = random.gamma(
        np.maximum(share * (n_labels + matrices.worth), MIN_PSEUDO_COUNT)
    ).transpose(0, 2, 1)
    rows = np.maximum(rows, np.finfo(float).tiny)
    cumulative = np.cumsum(rows / rows.sum(axis=2, keepdims=True), axis=2)
    return SimulatedCrowd(cumulative, np.cumsum(np.exp(matrices.log_prior)), seed)


def _coverage(fit: ConfusionFit, crowd: SimulatedCrowd, power: Floats) -> float:
    """Share of the crowd's true entries that lie in their intervals."""
    low, high = _matrix_intervals(fit, power)
    return float(np.mean((low <= crowd.chance) & (crowd.chance <= high)))


def _e_step(block: Labels, params: SweepParams, state: Any) -> tuple[Any, ConfusionStats]:
    matrices = params.matrices
    if params.crowd is not None:
        block = params.crowd.relabelled(block)
    log_joint = block.pairs.gather(matrices.log_chance) + matrices.log_prior
    posterior, _ = kernels.normalise(block.clamped(log_joint))
    counts = block.pairs.scatter(posterior)
    variances = block.pairs.scatter(posterior * (1 - posterior))
    return state, ConfusionStats(counts, variances, block.class_sums(posterior))


def _m_step(counts: Floats, classes: Floats, most: float) -> Matrices:
    """Estimate the matrices from expected counts, shrunk to the crowd's.

    `most` bounds the strength: rows differ between workers at least as much as accuracies do."""
    crowd = counts.sum(axis=0) + 1 / len(classes)
    crowd /= crowd.sum(axis=0)
    worth = min(_crowd_strength(counts, crowd), most)
    chance = (counts + worth * crowd) / (counts.sum(axis=1, keepdims=True) + worth)
    shares = np.maximum(classes / classes.sum(), MIN_PROBABILITY)
    return Matrices(np.log(chance).reshape(-1, len(classes)), np.log(shares / shares.sum()), worth)


def _crowd_strength(counts: Floats, crowd: Floats) -> float:
    """Number of pseudo-labels that the crowd's matrix counts as: the maximum likelihood estimate
    when the workers' rows have a Dirichlet distribution around the crowd's."""
    from quorate.special import gammaln  # slow to import

    some = counts[:: -(-len(counts) // MOST_WORKERS)]

    def log_likelihood(worth: float) -> float:
        prior = worth * crowd
        rows = gammaln(worth) - gammaln(some.sum(axis=1) + worth)
        cells = gammaln(some + prior) - gammaln(prior)
        return float(rows.sum() + cells.sum())

    return float(max(STRENGTHS, key=log_likelihood))


def _matrix_intervals(fit: ConfusionFit, power: Floats) -> tuple[Floats, Floats]:
    """Quantiles of beta distributions around the estimates, with the effective number of labels."""
    from quorate.special import betaincinv  # slow to import

    counts, variances, matrices = fit
    share = np.clip(np.exp(matrices.log_chance), 1e-6, 1 - 1e-6).reshape(counts.shape)
    labels = _effective_labels(counts, variances, share, matrices.worth) * power[:, None, None]
    a, b = share * (labels + matrices.worth), (1 - share) * (labels + matrices.worth)
    low, high = (np.asarray(betaincinv(a, b, q), dtype=np.float64) for q in (LOWEST, HIGHEST))
    return low.transpose(0, 2, 1), high.transpose(0, 2, 1)


def _effective_labels(counts: Floats, variances: Floats, share: Floats, worth: float) -> Floats:
    """Effective number of gold-labelled observations per entry.

    It is the expected number of labels, less the information that is missing because they may
    belong to another truth, and less what depends on how often the worker gives the label to all
    other truths, which is not known either."""
    n_labels = counts.sum(axis=1, keepdims=True)
    n_else = n_labels.sum(axis=2, keepdims=True) - n_labels
    given = share * (n_labels + worth)
    other = (given.sum(axis=2, keepdims=True) - given) / (
        n_else + worth * max(share.shape[2] - 1, 1)
    )
    other = np.clip(other, 1e-6, 1 - 1e-6)
    rest = variances.sum(axis=1, keepdims=True) - variances

    def missing(one: Floats, two: Floats) -> Floats:
        spread = np.sqrt(one * (1 - one) * two * (1 - two))
        both: Floats = (variances * (1 - one) * (1 - two) + rest * one * two) / spread
        return both

    own = n_labels + worth - missing(share, share)
    else_ = np.maximum(n_else + worth - missing(other, other), worth)
    labels = own - missing(share, other) ** 2 / else_ - worth
    worth_of_labels: Floats = np.clip(labels, MIN_POWER * n_labels, n_labels)
    return worth_of_labels
