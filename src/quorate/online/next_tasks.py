"""Where another vote is worth most, by what is believed now."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate.assignment.gain import errors_ahead, worth
from quorate.kernels import Floats, entropy, row_max
from quorate.online.ledger import Ledger

GRAIN = 1_000  # how finely beliefs are told apart
FIRST = 2_048  # groups of tasks whose gain is found first
OPENNESS = 1e-6  # by how much, of equal gains, the more open task counts for more
SHARE = 1 / 100  # of the votes: when so many more have come, every task is looked at again


class Outlook:
    """The posterior of all tasks, brought up to date where votes came: those on other tasks change
    little of it, until there are many."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._as_of = self._now()
        self._n_votes = self._first = ledger.n_votes
        self._posterior = ledger.state.all_posteriors()

    def _now(self) -> tuple[int, int]:
        return len(self._ledger.events), self._ledger.state.n_classes

    def holds_for(self, ledger: Ledger) -> bool:
        """Whether nothing but a few votes has come since."""
        if ledger is not self._ledger or self._now() != self._as_of:
            return False
        return self._n_votes <= ledger.n_votes <= self._first * (1 + SHARE)

    def posterior(self) -> Floats:
        state = self._ledger.state
        came = np.unique(state.ballots.task.values[self._n_votes :])
        if len(came):
            new = np.zeros((state.belief.height - len(self._posterior), state.n_classes))
            self._posterior = np.concatenate([self._posterior, new])
            self._posterior[came] = state.posteriors(came)
            self._n_votes = self._ledger.n_votes
        return self._posterior


def most_valuable(posterior: Floats, average: Floats, n: int) -> NDArray[np.intp]:
    """Which n tasks' expected error votes of an average worker ``[truth, label]`` lower most, the
    best first. Beliefs that differ by less than a thousandth are taken for the same.

    Examples:
        >>> beliefs = np.array([[0.99, 0.01], [0.5, 0.5], [0.7, 0.3]])
        >>> most_valuable(beliefs, np.array([[0.8, 0.2], [0.2, 0.8]]), 2).tolist()
        [1, 2]
    """
    first, group = _alike(posterior)
    best = _best(posterior[first], average, min(n, len(first)))
    rank = np.full(len(first), len(first))
    rank[best] = np.arange(len(best))
    rank_of_task = rank[group]
    among = np.flatnonzero(rank_of_task < len(first))
    return among[np.argsort(rank_of_task[among], kind="stable")[:n]]


def _alike(posterior: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first task of each group whose beliefs are the same but for rounding, and the group of
    each task; groups are told apart by a hash of their beliefs."""
    rounded = np.rint(posterior * GRAIN).astype(np.uint64)
    factors = np.random.default_rng(0).integers(2**63, size=posterior.shape[1], dtype=np.uint64)
    key = rounded @ (2 * factors + np.uint64(1))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return first, group


def _best(posterior: Floats, average: Floats, n: int) -> NDArray[np.intp]:
    """The n rows with the highest gains, the best first. No vote lowers the expected error by more
    than it is, so that few rows have to be looked at."""
    error = 1 - row_max(posterior)
    order = np.argsort(-error, kind="stable")
    gains, size = np.empty(0), max(FIRST, n)
    most_openness = OPENNESS * np.log(max(posterior.shape[1], 2))
    while (looked_at := len(gains)) < len(order):
        if looked_at:
            at_most = error[order[looked_at]] + most_openness
            if np.partition(gains, -n)[-n] >= at_most:
                break
        some = posterior[order[looked_at : looked_at + size]]
        gain = worth(errors_ahead(some, average)) + OPENNESS * entropy(some)
        gains = np.concatenate([gains, gain])
        size *= 2
    return order[np.argsort(-gains, kind="stable")[:n]]
