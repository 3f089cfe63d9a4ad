"""What is true of all tasks, from scores of all and the answers of some: a posterior on a grid.

With s a score of each task (the log-odds of a class by the consensus, for instance) that has not
seen the task's own answer, the answers y of n of N tasks are modelled as

    P(y = 1 | s) = p(s) = 1 / (1 + exp(-a - b s))                                            (1)

and what is asked for is the mean of y over all tasks. The slope b is what PPI++ calls the power
tuning: b = 0 leaves the answers alone, and the better the score, the steeper it is. The level a
takes out whatever bias the score has: at the most likely a the mean of y - p over the answers is
zero, so that the mean of p over the other tasks needs no score to be right (it is the regression
estimator of survey sampling, with a logistic link).

Instead of a the model is written in theta, the mean of p over the tasks whose answers are unknown:
for every b there is one a(theta, b). The prior of theta is Jeffreys' beta(1/2, 1/2), the slopes of
each candidate score have a prior of their own, and the posterior of theta is summed over slopes and
candidates, each weighted by how well it predicts the known answers:

    P(theta | y) = sum over (candidate, b) of P(candidate, b | y) P(theta | candidate, b, y)   (2)

No answers among the rarer class, no error of the score, shares near 0 or 1: the likelihood is exact
there, where a variance estimated from residuals is zero. With b = 0 alone, (2) is Jeffreys'
interval of a binomial share.

Values between 0 and 1 other than these two are taken for a quasi-likelihood: the log-likelihood is
divided by their dispersion, the mean of (y - p)² / p(1 - p).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from quorate.kernels import Floats

BINS, LEVELS = 40, 61  # points of the scores' histogram, and of a
COARSE, FINE = 40, 60  # points of theta, first everywhere, then where the posterior is
NEGLIGIBLE = 1e-5  # posterior probability beyond which theta is not looked at
FAR, MOST_ODDS = (
    8.0,
    80.0,
)  # log-odds beyond which a level makes no difference, and an exponential is infinite
LEAST_LEFT = 0.2  # of the likelihood's weight, whatever was spent on learning the score
EVERYWHERE = (0.0, np.pi / 2)  # in angles whose squared sine is theta: Jeffreys' prior is uniform


class Candidate(NamedTuple):
    """A score of tasks that may predict their answers: ``unknown[fold, task]`` as each fold's
    learner scores the tasks without answers, ``known[task]`` as the learner scores each known one
    that has not seen it; the slopes b that are possible, the logarithm of their prior weights, and
    the answers that were spent on learning it."""

    unknown: Floats
    known: Floats
    slopes: Floats
    log_prior: Floats
    spent: float


class Answers(NamedTuple):
    """Known answers, as values from 0 to 1, and what each counts: with equal weights 1."""

    value: Floats
    weight: Floats

    @classmethod
    def even(cls, value: Floats) -> Answers:
        return cls(value, np.ones(len(value)))


class Evidence(NamedTuple):
    """``log_likelihood[row, theta]`` for each candidate and slope, its prior, the share of the
    likelihood that is left after learning, the mean of p(1 - p) at the best theta, and the angles
    between which each theta lies."""

    log_likelihood: Floats
    log_prior: Floats
    left: Floats
    spread: Floats
    angles: Floats

    @property
    def log_weight(self) -> Floats:
        """Log of how well each row predicts the answers, times its prior."""
        most = self.log_likelihood.max(axis=1)
        mean = np.exp(self.log_likelihood - most[:, None]).mean(axis=1)
        weight: Floats = np.log(mean) + most + self.log_prior
        return weight


def evidence(
    candidates: Sequence[Candidate], answers: Answers, dispersion: float = 1.0
) -> Evidence:
    """The likelihood of the answers under every candidate and slope, where theta may be."""
    tables = [LevelTable.of(candidate, answers) for candidate in candidates]

    def at(angles: Floats) -> Evidence:
        theta = np.sin((angles[1:] + angles[:-1]) / 2) ** 2
        rows = [table.rows(theta) for table in tables]
        likelihood, spread = (np.concatenate(part) for part in zip(*rows, strict=True))
        n = max(len(answers.value), 1)
        left = [np.full(len(c.slopes), max(1 - c.spent / n, LEAST_LEFT)) for c in candidates]
        prior = np.concatenate([candidate.log_prior for candidate in candidates])
        return Evidence(likelihood / dispersion, prior, np.concatenate(left), spread, angles)

    coarse = at(np.linspace(*EVERYWHERE, COARSE + 1))
    likely = np.flatnonzero(density(coarse, coarse.log_weight) > NEGLIGIBLE)
    first, last = max(likely[0] - 1, 0), min(likely[-1] + 2, COARSE)
    return at(np.linspace(coarse.angles[first], coarse.angles[last], FINE + 1))


def density(found: Evidence, log_weight: Floats) -> Floats:
    """The posterior probability of each point of theta (2), given the rows' weights."""
    weight = np.exp(log_weight - log_weight.max())
    likelihood = found.log_likelihood - found.log_likelihood.max(axis=1, keepdims=True)
    each = np.exp(likelihood * found.left[:, None])
    each /= each.sum(axis=1, keepdims=True)
    mixed: Floats = (weight / weight.sum()) @ each
    return mixed


def mean_spread(found: Evidence, log_weight: Floats) -> float:
    """The posterior mean of p(1 - p): what is left to chance in an answer."""
    weight = np.exp(log_weight - log_weight.max())
    return float(weight @ found.spread / weight.sum())


def quantiles(found: Evidence, log_weight: Floats, level: float) -> tuple[float, float, float]:
    """The median, and the bounds that hold the middle share `level` of the posterior."""
    cumulated = np.concatenate([[0.0], density(found, log_weight).cumsum()])
    outside = (1 - level) / 2
    angles = np.interp([outside, 0.5, 1 - outside], cumulated, found.angles)
    low, middle, high = np.sin(angles) ** 2
    return float(middle), float(low), float(high)


class LevelTable(NamedTuple):
    """A candidate with its answers: the mean of p over the unknown tasks by slope and level a, as
    ``log_odds[slope, level]``, and scores that stand for all, each with what it stands for."""

    slopes: Floats
    level: Floats
    log_odds: Floats
    unknown: tuple[Floats, Floats]
    known: tuple[Floats, Floats]
    of_yes: tuple[float, float]

    @classmethod
    def of(cls, candidate: Candidate, answers: Answers) -> LevelTable:
        centre, mass = _histogram(candidate.unknown.ravel())
        mass = mass / mass.sum()
        odds = candidate.slopes[:, None] * centre
        level = np.linspace(-odds.max(axis=1) - FAR, FAR - odds.min(axis=1), LEVELS, axis=1)
        mean = expit(level[:, :, None] + odds[:, None, :]) @ mass
        yes = answers.weight * answers.value
        known = _histogram(candidate.known, answers.weight)
        of_yes = float(yes.sum()), float(yes @ candidate.known)
        log_odds = logit(np.clip(mean, 1e-12, 1 - 1e-12))
        return cls(candidate.slopes, level, log_odds, (centre, mass), known, of_yes)

    def rows(self, theta: Floats) -> tuple[Floats, Floats]:
        """The log-likelihood ``[slope, theta]``, and the mean of p(1 - p) of each slope."""
        wanted, slope = logit(theta), self.slopes[:, None]
        of_slopes = zip(self.log_odds, self.level, strict=True)
        at = np.array([np.interp(wanted, mean, level) for mean, level in of_slopes])
        score, weight = self.known
        odds = (at[:, :, None] + slope[:, :, None] * score).astype(np.float32)
        of_no = np.log1p(np.exp(np.minimum(odds, MOST_ODDS))) @ weight.astype(np.float32)
        likelihood = at * self.of_yes[0] + slope * self.of_yes[1] - of_no
        best = at[np.arange(len(at)), likelihood.argmax(axis=1)]
        centre, mass = self.unknown
        p = expit(best[:, None] + slope * centre)
        return likelihood, (p * (1 - p)) @ mass


def _histogram(score: Floats, weight: Floats | None = None) -> tuple[Floats, Floats]:
    """Scores that stand for all, and how many each stands for."""
    if not len(score):
        return score, score
    weight = np.ones(len(score)) if weight is None else weight
    low, width = score.min(), max(np.ptp(score), 1e-9) / BINS
    place: NDArray[np.intp] = np.minimum(((score - low) / width).astype(np.intp), BINS - 1)
    count = np.bincount(place, weight, minlength=BINS)
    total = np.bincount(place, weight * score, minlength=BINS)
    some = count > 0
    return total[some] / count[some], count[some]
