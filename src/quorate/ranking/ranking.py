"""`rank`: who is better than whom, from comparisons of pairs, and how sure that is."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.arguments import refuse_unknown
from quorate.card import Listing, card
from quorate.engines.engine import Engine, stateless
from quorate.engines.threads import Threads
from quorate.errors import UsageError, require_number
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.ranking.bradley_terry import (
    LEFT,
    RELIABILITY,
    RIGHT,
    SIDE,
    TIE,
    TIES,
    Params,
    Prior,
    Solution,
    Spread,
    maximise,
    sides,
    spread_of,
    sums,
)
from quorate.ranking.comparisons import Comparisons, ReadingComparisons, read_comparisons
from quorate.ranking.graph import Graph, Tally, graph_of, tally
from quorate.ranking.ranks import ranks_of
from quorate.votes import Kind, listed, shown
from quorate.votes.store import Progress

PRIOR_SD = 3.0  # of the strengths, where comparisons alone leave them without bounds
WIDEST = 20.0  # differences of strengths beyond this are taken for infinite
UNBOUNDED = (
    "By the judges who count, some systems won or lost all comparisons with the rest, which leaves"
    f" strengths without a bound: they have a normal prior with a standard deviation of"
    f" {PRIOR_SD:g} (prior_sd)."
)
# Of the traits of judges: the mean to begin with, and variances among them, and of one judge who
# stands for all.
MEAN, AMONG, ALONE = map(np.array, ((1.0, 0.0, 0.0), (0.25, 1.0, 1.0), (1.0, 100.0, 100.0)))
OPTIONS = ("by_worker", "position", "prior_sd", "level", "seed", "threads", "progress")
SHOWN_SYSTEMS = 5


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Systems in order of strength, with intervals, and what is known of the judges.

    Strengths are log-odds: a system that is 1 stronger than another wins e times as often as it
    loses against it, if a judge of reliability 1 compares them without leaning to a side."""

    systems_frame: pl.DataFrame
    workers_frame: pl.DataFrame
    strength: Floats
    covariance: Floats
    names: pl.Series
    comparisons: int
    ties: int
    position_bias: float | None
    log_tie: float | None
    components: int
    converged: bool
    iterations: int
    log_likelihood: float
    level: float
    kind: Kind = Kind()
    notes: tuple[str, ...] = ()

    @property
    def systems(self) -> Any:
        """A row for each system, the best first, in the caller's kind of table: rank, system,
        strength with its interval (`low`, `high`), the ranks that it may have with all the others'
        at once (`rank_low`, `rank_high`), `tier` (the systems of a tier are not surely below its
        first), `win_rate` (the mean probability of beating another, ties as a half), and its
        comparisons; where not all are connected, the `group` within which ranks are meant."""
        return self.kind.give(self.systems_frame)

    @property
    def workers(self) -> Any:
        """A row for each judge: comparisons, reliability (how sharply strengths decide; the mean
        is 1) with its interval, `left` (how often the left is named among equals, ties aside),
        `ties` (the share of them), `agreement` (how often the stronger is named) and `weight`, the
        judge's share of what is known about the strengths."""
        return self.kind.give(self.workers_frame)

    def probability(self, system: Any, other: Any) -> float:
        """Probability that a system beats another, if not tied, when a judge of reliability 1
        compares them without leaning to a side."""
        first, second = (self._code(name) for name in (system, other))
        return float(1 / (1 + np.exp(self.strength[second] - self.strength[first])))

    def _code(self, name: Any) -> int:
        for code, known in enumerate(self.names):
            if known == name:
                return code
        raise UsageError(f"There is no system {shown(name)}: there are {listed(self.names)}.")

    @cached_property
    def _facts(self) -> dict[str, str]:
        facts = {
            "systems": f"{len(self.names):,}",
            "comparisons": f"{self.comparisons:,}, {self.ties / self.comparisons:.1%} ties",
        }
        if len(self.workers_frame):
            facts["judges"] = f"{len(self.workers_frame):,}"
        if self.position_bias is not None:
            facts["position"] = f"of equals the left is named {self.position_bias:.1%} of the time"
        return facts

    def __repr__(self) -> str:
        lines = [f"Ranking of {len(self.names):,} systems by {self.comparisons:,} comparisons"]
        lines += [
            f"  {row['rank']:>4} ({row['rank_low']}-{row['rank_high']})  {row['system']}"
            f"  {row['strength']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
            for row in self.systems_frame.head(SHOWN_SYSTEMS).iter_rows(named=True)
        ]
        more = len(self.names) - SHOWN_SYSTEMS
        lines += [f"  and {more:,} more"] if more > 0 else []
        lines.append("  tables   .systems, .workers")
        return "\n".join([*lines, *(f"  note     {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        shown_columns = ("rank", "system", "strength", "low", "high", "rank_low", "rank_high")
        rows = self.systems_frame.select(*shown_columns, "tier").rows()
        listing = Listing("Systems", (*shown_columns, "tier"), rows)
        return card("Ranking", self._facts, [listing], self.notes)

    def as_dict(self) -> dict[str, Any]:
        """What `quorate rank --json` prints."""
        return {
            "comparisons": self.comparisons,
            "ties": self.ties,
            "position_bias": self.position_bias,
            "groups": self.components,
            "level": self.level,
            "converged": self.converged,
            "iterations": self.iterations,
            "log_likelihood": self.log_likelihood,
            "systems": self.systems_frame.to_dicts(),
            "workers": self.workers_frame.to_dicts(),
            "notes": list(self.notes),
        }


def rank(
    comparisons: Any,
    *,
    by_worker: bool = True,
    position: bool = True,
    prior_sd: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    **reading: Unpack[ReadingComparisons],
) -> Ranking:
    """Rank systems by comparisons of pairs.

    `comparisons` is a table, of any kind that `aggregate` takes, with the columns left, right,
    worker and winner (or model_a, model_b, judge and winner, and other names: `left_column`,
    `right_column`, `worker_column` and `winner_column` say which), or rows of these four. The
    winner is one of the two systems, a side, or a tie.

    The model is Bradley-Terry's with ties. With `by_worker` judges count by their reliability,
    which is learned; with `position` how far they lean to the left or the right is learned, too,
    and taken out. Strengths have no prior unless a `prior_sd` is given, or one is needed because a
    system won or lost every comparison: then it is normal, with a standard deviation of 3. `level`
    is that of the intervals, `seed` of the random numbers behind those of the ranks, `threads` the
    number of threads, and `progress` is told what is under way.

    Examples:
        >>> wins = [("a", "b", "ann", "a"), ("b", "c", "ann", "b"), ("c", "a", "bob", "a")]
        >>> losses = [("a", "b", "bob", "b"), ("b", "c", "bob", "c"), ("a", "c", "ann", "c")]
        >>> ranking = rank(wins * 4 + losses)
        >>> ranking.systems["system"].to_list()
        ['a', 'b', 'c']
    """
    refuse_unknown("rank", reading, (*ReadingComparisons.__annotations__, *OPTIONS))
    if not 0 < level < 1:
        raise UsageError(f"level is a probability such as 0.95, not {level!r}.")
    if prior_sd is not None and not (prior_sd > 0 and np.isfinite(prior_sd)):
        raise UsageError(f"prior_sd must be a number above 0, not {prior_sd!r}.")
    require_number("seed", seed, at_least=0)
    read = read_comparisons(comparisons, **reading)
    plan = Plan(by_worker, position, prior_sd, level, seed)
    with closing(Threads(threads)) as engine:
        if progress:
            progress("strengths and judges", 0, 2)
        found = fitted(read, engine, plan)
        if progress:
            progress("ranks", 1, 2)
        agreed = stateless(engine, read.blocks).sweep(
            _agreed, found.solution.params.strength, keep=False
        )
        return _ranking(read, found, plan, _judges(read, found, agreed, level))


class Plan(NamedTuple):
    """What is asked of a ranking."""

    by_worker: bool = True
    position: bool = True
    prior_sd: float | None = None
    level: float = 0.95
    seed: int = 0


class Fitted(NamedTuple):
    """The solution with the counts and the graph behind it, and what is to be said of both."""

    solution: Solution
    counted: Tally
    graph: Graph
    spread: Spread
    comparisons: Floats
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Together:
    """Change of a block that makes all judges one."""

    def __call__(self, block: Labels) -> Labels:
        nobody: Codes = np.zeros(block.n_workers, dtype=np.int32)
        return block.with_workers(nobody, 1)


def fitted(read: Comparisons, engine: Engine, plan: Plan) -> Fitted:
    """Count, look at what is connected, choose what can be learned, and learn it."""
    n_systems = len(read.systems)
    counted = tally(stateless(engine, read.blocks), n_systems)
    graph = graph_of(counted)
    apart = plan.by_worker and len(counted.judge) > 1
    blocks = read.blocks if apart else read.blocks.change(Together())
    comparisons = counted.judge.sum(axis=1) if apart else counted.judge.sum(keepdims=True)[0]
    position, why_not = _position(plan, counted, graph)
    precision, regularised = _precision(plan, graph, read.systems)
    prior = Prior(
        MEAN,
        AMONG if apart else ALONE,
        np.array([apart, position, counted.tied.any()]),
        graph.component,
        precision,
    )
    start = Params(np.zeros(n_systems), np.tile(MEAN, (len(comparisons), 1)))
    fold = stateless(engine, blocks)
    solution = maximise(fold, start, prior)
    if not prior.precision and np.ptp(solution.params.strength) > WIDEST:
        prior, regularised = prior._replace(precision=PRIOR_SD**-2), (UNBOUNDED,)
        solution = maximise(fold, start, prior)
    notes = (*_connected(graph, read.systems), *regularised, *why_not)
    if not solution.converged:
        notes += (f"It had not converged after {solution.iterations} iterations.",)
    return Fitted(solution, counted, graph, spread_of(solution), comparisons, notes)


def _position(plan: Plan, counted: Tally, graph: Graph) -> tuple[bool, tuple[str, ...]]:
    """Whether leaning to a side is learned, and if not, why."""
    left, _, right = counted.judge.sum(axis=0)
    if not plan.position:
        return False, ()
    if left == right == 0:
        return False, ("Every comparison is a tie: leaning to a side cannot be told.",)
    if left == 0 or right == 0:
        side = "left" if right == 0 else "right"
        why = f"The {side} wins every comparison: that is taken for how the table is written"
    elif not graph.sides_tell:
        why = "Each system is always on the same side of the same others"
    else:
        return True, ()
    return False, (f"{why}, so that leaning to a side cannot be told from strength.",)


def _precision(plan: Plan, graph: Graph, systems: pl.Series) -> tuple[float, tuple[str, ...]]:
    """Precision of the strengths' prior, and why there is one that was not asked for."""
    if plan.prior_sd is not None:
        return plan.prior_sd**-2, ()
    if not graph.extreme.any():
        return 0.0, ()
    extreme = systems.filter(graph.extreme)
    return PRIOR_SD**-2, (
        f"{listed(extreme, SHOWN_SYSTEMS)} won or lost all comparisons with the rest, which leaves"
        f" strengths without a bound: they have a normal prior with a standard deviation of"
        f" {PRIOR_SD:g} (prior_sd).",
    )


def _connected(graph: Graph, systems: pl.Series) -> tuple[str, ...]:
    """What is said of systems that no chain of comparisons connects."""
    if graph.n_components == 1:
        return ()
    sizes = np.bincount(graph.component)
    smallest = listed(systems.filter(graph.component == graph.n_components - 1), SHOWN_SYSTEMS)
    return (
        f"The comparisons fall into {graph.n_components} groups of systems that nobody compared"
        f" with each other (of {listed(sizes.tolist(), SHOWN_SYSTEMS)}; the last is {smallest}):"
        " ranks and strengths are within each group.",
    )


def _ranking(read: Comparisons, found: Fitted, plan: Plan, judges: pl.DataFrame) -> Ranking:
    solution, counted = found.solution, found.counted
    spread = found.spread.of_strength
    tie = _average(solution, found.comparisons, TIES)
    side = _average(solution, found.comparisons, SIDE)
    return Ranking(
        systems_frame=_systems(read, found, plan, tie),
        workers_frame=judges,
        strength=solution.params.strength,
        covariance=spread,
        names=read.systems,
        comparisons=read.n_comparisons,
        ties=int(counted.tied.sum()),
        position_bias=None if side is None else float(1 / (1 + np.exp(-side))),
        log_tie=tie,
        components=found.graph.n_components,
        converged=solution.converged,
        iterations=solution.iterations,
        log_likelihood=solution.stats.log_likelihood,
        level=plan.level,
        kind=read.kind,
        notes=(*read.notes, *found.notes),
    )


def _average(solution: Solution, comparisons: Floats, trait: int) -> float | None:
    """A trait's average over comparisons, if it was learned."""
    if not solution.prior.free[trait]:
        return None
    return float(comparisons @ solution.params.judge[:, trait] / comparisons.sum())


def _systems(read: Comparisons, found: Fitted, plan: Plan, tie: float | None) -> pl.DataFrame:
    """The table of systems, group after group, the best first."""
    strength, spread = found.solution.params.strength, found.spread.of_strength
    half = _z(plan.level) * np.sqrt(np.maximum(np.diag(spread), 0.0))
    counted = found.counted
    wins, ties = counted.won.sum(axis=1), (counted.tied + counted.tied.T).sum(axis=1)
    table = pl.DataFrame(
        {
            "system": read.systems,
            "strength": strength,
            "low": strength - half,
            "high": strength + half,
            "win_rate": _win_rates(strength, found.graph.component, tie),
            "comparisons": (wins + counted.won.sum(axis=0) + ties).astype(np.int64),
            "wins": wins.astype(np.int64),
            "ties": ties.astype(np.int64),
            "group": found.graph.component + 1,
        }
    )
    parts = []
    for number in range(found.graph.n_components):
        mine = np.flatnonzero(found.graph.component == number)
        ranks = ranks_of(strength[mine], spread[np.ix_(mine, mine)], plan.level, plan.seed)
        columns = {"rank": ranks.rank, "rank_low": ranks.low, "rank_high": ranks.high}
        parts.append(table[mine].with_columns(**columns, tier=ranks.tier).sort("rank"))
    order = ("rank", "system", "strength", "low", "high", "rank_low", "rank_high", "tier")
    rest = ("win_rate", "comparisons", "wins", "ties")
    more = ("group",) if found.graph.n_components > 1 else ()
    return pl.concat(parts).select(*order, *rest, *more)


def _win_rates(strength: Floats, component: NDArray[np.intp], tie: float | None) -> Floats:
    """The mean probability of beating another of the group, ties counting as a half."""
    rates = np.empty(len(strength))
    for number in np.unique(component):
        mine = np.flatnonzero(component == number)
        half = np.clip((strength[mine][:, None] - strength[mine]) / 2, -300, 300)
        tied = 0.0 if tie is None else np.exp(tie)
        beats = (np.exp(half) + tied / 2) / (np.exp(half) + tied + np.exp(-half))
        rates[mine] = (beats.sum(axis=1) - 0.5) / (len(mine) - 1)
    return rates


def _judges(read: Comparisons, found: Fitted, agreed: Floats, level: float) -> pl.DataFrame:
    """The table of judges, if the comparisons say who they were."""
    if read.workers is None:
        return pl.DataFrame({"worker": pl.Series([], dtype=pl.String)})
    counted, traits = found.counted.judge, found.solution.params.judge
    total, decided = counted.sum(axis=1), counted[:, LEFT] + counted[:, RIGHT]
    columns: dict[str, Any] = {"worker": read.workers, "comparisons": total.astype(np.int64)}
    prior = found.solution.prior
    if prior.free[RELIABILITY]:
        half = _z(level) * np.sqrt(np.maximum(found.spread.of_reliability, 0.0))
        reliability = traits[:, RELIABILITY]
        columns |= {"reliability": reliability}
        columns |= {"low": reliability - half, "high": reliability + half}
        if prior.free[SIDE]:
            columns["left"] = 1 / (1 + np.exp(-traits[:, SIDE]))
        weight = found.solution.stats.weight
        columns["weight"] = weight / max(float(weight.sum()), 1e-300)
    columns["ties"] = counted[:, TIE] / total
    right = [float(a / n) if n else None for a, n in zip(agreed, decided, strict=True)]
    columns["agreement"] = pl.Series(right, dtype=pl.Float64)
    return pl.DataFrame(columns)


def _agreed(block: Labels, strength: Floats, local: Any) -> tuple[Any, Floats]:
    """The fold that counts how often each judge names the stronger system; a half where both are
    as strong."""
    left, right = sides(block)
    lead = np.sign(strength[left] - strength[right])[block.task_of_label()]
    won = (block.label == LEFT) - (block.label == RIGHT).astype(np.float64)
    agreed = np.where(block.label == TIE, 0.0, (1 + lead * won) / 2)
    return local, sums(block.worker, agreed, block.n_workers)


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)
