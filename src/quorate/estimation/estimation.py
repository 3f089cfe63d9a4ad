"""`quorate.estimate`: shares and means over all tasks, from votes and a few known answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate import kernels
from quorate.aggregation import Method, Plan, discount_of, fitted
from quorate.arguments import refuse_unknown, some_of
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError, require_choice, require_number
from quorate.estimation import alone, calibration, sampling
from quorate.estimation.comparison import between, paired
from quorate.estimation.facts import Difference, Estimate, Figure, PositionBias, told_bias
from quorate.estimation.figures import Interval, Tasks, figure
from quorate.estimation.positions import in_one_frame, is_swapped, one_judge
from quorate.estimation.prediction import FOLDS, Known, candidates
from quorate.estimation.tables import Given, groups_of, read_given, values_of
from quorate.fitting import Request
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.models import named
from quorate.result import Result
from quorate.special import ndtri
from quorate.votes import Reading, Votes, gold_for, read_votes, with_gold
from quorate.votes.items import with_columns_of
from quorate.votes.store import Progress

Population = Literal["these", "all"]
SMALL_GROUP = 5  # known answers, below which an interval is hardly narrower than nothing
UNLIKE = 3.5  # standard errors by which known tasks may differ from the others
CURVE = (20, 50, 100, 200, 500, 1000, 2000)
STATED = 0.9  # level of the model's own intervals


NO_ANSWERS = (
    "There are no known answers: this is what the model makes of the votes, with an interval of its"
    " own. An error that most workers share does not show in it. Answer 50 tasks drawn at random"
    " (quorate estimate VOTES --plan 50 -o plan.csv)."
)


class Estimating(Reading, total=False):
    """Options of `estimate` beside those in its signature."""

    sampling: Any
    population: Population
    ties: float
    pair: str | None
    swap: str | None
    method: Method
    discount: bool | None
    seed: int
    threads: int | None
    progress: Progress | None


OPTIONS = ("gold", "value", "by", "compare", "plan", "level")


def estimate(
    votes: Any,
    *,
    gold: Any = None,
    value: Any = None,
    by: Any = None,
    compare: Sequence[Any] | None = None,
    plan: int | None = None,
    level: float = 0.95,
    **how: Unpack[Estimating],
) -> Estimate:
    """Estimate the share of each class, or the mean of values, over all tasks, with intervals.

    The known answers in `gold` correct what the votes say, whatever their bias, and the votes make
    the interval narrower than the answers alone would. `gold` is a random sample of the tasks, as a
    table of task and label, a mapping or a column of the votes; where tasks were drawn with unequal
    probabilities, `sampling` has the weights inverse to them: a table of task and weight, a mapping
    or the name of a column of the votes. The file that a plan wrote has the probabilities in it.
    Without gold the estimate is the consensus', and a note says what it cannot know.

    `value` gives numbers for classes (a mapping, or True for labels that are numbers), whose mean
    is estimated then. `by` names a column of the votes, or is a table of task and group: each group
    has a row of its own. With `compare` two groups are compared, or two classes as winners: a win
    counts 1, a loss 0, and every other class `ties`. `pair` names a column that says which tasks of
    the two groups are of the same item. Judges whose names end in ``#a`` and ``#b`` are one judge
    who was shown two answers in either order; `swap` names a column that says so instead.

    With `plan` nothing is known yet: so many tasks are drawn for somebody to answer, those whose
    answers tell most with the greatest probability. `level` is that of intervals. `population` is
    ``"these"`` tasks, or ``"all"`` others of which these are a random sample. `method`, `discount`
    and the options of reading votes are as for `aggregate`.

    Examples:
        >>> import quorate
        >>> crowd = quorate.simulate(20, 1000, 5, seed=1)
        >>> found = estimate(crowd.votes, gold=crowd.gold.head(100))
        >>> one = found.figures[0]
        >>> one.high - one.low < one.answers_high - one.answers_low
        True
    """
    refuse_unknown("estimate", how, (*Estimating.__annotations__, *OPTIONS))
    asked = Asked.of(value, by, compare, plan, level, how)
    reading: Reading = some_of(how, Reading)
    given = read_given(votes, gold, by, how)
    source = votes
    if how.get("swap"):
        needed = given.kept(reading).get("keep") or ()
        source = in_one_frame(votes, str(how["swap"]), reading, compare, [*needed])
    read = read_votes(source, gold=gold, **(reading | given.kept(reading)))
    known = read.known if gold is None else gold_for(votes, gold, reading)
    if plan is not None and known is not None:
        raise UsageError("plan is for answers that are still to be found: leave gold out.")
    if known is None and how.get("sampling") is not None:
        raise UsageError("sampling says how known answers were drawn: give them too (gold).")
    if known is not None:
        read = with_gold(read, known)
    positions: tuple[PositionBias, ...] = ()
    if is_swapped(read.codebook.workers):
        read, positions = one_judge(read)
    found = _consensus(read, how, weighted=bool(positions))
    view = View.of(read, found, given, asked)
    if plan is not None:
        return _planned(view, asked, plan)
    estimated = _without_answers(view, asked) if not view.known.any() else _figures(view, asked)
    return replace(estimated, positions=positions)


@dataclass(frozen=True)
class Asked:
    """What is to be estimated, and how: see `estimate`."""

    value: Any
    by: Any
    compare: tuple[str, str] | None
    level: float
    these: bool
    ties: float
    pair: str | None
    seed: int

    @classmethod
    def of(
        cls, value: Any, by: Any, compare: Any, plan: int | None, level: float, how: Estimating
    ) -> Asked:
        """The arguments, checked."""
        if not 0.5 <= level < 1:
            raise UsageError(f"level is from 0.5 to below 1, such as 0.95, not {level!r}.")
        require_choice("population", how.get("population", "these"), ("these", "all"))
        ties = how.get("ties", 0.5)
        require_number("ties", ties, at_least=0)
        if ties > 1:
            raise UsageError(f"ties is what a tie counts, from 0 to 1 of a win, not {ties!r}.")
        if "ties" in how and (compare is None or by is not None):
            raise UsageError("ties is for two classes of which one wins: say which (compare).")
        if compare is not None and (isinstance(compare, str) or len(compare) != 2):
            raise UsageError("compare names two groups, or two classes.")
        if plan is not None:
            require_number("plan", plan, at_least=1)
        if how.get("pair") and (by is None or compare is None):
            raise UsageError(
                "pair says which tasks of two groups belong together: say which groups (by,"
                " compare)."
            )
        two = None if compare is None else (str(compare[0]), str(compare[1]))
        these = how.get("population", "these") == "these"
        seed = how.get("seed", 0)
        return cls(value, by, two, level, these, float(ties), how.get("pair"), seed)


def _consensus(votes: Votes, how: Estimating, weighted: bool) -> Result:
    """What the votes alone say: known answers are hidden, and votes that have weights keep them."""
    hidden = votes.with_blocks(votes.blocks.change(_without_gold))
    model = named(how.get("method", "auto"))
    discount = False if weighted else discount_of(model, how.get("discount"))
    with closing(Threads(how.get("threads"))) as engine:
        request = Request(engine, how.get("progress"))
        return fitted(hidden, None, Plan(model, request, discount=discount))


def _without_gold(labels: Labels) -> Labels:
    return replace(labels, gold=None)


class Beside(NamedTuple):
    """What the known answers alone say, where there are some."""

    estimate: float | None
    low: float | None
    high: float | None


class Target(NamedTuple):
    """What is estimated: its name, and the value of each class, from 0 to 1, which stand for `low`
    and `high`."""

    name: str
    value: Floats
    low: float = 0.0
    high: float = 1.0

    @property
    def whole(self) -> bool:
        return bool(np.isin(self.value, (0.0, 1.0)).all())


@dataclass(frozen=True, eq=False)
class View:
    """The tasks as they are seen: votes, the consensus' posterior, known answers (-1 where there
    are none) and the probability with which they were drawn, and the group of each task."""

    votes: Votes
    labels: Labels
    posterior: Floats
    gold: NDArray[np.int32]
    probability: Floats
    groups: list[str] | None
    group: NDArray[np.intp]
    pairs: NDArray[np.intp] | None
    fold: NDArray[np.intp]
    result: Result

    @classmethod
    def of(cls, votes: Votes, found: Result, given: Given, asked: Asked) -> View:
        labels = votes.labels
        n = labels.n_tasks
        gold = np.full(n, -1, dtype=np.int32) if labels.gold is None else labels.gold
        groups, group, pairs = groups_of(votes, given, asked.pair)
        random = kernels.hashed_uniform(labels.task_keys(), 1, asked.seed + 1)[:, 0]
        fold = np.full(n, -1)
        known = np.flatnonzero(gold >= 0)
        fold[known] = random[known].argsort(kind="stable").argsort() % FOLDS
        weights = given.weights_of(votes, gold >= 0)
        probability = np.full(n, len(known) / max(n, 1))
        if weights is not None:
            probability[known] = sampling.probabilities_of(weights, n)
        elif (drawn := given.probabilities_of(votes, gold >= 0)) is not None:
            probability[known] = drawn
        view = cls(
            votes, labels, found.posterior, gold, probability, groups, group, pairs, fold, found
        )
        even = weights is None and given.probability is None
        return replace(
            view, votes=votes.noted(*found.notes[len(votes.notes) :], *view.unlike(even))
        )

    @property
    def known(self) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = self.gold >= 0
        return known

    def unlike(self, even: bool) -> Iterator[str]:
        """A note if the known tasks look unlike the rest, as no random sample would."""
        known = self.known
        if not even or known.sum() < SMALL_GROUP or known.all():
            return
        looks = {"confidence": self.posterior.max(axis=1), "number of votes": self.labels.n_said}
        looks |= {
            f"share of {name}": self.posterior[:, c]
            for c, name in enumerate(self.votes.codebook.classes.to_list()[:12])
        }
        for what, values in looks.items():
            values = np.asarray(values, dtype=np.float64)
            gap = float(values[known].mean() - values.mean())
            error = float(values.std()) * np.sqrt(1 / known.sum() - 1 / len(known))
            if abs(gap) > UNLIKE * error + 1e-9:
                yield (
                    f"The known tasks look unlike the rest: their {what} is"
                    f" {values[known].mean():.2f} on average, of all it is {values.mean():.2f}. If"
                    " they were not drawn at random, say with what weights (--sampling)."
                )
                return

    def votes_of(self, value: Floats) -> csr_array:
        """What workers said, from -1 to 1: repeated votes of a worker are averaged."""
        labels = self.labels
        said = 2 * value[labels.label] - 1
        place = (labels.task_of_label(), labels.worker)
        shape = (labels.n_tasks, labels.n_workers)
        total = csr_array((labels.weighted(said), place), shape=shape)
        count = csr_array((labels.weighted(np.ones(labels.n_labels)), place), shape=shape)
        total.sum_duplicates()
        count.sum_duplicates()
        total.data /= np.maximum(count.data, 1.0)
        return total


def _targets(view: View, asked: Asked) -> tuple[list[Target], str]:
    """What is to be estimated, and in which unit."""
    classes = view.votes.codebook.classes
    if asked.compare is not None and asked.by is None:
        names = [str(name) for name in classes]
        first, second = asked.compare
        for name in asked.compare:
            if name not in names:
                raise DataError(
                    f"compare names {name!r}, which is no class, and there are no groups (by)."
                )
        value = np.array([1.0 if n == first else 0.0 if n == second else asked.ties for n in names])
        return [Target(f"{first} beats {second}", value)], "share"
    if asked.value is not None:
        value = values_of(asked.value, classes)
        low, high = float(value.min()), float(value.max())
        if low == high:
            raise DataError("All values are the same: there is nothing to estimate.")
        return [Target("mean", (value - low) / (high - low), low, high)], "mean"
    every = np.eye(len(classes))
    return [Target(str(name), every[c]) for c, name in enumerate(classes)], "share"


def _figures(view: View, asked: Asked) -> Estimate:
    """The figures of every group and target, with known answers."""
    targets, unit = _targets(view, asked)
    two = len(targets) == 2 and asked.value is None
    names: list[str | None] = [None] if view.groups is None else [*view.groups]
    n_rows = len(names) * (1 if two else len(targets))
    computed = targets[1:] if two else targets
    figures: dict[tuple[str | None, str], Figure] = {}
    weights: dict[str, float] = {}
    for target in computed:
        fit = TargetFit.of(view, target)
        weights |= fit.used if target is computed[-1] else {}
        for g, name in enumerate(names):
            figures[name, target.name] = _figure(
                view, fit, g if view.groups else None, asked, n_rows
            )
            if two:
                figures[name, targets[0].name] = _opposite(figures[name, target.name], targets[0])
    ordered = [figures[name, target.name] for name in names for target in targets]
    if unit == "share" and len(targets) > 2:
        ordered = _adding_up(ordered, len(targets))
    notes = [*view.votes.notes, *_notes(ordered, asked, n_rows, unit)]
    difference = _difference(view, asked, targets, ordered) if asked.compare else None
    if asked.pair and difference is not None and difference.paired is None:
        notes.append(
            "Answers are known of too few pairs, of both their tasks: the groups are compared as"
            " they are. Draw pairs, and answer both."
        )
    return Estimate(
        tuple(ordered),
        asked.level,
        "these" if asked.these else "all",
        unit,
        difference,
        weights=weights,
        kind=view.votes.kind,
        notes=tuple(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, eq=False)
class TargetFit:
    """Candidates for one target on all tasks, the weight of each of their rows, and whether the
    known tasks were drawn by a plan for this target."""

    target: Target
    expected: Floats
    known: Known
    scores: list[calibration.Candidate]
    log_weight: Floats
    dispersion: float
    used: dict[str, float]
    by_plan: bool

    @classmethod
    def of(cls, view: View, target: Target) -> TargetFit:
        at = np.flatnonzero(view.known)
        expected = view.posterior @ target.value
        known = Known(at, target.value[view.gold[at]], view.fold[at])
        scores = candidates(expected, view.votes_of(target.value), known)
        dispersion = 1.0 if target.whole else _dispersion(known.value, expected[at])
        if view.known.all():
            return cls(target, expected, known, scores, np.zeros(0), dispersion, {}, False)
        by_plan = sampling.is_by_plan(expected, at, view.probability[at])
        answers = _answers(view, known, len(view.gold), by_plan)
        found = calibration.evidence(scores, answers, dispersion)
        share = np.exp(found.log_weight - found.log_weight.max())
        share /= share.sum()
        cuts = np.cumsum([len(each.slopes) for each in scores])[:-1]
        parts = [float(part.sum()) for part in np.split(share, cuts)]
        used = {"answers alone": parts[0], "consensus": parts[1], "learned": sum(parts[2:])}
        return cls(target, expected, known, scores, found.log_weight, dispersion, used, by_plan)


def _answers(view: View, known: Known, n_tasks: int, by_plan: bool) -> calibration.Answers:
    probability = view.probability[known.task]
    return calibration.Answers.drawn(known.value, probability, n_tasks, by_plan)


def _dispersion(value: Floats, expected: Floats) -> float:
    """How much less values vary than answers of yes and no with the same mean."""
    error = value - expected
    error = error - error.mean()
    chance = expected * (1 - expected)
    return float(np.clip(((error**2).sum() + 0.25) / (chance.sum() + 0.25), 0.02, 1.0))


def _figure(view: View, fit: TargetFit, group: int | None, asked: Asked, n_rows: int) -> Figure:
    """The figure of a target, of all tasks or those of a group."""
    inside = np.full(view.labels.n_tasks, True) if group is None else view.group == group
    target = fit.target
    n_tasks, n = int(inside.sum()), int(inside[fit.known.task].sum())
    found, by_answers = _intervals(view, fit, inside, asked, asked.level)
    strict = 1 - (1 - asked.level) / max(n_rows, 1)
    together = found if n_rows == 1 else _intervals(view, fit, inside, asked, strict)[0]
    scale = (target.low, target.high)
    found, together = found.scaled(*scale), together.scaled(*scale)
    alone_ = Beside(None, None, None) if by_answers is None else Beside(*by_answers.scaled(*scale))
    votes = target.low + (target.high - target.low) * float(fit.expected[inside].mean())
    name = None if group is None else (view.groups or [])[group]
    return Figure(
        name, target.name, *found, together.low, together.high, votes, *alone_, n_tasks, n
    )


def _intervals(
    view: View, fit: TargetFit, inside: NDArray[np.bool_], asked: Asked, level: float
) -> tuple[Interval, Interval | None]:
    """The interval of a target over the tasks inside, never wider than that of the answers alone,
    and this."""
    mine = inside[fit.known.task]
    known = Known(fit.known.task[mine], fit.known.value[mine], fit.known.fold[mine])
    found = _interval(view, fit, inside, known, replace(asked, level=level))
    alone_ = _answers_alone(view, known, fit.target, int(inside.sum()), replace(asked, level=level))
    exact = alone_ is not None and fit.target.whole
    return (found.no_wider_than(alone_) if exact and alone_ else found), alone_


def _interval(
    view: View, fit: TargetFit, inside: NDArray[np.bool_], known: Known, asked: Asked
) -> Interval:
    """The interval of a target over the tasks inside, by the weights that all known answers give
    to candidates and slopes."""
    n_tasks, n = int(inside.sum()), len(known.task)
    if n == n_tasks:
        if asked.these:
            return Interval(*[float(known.value.mean())] * 3)
        raise UsageError("Every answer is known: population='all' needs tasks without answers.")
    answers = _answers(view, known, n_tasks, fit.by_plan)
    tasks = Tasks(n_tasks, asked.these, fit.target.whole)
    of_unknown = inside[~view.known]
    mine = inside[fit.known.task]
    scores = [
        each._replace(unknown=each.unknown[:, of_unknown], known=each.known[mine])
        for each in fit.scores
    ]
    found = calibration.evidence(scores, answers, fit.dispersion)
    return figure(found, fit.log_weight, answers, tasks, asked.level)


def _answers_alone(
    view: View, known: Known, target: Target, n_tasks: int, asked: Asked
) -> Interval | None:
    """What the known answers alone say."""
    n, value = len(known.task), known.value
    if not n:
        return None
    weight = 1 / view.probability[known.task]
    mean = float(np.average(value, weights=weight))
    even = float(np.ptp(weight)) < 1e-9
    if target.whole and even and asked.these:
        return Interval(mean, *alone.share_of_these(round(value.sum()), n, n_tasks, asked.level))
    if target.whole:
        effective = weight.sum() ** 2 / (weight**2).sum()
        low, high = alone.share_of_more(mean * effective, effective, asked.level)
        return Interval(mean, low, high)
    return alone.mean_of(value, weight, n_tasks if asked.these else None, asked.level)


def _opposite(found: Figure, target: Target) -> Figure:
    """The figure of the other of two classes."""

    def turned(value: float | None) -> float | None:
        return None if value is None else 1 - value

    return replace(
        found,
        what=target.name,
        estimate=1 - found.estimate,
        low=1 - found.high,
        high=1 - found.low,
        low_all=1 - found.high_all,
        high_all=1 - found.low_all,
        votes_alone=1 - found.votes_alone,
        answers_alone=turned(found.answers_alone),
        answers_low=turned(found.answers_high),
        answers_high=turned(found.answers_low),
    )


def _adding_up(figures: list[Figure], n_classes: int) -> list[Figure]:
    """Shares that add up to 1, each within its interval."""
    found = []
    for start in range(0, len(figures), n_classes):
        part = figures[start : start + n_classes]
        total = sum(one.estimate for one in part)
        for one in part:
            share = min(max(one.estimate / total, one.low), one.high)
            found.append(replace(one, estimate=share))
    return found


def _notes(figures: Sequence[Figure], asked: Asked, n_rows: int, unit: str) -> Iterator[str]:
    if n_rows > 1:
        missed = n_rows * (1 - asked.level)
        yield (
            f"{n_rows} intervals at {asked.level:.0%} each: about {missed:.1f} of them miss by"
            " chance. low_all and high_all hold for all at once (Bonferroni)."
        )
    few = list(dict.fromkeys(f.group for f in figures if f.group and f.known < SMALL_GROUP))
    if few:
        yield f"Fewer than {SMALL_GROUP} known answers in {len(few)} groups, such as {few[0]}."
    if len(figures) <= 2 and figures:
        yield told_bias(figures[-1], unit)


def _difference(
    view: View, asked: Asked, targets: Sequence[Target], figures: Sequence[Figure]
) -> Difference:
    """The comparison that was asked for."""
    first, second = asked.compare or ("", "")
    if asked.by is None:
        win = figures[0]
        even = Interval(win.estimate, win.low, win.high).scaled(-1.0, 1.0)
        return between(first, second, even, Interval(0.0, 0.0, 0.0), asked.level)
    places = [(view.groups or []).index(_group(view, name)) for name in (first, second)]
    target = targets[-1]
    of = {figure.group: figure for figure in figures if figure.what == target.name}
    if view.pairs is not None:
        found = paired(view.pairs, view.group, places)
        if found is not None and _are_known(view, found, places):
            return _of_pairs(view, asked, target, found)
    one, other = (Interval(f.estimate, f.low, f.high) for f in (of[first], of[second]))
    return between(first, second, one, other, asked.level)


def _are_known(view: View, pairs: NDArray[np.intp], places: Sequence[int]) -> bool:
    """Whether answers are known pair by pair: of half of the known tasks of a group at least."""
    both = int((view.known[pairs[:, 0]] & view.known[pairs[:, 1]]).sum())
    fewest = min(int((view.known & (view.group == place)).sum()) for place in places)
    return both >= SMALL_GROUP and both >= fewest / 2


def _group(view: View, name: str) -> str:
    if name not in (view.groups or []):
        known = ", ".join((view.groups or [])[:12])
        raise DataError(f"compare names {name!r}, which is no group: there are {known}.")
    return name


def _of_pairs(view: View, asked: Asked, target: Target, pairs: NDArray[np.intp]) -> Difference:
    """The mean difference within pairs of tasks, whose answers are (1 + first - second) / 2."""
    first, second = pairs.T
    expected = view.posterior @ target.value
    both = view.known[first] & view.known[second]
    at = np.flatnonzero(both)
    value = target.value[np.maximum(view.gold, 0)]
    known = Known(at, (1 + value[first] - value[second])[both] / 2, np.arange(len(at)) % FOLDS)
    votes = view.votes_of(target.value)
    mean = (1 + expected[first] - expected[second]) / 2
    scores = candidates(mean, (votes[first] - votes[second]) / 2, known)
    answers = calibration.Answers.even(known.value, len(pairs))
    dispersion = _dispersion(known.value, mean[at])
    found = calibration.evidence(scores, answers, dispersion)
    tasks = Tasks(len(pairs), asked.these, whole=False)
    interval = figure(found, found.log_weight, answers, tasks, asked.level)
    width = target.high - target.low
    names = asked.compare or ("", "")
    even = interval.scaled(-width, width)
    return replace(between(*names, even, Interval(0.0, 0.0, 0.0), asked.level), paired=len(pairs))


def _without_answers(view: View, asked: Asked) -> Estimate:
    """What the consensus makes of it, with the interval that the model has for its own error."""
    targets, unit = _targets(view, asked)
    shares = view.result.class_share_rows()
    z, stated = (float(ndtri(0.5 + level / 2)) for level in (asked.level, STATED))
    half = np.array([(share.high - share.low) / 2 for share in shares]) * z / stated
    share = np.array([row.share for row in shares])
    figures = []
    names: list[str | None] = [None] if view.groups is None else [*view.groups]
    for g, name in enumerate(names):
        inside = np.full(len(view.gold), True) if name is None else view.group == g
        for target in targets:
            expected = view.posterior[inside] @ target.value
            shift = float(share @ target.value - (view.posterior @ target.value).mean())
            mean = float(np.clip(expected.mean() + shift, 0, 1))
            chance = float((expected * (1 - expected)).sum()) / len(expected) ** 2
            model = float(np.abs(target.value - share @ target.value) @ half)
            wide = float(np.hypot(model, z * np.sqrt(chance)))
            found = Interval(mean, max(mean - wide, 0.0), min(mean + wide, 1.0))
            low, high = target.low, target.high
            votes = low + (high - low) * float(expected.mean())
            row, n = found.scaled(low, high), int(inside.sum())
            beside = Beside(None, None, None)
            bounds = (row.low, row.high)
            figures.append(Figure(name, target.name, *row, *bounds, votes, *beside, n, 0))
    notes = (*view.votes.notes, NO_ANSWERS)
    population = "these" if asked.these else "all"
    return Estimate(
        tuple(figures), asked.level, population, unit, kind=view.votes.kind, notes=notes
    )


def _planned(view: View, asked: Asked, n_answers: int) -> Estimate:
    """The tasks whose answers to find, and the expected width of the interval."""
    estimated = _without_answers(view, replace(asked, compare=None, by=None))
    targets, _ = _targets(view, replace(asked, compare=None if asked.by else asked.compare))
    expected = view.posterior @ np.array([target.value for target in targets]).T
    asked_for = expected[:, -1] if expected.shape[1] <= 2 else expected
    n_tasks = len(asked_for)
    probability = sampling.inclusion(sampling.worth_of(asked_for), min(n_answers, n_tasks))
    tasks = sampling.drawn(probability, asked_for, view.labels.task_keys(), asked.seed)
    names = view.votes.codebook.tasks
    frame = pl.DataFrame(
        {
            "task": names.gather(tasks),
            "label": pl.Series([None] * len(tasks), dtype=pl.String),
            "probability": probability[tasks],
        }
    )
    numbers = np.unique([n for n in (*CURVE, n_answers) if n <= n_tasks] or [n_tasks])
    z = float(ndtri(0.5 + asked.level / 2))
    even, planned = sampling.expected_widths(asked_for, numbers, z)
    width = targets[-1].high - targets[-1].low
    curve = pl.DataFrame({"answers": numbers, "even": even * width, "planned": planned * width})
    frame = with_columns_of(view.votes.items, frame)
    back = "Fill in the column label and give the file back (--gold): its probabilities are used."
    notes = (*view.votes.notes, back)
    return replace(estimated, plan_frame=frame, curve_frame=curve, notes=notes)
