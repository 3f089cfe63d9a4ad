"""Several methods on the same votes: against known answers, against hidden votes, side by side.

Without known answers the honest score is prediction: some votes are hidden, the method is fitted
to the others, and asked how likely each hidden vote was. Every method is asked through its beliefs
in the tasks' truths, by one and the same predictor: the workers' confusion matrices are counted
under those beliefs and drawn towards the crowd's, and ``p(vote) = sum over truths of belief[task,
truth] * confusion[worker, truth, vote]``. So the plain vote has a score too, and a method gains
nothing by a matrix that rules out what it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import bdtr

from quorate import metrics
from quorate.engines.threads import Threads
from quorate.errors import DataError, QuorateError, UsageError, require_number
from quorate.fitting import fit
from quorate.kernels import Codes, Floats, Rows
from quorate.labels import Labels
from quorate.model import AnyModel as Model
from quorate.models import METHODS, Majority, make, method_named
from quorate.models.dirichlet import shrunk_to_crowd
from quorate.votes import Answers, Kind, Votes, find, read_gold, read_votes

TICK = 0.5  # seconds between calls of `progress`

Progress = Callable[[int, int, str], None]
Reliability = list[dict[str, float]]


@dataclass(frozen=True)
class Score:
    """How one method did; what was not measured is None.

    `error` is the share of wrong answers where they are known (ties shared), with its 95 %
    bootstrap interval over tasks, and `p_value` that of the exact McNemar test against the majority
    vote; `calibration` is how far confidences are from the share of right answers. `predictive` is
    the mean log-likelihood of the hidden votes, and `gain` how much more that is than the majority
    vote's, with its 95 % interval. A method that does not apply to these votes says why in
    `reason`.
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


@dataclass(frozen=True, eq=False)
class Comparison:
    """`scores` in the order of the methods; ``agreement[i, j]`` is the share of the tasks that the
    i-th and the j-th of the methods that apply (`compared`) give the same answer; `reliability`,
    where answers are known, how often each method is right by how sure it is."""

    scores: tuple[Score, ...]
    agreement: Floats
    tasks: int
    gold_tasks: int
    hidden_votes: int
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
        numbers = dict.fromkeys(Score.__dataclass_fields__, pl.Float64())
        schema = numbers | {
            "method": pl.String(),
            "iterations": pl.Int64(),
            "converged": pl.Boolean(),
            "reason": pl.String(),
        }
        return pl.DataFrame([asdict(score) for score in self.scores], schema=schema)

    def as_dict(self) -> dict[str, Any]:
        """What `quorate compare --json` prints."""
        return {
            "tasks": self.tasks,
            "gold_tasks": self.gold_tasks,
            "hidden_votes": self.hidden_votes,
            "scores": [asdict(score) for score in self.scores],
            "compared": self.compared,
            "agreement": self.agreement.tolist(),
            "reliability": dict(self.reliability),
            "notes": list(self.notes),
        }


def compare(
    votes: Any,
    methods: Sequence[str] | Mapping[str, Model] | None = None,
    *,
    gold: Any = None,
    hidden: float = 0.1,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **reading: Any,
) -> Comparison:
    """Run methods on the same votes and score them.

    `methods` are names (by default all), or models by the names they shall have, to compare
    settings. `gold` holds known answers, to score by, not to learn from. `hidden` is the share of
    the votes that is hidden to be predicted, at most one of a task with at least two. `seed` is
    for which these are, and for the bootstrap. Methods run side by side on `threads` threads, and
    `progress` is called with how many are done, of how many, and the names of the others. `votes`
    and the options of reading them, such as `task_column`, are as for `aggregate`.

    Examples:
        >>> from quorate import DawidSkene, Majority
        >>> votes = [(t, w, "yes" if t % 3 or w == 2 else "no") for t in range(9) for w in range(4)]
        >>> found = compare(votes, {"vote": Majority(), "smoothed": DawidSkene(smoothing=0.1)})
        >>> found.compared, found.agreement[0, 1]
        (['vote', 'smoothed'], np.float64(1.0))
    """
    require_number("seed", seed, at_least=0)
    if not 0 <= hidden < 1:
        raise UsageError(f"hidden is a share of the votes from 0 to below 1, not {hidden}.")
    makers = _makers(methods)
    read = read_votes(votes, **reading)
    answers = None if gold is None else read_gold(gold, reading)
    notes: list[str] = []
    judge = _judge(read, answers, hidden, seed, notes)
    outcomes = _run(makers, judge, threads, progress)
    given = [outcome.answers for outcome in outcomes if outcome.answers is not None]
    return Comparison(
        scores=tuple(outcome.score for outcome in outcomes),
        agreement=np.array([[float((a == b).mean()) for b in given] for a in given]),
        tasks=read.labels.n_tasks,
        gold_tasks=0 if judge.known is None else len(judge.known),
        hidden_votes=0 if judge.hidden is None else len(judge.hidden.task),
        kind=read.kind,
        notes=tuple(notes),
        reliability={
            outcome.score.method: outcome.reliability
            for outcome in outcomes
            if outcome.reliability is not None
        },
    )


Maker = tuple[str, Callable[[], Model]]


def _makers(methods: Sequence[str] | Mapping[str, Model] | None) -> list[Maker]:
    """How each method is made: when its turn comes, so that one that cannot be says so."""
    if isinstance(methods, Mapping):
        return [(name, lambda model=model: model) for name, model in methods.items()]  # type: ignore[misc]
    names = list(dict.fromkeys(METHODS if methods is None else methods))
    for name in names:
        method_named(name)
    return [(name, lambda name=name: make(name)) for name in names]  # type: ignore[misc]


class Hidden(NamedTuple):
    """The votes to predict: of which task, by whom, and what; and the labels that are left."""

    task: NDArray[np.int64]
    worker: Codes
    label: Codes
    left: Labels


class Outcome(NamedTuple):
    score: Score
    answers: Codes | None
    reliability: Reliability | None = None


@dataclass(frozen=True, eq=False)
class Judge:
    """What methods are measured by: tasks whose truth is known, hidden votes, and the majority."""

    labels: Labels
    seed: int
    known: NDArray[np.int64] | None
    truth: NDArray[np.int64] | None
    majority_right: Floats | None
    hidden: Hidden | None
    majority_likelihood: Floats | None

    def outcome(self, name: str, make: Callable[[], Model], engine: Threads) -> Outcome:
        """The method's scores; when it does not apply, the reason."""
        try:
            result = fit(make(), self.labels, engine=engine)
            score = Score(
                name,
                iterations=result.iterations,
                converged=result.converged,
                seconds=result.seconds,
            )
            score = self._by_truth(score, result.posterior)
            reliability = self._reliability(result.posterior)
            answers = result.answers
            del result
            return Outcome(self._by_hidden_votes(score, make, engine), answers, reliability)
        except QuorateError as error:
            return Outcome(Score(name, reason=str(error)), None)

    def _by_truth(self, score: Score, posterior: Floats) -> Score:
        if self.known is None or self.truth is None or self.majority_right is None:
            return score
        right = metrics.right_shares(posterior[self.known], self.truth)
        low, high = metrics.mean_interval(1 - right, self.seed)
        return replace(
            score,
            error=float(1 - right.mean()),
            error_low=low,
            error_high=high,
            p_value=mcnemar(right, self.majority_right),
            calibration=metrics.calibration_error(posterior[self.known], self.truth),
        )

    def _reliability(self, posterior: Floats) -> Reliability | None:
        if self.known is None or self.truth is None:
            return None
        return metrics.reliability(posterior[self.known], self.truth)

    def _by_hidden_votes(self, score: Score, make: Callable[[], Model], engine: Threads) -> Score:
        if self.hidden is None or self.majority_likelihood is None:
            return score
        posterior = fit(make(), self.hidden.left, engine=engine).posterior
        likelihood = log_likelihood(self.hidden, posterior, engine)
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


def _judge(read: Votes, gold: Answers | None, share: float, seed: int, notes: list[str]) -> Judge:
    labels, engine = read.labels, Threads(1)
    known = truth = right = likelihood = None
    if gold is not None:
        known, truth = _truth(read, gold, notes)
        right = metrics.right_shares(fit(Majority(), labels, engine=engine).posterior[known], truth)
    hidden = hide(labels, share, seed) if share else None
    if hidden is None and share:
        notes.append("No vote could be hidden: no task has two.")
    if hidden is not None:
        majority = fit(Majority(), hidden.left, engine=engine)
        likelihood = log_likelihood(hidden, majority.posterior, engine)
    return Judge(labels, seed, known, truth, right, hidden, likelihood)


def _truth(
    read: Votes, answers: Answers, notes: list[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tasks whose truth is known, and the truth; one that nobody voted for is beyond the
    classes, where no answer finds it."""
    task = find(answers.tasks, read.codebook.tasks)
    voted = task.is_not_null()
    if not voted.any():
        raise DataError("No task of the gold answers has votes: check that the tasks' names agree.")
    if not voted.all():
        notes.append(f"{task.null_count()} of {len(task)} gold answers are of tasks without votes.")
    label = find(answers.labels, read.codebook.classes).filter(voted)
    if label.null_count():
        notes.append(f"{label.null_count()} gold answers name a class that nobody voted for.")
    n_classes = read.labels.n_classes
    return (
        task.filter(voted).to_numpy().astype(np.int64),
        label.fill_null(n_classes).to_numpy().astype(np.int64),
    )


def _run(
    makers: list[Maker], judge: Judge, threads: int | None, progress: Progress | None
) -> list[Outcome]:
    """Every method on a thread of its own; threads to spare sweep its blocks."""
    n_threads = threads or Threads().n_threads
    engines = [Threads(max(1, n_threads // max(len(makers), 1))) for _ in makers]
    with ThreadPoolExecutor(n_threads) as pool:
        futures = {
            pool.submit(judge.outcome, name, make_it, engine): name
            for (name, make_it), engine in zip(makers, engines, strict=True)
        }
        try:
            waiting = set(futures)
            while waiting:
                done, waiting = wait(waiting, timeout=TICK, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if progress:
                    left = ", ".join(futures[f] for f in futures if f in waiting)
                    progress(len(futures) - len(waiting), len(futures), left)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]


def hide(labels: Labels, share: float, seed: int) -> Hidden | None:
    """A share of the votes, at most one of a task with at least two; None if there is no such task.

    Examples:
        >>> labels = Labels.from_codes([0, 0, 1, 2, 2], [0, 1, 0, 0, 1], [0, 0, 1, 1, 1])
        >>> hidden = hide(labels, 0.4, seed=0)
        >>> hidden.task, hidden.left.n_labels
        (array([0, 2]), 3)
    """
    count = np.diff(labels.indptr)
    several = np.flatnonzero(count > 1)
    n_hidden = min(max(round(share * labels.n_labels), 1), len(several))
    if not n_hidden:
        return None
    random = np.random.default_rng(seed)
    task = np.sort(random.choice(several, n_hidden, replace=False))
    at = labels.indptr[task] + (random.random(n_hidden) * count[task]).astype(np.int64)
    left = np.ones(labels.n_labels, dtype=bool)
    left[at] = False
    return Hidden(task, labels.worker[at], labels.label[at], labels.only(left))


class Counts(NamedTuple):
    """``table[worker * n_classes + label, truth]``."""

    table: Floats | Rows


def log_likelihood(hidden: Hidden, posterior: Floats, engine: Threads) -> Floats:
    """The logarithm of each hidden vote's probability under these beliefs."""
    left = hidden.left

    def count(block: Labels, params: Any, state: Any) -> tuple[None, Counts]:
        tasks = slice(block.first_task, block.first_task + block.n_tasks)
        return None, Counts(block.pairs.scatter(posterior[tasks]))

    blocks = list(left.blocks())
    counts = engine.sweep(count, blocks, None, [None] * len(blocks)).table
    table = shrunk_to_crowd(counts)
    likely = table[hidden.worker * left.n_classes + hidden.label]
    probability: Floats = (posterior[hidden.task] * likely).sum(axis=1)
    return np.log(np.maximum(probability, 1e-300))


def mcnemar(right: Floats, other: Floats) -> float:
    """The p-value of the exact two-sided McNemar test: of the tasks on which one does better (has
    the right answer, or the larger share of it where it ties), is it one as often as the other?

    Examples:
        >>> mcnemar(np.array([1, 1, 1, 1, 1, 1.0]), np.array([1, 0, 0, 0, 0, 0.5]))
        0.0625
    """
    better, worse = int((right > other).sum()), int((right < other).sum())
    if not better + worse:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(better, worse), better + worse, 0.5)))
