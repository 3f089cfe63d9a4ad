"""Bradley-Terry by judge: systems have strengths, judges a reliability, a side, a taste for ties.

R. A. Bradley and M. E. Terry, "Rank Analysis of Incomplete Block Designs" (Biometrika, 1952), with
the ties of R. R. Davidson (JASA, 1970), the order effect of R. R. Davidson and R. J. Beaver
(Biometrics, 1977), and judges who differ, as in X. Chen et al., "Pairwise Ranking Aggregation in a
Crowdsourced Setting" (WSDM, 2013). Judge j says of the systems l on the left and r on the right

    P(left), P(tie), P(right)  proportional to  exp(u / 2), exp(tie_j), exp(-u / 2)
    u = reliability_j * (strength_l - strength_r) + side_j

A judge who always names the left has a large `side_j`, under which no difference of strengths
matters: such votes carry no information, whatever the judge's reliability. Strengths are on the
scale on which the mean reliability is 1, judges counting by the information that they add, and the
mean strength is 0.

All that is learned is a sum over pairs: a sweep returns the log-likelihood, its gradient and the
expected information, and `estimate` takes the step of Fisher's scoring from their sum. The
information of strengths and judges is an arrow (judges meet each other only through strengths), so
that a system of equations for the strengths alone is left (the Schur complement).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from quorate.engines.engine import Fold
from quorate.kernels import Codes, Floats, accumulate
from quorate.labels import Labels

LEFT, TIE, RIGHT = range(3)  # the classes of the votes on a pair
RELIABILITY, SIDE, TIES = range(3)  # the traits of a judge
TRIANGLE = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])  # entries of a symmetric matrix of these
MOST_TIES = 12.0  # the highest log-odds of a tie: a judge who never decides
STEPS, HALVINGS, ROUNDING = 60, 30, 1e-11
HYPER_STEPS = 8  # in which the spread among judges is learned
LEAST_AVERAGE = 0.05  # reliability
DENSE = 4_000_000  # entries of a table of systems and judges that is not sparse
VARIANCES = ((1e-2, 1.0), (1e-2, 9.0), (1e-2, 9.0))  # bounds of the spread of each trait


class Prior(NamedTuple):
    """Normal distributions: of each trait among judges (`mean`, `variance`), those that are not
    `free` being fixed at the mean, and of the strengths around 0 (`precision`; 0 for none). The
    mean strength of each `component` of systems is 0."""

    mean: Floats
    variance: Floats
    free: NDArray[np.bool_]
    component: NDArray[np.intp]
    precision: float = 0.0

    def centred(self, table: Floats) -> Floats:
        """The table with the mean of each component taken out of its rows."""
        ones = self._ones
        centred: Floats = table - ones @ ((ones.T @ table) / ones.sum(axis=0)[:, None])
        return centred

    @property
    def means(self) -> Floats:
        """``[system, system]``, which takes the mean over each component."""
        means: Floats = self._ones / self._ones.sum(axis=0) @ self._ones.T
        return means

    @property
    def _ones(self) -> Floats:
        return np.eye(int(self.component.max()) + 1)[self.component]


class Params(NamedTuple):
    """``strength[system]`` and ``judge[judge, trait]``."""

    strength: Floats
    judge: Floats


class Stats(NamedTuple):
    """Log-likelihood; its gradient by strength and by ``[judge, trait]``; the expected information
    about the differences of strengths ``[left, right]``, of the traits of each judge (the entries
    of `TRIANGLE`), and between both ``[system, judge * 3 + trait]``; and what each judge adds to
    the information about differences."""

    log_likelihood: float
    strength_gradient: Floats
    judge_gradient: Floats
    pair_information: Floats
    judge_information: Floats
    between: Floats | csr_array
    weight: Floats

    @property
    def information(self) -> Floats:
        """Information ``[system, system]`` of the strengths: the Laplacian of the graph whose edges
        are pairs."""
        adjacent = self.pair_information + self.pair_information.T
        return np.diag(adjacent.sum(axis=1)) - adjacent

    @property
    def of_judges(self) -> Floats:
        """Information ``[judge, trait, trait]`` of the traits."""
        return self.judge_information[:, TRIANGLE]


class Step(NamedTuple):
    """What is to be added to the parameters."""

    strength: Floats
    judge: Floats


class Solution(NamedTuple):
    """Parameters at the maximum, the statistics there, the prior that was learned, and how the
    search went."""

    params: Params
    stats: Stats
    prior: Prior
    converged: bool
    iterations: int


@dataclass(frozen=True)
class Sweep:
    """The fold: what a block of pairs says of the parameters."""

    with_ties: bool

    def __call__(self, block: Labels, params: Params, local: Any) -> tuple[Any, Stats]:
        left, right = sides(block)
        pair = block.task_of_label()
        apart = (params.strength[left] - params.strength[right])[pair]
        slope = slopes(block.label, params.judge[block.worker], apart, self.with_ties)
        by_pair, curvature = (sums(pair, of, block.n_tasks) for of in slope.by_strength)
        shape = (len(params.strength), len(params.judge))
        return local, Stats(
            slope.log_likelihood,
            _signed(left, right, by_pair, shape[0]),
            _table_sums(block.worker, slope.by_trait, shape[1]),
            sums(left * shape[0] + right, curvature, shape[0] ** 2).reshape(shape[0], -1),
            _table_sums(block.worker, slope.of_traits, shape[1]),
            _between((left[pair], right[pair]), block.worker, slope.between, shape),
            sums(block.worker, slope.by_strength[1], shape[1]),
        )


class Slopes(NamedTuple):
    """What single votes add to the statistics: gradient and information by the difference of
    strengths, by the judge's traits, of the traits, and between both."""

    log_likelihood: float
    by_strength: tuple[Floats, Floats]
    by_trait: Floats
    of_traits: Floats
    between: Floats


def slopes(said: Codes, judge: Floats, apart: Floats, with_ties: bool) -> Slopes:
    """The slopes of votes by judges of these traits on pairs that are so far apart."""
    reliability = judge[:, RELIABILITY]
    u = reliability * apart + judge[:, SIDE]
    log_tie = judge[:, TIES] if with_ties else np.full(len(u), -np.inf)
    p_left, p_tie, p_right, log_total = _probabilities(u, log_tie)
    chosen = np.where(said == TIE, log_tie, np.where(said == LEFT, u, -u) / 2)
    lead, won = p_left - p_right, (said == LEFT) - (said == RIGHT).astype(np.float64)
    by_u, uu, ut = (won - lead) / 2, (1 - p_tie - lead**2) / 4, -p_tie * lead / 2
    tt = p_tie * (1 - p_tie)
    by_trait = np.stack([apart * by_u, by_u, (said == TIE) - p_tie], axis=1)
    along = apart * uu
    of_traits = np.stack([apart * along, along, apart * ut, uu, ut, tt], axis=1)
    between = np.stack([along, uu, ut], axis=1) * reliability[:, None]
    by_strength = (reliability * by_u, reliability**2 * uu)
    return Slopes(float((chosen - log_total).sum()), by_strength, by_trait, of_traits, between)


def sides(block: Labels) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The systems on the left and on the right of each pair: its row of the design matrix has 1
    and -1 there."""
    assert block.features is not None
    at = block.features.indices.reshape(-1, 2)
    first_is_left = block.features.data.reshape(-1, 2)[:, 0] > 0
    left, right = np.where(first_is_left, at.T, at[:, ::-1].T)
    return left.astype(np.intp), right.astype(np.intp)


def maximise(fold: Fold, start: Params, prior: Prior, tol: float = 1e-8) -> Solution:
    """Fisher's scoring from these parameters to the maximum of the posterior density. With judges
    the spread of their traits is learned on the way (empirical Bayes), and then kept."""
    sweep = Sweep(bool(prior.free[TIES]))
    params, stats = start, fold.sweep(sweep, start, keep=False)
    learns = HYPER_STEPS if len(params.judge) > 1 and prior.free.any() else 0
    converged, iteration = False, 0
    while not converged and iteration < STEPS:
        iteration += 1
        if iteration <= learns:
            prior = _learned(params, stats, prior)
        params, stats, length = _climbed(fold, sweep, params, stats, prior)
        converged = length < tol and iteration > learns
    if prior.free[RELIABILITY]:
        params = _on_scale(params, stats.weight)
        stats = fold.sweep(sweep, params, keep=False)
    return Solution(params, stats, prior, converged, iteration)


def _climbed(
    fold: Fold, sweep: Sweep, params: Params, stats: Stats, prior: Prior
) -> tuple[Params, Stats, float]:
    """Parameters and statistics after one step, and its length; half of the step, or a quarter,
    ..., where the whole of it leads down."""
    strength, judge = _step(params, stats, prior)
    now = stats.log_likelihood + log_density(params, prior)
    for _ in range(HALVINGS):
        tried = _moved(params, Step(strength, judge), prior)
        found = fold.sweep(sweep, tried, keep=False)
        if found.log_likelihood + log_density(tried, prior) >= now - ROUNDING * abs(now):
            break
        strength, judge = strength / 2, judge / 2
    length = max(float(np.abs(part).max(initial=0.0)) for part in (strength, judge))
    return tried, found, length


def _on_scale(params: Params, weight: Floats) -> Params:
    """The same parameters on the scale on which the mean reliability is 1, by the information that
    judges add; unchanged where they contradict each other so much that it is hardly above 0."""
    average = float(weight @ params.judge[:, RELIABILITY] / max(float(weight.sum()), 1e-300))
    if average < LEAST_AVERAGE:
        return params
    judge = params.judge.copy()
    judge[:, RELIABILITY] /= average
    return Params(params.strength * average, judge)


def log_density(params: Params, prior: Prior) -> float:
    """Log density of the parameters under their prior, without its constant."""
    apart = (params.judge - prior.mean)[:, prior.free] ** 2 / prior.variance[prior.free]
    return float(-apart.sum() / 2 - prior.precision * (params.strength**2).sum() / 2)


class Spread(NamedTuple):
    """Covariance matrix of the strengths, and the variance of each judge's reliability."""

    of_strength: Floats
    of_reliability: Floats


def spread_of(solution: Solution) -> Spread:
    """How far strengths and reliabilities are known.

    The parameters have the normal distribution whose precision is the information (Laplace), given
    what fixes the scale: that the mean reliability is 1, and that the mean strength is 0."""
    stats, prior = solution.stats, solution.prior
    inverse = _judge_covariance(stats, prior)
    known: Floats = np.linalg.inv(_reduced(stats, prior, inverse)).astype(np.float64)
    strength = prior.centred(prior.centred(known).T)
    own = inverse[:, RELIABILITY, RELIABILITY]
    if not prior.free[RELIABILITY]:
        return Spread(strength, own)
    rows = np.arange(0, inverse[:, 0].size + 1, 3)
    by_judge = csr_array((inverse[:, RELIABILITY].ravel(), np.arange(rows[-1]), rows))
    explained = by_judge @ stats.between.T  # [judge, system]
    with_strength = explained @ strength
    share = stats.weight / max(float(stats.weight.sum()), 1e-300)
    reliability = own + _row_products(explained, with_strength)
    with_scale = share @ with_strength
    of_scale = max(float(share @ (own * share) + (share @ explained) @ with_scale), 1e-300)
    to_scale = own * share + with_strength @ (share @ explained)
    return Spread(
        strength - np.outer(with_scale, with_scale) / of_scale,
        reliability - to_scale**2 / of_scale,
    )


def _row_products(first: Any, second: Floats) -> Floats:
    """Sum of the products in each row of two tables, of which the first may be sparse."""
    products = first.multiply(second) if issparse(first) else first * second
    sums: Floats = np.asarray(products.sum(axis=1)).ravel()
    return sums


def _learned(params: Params, stats: Stats, prior: Prior) -> Prior:
    """The distribution of the traits among judges, from where these are and how far they are known.
    The mean reliability is 1: that fixes the scale."""
    variance = np.diagonal(_judge_covariance(stats, prior), axis1=1, axis2=2)
    mean = np.where(prior.free, params.judge.mean(axis=0), prior.mean)
    mean[RELIABILITY] = 1.0
    spread = ((params.judge - mean) ** 2 + variance).mean(axis=0)
    bounded = np.clip(spread, *np.transpose(VARIANCES))
    return prior._replace(mean=mean, variance=np.where(prior.free, bounded, prior.variance))


def _moved(params: Params, step: Step, prior: Prior) -> Params:
    """Parameters after the step, with the mean strength 0."""
    strength, judge = params.strength + step.strength, params.judge + step.judge
    judge[:, TIES] = np.minimum(judge[:, TIES], MOST_TIES)
    return Params(prior.centred(strength[:, None])[:, 0], judge)


def _step(params: Params, stats: Stats, prior: Prior) -> Step:
    """The step of Fisher's scoring: the information's inverse times the gradient."""
    inverse = _judge_covariance(stats, prior)
    pull = np.where(prior.free, (params.judge - prior.mean) / prior.variance, 0.0)
    by_judge = np.where(prior.free, stats.judge_gradient, 0.0) - pull
    alone = np.einsum("jab,jb->ja", inverse, by_judge)
    by_strength = stats.strength_gradient - prior.precision * params.strength
    right = by_strength - stats.between @ alone.ravel()
    strength = np.linalg.solve(_reduced(stats, prior, inverse), right)
    back = (stats.between.T @ strength).reshape(-1, 3)
    return Step(strength, alone - np.einsum("jab,jb->ja", inverse, back))


def _judge_covariance(stats: Stats, prior: Prior) -> Floats:
    """Covariance ``[judge, trait, trait]`` of the traits, were the strengths known; zero for those
    that are fixed."""
    free = np.flatnonzero(prior.free)
    inverse = np.zeros((len(stats.judge_information), 3, 3))
    if len(free):
        inner = stats.of_judges[:, free[:, None], free] + np.diag(1 / prior.variance[free])
        inverse[:, free[:, None], free] = np.linalg.inv(inner)
    return inverse


def _reduced(stats: Stats, prior: Prior, inverse: Floats) -> Floats:
    """Information of the strengths when judges are not known either; the mean, of which comparisons
    say nothing, is held at 0."""
    held = prior.precision * np.eye(len(prior.component)) + prior.means
    reduced: Floats = stats.information + held
    if prior.free.any():
        explained = stats.between @ _block_diagonal(inverse) @ stats.between.T
        reduced = reduced - (explained.toarray() if issparse(explained) else explained)
    return reduced


def _block_diagonal(blocks: Floats) -> csr_array:
    n, width, _ = blocks.shape
    column = np.arange(n * width).reshape(n, 1, width).repeat(width, axis=1).ravel()
    row_starts = np.arange(0, n * width * width + 1, width)
    return csr_array((blocks.ravel(), column, row_starts), shape=(n * width, n * width))


def _probabilities(u: Floats, log_tie: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Probabilities of left, tie and right, and the log of what they are divided by."""
    half = u / 2
    highest = np.maximum(np.abs(half), log_tie)
    left, tie, right = (np.exp(each - highest) for each in (half, log_tie, -half))
    total = left + tie + right
    return left / total, tie / total, right / total, highest + np.log(total)


def sums(at: NDArray[np.integer], values: NDArray[np.number], n: int) -> Floats:
    """Sum of the values by where they belong."""
    total: Floats = np.bincount(at, values, n).astype(np.float64, copy=False)
    return total


def _table_sums(at: NDArray[np.int32], values: Floats, n: int) -> Floats:
    """Sum of the rows of values by where they belong."""
    table = np.zeros((n, values.shape[1]))
    accumulate(table, at, np.ascontiguousarray(values), np.arange(len(at), dtype=np.int32))
    return table


def _signed(
    left: NDArray[np.intp], right: NDArray[np.intp], values: Floats, n_systems: int
) -> Floats:
    """Sum for each system: of pairs in which it is on the left, less those on the right."""
    total: Floats = sums(left, values, n_systems) - sums(right, values, n_systems)
    return total


def _between(
    pair: tuple[NDArray[np.intp], NDArray[np.intp]],
    judge: Codes,
    values: Floats,
    shape: tuple[int, int],
) -> Floats | csr_array:
    """Sums ``[system, judge * 3 + trait]`` of what votes say of both; a sparse matrix where most
    judges have not seen most systems."""
    n_systems, n_judges = shape
    traits = judge.astype(np.intp)[:, None] * 3 + np.arange(3)
    if n_systems * n_judges > DENSE:
        rows, columns = (np.concatenate([a.repeat(3) for a in pair]), np.tile(traits.ravel(), 2))
        signed = np.concatenate([values.ravel(), -values.ravel()])
        return csr_array((signed, (rows, columns)), shape=(n_systems, 3 * n_judges))
    width, flat = 3 * n_judges, values.ravel()
    left, right = (
        sums((a[:, None] * width + traits).ravel(), flat, n_systems * width) for a in pair
    )
    table: Floats = (left - right).reshape(n_systems, width)
    return table
