"""Everything the default method has to hold: on public crowds, simulated ones, with known answers.

    python benchmarks/field.py                 # every section: some 40 minutes of one core
    python benchmarks/field.py known --draws 5 --sets rte,llmbar
    python benchmarks/field.py decided --keep results    # where it was cut short, it goes on

Sections: crowds (accuracy against the vote and every method, calibration, expected error),
simulated (crowds of independent workers), known (with known answers drawn at random: what is
learned, the expected error's interval), decided (--max-error 0.05), duplicates (ten copies of a bad
judge, and what discounting costs a panel), cost (time against Dawid-Skene) and engines (the same
bits on each). At the end every goal stands beside what was found; the exit code is 1 if one does
not hold.

Data sets are directories with labels.csv (task, worker, label) and gold.csv (task, label), in
QUORATE_DATA, else ../shared/data (A), and in data-second beside it (B). Sets, and draws of known
answers, are shared among processes. The weights of auto's members do not depend on known answers,
and are found once for all draws of these; votes are read once. With --keep what draws of known
answers give is kept in files, and a run that was cut short goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from scipy.stats import beta

import quorate
from quorate import Labels, metrics
from quorate.aggregation import Plan, fitted
from quorate.engines.threads import Threads
from quorate.fitting import Request
from quorate.kernels import Floats
from quorate.model import AnyModel
from quorate.models import METHODS, Auto, DawidSkene, make
from quorate.votes import Votes, find, read_votes
from quorate.votes.gold import read_answers

SCORED = (
    *("rte", "bird", "temp", "trec", "web", "dog", "adult2"),
    *("bm", "sp", "labelme", "d_possent", "weather", "wsd", "s_rel"),
)
LARGE = 80_000  # votes, from which on a tenth of the draws has to do
PIECE = 10  # draws, of which one process makes so many at a time
SLOW = ("m3v", "glad", "ebcc", "naive-bayes")
MAX_ERROR, LEVEL = 0.05, 0.9
KINDS = ("honest", "spammers", "adversaries and skewed classes")
SIMULATED = [(k, v, kind) for k in (2, 3, 5, 10) for v in (2, 3, 5, 10) for kind in KINDS]

console = Console(width=100)


class Goal(NamedTuple):
    """What has to hold, what was found, and whether it does."""

    what: str
    found: str
    holds: bool


class Run(NamedTuple):
    """What was asked for on the command line, and the processes that share the work."""

    data: Path
    sets: tuple[str, ...]
    draws: int | None
    slow: bool
    pool: ProcessPoolExecutor
    keep: Path | None = None

    def groups(self) -> Iterator[tuple[str, list[Path]]]:
        """The directories of A and of B."""
        second = self.data.parent / "data-second"
        groups = {
            "A": [self.data / name for name in SCORED],
            "B": sorted(second.iterdir()) if second.is_dir() else [],
        }
        for group, directories in groups.items():
            chosen = [d for d in directories if d.is_dir() and d.name in (self.sets or (d.name,))]
            if chosen:
                yield group, chosen


class Crowd(NamedTuple):
    name: str
    votes: pl.DataFrame
    read: Votes
    tasks: pl.Series
    classes: pl.Series
    truth: Any  # -1 where it is not known, and the number of classes where nobody said it

    @property
    def labels(self) -> Labels:
        return self.read.labels

    @property
    def vote(self) -> Floats:
        return self.labels.vote_shares()

    def right(self, posterior: Floats, of: Any = slice(None)) -> float:
        """Percent right, ties shared."""
        never = np.zeros((len(self.truth), 1))
        return 100 * (1 - metrics.error(np.hstack([posterior, never])[of], self.truth[of]))


@cache
def crowd(directory: Path) -> Crowd:
    votes = pl.read_csv(directory / "labels.csv", infer_schema=False)
    gold = pl.read_csv(directory / "gold.csv", infer_schema=False)
    read = read_votes(votes)
    task = find(gold["task"], read.codebook.tasks)
    label = find(gold["label"], read.codebook.classes).fill_null(len(read.codebook.classes))
    truth = np.full(len(read.codebook.tasks), -1)
    truth[task.drop_nulls().to_numpy()] = label.filter(task.is_not_null()).to_numpy()
    book = read.codebook
    return Crowd(directory.name, votes, read, book.tasks, book.classes, truth)


@cache
def without_known(directory: Path) -> Any:
    """The result without known answers."""
    return quorate.aggregate(crowd(directory).votes)


# Public crowds as they are.


def on_crowds(run: Run) -> Iterator[Goal]:
    """Accuracy of every method, and auto's calibration and expected error."""
    least, most_behind = {"A": 84.9, "B": 80.5}, {"A": 1, "B": 2}
    for group, sets in run.groups():
        table = Table(group, "vote", "auto", "behind", "ece", "expected", "interval", "wrong")
        scores = dict(zip((d.name for d in sets), run.pool.map(score, sets), strict=True))
        for name, found in scores.items():
            vote, right, ece, error, low, high = found
            cells = (f"{vote:.1f}", f"{right:.1f}", f"{min(right - vote, 0):.1f}", f"{ece:.3f}")
            table.add_row(
                name, *cells, f"{error:.1f}", f"{low:.1f} to {high:.1f}", f"{100 - right:.1f}"
            )
        vote, right, ece, *_ = np.mean(list(scores.values()), axis=0)
        table.add_row("mean", f"{vote:.2f}", f"{right:.2f}", "", f"{ece:.4f}")
        console.print(table)
        others = dict(run.pool.map(partial(accuracy_of, sets), other_methods(sets, run.slow)))
        in_order = sorted(others, key=lambda name: -others[name])
        console.print(", ".join(f"{name} {others[name]:.2f}" for name in in_order))
        yield Goal(f"{group}: accuracy >= {least[group]}", f"{right:.2f}", right >= least[group])
        if group == "A":
            best = in_order[0]
            against = f"{right:.2f} against {best} {others[best]:.2f}"
            yield Goal("A: above every single method", against, right > others[best])
            yield Goal("A: calibration error <= 0.061", f"{ece:.4f}", ece <= 0.061)
        behind = {name: found[0] - found[1] for name, found in scores.items()}
        far = [name for name, by in behind.items() if by > 0.7]
        yield Goal(
            f"{group}: over 0.7 behind the vote on <= {most_behind[group]} sets, never over 3",
            f"{len(far)} sets, at worst by {max(*behind.values(), 0):.1f}",
            len(far) <= most_behind[group] and max(behind.values()) <= 3,
        )
        if "quiz_pokemon" in scores:
            right = scores["quiz_pokemon"][1]
            yield Goal("quiz_pokemon: >= 95 % right", f"{right:.0f} %", right >= 95)


def score(directory: Path) -> tuple[float, ...]:
    """The vote's and auto's accuracy, its calibration error, and the error that it expects with its
    interval, in per cent."""
    one, result = crowd(directory), without_known(directory)
    known = one.truth >= 0
    posterior = np.hstack([result.posterior, np.zeros((len(known), 1))])
    ece = metrics.calibration_error(posterior[known], one.truth[known])
    expected = (100 * share for share in result.expected_error)
    return one.right(one.vote), one.right(result.posterior), ece, *expected


def other_methods(sets: list[Path], slow: bool) -> list[str]:
    """Those that apply to all sets."""
    two = all(crowd(directory).labels.n_classes == 2 for directory in sets)
    names = (name for name in METHODS if name != "auto" and (slow or name not in SLOW))
    return [name for name in names if two or not METHODS[name].two_classes_only]


def accuracy_of(sets: list[Path], name: str) -> tuple[str, float]:
    """The mean accuracy of a method."""
    found = [crowd(d).right(quorate.fit(make(name), crowd(d).labels).posterior) for d in sets]
    return name, float(np.mean(found))


# Simulated crowds.


def on_simulated(run: Run) -> Iterator[Goal]:
    """48 crowds of independent workers: classes, votes of a task, and three kinds of crowds."""
    rows = np.array(list(run.pool.map(score_simulated, range(len(SIMULATED)), chunksize=4)))
    vote, error, ece, expected, delta = rows.mean(axis=0)
    off = np.abs(rows[:, 1] - rows[:, 3]).mean()
    console.print(
        f"{len(rows)} simulated crowds: vote {vote:.1f} % wrong, auto {error:.1f} %, expected"
        f" {expected:.1f} % ({off:.1f} points off in the mean), ece {ece:.4f}, delta {delta:.2f}\n"
    )
    yield Goal("simulated: calibration error <= 0.04", f"{ece:.4f}", ece <= 0.04)
    yield Goal(
        "simulated: expected error within 2 points of the true on average",
        f"{expected:.1f} % expected, {error:.1f} % wrong; single crowds {off:.1f} points off",
        abs(expected - error) <= 2,
    )


def score_simulated(number: int) -> tuple[float, ...]:
    labels, truth = independent(*SIMULATED[number], seed=1000 + number)
    result = quorate.fit(Auto(), labels)
    error = 100 * metrics.error(result.posterior, truth)
    vote = 100 * metrics.error(labels.vote_shares(), truth)
    ece = metrics.calibration_error(result.posterior, truth)
    return vote, error, ece, 100 * result.expected_error.error, result.params.dependence


def independent(n_classes: int, n_votes: int, kind: str, seed: int) -> tuple[Labels, Any]:
    """600 tasks, each labelled by some of 60 workers."""
    random, n_tasks, n_workers = np.random.default_rng(seed), 600, 60
    shares = np.full(n_classes, 1 / n_classes)
    if kind.startswith("adversaries"):
        shares = 0.6 * np.sort(random.dirichlet(np.ones(n_classes)))[::-1]
        shares[0] += 0.4
    truth = random.choice(n_classes, n_tasks, p=shares)
    confusion = np.stack([_worker(n_classes, kind, random) for _ in range(n_workers)])
    task = np.repeat(np.arange(n_tasks), n_votes)
    worker = np.concatenate(
        [random.choice(n_workers, n_votes, replace=False) for _ in range(n_tasks)]
    )
    chances = confusion[worker, truth[task]].cumsum(axis=1)
    label = (random.random(len(task))[:, None] > chances[:, :-1]).sum(axis=1)
    return Labels.from_codes(task, worker, label, n_workers=n_workers, n_classes=n_classes), truth


def _worker(n_classes: int, kind: str, random: np.random.Generator) -> Floats:
    """A confusion matrix ``[truth, label]``."""
    right = np.clip(random.beta(6, 2.5) + random.normal(0, 0.08, n_classes), 0.05, 0.98)
    confusion = np.zeros((n_classes, n_classes))
    for truth in range(n_classes):
        others = np.arange(n_classes) != truth
        confusion[truth, truth] = right[truth]
        confusion[truth, others] = (1 - right[truth]) * random.dirichlet(np.ones(n_classes - 1))
    chance = random.random()
    if kind == "spammers" and chance < 0.35:
        confusion[:] = random.dirichlet(np.full(n_classes, 0.7))
    if kind.startswith("adversaries") and chance < 0.15:
        confusion = np.roll(confusion, 1, axis=1)
    elif kind.startswith("adversaries") and chance < 0.25:
        confusion[:] = random.dirichlet(np.ones(n_classes))
    return confusion


# Known answers.


class Draw(NamedTuple):
    """A result with some answers known, the other tasks, and the known ones' number."""

    result: Any
    rest: Any
    n_known: int


class Piece(NamedTuple):
    """Some draws of the known answers of a set: `n_known` of them, or a quarter where there are
    fewer than four times as many."""

    directory: Path
    n_known: int
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{self.directory.name}-{self.n_known}-{self.seeds[0]}-{len(self.seeds)}"

    def draws(self, max_error: float | None = None) -> Iterator[Draw]:
        one, before = crowd(self.directory), without_known(self.directory)
        named = np.flatnonzero((one.truth >= 0) & (one.truth < len(one.classes)))
        size = self.n_known if len(named) >= 4 * self.n_known else len(named) // 4
        # Known answers may change which groups are discounted, and with these the weights.
        method = Auto() if "group" in before.per_worker else Auto().judged(before.params)
        plan = Plan(method, Request(Threads(1)), discount=None, max_error=max_error)
        for seed in self.seeds:
            picked = np.random.default_rng(seed).permutation(named)[:size]
            gold = pl.DataFrame(
                {"task": one.tasks.gather(picked), "label": one.classes.gather(one.truth[picked])}
            )
            rest = np.setdiff1d(np.flatnonzero(one.truth >= 0), picked)
            yield Draw(fitted(one.read, read_answers(gold, {}), plan), rest, size)


Rows = list[tuple[float, ...]]


def by_draw(
    run: Run, sets: Sequence[Path], n_known: int, n_draws: int, score: Callable[[Piece], Rows]
) -> dict[str, Floats]:
    """The rows of numbers ``[draw, number]`` that a function gives for each set, by pieces."""
    pieces = []
    for directory in sets:
        is_large = crowd(directory).labels.n_labels > LARGE
        seeds = range(max(n_draws // 10, 1) if is_large else n_draws)
        pieces += [
            Piece(directory, n_known, tuple(seeds[start : start + PIECE]))
            for start in range(0, len(seeds), PIECE)
        ]
    rows: dict[str, Rows] = {directory.name: [] for directory in sets}
    found = run.pool.map(partial(kept, run.keep, score), pieces)
    for piece, of_piece in zip(pieces, found, strict=True):
        rows[piece.directory.name] += of_piece
    return {name: np.array(of_set, dtype=float) for name, of_set in rows.items()}


def kept(place: Path | None, score: Callable[[Piece], Rows], piece: Piece) -> Rows:
    """What a function gives for a piece, or gave before."""
    if place is None:
        return score(piece)
    path = place / f"{score.__name__}-{piece.name}.json"
    if path.exists():
        rows: Rows = json.loads(path.read_text())
        return rows
    rows = [tuple(map(float, row)) for row in score(piece)]
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(rows))
    unfinished.replace(path)
    return rows


def with_known(run: Run) -> Iterator[Goal]:
    """What 50 known answers teach, and the interval of the expected error."""
    of_all = []
    for group, sets in run.groups():
        table = Table(group, "known", "without", "with", "gain", "held", "width", "binomial's")
        rows = by_draw(run, sets, 50, run.draws or 20, score_known)
        found = [rows[directory.name].mean(axis=0) for directory in sets]
        for directory, row in zip(sets, found, strict=True):
            before, after, held, width, binomial, known = row
            cells = (f"{before:.1f}", f"{after:.1f}", f"{after - before:+.1f}", f"{held:.2f}")
            table.add_row(directory.name, f"{known:.0f}", *cells, f"{width:.3f}", f"{binomial:.3f}")
        before, after, held, width, binomial, _ = np.mean(found, axis=0)
        cells = (f"{before:.2f}", f"{after:.2f}", f"{after - before:+.2f}", f"{held:.3f}")
        table.add_row("mean", "", *cells, f"{width:.3f}", f"{binomial:.3f}")
        console.print(table)
        gains = {d.name: row[1] - row[0] for d, row in zip(sets, found, strict=True)}
        worst = min(gains, key=lambda name: gains[name])
        yield Goal(f"{group}: known answers help", f"{after - before:+.2f} points", after > before)
        least = f"{gains[worst]:+.2f} points on {worst}"
        yield Goal(f"{group}: no set worse by more than 0.5", least, gains[worst] >= -0.5)
        if "llmbar" in gains:
            right = found[list(gains).index("llmbar")][1]
            yield Goal("llmbar with known answers: >= 86.0 %", f"{right:.1f} %", right >= 86)
        of_all += found
    held, width, binomial = np.mean(of_all, axis=0)[2:5]
    widths = f"{width:.3f} against {binomial:.3f}"
    yield Goal("interval of the expected error: no wider than binomial", widths, width <= binomial)
    yield Goal("and holds the truth in >= 87 % of draws", f"{held:.1%}", held >= 0.87)


def score_known(piece: Piece) -> Rows:
    """Accuracy without and with known answers on the others, whether the interval holds the truth,
    its width and the binomial's, and the number of known answers."""
    one, without = crowd(piece.directory), without_known(piece.directory).posterior
    rows: Rows = []
    for result, rest, n in piece.draws():
        right = one.right(result.posterior, rest)
        expected = result.expected_error
        held = expected.low <= 1 - right / 100 <= expected.high
        wrong = 0.0 if result.check is None else float(n - result.check.right.sum())
        low, high = binomial_interval(wrong, n)
        width = expected.high - expected.low
        rows.append((one.right(without, rest), right, held, width, high - low, n))
    return rows


def binomial_interval(wrong: float, n: int) -> tuple[float, float]:
    """Clopper and Pearson's."""
    tail = (1 - LEVEL) / 2
    low = float(beta.ppf(tail, wrong, n - wrong + 1)) if wrong else 0.0
    return low, float(beta.ppf(1 - tail, wrong + 1, n - wrong)) if wrong < n else 1.0


def decided(run: Run) -> Iterator[Goal]:
    """--max-error 0.05 with 100 known answers, which are decided too, as in the result."""
    rows: dict[str, Decided] = {}
    for group, sets in run.groups():
        table = Table(group, *Decided._fields, "of hindsight")
        for name, draws in by_draw(run, sets, 100, run.draws or 200, score_decided).items():
            row = rows[name] = Decided(*draws.mean(axis=0))
            cells = (f"{x:.0f}" if x >= 5 else f"{x:.3f}" for x in row)
            table.add_row(name, *cells, f"{row.of_hindsight:.2f}")
        console.print(table)
    judged = [row for row in rows.values() if row.hindsight > 0.5]
    promised = {name: row for name, row in rows.items() if row.promised}
    if judged:
        mean = float(np.mean([row.of_hindsight for row in judged]))
        only = [row.of_hindsight for row in judged if row.promised]
        found = f"{mean:.3f} over {len(judged)} sets; promised {np.mean(only):.3f} over {len(only)}"
        yield Goal("--max-error 0.05 decides >= 0.8 of hindsight's share", found, mean >= 0.8)
    if promised:
        worst = max(promised, key=lambda name: promised[name].wrong)
        most = promised[worst].wrong
        above = np.mean([row.above for row in promised.values()])
        yield Goal(
            "promised: on average over draws at most 5 % of the decided wrong, on every set",
            f"{most:.2%} ({worst}); above 5 % in {above:.0%} of single draws",
            most <= MAX_ERROR,
        )


class Decided(NamedTuple):
    """Number of known answers; shares of the tasks that are decided, now and in hindsight in the
    same order; the share of the decided that is wrong, also without the known ones, in how many
    draws it is above what was asked, and whether that was promised."""

    known: float
    decided: float
    hindsight: float
    wrong: float
    of_others: float
    above: float
    promised: float

    @property
    def of_hindsight(self) -> float:
        return self.decided / self.hindsight


def score_decided(piece: Piece) -> Rows:
    """A row of `Decided` for each draw."""
    one = crowd(piece.directory)
    rows: Rows = []
    for result, rest, n in piece.draws(max_error=MAX_ERROR):
        confidence = result.confidence[rest]
        wrong = result.answers[rest] != one.truth[rest]
        in_order = wrong[np.argsort(-confidence, kind="stable")]
        errors = in_order.cumsum() / (n + np.arange(1, len(rest) + 1))
        enough = np.flatnonzero(errors <= MAX_ERROR)
        best = (n + (enough[-1] + 1 if len(enough) else 0)) / (n + len(rest))
        chosen = confidence >= result.min_confidence
        share = (n + chosen.sum()) / (n + len(rest))
        error = wrong[chosen].sum() / (n + chosen.sum())
        of_others = wrong[chosen].mean() if chosen.any() else 0.0
        promised = result.decision.promised
        rows.append(Decided(n, share, best, error, of_others, error > MAX_ERROR, promised))
    return rows


# Correlated workers.


def duplicates(run: Run) -> Iterator[Goal]:
    """Ten copies of one bad judge among five good ones: how many labels they change; and a panel of
    LLM judges with and without discounts."""
    changed = list(run.pool.map(share_changed, range(run.draws or 20)))
    found = f"{np.mean(changed):.2%}, at most {np.max(changed):.2%}"
    yield Goal("ten copies of a bad judge: <= 1 % of labels change", found, max(changed) <= 0.01)
    for directory in (d for _, sets in run.groups() for d in sets if d.name == "llmbar"):
        one = crowd(directory)
        with_discount = one.right(without_known(directory).posterior)
        without = one.right(quorate.aggregate(one.votes, discount=False).posterior)
        found = f"{with_discount:.1f} % with, {without:.1f} % without"
        yield Goal("llmbar: discounting does not lose", found, with_discount >= without)


def share_changed(seed: int) -> float:
    random = np.random.default_rng(seed)
    truth = random.integers(2, size=1000)
    judges = [np.where(random.random(1000) < 0.85, truth, 1 - truth) for _ in range(5)]
    copies = [np.where(random.random(1000) < 0.55, truth, 1 - truth)] * 10
    without, with_copies = (
        quorate.aggregate(np.stack(some, axis=1)).answers
        for some in (judges + copies[:1], judges + copies)
    )
    return float((without != with_copies).mean())


# Cost, and engines.


def cost(run: Run) -> Iterator[Goal]:
    """Processor time of a fit of auto for each of Dawid-Skene's, at a million votes and more."""
    worst = 0.0
    for n_workers, n_tasks, n_votes, n_classes in (
        *((1000, 200_000, 5, 2), (2000, 200_000, 5, 4), (10_000, 200_000, 5, 4)),
        *((20_000, 200_000, 5, 2), (2000, 100_000, 10, 2), (2000, 400_000, 5, 3)),
    ):
        crowd = quorate.simulate(n_workers, n_tasks, n_votes, n_classes=n_classes, seed=1)
        ratios = []
        for _ in range(3):
            theirs, ours = (_seconds(model, crowd.labels) for model in (DawidSkene(), Auto()))
            ratios.append(ours / theirs)
        worst = max(worst, float(np.median(ratios)))
        console.print(
            f"{crowd.labels.n_labels:,} votes, {n_votes} a task, of {n_workers:,} workers in"
            f" {n_classes} classes: auto takes {np.median(ratios):.1f} times as long as dawid-skene"
        )
    yield Goal("cost: <= 4 fits of Dawid-Skene", f"at most {worst:.1f}", worst <= 4)


def _seconds(model: AnyModel, labels: Labels) -> float:
    began = time.process_time()
    quorate.fit(model, labels)
    return time.process_time() - began


def engines(run: Run) -> Iterator[Goal]:
    """One crowd on every engine that is installed."""
    votes = quorate.simulate(300, 20_000, 5, n_classes=3, seed=1).votes
    with tempfile.TemporaryDirectory() as store:
        ways: dict[str, dict[str, Any]] = {"1 thread": {"threads": 1}, "2 threads": {"threads": 2}}
        ways["disk"] = {"engine": "disk", "store": store}
        if find_spec("ray") is not None:
            ways["ray"] = {"engine": "ray"}
        found = {name: np.asarray(_posterior(votes, how)) for name, how in ways.items()}
    first = found["1 thread"]
    same = [name for name, posterior in found.items() if np.array_equal(posterior, first)]
    yield Goal("the same bits on every engine", ", ".join(same), len(same) == len(found))


def _posterior(votes: Any, how: dict[str, Any]) -> Floats:
    return quorate.aggregate(votes, **how).posterior


SECTIONS: dict[str, Callable[[Run], Iterator[Goal]]] = {
    "crowds": on_crowds,
    "simulated": on_simulated,
    "known": with_known,
    "decided": decided,
    "duplicates": duplicates,
    "cost": cost,
    "engines": engines,
}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS], default=[])
    parser.add_argument("--draws", type=int, help="by default 20, and 200 for decided")
    parser.add_argument("--sets", default="")
    parser.add_argument("--keep", type=Path, help="Directory for the results of single draws.")
    parser.add_argument("--slow", action="store_true", help="Every method, slow ones too.")
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 8))
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA", default))
    arguments = parser.parse_args(given)
    names = tuple(arguments.sets.split(",")) if arguments.sets else ()
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    goals = []
    with ProcessPoolExecutor(arguments.processes, mp_context=get_context("spawn")) as pool:
        how = (names, arguments.draws, arguments.slow, pool, arguments.keep)
        run = Run(Path(arguments.data), *how)
        for name in arguments.sections or SECTIONS:
            began = time.perf_counter()
            goals += list(SECTIONS[name](run))
            console.print(f"{name}: {time.perf_counter() - began:.0f} s\n")
    table = Table("what has to hold", "found", "holds")
    for goal in goals:
        table.add_row(goal.what, goal.found, "yes" if goal.holds else "[bold]NO[/bold]")
    console.print(table)
    return 0 if all(goal.holds for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
