"""The paper's schedule for tasks that get votes: the vote, an M-step, the E-step for these tasks
only, and an M-step again.

V. B. Sinha, S. Rao and V. N. Balasubramanian, "Fast Dawid-Skene: A Fast Vote Aggregation Scheme for
Sentiment Classification" (KDD WISDOM 2018), section 5. An M-step is no work of its own: parameters
are read off the sums where they are needed.

Where a fit of another model was taken over (`settle`), a task's votes start from its posterior: in
place of the vote and of the prior stands what that fit believes, and the E-step counts only votes
that came since.

Beliefs are rounded to multiples of 2**-32, so that their sums are exact (up to two million votes of
a worker) and what is taken back leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import kernels
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.model import dense
from quorate.models import DawidSkene, OneCoin
from quorate.models.em import class_shares
from quorate.online.ballots import Ballots, Column, Places
from quorate.online.sums import Said, learned, sums_for

GRAIN = 2.0**32
ROUNDING = 1.5 * 2**52 / GRAIN  # added to a share, it leaves no room for anything finer
NEARLY = 1 - 1e-12  # of the highest belief: as high, but for rounding
FLOOR = 1e-6  # the least that a settled posterior says of a class, once votes have come since
KeysOfCodes = Callable[[Sequence[int]], kernels.Keys]


class Undo(NamedTuple):
    """What a step has changed: of its tasks what was believed before, and the sizes."""

    tasks: Sequence[int] | Codes
    belief: Any
    n_votes: int
    n_tasks: int
    n_workers: int
    hard: bool


class State:
    """Votes, beliefs and sums, all in codes. `keys` are those of tasks, by which ties fall."""

    def __init__(
        self, model: DawidSkene | OneCoin, n_classes: int, half_life: float | None = None
    ) -> None:
        self.model = model
        self.n_classes = n_classes
        self.ballots = Ballots(half_life)
        self.sums = sums_for(model, n_classes, half_life is not None)
        self.belief = Column(np.float64, n_classes)  # as it is counted: zero of a new task
        self.classes = [0.0] * n_classes
        self.harden = model.harden if isinstance(model, DawidSkene) else "never"
        self.hard = self.harden == "always"
        self.base = Column(
            np.float64, n_classes
        )  # the settled posteriors; zero where there is none
        self.n_settled = 0  # votes that these know of
        self.gold: dict[int, int] = {}  # the class of a task whose answer is known
        self.keys: KeysOfCodes = partial(np.array, dtype=np.uint64)  # till a ledger gives names'

    def grow(self, n_tasks: int, n_workers: int) -> None:
        """Room for tasks and workers with new codes."""
        more_workers = n_workers > self.ballots.n_workers
        self.ballots.grow(n_tasks, n_workers)
        self.belief.grow(n_tasks)
        if more_workers:
            self.sums.grow(n_workers)

    @property
    def exact(self) -> bool:
        """Whether what is added can be taken away again without a rest."""
        return self.ballots.half_life is None

    def before(self, tasks: Sequence[int] | Codes) -> Undo:
        """For `undo`, before votes on these tasks come."""
        ballots, believed = self.ballots, self.belief
        if isinstance(tasks, np.ndarray):
            belief: Any = np.zeros((len(tasks), self.n_classes))
            known = tasks < believed.height
            belief[known] = believed.rows.take(tasks[known], axis=0)
        else:
            belief = list(map(self._counted, tasks))
        sizes = (ballots.n_votes, ballots.n_tasks, ballots.n_workers)
        return Undo(tasks, belief, *sizes, self.hard)

    def _counted(self, task: int) -> list[float]:
        """What is counted of a task, which may be a new one."""
        k, believed = self.n_classes, self.belief
        if task >= believed.height:
            return [0.0] * k
        counted: list[float] = believed.cells[task * k : (task + 1) * k].tolist()
        return counted

    def undo(self, undo: Undo) -> None:
        """Take back the last votes, exactly."""
        if len(undo.tasks) == 1:
            self._uncount(int(undo.tasks[0]), list(undo.belief[0]), undo.n_votes)
        elif len(undo.tasks):
            self._uncount_all(np.asarray(undo.tasks), np.array(undo.belief), undo.n_votes)
        for task in range(undo.n_tasks, self.ballots.n_tasks):
            self.gold.pop(task, None)
        self.belief.cut(undo.n_tasks)
        self.sums.cut(undo.n_workers)
        self.ballots.undo(undo.n_votes, undo.n_tasks, undo.n_workers)
        self.hard = undo.hard

    def _uncount(self, task: int, before: list[float], n_votes: int) -> None:
        """Count a task's votes as before those after so many came."""
        votes, start = self._votes(task), task * self.n_classes
        new = sum(place >= n_votes for place in self.ballots.of(task))
        now = self.belief.cells[start : start + self.n_classes].tolist()
        self.sums.move(votes[len(votes) - new :], now, [0.0] * self.n_classes)
        self._believe(task, votes[: len(votes) - new], before)

    def _uncount_all(self, tasks: Codes, before: Floats, n_votes: int) -> None:
        """The same for many tasks."""
        places, block, workers = self._block(tasks)
        now, weight = self.belief.rows.take(tasks, axis=0), np.ones(len(places))
        self.sums.move_block(block, workers, -weight, now, before, places < n_votes)
        self._add_to_classes(before - now)
        self.belief.rows[tasks] = before

    # One task, in plain Python.

    def add(self, task: int, new: Sequence[tuple[int, int]]) -> list[float]:
        """Votes (worker, label) on one task; returns what is then believed of it."""
        classes, ballots = self.classes.copy(), self.ballots
        for worker, label in new:
            ballots.append(task, worker, label)
            if ballots.half_life:
                self.sums.fade(worker, 2 ** (-1 / ballots.half_life))
        votes = self._votes(task)
        n_known = len(votes) - len(new)
        first = self._base_of(task) or _shares(votes, self.n_classes)
        vote = self._as_counted(task, first)
        self.sums.move(votes[n_known:], [0.0] * self.n_classes, vote)
        self._believe(task, votes[:n_known], vote)  # the first M-step
        posterior = self._posterior(task, votes)  # the E-step
        self._believe(task, votes, self._as_counted(task, posterior))  # the last M-step
        self._harden_once_settled(classes)
        return posterior

    def know(self, task: int, label: int | None) -> None:
        """From now on a task's answer is known, or it is not any more: still to be reconsidered."""
        if label is None:
            self.gold.pop(task, None)
        else:
            self.gold[task] = label

    def known(self) -> Codes:
        """The class of each task whose answer is known, -1 of the others."""
        label = np.full(self.belief.height, -1, dtype=np.int32)
        label[list(self.gold)] = list(self.gold.values())
        return label

    def reconsider(self, task: int) -> None:
        """Count a task's votes as if they came now."""
        if self.ballots.of(task):
            self.add(task, ())

    def posterior(self, task: int) -> list[float]:
        """What is believed of a task by what is known of its workers now."""
        return self._posterior(task, self._votes(task))

    def _votes(self, task: int) -> list[Said]:
        """The first one first."""
        ballots = self.ballots
        worker, label = ballots.worker.cells, ballots.label.cells
        places = ballots.of(task)
        places.reverse()
        if ballots.half_life is None:
            return [(worker[at], label[at], 1.0) for at in places]
        return [(worker[at], label[at], ballots.weight(at)) for at in places]

    def _believe(self, task: int, votes: Sequence[Said], belief: Sequence[float]) -> None:
        """Count votes that are counted already under another belief in their task."""
        start, cells = task * self.n_classes, self.belief.cells
        before = cells[start : start + self.n_classes].tolist()
        if before == belief:
            return
        if votes:
            self.sums.move(votes, before, belief)
        for i, share in enumerate(belief):
            if share != before[i]:
                cells[start + i] = share
                self.classes[i] += share - before[i]

    def _as_counted(self, task: int, belief: list[float]) -> list[float]:
        """As it is known, hard, or rounded."""
        if task in self.gold:
            return self._known(task)
        if self.hard and self.model.ties == "shared":
            best = _tied(belief)
            belief = [float(i in best) / len(best) for i in range(len(belief))]
        elif self.hard:
            counted = [0.0] * len(belief)
            counted[self.choose(task, belief)] = 1.0
            return counted
        return [share + ROUNDING - ROUNDING for share in belief]

    def _known(self, task: int) -> list[float]:
        known = [0.0] * self.n_classes
        known[self.gold[task]] = 1.0
        return known

    def _posterior(self, task: int, votes: Sequence[Said]) -> list[float]:
        if task in self.gold:
            return self._known(task)
        base = self._base_of(task)
        if base is not None:
            return self._posterior_since(task, votes, base)
        prior = self._prior()
        if all(prior):
            log_prior = list(map(log, prior))
        else:
            log_prior = [log(p) if p > 0 else kernels.LOG_ZERO for p in prior]
        return _normalised(self.sums.evidence(votes, log_prior))

    def _base_of(self, task: int) -> list[float] | None:
        """The settled posterior of a task that has one."""
        if task >= self.base.height:
            return None
        k = self.n_classes
        base: list[float] = self.base.cells[task * k : (task + 1) * k].tolist()
        return base if any(base) else None

    def _posterior_since(self, task: int, votes: Sequence[Said], base: list[float]) -> list[float]:
        """The settled posterior, by the votes that came since."""
        since = sum(place >= self.n_settled for place in self.ballots.of(task))
        if not since:
            return base
        log_base = [log(max(share, FLOOR)) for share in base]
        return _normalised(self.sums.evidence(votes[len(votes) - since :], log_base))

    def _prior(self) -> list[float]:
        model = self.model
        if isinstance(model.prior, str) and model.prior == "uniform":
            return [1 / self.n_classes] * self.n_classes
        if isinstance(model.prior, str) and model.prior == "estimated":
            smoothing = model.smoothing if model.prior_smoothing is None else model.prior_smoothing
            total = sum(self.classes) + self.n_classes * smoothing
            return [(share + smoothing) / total for share in self.classes]
        shares: list[float] = class_shares(model.prior, np.array(self.classes)).tolist()
        return shares

    def _harden_once_settled(self, before: Sequence[float]) -> None:
        """Hybrid: soft until the class shares hardly move, and hard from then on."""
        model = self.model
        if not isinstance(model, DawidSkene) or self.harden != "settled" or self.hard:
            return
        if not sum(before):
            return
        then, now = sum(before), sum(self.classes)
        moved = sum(abs(b / then - a / now) for b, a in zip(before, self.classes, strict=True))
        self.hard = moved < model.switch_at

    # Many tasks, in arrays.

    def add_table(
        self, task: Codes, worker: Codes, label: Codes, tasks: Codes | None = None
    ) -> tuple[Codes, Floats]:
        """The votes of a table at once; returns the `tasks` they are on (each once, in whatever
        order they are given) and what is believed."""
        classes, start = self.classes.copy(), self.ballots.n_votes
        self.ballots.extend(task, worker, label)
        if self.ballots.half_life:
            workers, votes = np.unique(worker, return_counts=True)
            self.sums.fade(workers, 2 ** (-votes / self.ballots.half_life)[:, None])
        tasks = np.unique(task) if tasks is None else tasks
        places, block, workers = self._block(tasks)
        weight = self.ballots.weights(places)
        before = self.belief.rows.take(tasks, axis=0)
        vote = self._all_as_counted(self._with_base(block.vote_shares(), tasks), tasks)
        known = places < start
        self.sums.move_block(block, workers, weight, vote, before, known)  # the first M-step
        self._add_to_classes(vote - before)
        posterior = self._block_posterior(places, block, workers, tasks)  # the E-step
        after = self._all_as_counted(posterior, tasks)
        self.sums.move_block(block, workers, weight, after, vote)  # the last M-step
        self._add_to_classes(after - vote)
        for share, column in zip(after.T, self.belief.rows.T, strict=True):
            column[tasks] = share  # rows at once would take several times as long
        self._harden_once_settled(classes)
        return tasks, posterior

    def posteriors(self, tasks: Codes) -> Floats:
        """`posterior` of some tasks."""
        return self._block_posterior(*self._block(tasks), tasks)

    def all_posteriors(self) -> Floats:
        """`posterior` of all tasks; of those of a start whose votes are not known, what is counted
        of them."""
        tasks = np.arange(self.belief.height, dtype=np.int32)
        posterior = self._with_known(self.belief.rows.copy(), tasks)
        voted = self.ballots.voted
        if voted.any():
            posterior[voted] = self.posteriors(tasks[voted])
        return posterior

    def belief_in(self, task: int) -> list[float]:
        """What is counted of a task."""
        return self._counted(task)

    def choose(self, task: int, belief: Sequence[float]) -> int:
        """The likeliest class; a tie falls as it does for hard answers."""
        ordered = sorted(belief)
        if len(ordered) == 1 or ordered[-2] < ordered[-1] * NEARLY:
            return belief.index(ordered[-1])
        best = _tied(belief)
        if self.model.ties != "random":
            return best[0]
        key = int(self.keys([task])[0])
        random = kernels.hashed_uniform_row(key, self.n_classes, self.model.seed)
        return max(best, key=random.__getitem__)

    def choose_all(self, tasks: Codes, belief: Floats) -> Codes:
        """`choose` for many tasks."""
        return kernels.choose(belief, self.model.ties, self.model.seed, self._keys_among(tasks))

    def _keys_among(self, tasks: Codes) -> kernels.KeysOf:
        return lambda some: self.keys(tasks[some].tolist())

    def params(self) -> Any:
        """The parameters that everything counted so far gives."""
        prior = np.array(self._prior())
        params = learned(self.sums, slice(None), kernels.log_or(prior), prior)
        return params._replace(state=params.state._replace(hard=self.hard))

    def settle(self, posterior: Floats, hard: bool | None) -> None:
        """Go on from what a fit of all votes has found; if it is of another model (`hard` is None),
        later votes start from it."""
        self.believe_all(posterior, self.hard if hard is None else hard)
        if hard is None:
            base = posterior.copy()
            base[list(self.gold)] = 0.0  # should it not be known any more, the votes say it all
            self._take_base(base, self.ballots.n_votes)

    def _take_base(self, base: Floats, n_settled: int) -> None:
        self.base = Column(np.float64, self.n_classes)
        self.base.extend(base)
        self.n_settled = n_settled

    def believe_all(self, posterior: Floats, hard: bool) -> None:
        """Count everything anew under these beliefs."""
        self.hard = hard
        self.sums = sums_for(self.model, self.n_classes, self.ballots.half_life is not None)
        self.sums.grow(self.ballots.n_workers)
        tasks = np.arange(len(posterior), dtype=np.int32)
        belief = self._all_as_counted(posterior, tasks)
        places, block, workers = self._block(tasks)
        self.sums.move_block(block, workers, self.ballots.weights(places), belief)
        self._take_beliefs(belief)

    def take_over(self, stats: Any, posterior: Floats, hard: bool) -> None:
        """Beliefs and sums of a fit whose votes are not known."""
        self.hard = hard
        tasks = np.arange(len(posterior), dtype=np.int32)
        self._take_beliefs(self._all_as_counted(posterior, tasks))
        self.sums.take_over(dense(stats.counts))

    def _take_beliefs(self, belief: Floats) -> None:
        self.belief = Column(np.float64, self.n_classes)
        self.belief.extend(belief)
        self.classes = [0.0] * self.n_classes
        self._add_to_classes(belief)

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """All that cannot be made of the votes, as it is now: copy it to keep it."""
        classes, hard = np.array(self.classes), np.array(self.hard)
        counted = self.sums.as_arrays()
        if self.base.height:
            counted |= {"base": self.base.rows, "settled": np.array(self.n_settled)}
        return {"belief": self.belief.rows, "classes": classes, "hard": hard, **counted}

    def take_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """What `as_arrays` gave, in a state of the same votes."""
        self.hard = bool(arrays["hard"])
        self.belief.rows[:] = arrays["belief"]
        self.classes = arrays["classes"].tolist()
        self.sums.restore(arrays)
        if "base" in arrays:
            self._take_base(arrays["base"], int(arrays["settled"]))

    def widen(self, n_classes: int) -> None:
        """Room for new classes, of which nothing has been counted."""
        self.belief = _wider(self.belief, n_classes)
        self.base = _wider(self.base, n_classes)
        self.classes += [0.0] * (n_classes - self.n_classes)
        self.sums.widen(n_classes)
        self.n_classes = n_classes

    def _block(self, tasks: Codes) -> tuple[Places, Labels, Codes]:
        """Where the tasks' votes stand, and the votes as labels of workers numbered afresh."""
        places, indptr = self.ballots.of_tasks(tasks)
        workers, worker = _numbered(self.ballots.worker.values[places], self.ballots.n_workers)
        block = Labels(
            indptr.astype(np.int32),
            worker,
            self.ballots.label.values[places],
            len(workers),
            self.n_classes,
        )
        return places, block, workers

    def _block_posterior(
        self, places: Places, block: Labels, workers: Codes, tasks: Codes
    ) -> Floats:
        prior = np.array(self._prior())
        params = learned(self.sums, workers, kernels.log_or(prior), prior)
        base = self._bases(tasks)
        settled = base.any(axis=1)
        if not settled.any():
            joint = self.model.log_joint(block, params)
            return self._with_known(kernels.normalise(joint)[0], tasks)
        counted = np.repeat(~settled, np.diff(block.indptr)) | (places >= self.n_settled)
        block = _only(block, counted)
        joint = self.model.log_joint(block, params)
        joint[settled] += np.log(np.maximum(base[settled], FLOOR)) - kernels.log_or(prior)
        posterior = kernels.normalise(joint)[0]
        unchanged = settled & (np.diff(block.indptr) == 0)
        posterior[unchanged] = base[unchanged]
        return self._with_known(posterior, tasks)

    def _bases(self, tasks: Codes) -> Floats:
        """The settled posteriors of some tasks, zero where there is none."""
        bases = np.zeros((len(tasks), self.n_classes))
        there = tasks < self.base.height
        bases[there] = self.base.rows[tasks[there]]
        return bases

    def _with_base(self, shares: Floats, tasks: Codes) -> Floats:
        """What is first believed of some tasks: the settled posterior, or the vote."""
        if not self.base.height:
            return shares
        base = self._bases(tasks)
        return np.where(base.any(axis=1, keepdims=True), base, shares)

    def _with_known(self, belief: Floats, tasks: Codes) -> Floats:
        """The beliefs in some tasks, with what is known in place of what is believed."""
        if not self.gold:
            return belief
        label = self.known()[tasks]
        known = np.flatnonzero(label >= 0)
        belief = belief.copy()
        belief[known] = 0.0
        belief[known, label[known]] = 1.0
        return belief

    def _all_as_counted(self, belief: Floats, tasks: Codes) -> Floats:
        if self.hard:
            keys = self._keys_among(tasks)
            belief = kernels.harden(belief, self.model.ties, self.model.seed, keys)
        belief = self._with_known(belief, tasks)
        rounded: Floats = np.rint(belief * GRAIN) / GRAIN
        return rounded

    def _add_to_classes(self, change: Floats) -> None:
        for i, difference in enumerate(change.sum(axis=0).tolist()):
            self.classes[i] += difference


def _numbered(codes: Codes, n: int) -> tuple[Codes, Codes]:
    """The codes that occur, of n, and the codes as places among them.

    Examples:
        >>> _numbered(np.array([7, 2, 7], dtype=np.int32), 9)
        (array([2, 7], dtype=int32), array([1, 0, 1], dtype=int32))
    """
    if n > 4 * len(codes):  # then sorting is cheaper than going through all
        present, place = np.unique(codes, return_inverse=True)
        return present, place.astype(np.int32)
    occurs = np.zeros(n, dtype=bool)
    occurs[codes] = True
    number = occurs.cumsum(dtype=np.int32)
    number -= 1
    return np.flatnonzero(occurs).astype(np.int32), number[codes]


def _wider(column: Column, width: int) -> Column:
    cells = np.zeros((column.height, width))
    cells[:, : column.width] = column.rows
    wider = Column(np.float64, width)
    wider.extend(cells)
    return wider


def _only(block: Labels, chosen: NDArray[np.bool_]) -> Labels:
    """The block with some of its labels; every task stays."""
    kept = np.concatenate([[0], np.cumsum(chosen)])
    return Labels(
        kept[block.indptr].astype(block.indptr.dtype),
        block.worker[chosen],
        block.label[chosen],
        block.n_workers,
        block.n_classes,
    )


def _normalised(log_joint: Sequence[float]) -> list[float]:
    highest = max(log_joint)
    joint = [exp(value - highest) for value in log_joint]
    total = sum(joint)
    return [value / total for value in joint]


def _tied(belief: Sequence[float]) -> list[int]:
    """The classes that share the highest belief, but for rounding."""
    least = max(belief) * NEARLY
    return [i for i, share in enumerate(belief) if share >= least]


def _shares(votes: Sequence[Said], n_classes: int) -> list[float]:
    said = [0] * n_classes
    for _, label, _ in votes:
        said[label] += 1
    return [count / len(votes) for count in said]
