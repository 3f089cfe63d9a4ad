"""Several methods on the same votes: against known answers, held-out votes, and each other.

What is scored is what `aggregate` returns of these votes by the same method, discount and order:
its answers, ties as they fall, and their confidences.

Without known answers the honest score is prediction: some votes are held out, the method is fitted
to the others, and asked how likely each held-out vote was. Every method is asked through its
posterior, by one and the same predictor: the workers' confusion matrices are counted under the
posterior and drawn towards the crowd's, and ``p(vote) = sum over truths of posterior[task, truth] *
confusion[worker, truth, vote]``. So the plain vote has a score too, and a method gains nothing by a
matrix that rules out what it has not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import asdict, dataclass, field, replace
from threading import Event
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate import metrics
from quorate.aggregation import Method, Plan, discount_of, fitted, order_of
from quorate.arguments import refuse_unknown, some_of
from quorate.card import Listing, Share, card
from quorate.engines.threads import Threads, cores
from quorate.errors import DataError, QuorateError, UsageError, require_number
from quorate.fitting import Request
from quorate.heldout import HeldOut, hold_out, vote_log_likelihoods
from quorate.kernels import Codes, Floats
from quorate.model import AnyModel
from quorate.models import METHODS, Majority, method_name, named
from quorate.result import Result
from quorate.special import bdtr
from quorate.votes import (
    Kind,
    KnownAnswers,
    Reading,
    Votes,
    find,
    gold_for,
    in_class_order,
    read_votes,
)
from quorate.votes.store import Progress

TICK = 0.5  # seconds between calls of `progress`

Methods = Iterable[Method] | Mapping[str, Method]
Reliability = list[dict[str, float]]


@dataclass(frozen=True)
class Score:
    """How one method did; what was not measured is None.

    `error` is the share of wrong answers where they are known, with its 95 % bootstrap interval
    over tasks, and `p_value` that of the exact McNemar test against the majority
    vote; `calibration` is how far confidences are from the share of right answers. `predictive` is
    the mean log-likelihood of the held-out votes, and `gain` how much more that is than the
    majority vote's, with its 95 % interval. Of a method that does not apply to these votes `reason`
    says why.
    """

    method: str
    error: float | None = None
    error_low: float | None = None
    error_high: float | None = None
    p_value: float | None = None
    calibration: float | None = None
    predictive: float | None = None
    gain: float | None = None
    gain_low: float | None = None
    gain_high: float | None = None
    iterations: int | None = None
    converged: bool | None = None
    seconds: float | None = None
    reason: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Scores of methods on the same votes, in the order of the methods.

    ``agreement[i, j]`` is the share of the tasks that the i-th and the j-th of the methods that
    apply (`compared`) give the same answer; `reliability`, where answers are known, how often each
    method is right by its confidence.
    """

    scores: tuple[Score, ...]
    agreement: Floats
    tasks: int
    gold_tasks: int
    held_out_votes: int
    kind: Kind = Kind()
    notes: tuple[str, ...] = ()
    reliability: Mapping[str, Reliability] = field(default_factory=dict)

    @property
    def compared(self) -> list[str]:
        return [score.method for score in self.scores if score.reason is None]

    @property
    def table(self) -> Any:
        """A row for each method, in the caller's kind of table."""
        return self.kind.give(self.table_frame)

    @property
    def table_frame(self) -> pl.DataFrame:
        """The same as a polars frame."""
        numbers = dict.fromkeys(Score.__dataclass_fields__, pl.Float64())
        schema = numbers | {
            "method": pl.String(),
            "iterations": pl.Int64(),
            "converged": pl.Boolean(),
            "reason": pl.String(),
        }
        return pl.DataFrame([asdict(score) for score in self.scores], schema=schema)

    def _repr_html_(self) -> str:
        def share(value: float | None) -> Share | str:
            return "" if value is None else Share(value)

        rows = [
            (
                score.method,
                share(score.error),
                score.calibration,
                score.gain,
                score.seconds,
                score.reason,
            )
            for score in self.scores
        ]
        columns = ("method", "wrong", "calibration error", "gain", "seconds", "does not apply")
        facts = {
            "tasks": f"{self.tasks:,}",
            "known answers": f"{self.gold_tasks:,}",
            "held-out votes": f"{self.held_out_votes:,}",
        }
        listing = Listing("Methods", columns, rows)
        return card(f"Comparison of {len(rows)} methods", facts, [listing], self.notes)

    def __repr__(self) -> str:
        measured = [f"{self.tasks:,} tasks"]
        if self.gold_tasks:
            measured.append(f"{self.gold_tasks:,} known answers")
        if self.held_out_votes:
            measured.append(f"{self.held_out_votes:,} held-out votes")
        columns = [name for name in SHOWN if self._measures(name)]
        cells = [["method", *columns], *([s.method, *_cells(s, columns)] for s in self.scores)]
        head = f"Comparison of {len(self.scores)} methods on {', '.join(measured)}"
        return "\n".join([head, *_aligned(cells), *(f"  note: {note}" for note in self.notes)])

    def _measures(self, name: str) -> bool:
        return any(getattr(score, name) is not None for score in self.scores)

    def as_dict(self) -> dict[str, Any]:
        """What `quorate compare --json` prints."""
        return {
            "tasks": self.tasks,
            "gold_tasks": self.gold_tasks,
            "held_out_votes": self.held_out_votes,
            "scores": [asdict(score) for score in self.scores],
            "compared": self.compared,
            "agreement": self.agreement.tolist(),
            "reliability": dict(self.reliability),
            "notes": list(self.notes),
        }


# What the short text of a comparison shows of each method, and how.
SHOWN = {"error": ".1%", "calibration": ".3f", "gain": "+.4f", "seconds": ".2f"}


def _cells(score: Score, columns: Sequence[str]) -> list[str]:
    """A method's scores as text; if it does not apply, the reason alone."""
    if score.reason is not None:
        return [score.reason]
    values = ((name, getattr(score, name)) for name in columns)
    return ["" if value is None else format(value, SHOWN[name]) for name, value in values]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, numbers to the right."""
    first = max(len(row[0]) for row in rows)
    numbers = [row[1:] for row in rows if len(row) == len(rows[0])]
    width = [max(map(len, column)) for column in zip(*numbers, strict=True)]
    return [
        "  ".join(["", row[0].ljust(first), *map(str.rjust, row[1:], width or [0])]) for row in rows
    ]


class Comparing(Reading, total=False):
    """Everything else that `compare` can be told, beside what it names itself."""

    ordered: bool | Sequence[Any] | None
    discount: bool | None


def compare(
    votes: Any,
    methods: Methods | None = None,
    *,
    gold: Any = None,
    held_out: float = 0.1,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **how: Unpack[Comparing],
) -> Comparison:
    """Run methods on the same votes and score them.

    `methods` (by default all there are) are names, models with their options, or functions from
    `Labels` to a posterior ``[task, class]``; a mapping gives each the name that it shall have.
    `gold` holds known answers, to score by, not to learn from. `held_out` is the share of the votes
    that is held out to be predicted, at most one of a task with at least two. `seed` is for which
    these are, and for the bootstrap. Methods run side by side on `threads` threads, and `progress`
    is told how many are done. `votes` and the options of reading them, such as `task_column`, are
    as for `aggregate`, and so are `ordered` and `discount`: each method is scored by what
    `aggregate` would return. A method that cannot do what is asked is listed with the reason.

    Examples:
        >>> from quorate import DawidSkene
        >>> votes = [(t, w, "yes" if t % 3 or w == 2 else "no") for t in range(9) for w in range(4)]
        >>> found = compare(votes, {"vote": "majority", "smoothed": DawidSkene(smoothing=0.1)})
        >>> found.compared, found.agreement[0, 1]
        (['vote', 'smoothed'], np.float64(1.0))
    """
    refuse_unknown("compare", how, (*Comparing.__annotations__, *OPTIONS))
    require_number("seed", seed, at_least=0)
    if not 0 <= held_out < 1:
        raise UsageError(f"held_out is a share of the votes from 0 to below 1, not {held_out}.")
    candidates = _candidates(list(METHODS) if methods is None else methods)
    reading: Reading = some_of(how, Reading)
    ordered = order_of(how.get("ordered"))
    read = read_votes(votes, gold=gold, **reading)
    if not isinstance(ordered, bool):
        read = in_class_order(read, ordered)
    answers = read.known if gold is None else gold_for(votes, gold, reading)
    terms = Terms(ordered is not False, how.get("discount"), held_out, seed)
    judge, notes = _judge(read, answers, terms)
    outcomes = _run(candidates, judge, threads, progress)
    given = [outcome.answers for outcome in outcomes if outcome.answers is not None]
    return Comparison(
        scores=tuple(outcome.score for outcome in outcomes),
        agreement=np.array([[float((a == b).mean()) for b in given] for a in given]),
        tasks=read.blocks.n_tasks,
        gold_tasks=0 if judge.gold is None else len(judge.gold.task),
        held_out_votes=0 if judge.held_out is None else len(judge.held_out.task),
        kind=read.kind,
        notes=tuple(
            dict.fromkeys(
                [*read.notes, *notes, *(note for outcome in outcomes for note in outcome.notes)]
            )
        ),
        reliability={
            outcome.score.method: outcome.reliability
            for outcome in outcomes
            if outcome.reliability is not None
        },
    )


OPTIONS = ("methods", "gold", "held_out", "seed", "threads", "progress")


class Candidate(NamedTuple):
    """A method under the name that it has in the comparison; `foreign` if it is the caller's own
    function, whose faults are not ours."""

    name: str
    model: AnyModel
    foreign: bool


def _candidates(methods: Methods) -> list[Candidate]:
    """The methods with names that tell them apart: their own, unless the caller gives others."""
    if isinstance(methods, Mapping):
        return [Candidate(name, named(m), callable(m)) for name, m in methods.items()]
    several = isinstance(methods, Iterable) and not isinstance(methods, str)
    each: Any = methods if several else [methods]
    candidates, times = [], Counter[str]()
    for method in dict.fromkeys(each):
        model = named(method)
        name = method if isinstance(method, str) else method_name(model)
        times[name] += 1
        name = f"{name} ({times[name]})" if times[name] > 1 else name
        candidates.append(Candidate(name, model, callable(method)))
    return candidates


class Gold(NamedTuple):
    """The tasks whose truth is known, the truth, and whether the majority vote finds it; one that
    nobody voted for is beyond the classes, where no answer finds it."""

    task: NDArray[np.int64]
    truth: NDArray[np.int64]
    majority_right: Floats

    def right(self, answers: Codes) -> Floats:
        """1 for each answer that is right, 0 for one that is wrong."""
        right: Floats = (answers[self.task] == self.truth).astype(np.float64)
        return right


class Outcome(NamedTuple):
    """What is found of one method."""

    score: Score
    answers: Codes | None = None
    reliability: Reliability | None = None
    notes: Sequence[str] = ()


class Terms(NamedTuple):
    """Whether classes are ordered, whether correlated workers are discounted (None: as `aggregate`
    does unasked), which share of the votes is held out, and the seed for which these are."""

    ordered: bool
    discount: bool | None
    held_out: float
    seed: int


@dataclass(frozen=True, eq=False)
class Judge:
    """What methods are measured by: tasks whose truth is known, held-out votes, and the majority
    vote on either. `stopped` is set when nobody waits for the scores any more."""

    votes: Votes
    terms: Terms
    gold: Gold | None
    held_out: HeldOut | None
    majority_likelihood: Floats | None
    stopped: Event = field(default_factory=Event)

    def outcome(self, candidate: Candidate, n_threads: int) -> Outcome:
        """The method's scores; when it does not apply, the reason."""
        engine = Threads(n_threads)
        try:
            plan = self._plan(candidate.model, engine)
            found = fitted(self.votes, None, plan)
            score = Score(
                candidate.name,
                iterations=found.iterations,
                converged=found.converged,
                seconds=found.seconds,
            )
            score, reliability = self._by_truth(score, found)
            answers, notes = found.answers, found.notes
            del found
            score = self._by_held_out_votes(score, plan)
            return Outcome(score, answers, reliability, notes)
        except QuorateError as error:
            return Outcome(Score(candidate.name, reason=str(error)))
        except Exception as error:
            if not candidate.foreign:
                raise
            return Outcome(Score(candidate.name, reason=_fault(candidate.name, error)))
        finally:
            engine.close()

    def _plan(self, model: AnyModel, engine: Threads) -> Plan:
        """What `aggregate` would do with the method."""
        discount = discount_of(model, self.terms.discount)
        return Plan(model, Request(engine, self._go_on), self.terms.ordered, discount)

    def _go_on(self, what: str, done: float, total: float | None, how: str = "") -> None:
        if self.stopped.is_set():
            raise CancelledError

    def _by_truth(self, score: Score, found: Result) -> tuple[Score, Reliability | None]:
        """The score with that by known answers, and how often the method is right by its
        confidence."""
        if self.gold is None:
            return score, None
        right = self.gold.right(found.answers)
        reliability = metrics.reliability_of(found.confidence[self.gold.task], right)
        low, high = metrics.mean_interval(1 - right, self.terms.seed)
        score = replace(
            score,
            error=float(1 - right.mean()),
            error_low=low,
            error_high=high,
            p_value=mcnemar(right, self.gold.majority_right),
            calibration=metrics.calibration_error_of(reliability),
        )
        return score, reliability

    def _by_held_out_votes(self, score: Score, plan: Plan) -> Score:
        held_out = self.held_out
        if held_out is None or self.majority_likelihood is None:
            return score
        posterior = fitted(_left(self.votes, held_out), None, plan).posterior
        likelihood = vote_log_likelihoods(held_out, posterior, plan.request.engine)
        gain = likelihood - self.majority_likelihood
        half = 1.959964 * float(gain.std()) / len(gain) ** 0.5
        mean = float(gain.mean())
        return replace(
            score,
            predictive=float(likelihood.mean()),
            gain=mean,
            gain_low=mean - half,
            gain_high=mean + half,
        )


def _left(votes: Votes, held_out: HeldOut) -> Votes:
    """The votes without those that are held out."""
    return votes.with_blocks(votes.blocks.change(lambda _: held_out.left))


def _fault(name: str, error: Exception) -> str:
    """What went wrong in a function of the caller's, in one sentence."""
    said = " ".join(str(error).split()).rstrip(".")
    return f"{name} failed with {type(error).__name__}{f': {said}' if said else ''}."


def _judge(read: Votes, answers: KnownAnswers | None, terms: Terms) -> tuple[Judge, list[str]]:
    """What the methods are measured by; and notes."""
    engine = Threads(1)
    plan = Plan(Majority(), Request(engine))
    notes: list[str] = []
    gold = likelihood = None
    if answers is not None:
        gold, notes = _gold(read, answers, fitted(read, None, plan).answers)
    held_out = hold_out(read.labels, terms.held_out, terms.seed) if terms.held_out else None
    if held_out is None and terms.held_out:
        notes = [*notes, "No vote could be held out: no task has two."]
    if held_out is not None:
        majority = fitted(_left(read, held_out), None, plan)
        likelihood = vote_log_likelihoods(held_out, majority.posterior, engine)
    engine.close()
    return Judge(read, terms, gold, held_out, likelihood), notes


def _gold(read: Votes, answers: KnownAnswers, majority: Codes) -> tuple[Gold, list[str]]:
    """The known answers in codes; and notes on those that are of no use."""
    task = find(answers.tasks, read.codebook.tasks)
    voted, notes = task.is_not_null(), []
    if not voted.any():
        raise DataError("No task of the gold answers has votes: check that the tasks' names agree.")
    if not voted.all():
        notes.append(f"{task.null_count()} of {len(task)} gold answers are of tasks without votes.")
    label = find(answers.labels, read.codebook.classes).filter(voted)
    if label.null_count():
        notes.append(f"{label.null_count()} gold answers name a class that nobody voted for.")
    known = task.filter(voted).to_numpy().astype(np.int64)
    truth = label.fill_null(len(read.codebook.classes)).to_numpy().astype(np.int64)
    gold = Gold(known, truth, np.empty(0))
    return gold._replace(majority_right=gold.right(majority)), notes


def _run(
    candidates: list[Candidate], judge: Judge, threads: int | None, progress: Progress | None
) -> list[Outcome]:
    """Every method on a thread of its own; threads to spare sweep its blocks."""
    n_threads = cores() if threads is None else threads
    require_number("threads", n_threads, at_least=1)
    of_each = max(1, n_threads // max(len(candidates), 1))
    with ThreadPoolExecutor(n_threads) as pool:
        futures = {pool.submit(judge.outcome, one, of_each): one.name for one in candidates}
        try:
            _wait(futures, progress)
        except BaseException:
            judge.stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _wait(futures: Mapping[Future[Outcome], str], progress: Progress | None) -> None:
    """Until all methods are done, or one of them fails."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()
        if progress:
            left = ", ".join(futures[future] for future in futures if future in waiting)
            progress("comparing methods", len(futures) - len(waiting), len(futures), left)


def mcnemar(right: Floats, other: Floats) -> float:
    """The p-value of the exact two-sided McNemar test: of the tasks on which one does better, is it
    one as often as the other?

    Examples:
        >>> mcnemar(np.array([1, 1, 1, 1, 1, 1.0]), np.array([1, 0, 0, 0, 0, 0.5]))
        0.0625
    """
    better, worse = int((right > other).sum()), int((right < other).sum())
    if not better + worse:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(better, worse), better + worse, 0.5)))
