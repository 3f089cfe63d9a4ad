"""`scores`: a consensus score for each task, from judges who differ in offset, scale and noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple, Unpack
from uuid import uuid4

import numpy as np
import polars as pl

from quorate import kernels
from quorate.arguments import refuse_unknown, some_of
from quorate.card import Listing, card
from quorate.engines import Scale, engine_for
from quorate.engines.engine import Engine, Fold, stateless
from quorate.engines.states import read_value, write_value
from quorate.errors import DataError, UsageError
from quorate.kernels import Floats, Rows
from quorate.labels import Labels
from quorate.model import dense
from quorate.scoring.model import FEW_JUDGES, Params, ScoreModel, reliability
from quorate.votes import KnownAnswers, Reading, Votes, gold_for, read_votes, shown
from quorate.votes.blocks import Blocks, MemoryBlocks
from quorate.votes.doubts import are_numbers
from quorate.votes.items import with_columns_of
from quorate.votes.store import Progress
from quorate.votes.tables import in_parts

MAX_ITER, TOL = 300, 1e-4  # of the standard deviation of scores
ENOUGH_KNOWN = 5  # known scores, for the consensus to be put on their scale
LEAST_INFLATION = 0.05


class Moments(NamedTuple):
    """Number, sum and sum of squares of scores."""

    n: float
    total: float
    squares: float


class Calibration(NamedTuple):
    """What makes a consensus a known score: ``intercept + slope * consensus``, by so many `known`
    ones, and by how much the variance has to be multiplied for intervals to hold of these."""

    intercept: float = 0.0
    slope: float = 1.0
    inflation: float = 1.0
    known: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Consensus scores with intervals, and what is known of the judges.

    Scores are on the scale of the judges, each counting by the information that it has: their mean
    offset is 0, and their mean scale 1; where known scores are given, on the scale of these."""

    scores_frame: pl.DataFrame | pl.LazyFrame
    workers_frame: pl.DataFrame
    tasks: int
    ratings: int
    reliability: float
    single_reliability: float
    calibration: Calibration | None
    converged: bool
    iterations: int
    level: float
    votes: Votes
    notes: tuple[str, ...] = ()

    @property
    def scores(self) -> Any:
        """A row for each task, in the caller's kind of table: task, score, its interval (`low`,
        `high`), the plain `mean` and the number of `ratings`; of votes on disk a polars query."""
        return self.votes.kind.give(self.scores_frame)

    @property
    def workers(self) -> Any:
        """A row for each judge: ratings, offset (how much higher the scores are at the mean grade)
        and scale (how far they are spread, 1 on average), each with its interval, noise (standard
        deviation) and reliability, the share of the variance of the scores that is the grades'."""
        return self.votes.kind.give(self.workers_frame)

    def __repr__(self) -> str:
        workers = len(self.workers_frame)
        lines = [
            f"Scores of {self.tasks:,} tasks by {workers:,} judges, {self.ratings:,} ratings",
            f"  reliability of the consensus {self.reliability:.3f}, of one judge"
            f" {self.single_reliability:.3f}",
            "  tables   .scores, .workers",
        ]
        return "\n".join([*lines, *(f"  note     {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        facts = {
            "tasks": f"{self.tasks:,}",
            "judges": f"{len(self.workers_frame):,}",
            "ratings": f"{self.ratings:,}",
            "reliability": f"{self.reliability:.3f}, of one judge {self.single_reliability:.3f}",
        }
        names = ("worker", "ratings", "offset", "scale", "noise", "reliability")
        rows = self.workers_frame.select(names).rows()
        return card("Scores", facts, [Listing("Judges", names, rows)], self.notes)

    def as_dict(self) -> dict[str, Any]:
        """What `quorate scores --json` prints."""
        return {
            "tasks": self.tasks,
            "ratings": self.ratings,
            "reliability": self.reliability,
            "single_reliability": self.single_reliability,
            "calibration": None if self.calibration is None else self.calibration._asdict(),
            "level": self.level,
            "converged": self.converged,
            "iterations": self.iterations,
            "workers": self.workers_frame.to_dicts(),
            "notes": list(self.notes),
        }


class ScoreOptions(Reading, Scale, total=False):
    """Keyword arguments of `scores` beside those in its signature."""


def scores(
    votes: Any,
    *,
    gold: Any = None,
    values: Mapping[Any, float] | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
    **how: Unpack[ScoreOptions],
) -> Scores:
    """Turn numeric ratings into a consensus score for each task, and say how judges rate.

    `votes`, the options of reading them and those of votes larger than memory are as for
    `aggregate`; labels are numbers, or `values` says which number each label stands for. Not every
    judge has to rate every task. Judges may differ in offset, in scale and in noise, which are
    learned; single ratings far from the others count little.

    `gold` holds known scores of some tasks: a table of task and label, a mapping, or a column of
    the votes. The consensus is then put on their scale, and intervals are such that they hold of
    known scores. `level` is that of the intervals, and `progress` is told what is under way.

    Examples:
        >>> ann, bob, cyd = [1, 2, 3, 4, 5, 6], [3, 4, 5, 6, 7, 8], [1, 3, 3, 4, 5, 5]
        >>> rows = [(t, who, said[t]) for who, said in (("a", ann), ("b", bob), ("c", cyd))
        ...         for t in range(6)]
        >>> found = scores(rows)
        >>> found.scores.sort("score")["task"].to_list()
        [0, 1, 2, 3, 4, 5]
        >>> found.workers.sort("offset")["worker"].to_list()[-1]
        'b'
    """
    refuse_unknown("scores", how, (*Reading.__annotations__, *Scale.__annotations__))
    if not 0 < level < 1:
        raise UsageError(f"level is a probability such as 0.95, not {level!r}.")
    if how.get("resume"):
        raise UsageError("scores cannot resume an interrupted run: leave it out.")
    reading: Reading = some_of(how, Reading)
    scale: Scale = some_of(how, Scale)
    with engine_for(progress, **scale) as engine:
        read = read_votes(votes, storage=engine.storage, gold=gold, **reading)
        known = read.known if gold is None else gold_for(votes, gold, reading)
        return _scored(read, known, Plan(engine, values, level, progress))


class Plan(NamedTuple):
    """How scores are found."""

    engine: Engine
    values: Mapping[Any, float] | None
    level: float
    progress: Progress | None


class Unit(NamedTuple):
    """Mean and standard deviation of all scores, by which the model's are told."""

    mean: float
    sd: float


def _scored(votes: Votes, known: KnownAnswers | None, plan: Plan) -> Scores:
    numbers = numbers_of(votes.codebook.classes, plan.values)
    blocks, engine = votes.blocks, plan.engine
    fold = stateless(engine, blocks)
    unit = _unit(fold.sweep(_moments, numbers, keep=False))
    model = ScoreModel.of((numbers - unit.mean) / unit.sd)
    params, iterations, converged = climb(model, fold, blocks.shape.n_workers, plan.progress)
    grades, summary = concluded(model, fold, params, blocks, engine)
    answers = None if known is None else Known.of(known, blocks, plan.values)
    calibration = _calibration(grades, unit, answers)
    z = NormalDist().inv_cdf((1 + plan.level) / 2)
    ratings = dense(summary.ratings)[:, 0]
    return Scores(
        scores_frame=_table(votes, grades, Telling(unit, calibration, answers, z)),
        workers_frame=_workers(votes, params, ratings, Telling(unit, calibration, None, z)),
        tasks=blocks.n_tasks,
        ratings=blocks.n_labels,
        reliability=float(np.clip(1 - summary.variance / summary.tasks / params.spread, 0, 1)),
        single_reliability=float(ratings @ reliability(params) / ratings.sum()),
        calibration=calibration if calibration.known else None,
        converged=converged,
        iterations=iterations,
        level=plan.level,
        votes=votes,
        notes=(*votes.notes, *_notes(answers, calibration, blocks, converged)),
    )


def numbers_of(classes: pl.Series, values: Mapping[Any, float] | None) -> Floats:
    """The number that each class stands for."""
    if values is not None:
        missing = [name for name in classes if name not in values]
        if missing:
            raise UsageError(f"values has no number for the label {shown(missing[0])}.")
        numbers = np.array([float(values[name]) for name in classes])
    elif classes.dtype == pl.Boolean or are_numbers(classes):
        numbers = classes.cast(pl.Float64).to_numpy().astype(np.float64)
    else:
        text = classes.cast(pl.String)
        odd = text.filter(text.cast(pl.Float64, strict=False).is_null())
        raise DataError(
            f"The label {shown(odd[0])} is no number: say with values (--values"
            f" {odd[0]}=1,...) which number each label stands for."
        )
    if not np.isfinite(numbers).all():
        raise DataError("A score is infinite: leave such scores out, or mark them as missing.")
    return numbers


def _moments(block: Labels, numbers: Floats, local: Any) -> tuple[Any, Moments]:
    x = numbers[block.label]
    return local, Moments(len(x), float(x.sum()), float((x * x).sum()))


def _unit(moments: Moments) -> Unit:
    mean = moments.total / moments.n
    variance = max(moments.squares / moments.n - mean**2, 0.0)
    rounding = 1e-12 * moments.squares / moments.n  # all that is left where scores are equal
    return Unit(mean, float(np.sqrt(variance)) if variance > rounding else 1.0)


def climb(
    model: ScoreModel, fold: Fold, n_workers: int, progress: Progress | None = None
) -> tuple[Params, int, bool]:
    """The parameters at which EM stops, after how many iterations, and whether it converged."""
    params = model.start(n_workers)
    for iteration in range(1, MAX_ITER + 1):
        before, params = params, model.estimate(fold.sweep(model.sweep, params, keep=False), params)
        if progress:
            progress(f"iteration {iteration} of {MAX_ITER} at most", iteration, MAX_ITER)
        if _moved(before, params) < TOL:
            return params, iteration, True
    return params, MAX_ITER, False


def _moved(before: Params, after: Params) -> float:
    """The largest change of a parameter."""
    pairs = zip(before[:3], after[:3], strict=True)
    return max(float(np.abs(one - other).max(initial=0.0)) for one, other in pairs)


# What is kept of tasks: a row of grade, variance, mean and number of ratings for each.


class Summary(NamedTuple):
    """Number of ratings of each judge, and of tasks with the sum of the variances of grades."""

    ratings: Floats | Rows
    variance: float
    tasks: float


Keep = Callable[[Labels, Floats], None]


@dataclass(frozen=True, eq=False)
class Conclude:
    """The last sweep, for the grades; `keep` is given those of a block."""

    model: ScoreModel
    keep: Keep

    def __call__(self, block: Labels, params: Params, local: Any) -> tuple[Any, Summary]:
        grades = self.model.grades(block, params)
        variance = self.model.variance(block, params, grades)
        n = block.n_said
        mean = kernels.task_sums(block.indptr, self.model.values[block.label]) / np.maximum(n, 1)
        self.keep(block, np.stack([params.mean + grades.mean, variance, mean, n], axis=1))
        ratings = block.crowd.scatter(np.ones((block.n_labels, 1)))
        return local, Summary(ratings, float(variance[n > 0].sum()), float((n > 0).sum()))


@dataclass(frozen=True, eq=False)
class Grades:
    """The rows of all tasks, in the parts of the blocks' segments: an array, or files."""

    rows: Floats | None = None
    place: Path | None = None
    starts: Sequence[int] = (0,)

    def part(self, index: int) -> Floats:
        if self.rows is not None:
            return self.rows
        assert self.place is not None
        rows: Floats = read_value(_file(self.place, self.starts[index]))
        return rows

    def parts(self) -> Iterator[Floats]:
        return map(self.part, range(len(self.starts)))


@dataclass(frozen=True)
class KeepInFiles:
    """Writes the rows of each block to a file, from whichever process sweeps it."""

    place: Path

    def __call__(self, block: Labels, rows: Floats) -> None:
        write_value(_file(self.place, block.first_task), rows)


def _file(place: Path, start: int) -> Path:
    return place / f"{start:015d}.rows"


def concluded(
    model: ScoreModel, fold: Fold, params: Params, blocks: Blocks, engine: Engine
) -> tuple[Grades, Summary]:
    """The grades of all tasks, in memory if the votes are, else in files."""
    if isinstance(blocks, MemoryBlocks) and engine.shares_memory:
        rows = np.empty((blocks.n_tasks, 4))

        def keep(block: Labels, some: Floats) -> None:
            rows[block.first_task : block.first_task + block.n_tasks] = some

        summary = fold.sweep(Conclude(model, keep), params, keep=False)
        return Grades(rows), summary
    place = fold.blocks.run / f"scores-{uuid4().hex}"
    place.mkdir(parents=True, exist_ok=True)
    summary = fold.sweep(Conclude(model, KeepInFiles(place)), params, keep=False)
    files = Grades(place=place, starts=fold.blocks.starts)
    if isinstance(blocks, MemoryBlocks):
        return Grades(np.concatenate(list(files.parts()))), summary
    return files, summary


# Known scores.


@dataclass(frozen=True, eq=False)
class Known:
    """Known scores of the tasks of each segment, NaN where there is none; how many there are, of
    tasks without ratings, and of rows that lack a field."""

    segments: Sequence[Floats]
    given: int
    missing: int

    @classmethod
    def of(cls, answers: KnownAnswers, blocks: Blocks, values: Mapping[Any, float] | None) -> Known:
        numbers = pl.Series(numbers_of(answers.labels, values), dtype=pl.Float64)
        rows = blocks.rows_in(answers.tasks)
        found = [numbers.gather(row).fill_null(np.nan).to_numpy() for row in rows]
        return cls(found, len(numbers), answers.missing)

    @property
    def matched(self) -> int:
        return int(sum(np.isfinite(part).sum() for part in self.segments))


def _calibration(grades: Grades, unit: Unit, known: Known | None) -> Calibration:
    """The line from consensus to known scores, by least squares; only its height where these are
    few, or do not rise with the consensus."""
    if known is None or known.matched < ENOUGH_KNOWN:
        return Calibration()
    pairs = [
        (rows[np.isfinite(part)], part[np.isfinite(part)])
        for rows, part in zip(grades.parts(), known.segments, strict=True)
    ]
    rows, y = (np.concatenate(column) for column in zip(*pairs, strict=True))
    x, variance = unit.mean + unit.sd * rows[:, 0], unit.sd**2 * rows[:, 1]
    centred = x - x.mean()
    slope = float(centred @ y / max(float(centred @ centred), 1e-300))
    fits_slope = len(y) >= 2 * ENOUGH_KNOWN and slope > 0
    slope = slope if fits_slope else 1.0
    intercept = float((y - slope * x).mean())
    off = (y - intercept - slope * x) ** 2 / np.maximum(slope**2 * variance, 1e-300)
    inflation = float(off.sum() / (len(y) - 1 - fits_slope))
    return Calibration(intercept, slope, max(inflation, LEAST_INFLATION), len(y))


def _notes(
    known: Known | None, calibration: Calibration, blocks: Blocks, converged: bool
) -> list[str]:
    notes = []
    if known is not None and known.missing:
        notes.append(f"{known.missing} rows of gold lack a field, and are left out.")
    if known is not None and known.matched < known.given:
        apart = known.given - known.matched
        notes.append(f"{apart} of {known.given} known scores are of tasks without ratings.")
    if known is not None and not calibration.known:
        notes.append(
            f"With fewer than {ENOUGH_KNOWN} known scores the consensus stays on the judges' scale."
        )
    if not converged:
        notes.append(f"It had not converged after {MAX_ITER} iterations.")
    if 1 < blocks.shape.n_workers <= FEW_JUDGES:
        notes.append("With two judges it cannot be told who is noisier: they have the same noise.")
    if blocks.n_labels <= blocks.n_tasks:
        notes.append("No task has two ratings: how far they are to be trusted cannot be told.")
    return notes


# Tables.


class Telling(NamedTuple):
    """What turns the model's numbers into those that are told."""

    unit: Unit
    calibration: Calibration
    known: Known | None
    z: float


def _table(votes: Votes, grades: Grades, telling: Telling) -> pl.DataFrame | pl.LazyFrame:
    """The table of scores; a query where they are in files."""
    segments = votes.blocks.segments()

    def frame(index: int) -> pl.DataFrame:
        known = None if telling.known is None else telling.known.segments[index]
        return _frame(segments[index], grades.part(index), telling, known)

    if grades.rows is not None:
        return with_columns_of(votes.items, frame(0))

    def frames() -> Iterator[pl.DataFrame]:
        yield from map(frame, range(len(segments)))

    return with_columns_of(votes.items, in_parts(frames, frame(0).schema))


def _frame(tasks: pl.Series, rows: Floats, telling: Telling, known: Floats | None) -> pl.DataFrame:
    unit, calibration = telling.unit, telling.calibration
    grade, variance, mean, ratings = rows.T
    score = calibration.intercept + calibration.slope * (unit.mean + unit.sd * grade)
    sd = calibration.slope * unit.sd * np.sqrt(variance * calibration.inflation)
    half = telling.z * sd
    if known is not None:
        half = np.where(np.isfinite(known), 0.0, half)
        score = np.where(np.isfinite(known), known, score)
    return pl.DataFrame(
        {
            "task": tasks,
            "score": score,
            "low": score - half,
            "high": score + half,
            "mean": unit.mean + unit.sd * mean,
            "ratings": ratings.astype(np.int64),
        }
    )


def _workers(votes: Votes, params: Params, ratings: Floats, telling: Telling) -> pl.DataFrame:
    """The table of judges, on the scale of the scores that are told."""
    unit, (intercept, slope, *_), z = telling.unit, telling.calibration, telling.z
    centre = unit.mean + unit.sd * params.mean
    offset = unit.sd * params.offset + centre - (intercept + slope * centre)
    scale = params.scale / slope
    half = z * unit.sd * np.sqrt(params.covariance[:, 0])
    wide = z * np.sqrt(params.covariance[:, 1]) / slope
    return pl.DataFrame(
        {
            "worker": votes.codebook.workers,
            "ratings": ratings.astype(np.int64),
            "offset": offset,
            "offset_low": offset - half,
            "offset_high": offset + half,
            "scale": scale,
            "scale_low": scale - wide,
            "scale_high": scale + wide,
            "noise": unit.sd * np.sqrt(params.noise),
            "reliability": reliability(params),
        }
    )
