"""Where the next vote is worth most: kept up to date task by task, so that asking is quick.

For each task there is its posterior and the expected error after some more votes of an average
worker (`assignment.gain`); a task on which votes come is looked at again when somebody next asks.
After a settling, and when the crowd has become another, all of them are, a few at a time. Tasks
that are handed out count as if their votes were on the way. Of the best by that, the worker who
asks gets the one where a vote of theirs, by their own confusion matrix, is worth most.

The best are found in the `Front`, without going through all tasks.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.assignment.asking import NOTHING
from quorate.assignment.gain import errors_ahead, horizon, worth
from quorate.assignment.plan import CROWD
from quorate.kernels import Floats, entropy
from quorate.online.ballots import Column
from quorate.online.ledger import Ledger
from quorate.online.sums import learned
from quorate.service.settings import Settings

CANDIDATES = 256  # the best for an average worker, among which the best for this one is
DRIFT = 1 / 20  # more votes, of all: then the average worker may be another
AT_ONCE = 4096  # tasks that are looked at again in one go
FRONT = 4096  # tasks in the front
OPENNESS = 1e-6  # by how much, of equal gains, the more open task counts for more
PEOPLE = 0.75  # the accuracy of people of whom nothing is known yet
PAIRS = 20  # votes on the same task by which that has half its weight
PRIORITY = 10.0  # a point of priority outweighs any gain


class Standing(NamedTuple):
    """How far the tasks are."""

    tasks: int
    open: int  # to further votes
    error: float  # expected share of wrong labels among those whose answer is not known


class Front:
    """The tasks of highest value: all above a bar, which rises and falls with how many they are.

    Who is below the bar stays until the front is made anew; who rises above it joins.
    """

    def __init__(self) -> None:
        self._tasks = Column(np.int64)
        self._inside: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._bar = -np.inf

    def best(self, value: Floats, n: int, but: list[int]) -> NDArray[np.int64]:
        """The n tasks of highest finite value, but for some; of equals the first ones."""
        size = max(FRONT, 2 * (n + len(but)))
        if self._tasks.height > 2 * size:
            self._make(value, size)
        tasks = self._above(value, but)
        if len(tasks) < n and self._bar > -np.inf:
            self._make(value, size)
            tasks = self._above(value, but)
        if len(tasks) > n:
            ordered = np.argsort(-value[tasks], kind="stable")
            tasks = tasks[ordered[:n]]
        return tasks

    def take(self, tasks: NDArray[np.int64], value: Floats) -> None:
        """The values of some tasks are others now."""
        if len(value) > len(self._inside):
            self._inside = np.pad(self._inside, (0, len(value) - len(self._inside)))
        risen = tasks[(value[tasks] > self._bar) & ~self._inside[tasks]]
        if len(risen):
            self._tasks.extend(risen)
            self._inside[risen] = True

    def make_anew(self) -> None:
        """All values are others."""
        self._tasks.cut(0)
        self._inside[:] = False
        self._bar = np.inf

    def _above(self, value: Floats, but: list[int]) -> NDArray[np.int64]:
        tasks = self._tasks.values
        reach = (value[tasks] >= self._bar) & (value[tasks] > -np.inf)
        found: NDArray[np.int64] = np.sort(tasks[reach])
        if but and len(found):
            found = found[~np.isin(found, but)]
        return found

    def _make(self, value: Floats, size: int) -> None:
        self.make_anew()
        self._bar = -np.inf
        if size < len(value):
            self._bar = np.partition(value, len(value) - size)[len(value) - size]
        above = np.flatnonzero(value > self._bar)
        level = np.flatnonzero(value == self._bar)[: size - len(above)]
        self._tasks.extend(np.concatenate([above, level]))
        self._inside[self._tasks.values] = True


class Ranking:
    """The tasks of a project by what a vote on them is worth."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.priority, self.closed = Column(np.float64), Column(np.bool_)
        self._leased, self._votes = Column(np.int32), Column(np.int32)
        self._known = Column(np.bool_)
        self._code = Column(np.int64)  # of a task in the ledger, -1 without votes
        self._posterior: Floats = np.zeros((0, 0))
        self._ahead: Floats = np.zeros((0, 0))
        self._value: Floats = np.zeros(0)  # minus infinity where no vote is asked for
        self._changed: set[int] = set()
        self._passed_on: set[int] = set()  # who have them has changed, and nothing else
        self._front = Front()
        self._all, self._looked_at = True, 0
        self.in_demand = False  # since all were last looked at
        self._behind = 0  # so many tasks, the first ones, have yet to be looked at again
        self._recoded = False  # whether codes may be others
        self._ledger: Ledger | None = None
        self._average: Floats = np.zeros((0, 0))

    def __len__(self) -> int:
        return self.priority.height

    # What changes.

    def grow(self, n: int) -> None:
        """There are so many tasks now."""
        before = len(self)
        for column in (self.priority, self.closed, self._leased, self._votes, self._known):
            column.grow(n)
        self._code.grow(n)
        self._code.values[before:] = -1
        self._changed.update(range(before, n))

    def touch(self, tasks: Any) -> None:
        """These have to be looked at again."""
        self._changed.update(tasks)

    def touch_all(self) -> None:
        """All have to, a few at a time; their codes may be others."""
        self._behind, self._recoded = len(self), True

    def lease(self, task: int, more: int) -> None:
        """One more, or one less, worker has a task."""
        self._leased.values[task] += more
        self._passed_on.add(task)

    # What is asked.

    def standing(self, ledger: Ledger) -> Standing:
        """How far the tasks are, with everything looked at."""
        while self.look_further(ledger):
            pass
        unknown = ~self._known.values
        error = float(self._ahead[unknown, 0].mean()) if unknown.any() else 0.0
        return Standing(len(self), int(np.isfinite(self._value).sum()), error)

    def best_for(self, ledger: Ledger, worker: int | None, answered: Any, n: int) -> list[int]:
        """The n tasks best for a worker (by code, None if new), but for those they answered."""
        self.in_demand = True
        some = self._candidates(ledger, max(CANDIDATES, n), answered)
        if not len(some):
            return []
        own = self._worth(
            some, errors_ahead(self._posterior[some], self._confusion(ledger, worker))
        )
        order = np.argsort(-own, kind="stable")[:n]
        found: list[int] = some[order].tolist()
        return found

    def _candidates(self, ledger: Ledger, n: int, but: list[int]) -> NDArray[np.int64]:
        """The best for an average worker, none of them by what was believed before."""
        while True:
            behind = self.look_further(ledger)
            some = np.sort(self._front.best(self._value, n, but))
            if behind and len(some):
                self._look_at(ledger, some)
                some = some[np.isfinite(self._value[some])]
            if len(some) or not behind:
                return some

    def open_tasks(self, ledger: Ledger) -> tuple[NDArray[np.bool_], Floats]:
        """Whether votes on each task are asked for, and the confidence in its answer."""
        self.standing(ledger)
        return np.isfinite(self._value), 1 - self._ahead[:, 0]

    def likely(self, n: int) -> list[int]:
        """Tasks that are likely to be handed out next, to whomever."""
        found: list[int] = self._front.best(self._value, n, []).tolist()
        return found

    def confidence(self, ledger: Ledger, task: int) -> float:
        """How sure a task's answer is."""
        self.look_further(ledger)
        return float(1 - self._ahead[task, 0])

    def least_sure(self, ledger: Ledger, n: int) -> list[int]:
        """Tasks with votes whose answers are least sure."""
        self.look_further(ledger)
        error = np.where(self._votes.values > 0, self._ahead[:, 0], -1.0)
        order = np.argsort(-error, kind="stable")[:n]
        found: list[int] = order[error[order] > 0].tolist()
        return found

    # Looking.

    def look_further(self, ledger: Ledger) -> bool:
        """Look at what has changed, and at a few of those that may have; whether more are left."""
        n_classes = ledger.state.n_classes
        if self._all or ledger is not self._ledger or n_classes != self._posterior.shape[1]:
            self._look_at_all(ledger)
            self._changed.clear()
            self._passed_on.clear()
            return False
        if ledger.n_votes > self._looked_at * (1 + DRIFT) + 20:
            self._looked_at, self._average = ledger.n_votes, _average(ledger)
            self.touch_all()
        if self._recoded:
            self._read_codes(ledger)
        if self._changed:
            changed = np.array(sorted(self._changed), dtype=np.int64)
            self._read_code(ledger, changed)
            self._look_at(ledger, changed)
        if passed_on := self._passed_on - self._changed:
            self._revalue(np.array(sorted(passed_on), dtype=np.int64))
        self._changed.clear()
        self._passed_on.clear()
        if self._behind:
            first = max(self._behind - AT_ONCE, 0)
            self._look_at(ledger, np.arange(first, self._behind))
            self._behind = first
        return self._behind > 0

    def _look_at_all(self, ledger: Ledger) -> None:
        n, k = len(self), max(ledger.state.n_classes, 1)
        self._read_codes(ledger)
        self._ledger, self._looked_at = ledger, ledger.n_votes
        self._average = _average(ledger)
        self._posterior, self._ahead = np.zeros((n, k)), np.zeros((n, horizon(k) + 1))
        self._value = np.zeros(n)
        self._front.make_anew()
        self._all, self._behind = False, 0
        if n:
            self._look_at(ledger, np.arange(n))

    def _read_codes(self, ledger: Ledger) -> None:
        n, ids = len(self), ledger.names["task"].ids.values
        self._code.values[:] = -1
        self._code.values[ids[ids < n]] = np.flatnonzero(ids < n)
        self._recoded = False

    def _look_at(self, ledger: Ledger, tasks: NDArray[np.int64]) -> None:
        """Bring some tasks up to date; of those without votes all the same is believed."""
        self._make_room(len(self))
        state, gold, kept = ledger.state, ledger.gold, ledger.names["task"].kept
        code = self._code.values[tasks]
        voted, without = tasks[code >= 0], tasks[code < 0]
        if len(without):
            prior = np.array(state._prior()) if state.n_classes else np.ones(1)
            self._votes.values[without] = 0
            self._posterior[without] = prior
            self._ahead[without] = errors_ahead(prior[None], self._average)
        if len(voted):
            codes = code[code >= 0].astype(np.int32)
            _, indptr = state.ballots.of_tasks(codes)
            self._votes.values[voted] = np.diff(indptr)
            self._posterior[voted] = posterior = state.posteriors(codes)
            self._ahead[voted] = errors_ahead(posterior, self._average)
        self._known.values[tasks] = [kept[t] in gold for t in tasks.tolist()] if gold else False
        self._revalue(tasks)

    def _read_code(self, ledger: Ledger, tasks: NDArray[np.int64]) -> None:
        """The codes of tasks that may have got their first votes."""
        names = ledger.names["task"]
        for task in tasks[self._code.values[tasks] < 0].tolist():
            found = names.get(names.kept[task])
            self._code.cells[task] = -1 if found is None else found

    def _make_room(self, n: int) -> None:
        if n > len(self._value):
            grown = n - len(self._value)
            self._posterior = np.pad(self._posterior, ((0, grown), (0, 0)))
            self._ahead = np.pad(self._ahead, ((0, grown), (0, 0)))
            self._value = np.pad(self._value, (0, grown), constant_values=-np.inf)

    def _revalue(self, tasks: NDArray[np.int64]) -> None:
        """What votes on some tasks are worth to an average worker; where none is asked for, less
        than nothing."""
        value = self._worth(tasks, self._ahead[tasks])
        self._value[tasks] = np.where(self._asked_for(tasks), value, -np.inf)
        self._front.take(tasks, self._value)

    def _worth(self, tasks: NDArray[np.int64], ahead: Floats) -> Floats:
        gain = np.zeros(len(tasks))
        leased = np.minimum(self._leased.values[tasks], ahead.shape[1] - 2)
        for on_the_way in np.unique(leased).tolist():
            these = leased == on_the_way
            gain[these] = worth(ahead[these, on_the_way:])
        crowded = self._leased.values[tasks] + self._votes.values[tasks]
        openness = OPENNESS * entropy(self._posterior[tasks])
        value: Floats = gain + openness + PRIORITY * self.priority.values[tasks]
        value -= OPENNESS / 100 * crowded
        return value

    def _asked_for(self, tasks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tasks that are open, not known, and neither sure nor covered."""
        rule = self.settings
        votes = self._votes.values[tasks]
        coming = votes + self._leased.values[tasks]
        asked: NDArray[np.bool_] = ~(self.closed.values[tasks] | self._known.values[tasks])
        if rule.most_votes is not None:
            asked &= coming < rule.most_votes
        if rule.target_confidence is not None:
            unsure = 1 - self._ahead[tasks, 0] < rule.target_confidence
            asked &= unsure | (coming < rule.least_votes)
        elif rule.target_error is None and rule.budget is None:
            may_change = worth(self._ahead[tasks]) > NOTHING
            asked &= may_change | (coming < rule.least_votes)
        return asked

    def _confusion(self, ledger: Ledger, worker: int | None) -> Floats:
        """The confusion matrix ``[truth, label]`` of a worker, who counts as the crowd's average
        until their votes speak for themselves."""
        if worker is None:
            return self._average
        state = ledger.state
        code = np.array([worker], dtype=np.int32)
        prior = np.array(state._prior())
        params = learned(state.sums, code, np.log(np.maximum(prior, 1e-300)), prior)
        votes = float(state.sums.tally(code).sum())
        own = state.model.confusion(params)[0]
        blended: Floats = (votes * own + CROWD * self._average) / (votes + CROWD)
        return blended


def _average(ledger: Ledger) -> Floats:
    """The crowd's confusion matrix, no more accurate than people agree."""
    k = max(ledger.state.n_classes, 1)
    wrong = (1 - PEOPLE) / max(k - 1, 1)
    if ledger.n_votes < 2 * CROWD or k == 1:
        return np.full((k, k), wrong) + np.eye(k) * (PEOPLE - wrong)
    average: Floats = ledger.state.sums.average()
    believed, chance = float(np.mean(np.diag(average))), 1 / k
    seen = _accuracy(*ledger.state.ballots.first_pairs(), k)
    if seen < believed:
        guessed = (believed - seen) / (believed - chance)
        average = (1 - guessed) * average + guessed * chance
    return average


def _accuracy(agree: int, pairs: int, n_classes: int) -> float:
    """The accuracy of people of whom so many pairs say the same, if errors fall evenly.

    What is believed of tasks with one or two votes is what these say, so that everybody seems to be
    right: a count of how often they are would have one stop far too early.

    Examples:
        >>> round(_accuracy(5_000, 10_000, 2), 2), round(_accuracy(8_200, 10_000, 2), 2)
        (0.51, 0.9)
    """
    elsewhere = n_classes - 1
    expected = PEOPLE**2 + (1 - PEOPLE) ** 2 / elsewhere
    share = (agree + PAIRS * expected) / (pairs + PAIRS)
    # The larger root of a^2 + (1 - a)^2 / (k - 1) = share.
    above = max(share * n_classes - 1, 0.0) * elsewhere
    return (1 + sqrt(above)) / n_classes
