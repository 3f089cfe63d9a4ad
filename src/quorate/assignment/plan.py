"""`quorate.assign`: where the next votes should go, to whom, and what they should buy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import polars as pl

from quorate.aggregation import aggregate
from quorate.arguments import refuse_unknown, some_of
from quorate.assignment.asking import Ask, Asking, Limits
from quorate.assignment.forest import Forest, skills_of
from quorate.assignment.gain import worth
from quorate.assignment.situation import Situation, ranked, scores, situated_by
from quorate.assignment.tables import Numbers, read_tasks, read_workers
from quorate.assignment.workers import Pool
from quorate.card import Listing, Share, card
from quorate.engines.threads import Threads
from quorate.errors import DataError, require_choice, require_number
from quorate.kernels import Codes, Floats
from quorate.model import AnyModel
from quorate.result import Result
from quorate.votes import Kind, Reading, Votes, find, read_votes, shown
from quorate.votes.items import with_columns_of
from quorate.votes.store import Progress

POLICIES = ("gain", "forest", "entropy", "random")
# A worker counts as the crowd's average until that many labels speak for themselves.
CROWD = 5.0
# Where the curve of what votes buy is looked at, in shares of the budget.
LOOKED_AT = (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


@dataclass(frozen=True, eq=False, repr=False)
class Assignment:
    """Which worker to ask about which task, and what that is expected to buy.

    ``table`` has a row for each vote to ask for: task, worker, why (the policy's ``risk`` that the
    label is wrong, the ``gain`` in expected error of a vote, the label's ``confidence``), and the
    ``votes`` there are so far. ``error_now``, which is the `expected_error` of `aggregate`, and
    ``error_after`` are the expected share of wrong labels, ``curve`` the same over other budgets,
    ``cost`` what it costs, and ``reason`` why there are not more.
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
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> Any:
        """The votes to ask for, best first, in the caller's kind of table."""
        return self.kind.give(self.frame)

    @property
    def curve(self) -> Any:
        """Expected error over budgets: votes, cost and error."""
        return self.kind.give(self.curve_frame)

    def __repr__(self) -> str:
        tasks, workers = (self.frame[role].n_unique() for role in ("task", "worker"))
        errors = f"{self.error_now:.2%} now, {self.error_after:.2%} after"
        lines = [
            f"Assignment of {len(self.frame):,} votes on {tasks:,} tasks to {workers:,} workers",
            f"  expected error  {errors}, by {self.method}",
            f"  cost            {self.cost:,g}; {self.reason}",
            "  tables          .table  .curve",
            *(f"  note            {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        facts = {
            "expected error": f"{self.error_now:.2%} now, {self.error_after:.2%} after",
            "cost": f"{self.cost:,g}; {self.reason}",
        }
        columns = ("task", "worker", "confidence", "votes")
        rows = self.frame.select(columns).rows()
        shown = [(task, worker, Share(sure), votes) for task, worker, sure, votes in rows]
        listing = Listing("Votes to ask for, best first", columns, shown)
        return card(f"Assignment of {len(rows):,} votes", facts, [listing], self.notes)

    def as_dict(self) -> dict[str, Any]:
        """What `quorate assign --json` prints."""
        return {
            "policy": self.policy,
            "method": self.method,
            "votes": len(self.frame),
            "cost": self.cost,
            "error_now": self.error_now,
            "error_after": self.error_after,
            "reason": self.reason,
            "curve": self.curve_frame.to_dicts(),
            "notes": list(self.notes),
        }


class Assigning(Reading, total=False):
    """Everything else that `assign` can be told, beside what it names itself."""

    ask: Ask
    tasks: Any
    available: Any
    cost: Numbers
    capacity: Numbers
    forest: Forest | None
    discount: bool | None
    ordered: bool | Sequence[Any] | None
    seed: int
    threads: int | None
    progress: Progress | None


def assign(
    votes: Any,
    budget: float | None = None,
    *,
    policy: str = "gain",
    method: str | AnyModel = "auto",
    confidence: float | None = None,
    target_error: float | None = None,
    **how: Unpack[Assigning],
) -> Assignment:
    """Which votes to ask for next, best first.

    `votes` are as for `aggregate`, or a `Result` stands for what it was made of.
    `policy` ranks the tasks: ``"gain"`` by how much a further vote lowers the expected error,
    ``"forest"`` by the chance that the label is wrong, as predicted by a random forest (`forest`
    says how it is grown) that is trained on crowds simulated on the same graph, ``"entropy"`` by
    the entropy of the posterior, or ``"random"``. No task gets a second vote before every other
    that votes may change has got one.

    With `ask` ``"anyone"`` (the default) votes go to random workers, with ``"best"`` each task to
    the worker who is best for it; never to one who has answered it. `available` are those who can
    be asked (by default everyone who voted; a new name counts as the crowd's average): names, or a
    table of worker and, if it has them, cost and capacity. `cost` is what a vote costs (1 by
    default) and `capacity` how many a worker can take: one number, or one for each name. `tasks`
    names tasks that have no vote yet, or is a table of them. A text is one name, or that of a file.

    It stops at the `budget` (in units of cost), when every task has at least this `confidence`, or
    when the expected share of wrong labels is down to `target_error`.

    What is believed so far is what `aggregate` returns, with the same `method`, `discount` and
    `ordered`: its confidences, its expected error, and the expected counts of its workers' labels,
    from which further votes are predicted. Of correlated workers who are discounted only one is
    asked about a task. `seed` is for what is random here, `threads` the number of threads,
    `progress` is told what is under way, and the options of reading votes, such as `task_column`,
    are as for `aggregate`.

    Examples:
        >>> votes = [("t1", "ann", 1), ("t1", "bob", 1), ("t2", "ann", 1), ("t2", "bob", 0),
        ...          ("t3", "ann", 0), ("t3", "bob", 0), ("t3", "eve", 0)]
        >>> plan = assign(votes, budget=1)
        >>> plan.table.select("task", "worker", "votes").rows()
        [('t2', 'eve', 2)]
        >>> plan.error_after < plan.error_now
        True
    """
    limits = Limits(budget, confidence, target_error)
    _require_known(policy, limits, how)
    result = votes if isinstance(votes, Result) else _aggregated(votes, method, how)
    read = result.own_votes
    situation = situated_by(result, read.labels)
    risk = _risk(policy, situation, how)
    seed = how.get("seed", 0)
    score = scores(policy, situation, risk, np.random.default_rng(seed))
    asked = Asking(
        situation,
        policy,
        score,
        _pool(result, situation, _there(read, how, some_of(how, Reading))),
        how.get("ask", "anyone"),
        limits,
        np.random.default_rng([seed, 1]),
    )
    asked.ask()
    return Assignment(
        frame=with_columns_of(read.items, _frame(asked, risk, read.codebook.tasks)),
        curve_frame=_curve(asked),
        error_now=result.expected_error.error,
        error_after=asked.error,
        cost=asked.spent,
        reason=asked.reason,
        policy=policy,
        method=result.method,
        kind=read.kind,
        notes=result.notes,
    )


def _aggregated(votes: Any, method: str | AnyModel, how: Assigning) -> Result:
    """What `aggregate` makes of the votes, and of tasks without votes."""
    reading: Reading = some_of(how, Reading)
    read = read_votes(votes, **reading)
    if how.get("tasks") is not None:
        read = _with_tasks(read, read_tasks(how["tasks"], reading))
    return aggregate(
        read,
        method,
        ordered=how.get("ordered"),
        discount=how.get("discount"),
        threads=how.get("threads"),
        progress=how.get("progress"),
    )


def _require_known(policy: str, limits: Limits, how: Assigning) -> None:
    """Refuse what cannot be, before anything is read."""
    named_here = ("budget", "policy", "method", "confidence", "target_error")
    refuse_unknown("assign", how, (*Assigning.__annotations__, *named_here))
    require_choice("policy", policy, POLICIES)
    require_choice("ask", how.get("ask", "anyone"), ("anyone", "best"))
    require_number("seed", how.get("seed", 0), at_least=0)
    limits.require_one()


def _risk(policy: str, situation: Situation, how: Assigning) -> Floats:
    """The probability that each task's label is wrong, as the policy sees it."""
    if policy != "forest":
        return situation.ahead[:, 0]
    result, labels = situation.result, situation.labels
    forest = replace(how.get("forest") or Forest(), seed=how.get("seed", 0))
    shares: Floats = result.posterior.mean(axis=0)
    skills = skills_of(result.model, result)
    return forest.risks(result, labels, skills, shares, Threads(how.get("threads")))


def _with_tasks(read: Votes, tasks: pl.Series) -> Votes:
    """The votes, and after their tasks those that have none."""
    known = read.codebook.tasks
    new = tasks.filter(find(tasks, known).is_null()).unique(maintain_order=True)
    if not len(new):
        return read
    try:
        new = new.cast(known.dtype)
    except pl.exceptions.PolarsError:
        raise DataError(
            f"The task {shown(new[0])} is not of the kind of the votes' tasks."
        ) from None
    return read.with_blocks(read.blocks.with_more_tasks(new))


def _there(read: Votes, how: Assigning, reading: Reading) -> dict[str, Any]:
    """Those who can be asked, with what each costs and can take."""
    cost, capacity = how.get("cost"), how.get("capacity")
    if how.get("available") is None:
        return {"available": read.codebook.workers, "cost": cost, "capacity": capacity}
    return read_workers(how["available"], cost, capacity, reading)


def _pool(result: Result, situation: Situation, there: Mapping[str, Any]) -> Pool:
    """Who can be asked; one who is new to the crowd has a code beyond those of the others."""
    known = result.codebook.workers
    names = there["available"].unique(maintain_order=True)
    code = find(names, known).to_list()
    codes = np.array([len(known) + i if of is None else of for i, of in enumerate(code)])
    counts = situation.counts + CROWD * situation.average
    confusions = counts / counts.sum(axis=2, keepdims=True)
    everyone = np.concatenate([confusions, situation.average[None]])
    return Pool(
        names,
        codes,
        _each("cost", there.get("cost"), names, 1.0, at_least=1e-9),
        _each("capacity", there.get("capacity"), names, np.inf, at_least=0),
        everyone[np.minimum(codes, len(known))],
        _voices(result, len(known) + len(names)),
    )


def _voices(result: Result, n_workers: int) -> Codes:
    """The code of each worker; of correlated workers who are discounted, that of the first."""
    voices, first = np.arange(n_workers, dtype=np.int32), dict[int, int]()
    for worker, group in enumerate(result.per_worker.get("group", ())):
        if group is not None:
            voices[worker] = first.setdefault(group, worker)
    return voices


def _each(option: str, value: Numbers, names: pl.Series, other: float, at_least: float) -> Floats:
    """One number for each name; the other one where none is given."""
    numbers = other if value is None else value
    given = [
        numbers.get(name, other) if isinstance(numbers, Mapping) else numbers for name in names
    ]
    for number in given:
        if number != np.inf:
            require_number(option, number, at_least=at_least)
    return np.array(given, dtype=np.float64)


def _frame(asked: Asking, risk: Floats, tasks: pl.Series) -> pl.DataFrame:
    """A row for each vote to ask for."""
    task, place = np.array(asked.asked, dtype=np.int64).reshape(-1, 2).T
    situation = asked.situation
    gain = worth(situation.ahead[task]) if len(task) else np.empty(0)
    votes = np.diff(situation.labels.indptr)[task]
    return pl.DataFrame(
        [
            tasks.gather(task).alias("task"),
            asked.pool.names.gather(place).alias("worker"),
            pl.Series("risk", risk[task]),
            pl.Series("gain", gain),
            pl.Series("confidence", situation.confidence[task]),
            pl.Series("votes", votes.astype(np.int64)),
        ]
    )


def _curve(asked: Asking) -> pl.DataFrame:
    """What other budgets would buy, if there were always someone to ask at the mean cost."""
    situation, score = asked.situation, asked.score
    eligible = asked.eligible
    whole = max(len(asked.asked), 1)
    ahead, last = situation.ahead, situation.ahead.shape[1] - 1
    rows = []
    for votes in sorted({round(share * whole) for share in LOOKED_AT}):
        tasks = ranked(score, eligible, votes)
        more = np.minimum(np.bincount(tasks, minlength=len(score)), last)
        error = float(ahead[np.arange(len(score)), more].mean())
        rows.append({"votes": votes, "cost": votes * float(asked.pool.cost.mean()), "error": error})
    return pl.DataFrame(rows)
