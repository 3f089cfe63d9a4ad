"""What is true of all tasks, from scores of all and the answers of some, on a grid.

With s a score of each task (the log-odds of a class by the consensus, for instance) that has not
seen the task's own answer, the answers y of n of N tasks are modelled as

    P(y = 1 | s) = p(s) = 1 / (1 + exp(-a - b s))                                            (1)

and what is asked for is the mean of y over all tasks. The slope b is what PPI++ calls the power
tuning: b = 0 leaves the answers alone, and the better the score, the steeper it is. The level a
takes out whatever bias the score has: at the most likely a the mean of y - p over the answers is
zero, so that the mean of p over the other tasks needs no score to be right (it is the regression
estimator of survey sampling, with a logistic link).

Instead of a the model is written in theta, the mean of p over the tasks whose answers are unknown:
for every b there is one a(theta, b). Half of the prior is Jeffreys' beta(1/2, 1/2) of theta, which
knows nothing of the score; half is Jeffreys' of expit(a), the share of the class among tasks on
which the score is undecided, by which a score that leans far to one side is possible and not as
likely as one that is fair. With b = 0 they are the same. The slopes of each candidate score have a
prior of their own, and the posterior of theta is summed over slopes and candidates, each weighted
by how well it predicts the known answers:

    P(theta | y) = sum over (candidate, b) of P(candidate, b | y) P(theta | candidate, b, y)   (2)

No answers among the rarer class, no error of the score, shares near 0 or 1: the likelihood is exact
there, where a variance estimated from residuals is zero. Answers come one by one, so that what they
say of a jumps; as in the mid-p interval of a share (Lancaster 1961), each row of (2) is the mean of
two distributions, with half an answer more of either kind: its likelihood times exp(a / 2) and
exp(-a / 2). With b = 0 these are the beta distributions of Clopper and Pearson's two bounds. Where
answers count w, so does half an answer: half of their mean.

Of tasks that were drawn with probabilities pi, each answer stands for s = 1 / pi - 1 of the tasks
whose answers are unknown, and counts w in the likelihood. With v = p(1 - p) and V = the sum of s v
over the known, which is that of v over the unknown, a level that is off by the sum of w (y - p) /
the sum of w v moves the sum over the unknown by V times as much, so that the variance of the mean
over all N tasks is

    T = (sum over the known of c² v + V) / N²,   c = w V / (sum over the known of w v)       (3)

(1 - n / N) v / n where all were drawn alike. With w = s, T is the variance of the sample whatever
(1) is worth. Where pi follows from the score alone, as in a plan, (1) needs no weights if it is
right: then w is the root of s, which is narrower, and keeps half of the guard against (1) being
wrong. The logarithm of the likelihood is multiplied by what makes its variance of theta T: by
1 / (1 - n / N) where all were drawn alike. Where answers are further from p than v says, T is
larger by the mean of (y - p)² / v, as far as there are answers to tell: (1) need not be right for
the interval to hold. A plan is drawn in the order of the score, so that it has the tasks of which
(1) is wrong in their proportion: there T stays as it is. How well a row predicts is judged by the
answers with what they count: what it is to predict are the tasks whose answers are unknown.

What the answers themselves show of the variance of the mean is

    S = sum over the known of s (1 + s) (y - p)² / N²                                        (4)

(1 - n / N) / n times the mean of (y - p)² where all were drawn alike. Where none is far from p it
says next to nothing, which is why it is not taken for T; but it says by how much T may be too large
(`figures`).

Values between 0 and 1 other than these two are taken for a quasi-likelihood: the log-likelihood is
divided by their dispersion, the mean of (y - p)² / p(1 - p).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.kernels import Floats
from quorate.special import expit, log_expit, logit

BINS, LEVELS = 40, 61  # points of the scores' histogram, and of a
COARSE, FINE = 40, 60  # points of theta, first everywhere, then where the posterior is
AS_MODELLED = 50.0  # answers that vary as (1) says, beside those that are known
LEAST_SPREAD = 1e-6  # of an answer, however sure
NEGLIGIBLE = 1e-5  # posterior probability beyond which theta is not looked at
FAR = 8.0  # log-odds beyond which a level makes no difference
MOST_ODDS = 80.0  # beyond which an exponential is infinite
EVERYWHERE = (0.0, np.pi / 2)  # in angles whose squared sine is theta: Jeffreys' prior is uniform


class Candidate(NamedTuple):
    """A score of tasks that may predict their answers: ``unknown[fold, task]`` as each fold's
    learner scores the tasks without answers, ``known[task]`` as the learner scores each known one
    that has not seen it; the slopes b that are possible, and the logarithm of their weights."""

    unknown: Floats
    known: Floats
    slopes: Floats
    log_prior: Floats


class Answers(NamedTuple):
    """Known answers, as values from 0 to 1, what each counts, and how many of the `n_tasks` tasks
    it stands for whose answers are unknown; `by_plan` if they were drawn in the order of the
    score, with probabilities that follow from it alone."""

    value: Floats
    weight: Floats
    stands_for: Floats
    n_tasks: int
    by_plan: bool = False

    @classmethod
    def drawn(
        cls, value: Floats, probability: Floats, n_tasks: int, by_plan: bool = False
    ) -> Answers:
        """Answers of tasks that were drawn with these probabilities, up to a factor.

        The weights add up to as many even draws as tell as much (Kish)."""
        if not len(value):
            return cls(value, value, value, n_tasks)
        scaled = np.minimum(probability * float((1 / probability).sum()) / n_tasks, 1.0)
        stands_for = 1 / scaled - 1
        counts = stands_for if stands_for.any() else np.ones(len(value))
        counts = np.sqrt(counts) if by_plan else counts
        weight = counts * float(counts.sum() / (counts**2).sum())
        return cls(value, weight, stands_for, n_tasks, by_plan)

    @classmethod
    def even(cls, value: Floats, n_tasks: int) -> Answers:
        """Answers of tasks that were drawn evenly."""
        return cls.drawn(value, np.full(len(value), len(value) / n_tasks), n_tasks)

    def variance(self, spread: Floats) -> Floats:
        """The variance of the mean over all tasks (3), with ``spread[..., answer]`` the v of each
        known task."""
        left = spread @ self.stands_for
        counts = (left / (spread @ self.weight))[..., None] * self.weight
        variance: Floats = ((counts**2 * spread).sum(axis=-1) + left) / self.n_tasks**2
        return variance

    def alone(self) -> tuple[float, float]:
        """The mean that these answers alone estimate, and its variance (4)."""
        mean = float(np.average(self.value, weights=1 + self.stands_for))
        return mean, float(self.variance_shown(self.value - mean))

    def variance_shown(self, error: Floats) -> Floats:
        """The variance of the mean over all tasks as ``error[..., answer]`` shows it (4)."""
        stands_for = self.stands_for
        variance: Floats = error**2 @ (stands_for * (1 + stands_for)) / self.n_tasks**2
        return variance

    @property
    def half_answer(self) -> float:
        """Half of what an answer counts on average."""
        return float(self.weight.mean()) / 2 if len(self.weight) else 0.5

    @property
    def mean(self) -> float:
        return float(self.weight @ self.value / self.weight.sum())


class Evidence(NamedTuple):
    """For each candidate and slope, a row: the log-likelihood ``fit[row, theta]`` of the answers,
    and what is left of it for theta after weights and sampling (3); half the level a, which is what
    half an answer more would add; the row's prior, the variance of the mean over all tasks and what
    the answers show of it (4); and the angles between which each theta lies."""

    fit: Floats
    log_likelihood: Floats
    half_answer: Floats
    log_prior: Floats
    variance: Floats
    shown: Floats
    angles: Floats

    @property
    def log_weight(self) -> Floats:
        """Log of how well each row predicts the answers, times its prior."""
        most = self.fit.max(axis=1)
        mean = np.exp(self.fit - most[:, None]).mean(axis=1)
        weight: Floats = np.log(mean) + most + self.log_prior
        return weight


def evidence(
    candidates: Sequence[Candidate], answers: Answers, dispersion: float = 1.0
) -> Evidence:
    """The likelihood of the answers under every candidate and slope, where theta may be."""
    tables = [LevelTable.of(candidate, answers) for candidate in candidates]
    prior = np.concatenate([candidate.log_prior for candidate in candidates])

    def at(angles: Floats) -> Evidence:
        theta = np.sin((angles[1:] + angles[:-1]) / 2) ** 2
        rows = [table.rows(theta) for table in tables]
        parts = (np.concatenate(part) for part in zip(*rows, strict=True))
        likelihood, level, variance, left, shown = parts
        sharp = likelihood * left[:, None] / dispersion
        half = level * (answers.half_answer / dispersion)
        of_theta = _log_prior(level, angles)
        fit, sharp = likelihood / dispersion + of_theta, sharp + of_theta
        return Evidence(fit, sharp, half, prior, variance * dispersion, shown, angles)

    coarse = at(np.linspace(*EVERYWHERE, COARSE + 1))
    likely = np.flatnonzero(density(coarse, coarse.log_weight) > NEGLIGIBLE)
    first, last = max(likely[0] - 1, 0), min(likely[-1] + 2, COARSE)
    return at(np.linspace(coarse.angles[first], coarse.angles[last], FINE + 1))


def _log_prior(level: Floats, angles: Floats) -> Floats:
    """The prior of theta, against Jeffreys', which is even in its angles: half of it is Jeffreys'
    prior of expit(a)."""
    steepness = np.maximum(np.gradient(level, angles[1] - angles[0], axis=1), 1e-9)
    of_level = (log_expit(level) + log_expit(-level)) / 2 + np.log(steepness / 2)
    log_prior: Floats = np.logaddexp(of_level, 0) - np.log(2)
    return log_prior


def density(found: Evidence, log_weight: Floats) -> Floats:
    """The probability of each point of theta (2), given the rows' weights."""
    weight = np.exp(log_weight - log_weight.max())
    each = np.zeros_like(found.log_likelihood)
    for more in (found.half_answer, -found.half_answer):
        log = found.log_likelihood + more
        part = np.exp(log - log.max(axis=1, keepdims=True))
        each += part / part.sum(axis=1, keepdims=True) / 2
    mixed: Floats = (weight / weight.sum()) @ each
    return mixed


def mean_of_rows(of_row: Floats, log_weight: Floats) -> float:
    """The mean of what is said of each row, by the rows' weights."""
    weight = np.exp(log_weight - log_weight.max())
    return float(weight @ of_row / weight.sum())


def quantiles(found: Evidence, log_weight: Floats, level: float) -> tuple[float, float, float]:
    """The median, and the bounds that hold the middle share `level`."""
    cumulated = np.concatenate([[0.0], density(found, log_weight).cumsum()])
    outside = (1 - level) / 2
    angles = np.interp([outside, 0.5, 1 - outside], cumulated, found.angles)
    low, middle, high = np.sin(angles) ** 2
    return float(middle), float(low), float(high)


class LevelTable(NamedTuple):
    """A candidate with its answers: the mean of p over the unknown tasks by slope and level a, as
    ``log_odds[slope, level]``, and scores that stand for all, each with what it stands for."""

    candidate: Candidate
    answers: Answers
    level: Floats
    log_odds: Floats
    known: tuple[Floats, Floats]

    @classmethod
    def of(cls, candidate: Candidate, answers: Answers) -> LevelTable:
        centre, mass = _histogram(candidate.unknown.ravel())
        mass = mass / mass.sum()
        odds = candidate.slopes[:, None] * centre
        first, last = -odds.max(axis=1, keepdims=True) - FAR, FAR - odds.min(axis=1, keepdims=True)
        level = first + (last - first) * np.linspace(0, 1, LEVELS)
        mean = _short_expit(level[:, :, None] + odds[:, None, :]) @ mass.astype(np.float32)
        log_odds = logit(np.clip(mean, 1e-6, 1 - 1e-6))
        return cls(candidate, answers, level, log_odds, _histogram(candidate.known, answers.weight))

    def rows(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Log-likelihood and level ``[slope, theta]``, and of each slope the variance of the mean
        over all tasks, how many times less that is than the likelihood says (3), and what the
        answers show of it (4)."""
        wanted, slope = logit(theta), self.candidate.slopes[:, None]
        of_slopes = zip(self.log_odds, self.level, strict=True)
        at = np.array([np.interp(wanted, mean, level) for mean, level in of_slopes])
        score, weight = self.known
        odds = (at[:, :, None] + slope[:, :, None] * score).astype(np.float32)
        of_no = np.log(1 + np.exp(np.minimum(odds, MOST_ODDS))) @ weight.astype(np.float32)
        yes = self.answers.weight * self.answers.value
        likelihood = at * yes.sum() + slope * (yes @ self.candidate.known) - of_no
        best = at[np.arange(len(at)), likelihood.argmax(axis=1)]
        return likelihood, at, *self._variances(best[:, None], slope)

    def _variances(self, level: Floats, slope: Floats) -> tuple[Floats, Floats, Floats]:
        weight, stands_for = self.answers.weight, self.answers.stands_for
        p = expit(level + slope * self.candidate.known)
        spread = p * (1 - p) + LEAST_SPREAD
        if not stands_for.any():
            return np.zeros(len(slope)), np.ones(len(slope)), np.zeros(len(slope))
        variance = self.answers.variance(spread)
        if not self.answers.by_plan:
            variance *= self._misfit(p, spread)
        mean = spread @ stands_for / stands_for.sum()  # by which theta rises with a
        shown = self.answers.variance_shown(self.answers.value - p)
        return variance, mean**2 / (spread @ weight) / variance, shown

    def _misfit(self, p: Floats, spread: Floats) -> Floats:
        """How many times further answers are from p than v says, as far as they can tell."""
        weight = self.answers.weight
        errors = (self.answers.value - p) ** 2 + LEAST_SPREAD
        trust = weight.sum() / (weight.sum() + AS_MODELLED)
        misfit: Floats = 1 + trust * (errors @ weight / (spread @ weight) - 1)
        return np.maximum(misfit, 1.0)


def _short_expit(odds: Floats) -> NDArray[np.float32]:
    """Shares in half the digits: of so many numbers only sums are needed."""
    short = np.minimum(-odds, MOST_ODDS).astype(np.float32)
    share: NDArray[np.float32] = np.reciprocal(1 + np.exp(short))
    return share


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
    stands_for = count[some].astype(np.float64)
    return total[some] / stands_for, stands_for
