"""How sure the entries of confusion matrices are: those of Dawid-Skene, from the votes alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from quorate import kernels
from quorate.engines.engine import Fold
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import dense
from quorate.trust.accuracies import (
    FLATTEST,
    HIGHEST,
    LEAST,
    LOWEST,
    MOST_JUDGED,
    PASSES,
    SETTLED,
    STRENGTHS,
    Spread,
    inside,
)

WIDTHS = np.geomspace(0.2, 1.0, 9)  # powers that are tried
ENOUGH_ENTRIES, MOST_REHEARSALS = 1500, 8
LEAST_PSEUDO = 1e-3


class Intervals(NamedTuple):
    """Of every entry of every confusion matrix ``[worker, truth, label]``: its estimate, and the
    95 % interval around that."""

    mean: Floats
    low: Floats
    high: Floats


class Matrices(NamedTuple):
    """Confusion matrices as logarithms, with a row for each (worker, label) and a column for each
    truth, and the classes' shares; the crowd's matrix ``[truth, label]`` counts as ``worth`` labels
    of each worker and truth."""

    log_chance: Floats
    log_prior: Floats
    worth: float = 0.0

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("log_chance",)


class Met(NamedTuple):
    """In those rows and columns the expected counts, and their doubts: the variance of whether
    each label belongs there."""

    counts: Floats | Rows
    doubts: Floats | Rows
    classes: Floats

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("counts", "doubts")


def confusion_intervals(
    fold: Fold, spread: Spread, n_classes: int, passes: int = 3 * PASSES
) -> Intervals:
    """The 95 % intervals of all entries of confusion matrices.

    They are those of Dawid-Skene when rows have a Dirichlet distribution around the crowd's. Labels
    that may belong to another truth tell less of an entry, and count for less (Louis, 1982). What
    that leaves out, above all that the other workers' matrices are not known either, is found by
    rehearsal: crowds that are drawn from what was found label the same tasks, and the intervals are
    made as wide as holds 95 % of what these were drawn from.
    """
    found = _settled(fold, spread, n_classes, passes, None)
    n_workers = len(spread.accuracy)
    n_rehearsals = min(MOST_REHEARSALS, -(-ENOUGH_ENTRIES // (n_workers * n_classes**2)))
    held = np.zeros(len(WIDTHS))
    for seed in range(n_rehearsals):
        drawn = _drawn(found, seed)
        again = _settled(fold, spread, n_classes, passes, drawn)
        held += [_held(again, drawn, spread.power * width) for width in WIDTHS]
    width = np.interp(LOWEST - HIGHEST, -held / n_rehearsals, WIDTHS)
    low, high = _matrix_intervals(found, spread.power * width)
    mean = np.exp(found.known.log_chance).reshape(found.counts.shape).transpose(0, 2, 1)
    return Intervals(mean, low, high)


class Drawn(NamedTuple):
    """A crowd that might be this one: for each worker and truth ``[worker, truth, label]`` how
    likely it is that a label comes before the next, and the same for the truths."""

    below: Floats
    classes_below: Floats
    seed: int

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("below",)

    @property
    def chance(self) -> Floats:
        chance: Floats = np.diff(self.below, axis=2, prepend=0.0)
        return chance

    def labels_of(self, block: Labels) -> Labels:
        """The block as if it were labelled by them, by lots of the task and of the vote alone."""
        task = np.arange(block.first_task, block.first_task + block.n_tasks)
        vote = np.repeat(task, block.n_said) * block.n_workers + block.worker
        seed = 2 * self.seed
        truth = np.searchsorted(
            self.classes_below[:-1], kernels.hashed_uniform(task, 1, seed)[:, 0]
        )
        below = self.below[block.worker, np.repeat(truth, block.n_said), :-1]
        label = (kernels.hashed_uniform(vote, 1, seed + 1) > below).sum(axis=1)
        gold = None if block.gold is None else np.where(block.gold < 0, -1, truth)
        return replace(block, label=label.astype(np.int32), gold=gold)


class Seen(NamedTuple):
    """What the votes are to be read by, and whose they are: those of a drawn crowd, or the real."""

    known: Matrices
    drawn: Drawn | None

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ()


class Found(NamedTuple):
    """Expected counts and doubts ``[worker, label, truth]``, and the matrices they come from."""

    counts: Floats
    doubts: Floats
    known: Matrices


def _settled(fold: Fold, spread: Spread, n_classes: int, passes: int, drawn: Drawn | None) -> Found:
    """EM from accuracies alone."""
    right = inside(spread.accuracy)[:, None, None]
    wrong = (1 - right) / max(n_classes - 1, 1)
    chance = np.where(np.eye(n_classes, dtype=bool), right, wrong)
    shares = np.full(n_classes, 1 / n_classes)
    known = Matrices(np.log(chance).reshape(-1, n_classes), np.log(shares))
    for _ in range(passes):
        met = fold.sweep(_meet, Seen(known, drawn))
        before = known.log_chance
        known = _matrices(_by_worker(met.counts), met.classes, spread.worth)
        if float(np.abs(np.exp(known.log_chance) - np.exp(before)).mean()) < SETTLED / 5:
            break
    met = fold.sweep(_meet, Seen(known, drawn))
    return Found(_by_worker(met.counts), _by_worker(met.doubts), known)


def _drawn(found: Found, seed: int) -> Drawn:
    """Rows as they may be by the counts and the crowd's."""
    counts, _, known = found
    share = np.exp(known.log_chance).reshape(counts.shape)
    met = counts.sum(axis=1, keepdims=True)
    random = np.random.default_rng([seed, len(counts)])
    rows = random.gamma(np.maximum(share * (met + known.worth), LEAST_PSEUDO)).transpose(0, 2, 1)
    rows = np.maximum(rows, np.finfo(float).tiny)
    below = np.cumsum(rows / rows.sum(axis=2, keepdims=True), axis=2)
    return Drawn(below, np.cumsum(np.exp(known.log_prior)), seed)


def _held(found: Found, drawn: Drawn, power: Floats) -> float:
    """The share of the entries that lie in their intervals."""
    low, high = _matrix_intervals(found, power)
    return float(np.mean((low <= drawn.chance) & (drawn.chance <= high)))


def _meet(block: Labels, seen: Seen, state: Any) -> tuple[Any, Met]:
    known = seen.known
    if seen.drawn is not None:
        block = seen.drawn.labels_of(block)
    log_joint = block.pairs.gather(known.log_chance) + known.log_prior
    posterior, _ = kernels.normalise(block.clamped(log_joint))
    counts = block.pairs.scatter(posterior)
    doubts = block.pairs.scatter(posterior * (1 - posterior))
    return state, Met(counts, doubts, block.class_sums(posterior))


def _by_worker(table: Floats | Rows) -> Floats:
    """``[worker, label, truth]``."""
    whole: Floats = dense(table)
    return whole.reshape(-1, whole.shape[1], whole.shape[1])


def _matrices(counts: Floats, classes: Floats, most: float) -> Matrices:
    """Rows differ from worker to worker at least as accuracies do."""
    crowd = counts.sum(axis=0) + 1 / len(classes)
    crowd /= crowd.sum(axis=0)
    worth = min(_crowd_worth(counts, crowd), most)
    chance = (counts + worth * crowd) / (counts.sum(axis=1, keepdims=True) + worth)
    shares = np.maximum(classes / classes.sum(), LEAST)
    return Matrices(np.log(chance).reshape(-1, len(classes)), np.log(shares / shares.sum()), worth)


def _crowd_worth(counts: Floats, crowd: Floats) -> float:
    """How many labels the crowd's matrix counts as: the greatest likelihood of the expected counts
    when workers' rows have a Dirichlet distribution around the crowd's."""
    from scipy.special import gammaln  # slow to import

    some = counts[:: -(-len(counts) // MOST_JUDGED)]

    def log_likelihood(worth: float) -> float:
        prior = worth * crowd
        rows = gammaln(worth) - gammaln(some.sum(axis=1) + worth)
        cells = gammaln(some + prior) - gammaln(prior)
        return float(rows.sum() + cells.sum())

    return float(max(STRENGTHS, key=log_likelihood))


def _matrix_intervals(found: Found, power: Floats) -> tuple[Floats, Floats]:
    """Beta distributions around the estimates, each as narrow as its labels are worth."""
    from scipy.special import betaincinv  # slow to import

    counts, doubts, known = found
    share = np.clip(np.exp(known.log_chance), 1e-6, 1 - 1e-6).reshape(counts.shape)
    labels = _labels_worth(counts, doubts, share, known.worth) * power[:, None, None]
    a, b = share * (labels + known.worth), (1 - share) * (labels + known.worth)
    low, high = (np.asarray(betaincinv(a, b, q), dtype=np.float64) for q in (LOWEST, HIGHEST))
    return low.transpose(0, 2, 1), high.transpose(0, 2, 1)


def _labels_worth(counts: Floats, doubts: Floats, share: Floats, worth: float) -> Floats:
    """Effective number of gold-labelled observations per entry: the labels that are expected, less
    what is missing because they may be of another truth, less what hangs on how
    often the worker gives the label to all other truths, which is not known either."""
    met = counts.sum(axis=1, keepdims=True)
    met_else = met.sum(axis=2, keepdims=True) - met
    given = share * (met + worth)
    other = (given.sum(axis=2, keepdims=True) - given) / (
        met_else + worth * max(share.shape[2] - 1, 1)
    )
    other = np.clip(other, 1e-6, 1 - 1e-6)
    rest = doubts.sum(axis=1, keepdims=True) - doubts

    def missing(one: Floats, two: Floats) -> Floats:
        spread = np.sqrt(one * (1 - one) * two * (1 - two))
        both: Floats = (doubts * (1 - one) * (1 - two) + rest * one * two) / spread
        return both

    own = met + worth - missing(share, share)
    else_ = np.maximum(met_else + worth - missing(other, other), worth)
    labels = own - missing(share, other) ** 2 / else_ - worth
    worth_of_labels: Floats = np.clip(labels, FLATTEST * met, met)
    return worth_of_labels
