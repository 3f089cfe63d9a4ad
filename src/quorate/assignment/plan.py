"""`quorate.next_tasks`: where the next votes should go, to whom, and what they should buy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from quorate.aggregation import aggregate
from quorate.assignment.forest import Forest, skills_of
from quorate.assignment.gain import errors_ahead, worth
from quorate.assignment.workers import Pool
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError, require_choice, require_number
from quorate.kernels import Floats, entropy, row_max
from quorate.labels import Codebook, Labels
from quorate.result import Result
from quorate.votes import Kind, Votes, read_votes, shown

POLICIES = ("gain", "forest", "entropy", "random")
# A worker counts as the crowd's average until that many labels speak for themselves.
CROWD = 5.0
# A gain in expected error that is as good as none.
NOTHING = 1e-6
# Where the curve of what votes buy is looked at, in shares of the budget.
LOOKED_AT = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


@dataclass(frozen=True, eq=False)
class Assignment:
    """Which worker to ask about which task, and what that is expected to buy.

    ``table`` has a row for each vote to ask for: task, worker, why (the policy's ``risk`` that the
    label is wrong, the ``gain`` in expected error of a vote, the label's ``confidence``), and the
    ``votes`` there are so far. ``error_now`` and ``error_after`` are the expected share of wrong
    labels, ``curve`` the same over other budgets, ``cost`` what it costs, and ``reason`` why there
    are not more.
    """

    frame: pl.DataFrame
    curve_frame: pl.DataFrame
    error_now: float
    error_after: float
    cost: float
    reason: str
    policy: str
    method: str
    kind: Kind = Kind()

    @property
    def table(self) -> Any:
        return self.kind.give(self.frame)

    @property
    def curve(self) -> Any:
        """Expected error over budgets: votes, cost and error."""
        return self.kind.give(self.curve_frame)

    def as_dict(self) -> dict[str, Any]:
        return {
            "policy": self.policy,
            "method": self.method,
            "votes": len(self.frame),
            "cost": self.cost,
            "error_now": self.error_now,
            "error_after": self.error_after,
            "reason": self.reason,
            "curve": self.curve_frame.to_dicts(),
        }


@dataclass(frozen=True, eq=False)
class Situation:
    """What is known when votes are to be asked for; `ahead` is the expected error of each task
    after more votes of an average worker."""

    result: Result
    labels: Labels
    counts: Floats
    average: Floats
    ahead: Floats

    @property
    def confidence(self) -> Floats:
        return row_max(self.result.posterior)


def next_tasks(
    votes: Any,
    budget: float | None = None,
    *,
    policy: str = "gain",
    method: str = "one-coin",
    workers: str = "uniform",
    tasks: Iterable[Any] = (),
    available: Iterable[Any] | None = None,
    cost: float | Mapping[Any, float] = 1.0,
    capacity: float | Mapping[Any, float] | None = None,
    confidence: float | None = None,
    error: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    forest: Forest | None = None,
    task_column: str | None = None,
    worker_column: str | None = None,
    label_column: str | None = None,
    repeats: Any = "count",
    format: str | None = None,
    missing: Sequence[str] = ("", "NaN", "nan"),
    **options: Any,
) -> Assignment:
    """Which votes to ask for next, best first.

    `policy` ranks the tasks: ``"gain"`` by how much a further vote lowers the expected error,
    ``"forest"`` by the chance that the label is wrong, as a random forest sees it that was trained
    on crowds made up on the same graph, ``"entropy"`` by how open the belief is, or ``"random"``.
    No task gets a second vote before every other that votes may change has got one. `workers` get
    them ``"uniform"`` by
    chance or each task the ``"best"`` for it; never one who has answered it. `available` are those
    who can be asked (a new name counts as the crowd's average; by default everyone who voted),
    `cost` and `capacity` are of a vote and of how many each can take: one number, or one for each
    name. `tasks` that have no vote yet can be named.

    It stops at the `budget` (in units of cost), when every task is at least as sure as
    `confidence`, or when the expected share of wrong labels is down to `error`.

    `method` with its `options` says what is believed so far; one-coin has, if none is given, a beta
    prior on its accuracies, from chance upwards, so that few labels do not mislead it.

    Examples:
        >>> votes = [("t1", "ann", 1), ("t1", "bob", 1), ("t2", "ann", 1), ("t2", "bob", 0),
        ...          ("t3", "ann", 0), ("t3", "bob", 0), ("t3", "eve", 0)]
        >>> plan = next_tasks(votes, budget=1)
        >>> plan.table.select("task", "worker", "votes").rows()
        [('t2', 'eve', 2)]
        >>> plan.error_after < plan.error_now
        True
    """
    require_choice("policy", policy, POLICIES)
    require_choice("workers", workers, ("uniform", "best"))
    _require_an_end(budget, confidence, error)
    read = read_votes(
        votes,
        task_column=task_column,
        worker_column=worker_column,
        label_column=label_column,
        repeats=repeats,
        format=format,
        missing=missing,
    )
    read = _with_tasks(read, tasks)
    if method == "one-coin" and "beta" not in options:
        options = {"beta": (4.0, 2.0), "low": 1 / max(read.labels.n_classes, 2), **options}
    result = aggregate(read, method=method, threads=threads, **options)
    situation = situated(result, read.labels)
    risk = 1 - situation.confidence
    if policy == "forest":
        grown = replace(forest or Forest(), seed=seed)
        shares = _shares(result)
        skills = skills_of(result.model, result)
        risk = grown.risks(result, read.labels, skills, shares, Threads(threads))
    score = scores(policy, situation, risk, np.random.default_rng(seed))
    pool = _pool(read, situation, available, cost, capacity)
    asked = _Asking(situation, policy, score, pool, workers, np.random.default_rng([seed, 1]))
    asked.ask(budget, confidence, error)
    return Assignment(
        frame=_frame(asked, risk, read.codebook, pool),
        curve_frame=_curve(situation, score, asked, confidence),
        error_now=float(situation.ahead[:, 0].mean()),
        error_after=asked.error,
        cost=asked.spent,
        reason=asked.reason,
        policy=policy,
        method=method,
        kind=read.kind,
    )


def situated(result: Result, labels: Labels) -> Situation:
    """How things stand by a fit and its labels."""
    counts = _counts(result, labels)
    average = counts.sum(axis=0) + 1e-3
    average /= average.sum(axis=1, keepdims=True)
    ahead = errors_ahead(result.posterior, average)
    return Situation(result, labels, counts, average, ahead)


def _counts(result: Result, labels: Labels) -> Floats:
    """The expected counts ``[worker, truth, label]``, whatever the method."""
    shape = (labels.n_workers, labels.n_classes, labels.n_classes)
    return labels.counts(result.posterior).reshape(shape).transpose(0, 2, 1)


def scores(policy: str, situation: Situation, risk: Floats, random: np.random.Generator) -> Floats:
    """What a policy ranks tasks by; of equals the more open comes first, then chance decides."""
    chance: Floats = random.random(len(risk))
    if policy == "random":
        return chance
    openness = entropy(situation.result.posterior)
    if policy == "entropy":
        return openness + 1e-9 * chance
    if policy == "forest":
        return risk + 1e-9 * openness + 1e-12 * chance
    # Where no vote that is looked ahead to could change the answer, all are equals.
    return worth(situation.ahead) + 1e-6 * openness + 1e-9 * chance


def ranked(score: Floats, eligible: Any, votes: int) -> Any:
    """The tasks to ask about, best first: rounds in which each has one vote."""
    order = np.argsort(-score, kind="stable")
    order = order[eligible[order]]
    if not len(order):
        return order
    rounds = -(-votes // len(order))
    return np.tile(order, rounds)[:votes]


class _Asking:
    """Goes through the tasks in their rank and finds someone for each."""

    def __init__(
        self,
        situation: Situation,
        policy: str,
        score: Floats,
        pool: Pool,
        workers: str,
        random: np.random.Generator,
    ) -> None:
        self.situation, self.policy, self.score, self.pool = situation, policy, score, pool
        self.workers, self.random = workers, random
        self.asked: list[tuple[int, int]] = []  # task, place in the pool
        self.given: dict[int, set[int]] = {}
        self.more = np.zeros(len(score), dtype=np.int64)
        self.spent, self.reason = 0.0, ""
        self._total = float(situation.ahead[:, 0].sum())

    @property
    def error(self) -> float:
        return self._total / len(self.score)

    def ask(self, budget: float | None, confidence: float | None, error: float | None) -> None:
        eligible = self.eligible(confidence)
        if not eligible.any():
            self.reason = f"every label has a confidence of {confidence} or more"
            return
        left = np.inf if budget is None else float(budget)
        stuck: set[int] = set()
        for task in self._in_turn(eligible, budget, error):
            if error is not None and self.error <= error:
                self.reason = f"the expected error is down to {error}"
                return
            if left < self.pool.cost.min(initial=np.inf):
                self.reason = "the budget is spent"
                return
            place = None if task in stuck else self._find(task, left)
            if place is None:
                stuck.add(task)
                if len(stuck) == int(eligible.sum()):
                    break
                continue
            left -= self._give(task, place)
        if budget is not None and left < self.pool.cost.min(initial=np.inf):
            self.reason = "the budget is spent"
        elif error is not None and self.error <= error:
            self.reason = f"the expected error is down to {error}"
        elif budget is None and error is None:
            self.reason = f"every label below a confidence of {confidence} gets a vote"
        elif budget is None and len(stuck) < int(eligible.sum()):
            self.reason = "no further ahead can be seen: look again when they are in"
        else:
            self.reason = "nobody is left to ask"

    def eligible(self, confidence: float | None) -> Any:
        """The tasks that may get votes: not sure enough yet, and for the gain, if there are such,
        those that votes may change."""
        if confidence is not None:
            unsure: Any = self.situation.confidence < confidence
            return unsure
        open_to_change = worth(self.situation.ahead) > NOTHING
        if self.policy == "gain" and open_to_change.any():
            return open_to_change
        return np.ones(len(self.score), dtype=bool)

    def _in_turn(self, eligible: Any, budget: float | None, error: float | None) -> Iterable[int]:
        """By rank, again and again: as long as there is something to spend, as far as can be
        foreseen, or once."""
        order = ranked(self.score, eligible, int(eligible.sum())).tolist()
        foreseen = self.situation.ahead.shape[1] - 1
        rounds = len(self.pool.workers) if budget is not None else 1 if error is None else foreseen
        for _ in range(rounds):
            yield from order

    def _find(self, task: int, left: float) -> int | None:
        given = self.given.get(task, set())
        labels = self.situation.labels
        if self.workers == "best":
            belief = self.situation.result.posterior[task]
            return self.pool.best(task, labels, given, belief, left)
        return self.pool.anyone(task, labels, given, self.random, left)

    def _give(self, task: int, place: int) -> float:
        self.asked.append((task, place))
        self.given.setdefault(task, set()).add(int(self.pool.workers[place]))
        self.pool.capacity[place] -= 1
        ahead, last = self.situation.ahead, self.situation.ahead.shape[1] - 1
        before, after = min(self.more[task], last), min(self.more[task] + 1, last)
        self._total -= float(ahead[task, before] - ahead[task, after])
        self.more[task] += 1
        self.spent += float(self.pool.cost[place])
        return float(self.pool.cost[place])


def _require_an_end(budget: float | None, confidence: float | None, error: float | None) -> None:
    if budget is None and confidence is None and error is None:
        raise UsageError("Say when to stop: a budget, a confidence, or an expected error.")
    if budget is not None:
        require_number("budget", budget, at_least=0)
    for name, share in (("confidence", confidence), ("error", error)):
        if share is not None and not 0 < share < 1:
            raise UsageError(f"{name} is between 0 and 1, not {share!r}.")


def _with_tasks(read: Votes, tasks: Iterable[Any]) -> Votes:
    """The votes, and after their tasks those that have none."""
    known = read.codebook.tasks
    new = [task for task in dict.fromkeys(tasks) if task not in set(known.to_list())]
    if not new:
        return read
    try:
        names = pl.concat([known, pl.Series(known.name, new, dtype=known.dtype)])
    except (TypeError, pl.exceptions.PolarsError):
        raise DataError(
            f"The task {shown(new[0])} is not of the kind of the votes' tasks."
        ) from None
    labels = read.labels
    more = np.full(len(new), labels.indptr[-1], dtype=labels.indptr.dtype)
    longer = replace(labels, indptr=np.concatenate([labels.indptr, more]))
    book = Codebook(names, read.codebook.workers, read.codebook.classes)
    return replace(read, labels=longer, codebook=book)


def _pool(
    read: Votes,
    situation: Situation,
    available: Iterable[Any] | None,
    cost: float | Mapping[Any, float],
    capacity: float | Mapping[Any, float] | None,
) -> Pool:
    """Who can be asked; one who is new to the crowd has a code beyond those of the others."""
    names = read.codebook.workers.to_list()
    code = {name: i for i, name in enumerate(names)}
    there = names if available is None else list(dict.fromkeys(available))
    if not there:
        raise UsageError("There is nobody to ask: available is empty.")
    codes = np.array([code.get(name, len(names) + i) for i, name in enumerate(there)])
    counts = situation.counts + CROWD * situation.average
    confusions = counts / counts.sum(axis=2, keepdims=True)
    everyone = np.concatenate([confusions, situation.average[None]])
    return Pool(
        there,
        codes,
        _each("cost", cost, there, 1.0, at_least=1e-9),
        _each("capacity", np.inf if capacity is None else capacity, there, np.inf, at_least=0),
        everyone[np.minimum(codes, len(names))],
    )


def _each(
    option: str,
    value: float | Mapping[Any, float],
    names: Sequence[Any],
    other: float,
    at_least: float,
) -> Floats:
    """One number for each name."""
    given = [value.get(name, other) if isinstance(value, Mapping) else value for name in names]
    for number in given:
        if number != np.inf:
            require_number(option, number, at_least=at_least)
    return np.array(given, dtype=np.float64)


def _shares(result: Result) -> Floats:
    shares: Floats = result.posterior.mean(axis=0)
    return shares


def _frame(asked: _Asking, risk: Floats, book: Codebook, pool: Pool) -> pl.DataFrame:
    task = np.array([t for t, _ in asked.asked], dtype=np.int64)
    place = [p for _, p in asked.asked]
    situation = asked.situation
    gain = worth(situation.ahead[task]) if len(task) else np.empty(0)
    votes = np.diff(situation.labels.indptr)[task]
    return pl.DataFrame(
        [
            book.tasks.gather(task).alias("task"),
            pl.Series("worker", [pool.names[p] for p in place], dtype=_type_of(pool.names)),
            pl.Series("risk", risk[task]),
            pl.Series("gain", gain),
            pl.Series("confidence", situation.confidence[task]),
            pl.Series("votes", votes.astype(np.int64)),
        ]
    )


def _type_of(names: Sequence[Any]) -> Any:
    return pl.Series(list(names)).dtype


def _curve(
    situation: Situation, score: Floats, asked: _Asking, confidence: float | None
) -> pl.DataFrame:
    """What other budgets would buy, if there were always someone to ask at the mean cost."""
    eligible = asked.eligible(confidence)
    whole = max(len(asked.asked), 1)
    ahead, last = situation.ahead, situation.ahead.shape[1] - 1
    rows = []
    for votes in sorted({round(share * whole) for share in LOOKED_AT}):
        tasks = ranked(score, eligible, votes)
        more = np.minimum(np.bincount(tasks, minlength=len(score)), last)
        error = float(ahead[np.arange(len(score)), more].mean())
        rows.append({"votes": votes, "cost": votes * float(asked.pool.cost.mean()), "error": error})
    return pl.DataFrame(rows)
