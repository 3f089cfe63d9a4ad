"""`quorate.panel`: what a panel of judges is worth, and each of them to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate import metrics
from quorate.aggregation import Method, Plan, discount_of, fitted
from quorate.arguments import refuse_unknown, some_of
from quorate.card import Listing, Share, card
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError, require_number
from quorate.estimation.facts import PositionBias
from quorate.estimation.positions import is_swapped, one_judge, without_order
from quorate.fitting import Request
from quorate.judging import cheaper, errors
from quorate.judging.covariates import Bias, biases
from quorate.kernels import Floats
from quorate.labels import Labels
from quorate.models import named
from quorate.result import Result
from quorate.votes import Kind, Reading, Votes, find, gold_for, read_votes, shown, with_gold
from quorate.votes.reading import columns_of, complete_rows, missing_words
from quorate.votes.sources import read_table
from quorate.votes.store import Progress

ENOUGH_KNOWN = 20  # answers, to judge by them and not by the consensus


class Paneling(Reading, total=False):
    """Options of `panel` beside those in its signature."""

    method: Method
    seed: int
    threads: int | None
    progress: Progress | None


OPTIONS = ("gold", "covariate", "costs", "max_loss")


@dataclass(frozen=True)
class Cheaper:
    """A cheaper panel: who is dropped, the share of the cost that is saved, and the accuracy of the
    consensus with and without them."""

    dropped: tuple[str, ...]
    left: int
    saved: float
    accuracy: float
    accuracy_without: float


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """What a panel of judges is worth.

    `judges` has a row for each: votes, error rate, accuracy with a 95 % interval, sensitivity and
    specificity where there are two classes, whose errors go with its own most, and by how much the
    effective number of judges would change without it. `biases` has those by covariates, and
    `positions` the position bias of judges who were shown two answers in both orders.
    """

    effective: errors.Worth
    frame: pl.DataFrame
    against: str
    known: int
    cheaper: Cheaper | None
    path: pl.DataFrame
    bias_rows: tuple[Bias, ...] = ()
    positions: tuple[PositionBias, ...] = ()
    kind: Kind = Kind()
    notes: tuple[str, ...] = ()

    @property
    def judges(self) -> Any:
        """A table with a row for each judge, in the caller's kind of table."""
        return self.kind.give(self.frame)

    @property
    def biases(self) -> Any:
        """A table of biases by covariates."""
        schema = ["judge", "column", "value", "effect", "low", "high", "p_value", "votes"]
        rows = [asdict(row) for row in self.bias_rows]
        return self.kind.give(pl.DataFrame(rows, schema=None if rows else schema))

    def as_dict(self) -> dict[str, Any]:
        """What `quorate panel --json` prints."""
        return {
            "effective": self.effective._asdict(),
            "against": self.against,
            "known": self.known,
            "judges": self.frame.to_dicts(),
            "cheaper": None if self.cheaper is None else asdict(self.cheaper),
            "path": self.path.to_dicts(),
            "biases": [asdict(row) for row in self.bias_rows],
            "positions": [asdict(row) for row in self.positions],
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines = [f"  {told_worth(self.effective._asdict(), self.against)}"]
        if self.cheaper is not None:
            lines.append(f"  {told_cheaper(asdict(self.cheaper))}")
        lines.append("  tables: .judges  .biases  .path")
        return "\n".join(["Panel", *lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        facts = {"worth": told_worth(self.effective._asdict(), self.against)}
        if self.cheaper is not None:
            facts["cheaper"] = told_cheaper(asdict(self.cheaper))
        rows = [
            (
                row["judge"],
                row["votes"],
                Share(row["accuracy"]),
                row["most_like"] or "",
                row["adds"],
            )
            for row in self.frame.to_dicts()
        ]
        columns = ("judge", "votes", "accuracy", "errors most like", "adds")
        return card("Panel of judges", facts, [Listing("Judges", columns, rows)], self.notes)


def told_worth(worth: Mapping[str, Any], against: str) -> str:
    """The number of independent judges, in words."""
    return (
        f"{worth['judges']:,} judges are worth {worth['effective']:.1f} independent ones"
        f" (95 %: {worth['low']:.1f} to {worth['high']:.1f}); their errors against {against}"
        f" correlate by {worth['correlation']:.2f}"
    )


def told_cheaper(cheaper: Mapping[str, Any]) -> str:
    """What a cheaper panel would lose, in words."""
    n = len(cheaper["dropped"])
    lost = 100 * (cheaper["accuracy"] - cheaper["accuracy_without"])
    change = f"costs {lost:.1f} points" if lost >= 0.05 else f"gains {-lost:.1f} points"
    if abs(lost) < 0.05:
        change = "costs nothing"
    return f"dropping {n:,} of {n + cheaper['left']:,} {change} and saves {cheaper['saved']:.0%}"


def panel(
    votes: Any,
    *,
    gold: Any = None,
    covariate: str | Sequence[str] | None = None,
    costs: Any = None,
    max_loss: float = 0.01,
    **how: Unpack[Paneling],
) -> Panel:
    """Say how many independent judges a panel is worth, and what each adds to it.

    Judges are compared with known answers (`gold`) where there are at least 20, otherwise with the
    consensus, which flatters those who agree with it. `covariate` names columns of the votes, such
    as the length of an answer, its position, or whose it is: judges who go by them are found.
    `costs` is what a vote of each judge costs, a table of judge and cost or a mapping; the cheaper
    panel that is proposed loses at most `max_loss` of its accuracy. Judges whose names end in
    ``#a`` and ``#b`` are one judge who was shown two answers in either order.

    Examples:
        >>> import quorate
        >>> crowd = quorate.simulate(6, 400, 6, seed=2)
        >>> found = panel(crowd.votes, gold=crowd.gold.head(200))
        >>> found.effective.judges, found.against
        (6, 'known answers')
    """
    refuse_unknown("panel", how, (*Paneling.__annotations__, *OPTIONS))
    require_number("max_loss", max_loss, at_least=0)
    reading: Reading = some_of(how, Reading)
    read = read_votes(votes, gold=gold, **reading)
    known = read.known if gold is None else gold_for(votes, gold, reading)
    if known is not None:
        read = with_gold(read, known)
    positions: tuple[PositionBias, ...] = ()
    if is_swapped(read.codebook.workers):
        read, positions = one_judge(read)
    if len(read.codebook.workers) < 2:
        raise DataError("A panel has at least two judges.")
    seen = _reference(read, how)
    found = errors.errors_of(seen.labels, seen.truth)
    random = np.random.default_rng(how.get("seed", 0))
    steps, proposal, notes = _cheaper(read, seen, (costs, max_loss), how)
    columns = [covariate] if isinstance(covariate, str) else list(covariate or ())
    rows = [row for name in columns for row in _biases(votes, read, seen, name, reading)]
    return Panel(
        errors.worth(found, random),
        _judges(read, seen, found),
        seen.against,
        seen.known,
        proposal,
        steps,
        tuple(rows),
        positions,
        read.kind,
        (*read.notes, *seen.notes, *notes),
    )


class Reference(NamedTuple):
    """The tasks that judges are judged by, the probability of each of their answers, what that
    comes from, and the places of the tasks among all."""

    labels: Labels
    truth: Floats
    against: str
    known: int
    task: NDArray[np.intp]
    notes: tuple[str, ...]


def known_reference(labels: Labels) -> Reference | None:
    """The tasks with known answers, where these are enough to judge by."""
    gold = labels.gold
    if gold is None or (gold >= 0).sum() < ENOUGH_KNOWN:
        return None
    known = gold >= 0
    truth = np.eye(labels.n_classes)[gold[known]]
    few, at = labels.only_tasks(known), np.flatnonzero(known)
    return Reference(few, truth, "known answers", len(at), at, ())


def _reference(votes: Votes, how: Paneling) -> Reference:
    labels = votes.labels
    if (found := known_reference(labels)) is not None:
        return found
    n_known = 0 if labels.gold is None else int((labels.gold >= 0).sum())
    notes: tuple[str, ...] = (
        "Judges are compared with the consensus: errors that most of them share do not show. With"
        f" {ENOUGH_KNOWN} known answers (--gold) they are compared with those.",
    )
    posterior = _consensus(votes, how).posterior
    everything = np.arange(labels.n_tasks)
    return Reference(labels, posterior, "the consensus", n_known, everything, notes)


def _consensus(votes: Votes, how: Paneling) -> Result:
    hidden = votes.with_blocks(votes.blocks.change(lambda labels: replace(labels, gold=None)))
    model = named(how.get("method", "auto"))
    with closing(Threads(how.get("threads"))) as engine:
        plan = Plan(model, Request(engine, how.get("progress")), discount=discount_of(model, None))
        return fitted(hidden, None, plan)


def _judges(votes: Votes, seen: Reference, found: errors.Errors) -> pl.DataFrame:
    """A row for each judge."""
    names = votes.codebook.workers.cast(pl.String)
    right = (1 - found.rate) * found.votes
    low, high = metrics.wilson_interval(right, found.votes)
    pairs = errors.correlations(found)
    nobody = np.asarray(np.isnan(pairs).all(axis=1))
    nearest = np.where(nobody, 0, np.nan_to_num(pairs, nan=-2.0).argmax(axis=1))
    strongest = np.where(nobody, np.nan, pairs[np.arange(len(pairs)), nearest])
    whole = errors.worth(found, np.random.default_rng(0)).effective
    frame = pl.DataFrame(
        {
            "judge": names,
            "votes": found.votes.astype(np.int64),
            "accuracy": 1 - found.rate,
            "low": low,
            "high": high,
            "most_like": pl.Series(names.gather(nearest)).set(pl.Series(nobody), None),
            "correlation": pl.Series(strongest).fill_nan(None),
            "adds": whole - errors.without_each(found),
        }
    )
    if votes.blocks.shape.n_classes == 2:
        frame = frame.with_columns(**_two_sided(seen))
    return frame


def _two_sided(seen: Reference) -> dict[str, pl.Series]:
    """Sensitivity and specificity of each judge, the last class being the positive one."""
    labels = seen.labels
    columns: dict[str, pl.Series] = {}
    task = labels.task_of_label()
    _, vote, times = np.unique(
        task * labels.n_workers + labels.worker, return_inverse=True, return_counts=True
    )
    for name, c in (("sensitivity", 1), ("specificity", 0)):
        of: Floats = seen.truth[task, c] / times[vote]  # of repeated votes the mean
        n = np.bincount(labels.worker, of, minlength=labels.n_workers)
        right = np.bincount(labels.worker, of * (labels.label == c), minlength=labels.n_workers)
        low, high = metrics.wilson_interval(right.astype(np.float64), n.astype(np.float64))
        share = np.where(n > 0, right / np.maximum(n, 1e-12), np.nan)
        columns |= {
            name: pl.Series(share).fill_nan(None),
            f"{name}_low": pl.Series(low),
            f"{name}_high": pl.Series(high),
        }
    return columns


def _cheaper(
    votes: Votes, seen: Reference, terms: tuple[Any, float], how: Paneling
) -> tuple[pl.DataFrame, Cheaper | None, tuple[str, ...]]:
    """The path of ever cheaper panels, and the one to propose, fitted again to tell what it
    loses."""
    costs, max_loss = terms
    names = votes.codebook.workers
    cost = _costs(costs, names)
    empty = pl.DataFrame(
        schema={"dropped": pl.String, "left": pl.Int64, "saved": pl.Float64, "accuracy": pl.Float64}
    )
    if len(names) > cheaper.MOST_JUDGES:
        note = f"More than {cheaper.MOST_JUDGES} judges: no cheaper panel was looked for."
        return empty, None, (note,)
    chosen_by, measured_on = _halves(seen)
    rate = errors.errors_of(chosen_by.labels, chosen_by.truth).rate
    steps = cheaper.cheaper_panels(chosen_by.labels, chosen_by.truth, rate, cost)
    path = pl.DataFrame(
        {
            "dropped": [str(names[step.dropped]) for step in steps],
            "left": [step.left for step in steps],
            "saved": [step.saved for step in steps],
            "accuracy": [step.accuracy for step in steps],
        }
    )
    full = cheaper.full_accuracy(chosen_by.labels, chosen_by.truth, rate)
    n_dropped = cheaper.advised(steps, full, max_loss) or 0
    with_all = _accuracy(_consensus(votes, how), measured_on) if n_dropped else 0.0
    while n_dropped:
        dropped = [step.dropped for step in steps[:n_dropped]]
        without = _accuracy(_consensus(_without(votes, dropped), how), measured_on)
        if with_all - without <= max_loss:
            chosen = steps[n_dropped - 1]
            who = tuple(str(names[judge]) for judge in dropped)
            return path, Cheaper(who, chosen.left, chosen.saved, with_all, without), ()
        n_dropped //= 2  # on the other half of the tasks it loses more
    return path, None, ("No judge can be dropped without losing more than max_loss.",)


def _without(votes: Votes, judges: Sequence[int]) -> Votes:
    """The votes of all other judges."""
    kept = ~np.isin(votes.labels.worker, judges)
    return votes.with_blocks(votes.blocks.change(lambda labels: labels.only(kept)))


def _halves(seen: Reference) -> tuple[Reference, Reference]:
    """The tasks by which judges are chosen, and the others, on which it is measured what their
    panel loses."""
    first = np.arange(len(seen.task)) % 2 == 0
    parts = []
    for half in (first, ~first):
        labels, truth, task = seen.labels.only_tasks(half), seen.truth[half], seen.task[half]
        parts.append(seen._replace(labels=labels, truth=truth, task=task))
    return parts[0], parts[1]


def _accuracy(result: Result, seen: Reference) -> float:
    """The share of the answers that are right."""
    answers = result.answers[seen.task]
    return float(seen.truth[np.arange(len(answers)), answers].mean())


def _costs(given: Any, judges: pl.Series) -> Floats:
    """What a vote of each judge costs: 1 unless given."""
    if given is None:
        return np.ones(len(judges))
    source = list(given.items()) if isinstance(given, Mapping) else given
    frame = complete_rows(read_table(source, ("worker", "cost"), strict=False, by_place=True))
    row = find(judges, frame["worker"])
    cost = frame["cost"].cast(pl.Float64, strict=False).gather(row)
    if cost.null_count() or not (cost >= 0).all():
        judge = judges.filter(cost.is_null() | ~(cost >= 0))[0]
        raise DataError(f"The judge {shown(judge)} has no cost of at least 0.")
    return cost.to_numpy()


def _biases(
    source: Any, votes: Votes, seen: Reference, column: str, reading: Reading
) -> list[Bias]:
    """Biases of judges by one column of the votes."""
    roles = ("task", "worker", "label", column)
    if isinstance(source, (Result, Votes, Labels)):
        raise UsageError("covariate is a column of a table of votes: give the table.")
    missing = missing_words(reading)
    table = read_table(
        source, roles, columns={**columns_of(reading), column: column}, missing=missing
    )
    frame = complete_rows(table, missing)
    place = find(frame["task"], votes.codebook.tasks.gather(seen.task))
    last = votes.codebook.classes[-1]
    truth = pl.Series(seen.truth[:, -1]).gather(place)
    said = (frame["label"].cast(pl.String) == str(last)).cast(pl.Float64)
    judge = frame["worker"].cast(pl.String)
    if is_swapped(judge.unique()):
        judge = without_order(judge)
    rows = pl.DataFrame({"judge": judge, "residual": said - truth, column: frame[column]})
    return biases(rows, column)
