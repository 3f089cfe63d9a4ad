"""Scores by judges who differ in offset, scale and noise: a consensus by EM.

Judge j gives task i the score

    x_ij = offset_j + mean + scale_j * (grade_i - mean) + noise_ij        grade_i ~ N(mean, spread)

where the noise of a judge has a Student distribution, so that a slip of the pen counts little. It
is the factor model with one factor of D. Rubin and D. Thayer, "EM Algorithms for ML Factor
Analysis" (Psychometrika, 1982), in which each task has the scores that it happens to have, with
weights of scores as in K. Lange, R. Little and J. Taylor, "Robust Statistical Modeling Using the t
Distribution" (JASA, 1989). C. Piech et al., "Tuned Models of Peer Assessment in MOOCs" (EDM, 2013),
calibrate judges by offset and noise so.

Grades have no scale of their own. It is that of the judges: their mean offset is 0 and their mean
scale 1, weighted by the information that each has about the grades, so that who answers at random,
or always the same, does not stretch or squeeze it. Slips of the pen count for that level like all
other scores: where most grades are low nearly all slips are upwards, and leaving them out would
lower every grade. Judges are drawn from a crowd whose spread is
learned (empirical Bayes): one with few scores is taken to be like the others. Of two judges, or
one, it cannot be told who is noisier, so that they have the same noise.

What is learned are sums over tasks. The E-step finds the grade of each task, with its variance; the
M-step regresses each judge's scores on these grades, from nine sums for each judge. Offset and
scale have normal posteriors of their own (variational EM), whose variances the E-step heeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from quorate import kernels
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import by_worker, dense

# All in units in which scores have a variance of 1.
FREEDOM = 8.0  # degrees of freedom of the noise
INNER = 3  # times that weights and grades are found from each other in a sweep
LEAST_SPREAD, LEAST_FACTOR = 1e-6, 0.1
WORTHS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)  # scores that the crowd's noise may count as
FEW_JUDGES = 2  # of whom it cannot be told who is noisier
VARIANCES = (1e-4, 1.0)  # bounds of the variance of offsets and scales among judges
ROUNDING = 12  # variance of rounding to steps of 1, the inverse


@by_worker("offset", "scale", "noise", "covariance")
class Params(NamedTuple):
    """Of each judge ``offset``, ``scale``, the variance ``noise`` and the ``covariance[judge]`` of
    offset and scale (their variances, and what they share); ``spread`` is the variance of grades,
    and the crowd has ``offsets`` and ``scales`` of these variances, and a typical noise."""

    offset: Floats
    scale: Floats
    noise: Floats
    covariance: Floats
    mean: float
    spread: float
    offsets: float
    scales: float
    typical_noise: float


@by_worker("judges")
class Stats(NamedTuple):
    """For each judge the sums, by weight, of 1, z, z², x, xz and x², with z the distance of the
    grade from the mean and x that of the score; the number of scores, and the sums of x and z
    whatever the weight; of all tasks the number, and the sums of z and z²."""

    judges: Floats | Rows
    tasks: float
    grade: float
    square: float


class Grades(NamedTuple):
    """Distance of each task's grade from the mean, its variance, and the weight of each score."""

    mean: Floats
    variance: Floats
    weight: Floats


@dataclass(frozen=True, eq=False)
class ScoreModel:
    """The model of scores: `values` are those that the codes of labels stand for, and `least` is
    the least variance of a judge's noise, which is that of rounding to the steps of the scores."""

    values: Floats
    least: float

    @classmethod
    def of(cls, scores: Floats) -> ScoreModel:
        """The model for these scores, which are told apart by their steps."""
        steps = np.diff(np.unique(scores))
        step = float(np.median(steps)) if len(steps) else 1.0
        return cls(scores, max(step**2 / ROUNDING, LEAST_SPREAD))

    def start(self, n_workers: int) -> Params:
        """Judges who are all alike, with half of the variance of scores in grades."""
        ones, none = np.ones(n_workers), np.zeros((n_workers, 3))
        return Params(0 * ones, ones, 0.5 * ones, none, 0.0, 0.5, 0.1, 0.05, 0.5)

    def sweep(self, block: Labels, params: Params, local: Any) -> tuple[Any, Stats]:
        grades = self.grades(block, params)
        z = np.repeat(grades.mean, block.n_said)
        square = np.repeat(grades.mean**2 + grades.variance, block.n_said)
        x, u = self.values[block.label] - params.mean, grades.weight
        sums = np.stack(
            [u, u * z, u * square, u * x, u * x * z, u * x * x, np.ones(len(x)), x, z], axis=1
        )
        seen = block.has_evidence
        return local, Stats(
            block.crowd.scatter(sums),
            float(seen.sum()),
            float(grades.mean[seen].sum()),
            float((grades.mean**2 + grades.variance)[seen].sum()),
        )

    def grades(self, block: Labels, params: Params) -> Grades:
        """The E-step: grades and weights of scores, from each other."""
        judge = block.worker
        x = self.values[block.label] - params.mean - params.offset[judge]
        scale, noise, covariance = (
            params.scale[judge],
            params.noise[judge],
            params.covariance[judge],
        )
        scale_square = scale**2 + covariance[:, 1]
        weight = np.ones(len(x))
        for _ in range(INNER):
            per_noise = weight / noise
            precision = 1 / params.spread + kernels.task_sums(
                block.indptr, scale_square * per_noise
            )
            pull = (scale * x - covariance[:, 2]) * per_noise
            mean = kernels.task_sums(block.indptr, pull) / precision
            z = np.repeat(mean, block.n_said)
            off = (x - scale * z) ** 2 + scale_square * np.repeat(1 / precision, block.n_said)
            off += covariance[:, 0] + 2 * covariance[:, 2] * z + covariance[:, 1] * z**2
            weight = (FREEDOM + 1) / (FREEDOM + off / noise)
        return Grades(mean, 1 / precision, weight)

    def estimate(self, stats: Stats, params: Params) -> Params:
        """The M-step: each judge's regression on the grades, the crowd, and the scale of both."""
        sums = dense(stats.judges)
        judges = self._regressions(sums, params)
        centre = stats.grade / stats.tasks
        spread = max(stats.square / stats.tasks - centre**2, LEAST_SPREAD)
        offset = judges.offset + (judges.scale - 1) * centre  # as the mean of grades moves
        scores, x, z = sums[:, 6:].T
        share = scores * judges.scale**2 / judges.noise + LEAST_SPREAD
        share /= share.sum()
        above = (x - judges.scale * z) / np.maximum(scores, 1) + (judges.scale - 1) * centre
        off, factor = float(share @ above), float(share @ judges.scale)
        factor = factor if factor > LEAST_FACTOR else 1.0
        return judges._replace(
            offset=offset - off,
            scale=judges.scale / factor,
            covariance=judges.covariance / np.array([1.0, factor**2, factor]),
            mean=judges.mean + centre + off,
            spread=spread * factor**2,
        )

    def _regressions(self, sums: Floats, params: Params) -> Params:
        n, z, zz, x, xz, xx, scores = sums[:, :7].T
        noise = params.noise
        a, b, c = n / noise + 1 / params.offsets, z / noise, zz / noise + 1 / params.scales
        determinant = a * c - b * b
        right, below = x / noise, xz / noise + 1 / params.scales
        offset = (c * right - b * below) / determinant
        scale = (a * below - b * right) / determinant
        covariance = np.stack([c, a, -b], axis=1) / determinant[:, None]
        residual = xx - 2 * offset * x - 2 * scale * xz + 2 * offset * scale * z
        residual += offset**2 * n + scale**2 * zz
        residual += covariance[:, 0] * n + covariance[:, 1] * zz + 2 * covariance[:, 2] * z
        noise, typical = self._noises(residual, scores, params.typical_noise)
        seen = scores > 0
        return params._replace(
            offset=offset,
            scale=scale,
            noise=noise,
            covariance=covariance,
            offsets=_bounded((offset**2 + covariance[:, 0])[seen]),
            scales=_bounded(((scale - 1) ** 2 + covariance[:, 1])[seen]),
            typical_noise=typical,
        )

    def _noises(self, residual: Floats, scores: Floats, typical: float) -> tuple[Floats, float]:
        """Noise of each judge, drawn to the typical one, and that."""
        residual = np.maximum(residual, scores * self.least)
        if (scores > 0).sum() <= FEW_JUDGES:
            common = float(residual.sum() / scores.sum())
            return np.full(len(scores), common), common
        worth = _worth(residual, scores, typical)
        noise = (residual + worth * typical) / (scores + worth)
        return noise, float(1 / np.mean(1 / noise[scores > 0]))

    def variance(self, block: Labels, params: Params, grades: Grades) -> Floats:
        """Variance of the grades, with what is added by judges who are not known exactly: each by
        the square of the weight that its score has in the grade."""
        judge, covariance = block.worker, params.covariance[block.worker]
        z = np.repeat(grades.mean, block.n_said)
        weight = np.repeat(grades.variance, block.n_said) * grades.weight
        weight = weight * params.scale[judge] / params.noise[judge]
        unknown = covariance[:, 0] + 2 * covariance[:, 2] * z + covariance[:, 1] * z**2
        total: Floats = grades.variance + kernels.task_sums(block.indptr, weight**2 * unknown)
        return total


def _worth(residual: Floats, scores: Floats, typical: float) -> float:
    """As how many scores of each judge the typical noise counts: the likeliest number, if the
    judges' noises have a scaled inverse chi-squared distribution."""
    from quorate.special import gammaln  # slow to import

    def log_likelihood(worth: float) -> float:
        known = (worth + scores) / 2
        each = gammaln(known) - gammaln(worth / 2) + worth / 2 * np.log(worth * typical)
        return float((each - known * np.log(worth * typical + residual)).sum())

    return max(WORTHS, key=log_likelihood)


def _bounded(squares: Floats) -> float:
    return float(np.clip(squares.mean(), *VARIANCES))


def reliability(params: Params) -> Floats:
    """Share of the variance of each judge's scores that is the grades'."""
    signal = params.scale**2 * params.spread
    share: Floats = signal / (signal + params.noise)
    return share
