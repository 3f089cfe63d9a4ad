"""Whether estimates hold what they promise: coverage and width of their intervals.

    python benchmarks/estimate.py                              # everything
    python benchmarks/estimate.py simulated --draws 200 --sizes 300
    python benchmarks/estimate.py real judges plan --real-draws 100

Sections: simulated (coverage and width: known answers x shares x panels x tasks), real (the same on
public crowds, known answers drawn again and again), judges (width against the best single judge in
hindsight, by truescore's PPI++ for the same estimand), plan (answers drawn by the plan against
answers drawn evenly). Every section ends with its goals, each with what was found and a verdict.

Data sets are directories with labels.csv and gold.csv, in QUORATE_DATA, else ../shared/data (A),
and in data-second beside it (B). What is drawn is drawn from the seed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of small matrices, for which threads only wait

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array

import quorate
from quorate import Labels
from quorate.estimation import alone, calibration, prediction, sampling
from quorate.estimation.figures import Interval, Tasks, figure
from quorate.estimation.positions import is_swapped, one_judge
from quorate.kernels import Floats
from quorate.votes import find, read_votes

LEVEL = 0.95
KNOWN, SHARES, PANELS = (20, 50, 200), (0.02, 0.2, 0.5), ("good", "biased", "correlated")
SETS = 8  # simulated panels of a kind; each gets its part of the draws
SCORED = (
    *("rte", "bird", "temp", "trec", "web", "dog", "adult2"),
    *("bm", "sp", "labelme", "d_possent", "weather", "wsd", "s_rel"),
)

share_alone = lru_cache(maxsize=None)(alone.share_of_these)


class Problem(NamedTuple):
    """Tasks whose answers (0 or 1) are all known, what the consensus expects, and the votes."""

    name: str
    truth: Floats
    consensus: Floats
    votes: csr_array

    @property
    def share(self) -> float:
        return float(self.truth.mean())


class Line(NamedTuple):
    """Coverage and mean width of the intervals, and those of the answers alone."""

    coverage: float
    width: float
    coverage_alone: float
    width_alone: float

    @property
    def ratio(self) -> float:
        return self.width / self.width_alone


def estimated(
    problem: Problem, known: NDArray[np.intp], random: np.random.Generator, these: bool = True
) -> Interval:
    """The estimate from the answers of some tasks, drawn evenly."""
    n, n_tasks = len(known), len(problem.truth)
    value = problem.truth[known]
    of = prediction.Known(known, value, random.permutation(n) % prediction.FOLDS)
    answers = calibration.Answers.even(value, n_tasks)
    found = calibration.evidence(
        prediction.candidates(problem.consensus, problem.votes, of), answers
    )
    tasks = Tasks(n_tasks, these, whole=True)
    interval = figure(found, found.log_weight, answers, tasks, LEVEL)
    if not these:
        return interval
    alone_ = Interval(0.0, *share_alone(round(value.sum()), n, n_tasks, LEVEL))
    return interval.no_wider_than(alone_)


def measured(problems: list[Problem], n: int, draws: int, seed: int) -> Line:
    """Coverage and width over draws of the known answers, shared among the problems."""
    random = np.random.default_rng([seed, n])
    rows = []
    for draw in range(draws):
        problem = problems[draw % len(problems)]
        n_tasks, share = len(problem.truth), problem.share
        known = random.permutation(n_tasks)[:n]
        found = estimated(problem, known, random)
        low, high = share_alone(round(problem.truth[known].sum()), n, n_tasks, LEVEL)
        held = [a - 1e-9 <= share <= b + 1e-9 for a, b in ((found.low, found.high), (low, high))]
        rows.append((held[0], found.width, held[1], high - low))
    return Line(*np.mean(rows, axis=0).tolist())


def verdict(what: str, goal: str, found: str, holds: bool) -> None:
    print(f"  {'holds ' if holds else 'FAILS '} {what}: {goal}; found {found}", flush=True)


# Simulated panels


def panel_of(kind: str, n_tasks: int, share: float, random: np.random.Generator) -> Problem:
    """Seven judges who are right on 72 to 92 % of the tasks; biased ones lean to the class, and
    four of the correlated ones repeat the same judge in half of their votes."""
    truth = np.zeros(n_tasks, dtype=np.int64)
    truth[random.permutation(n_tasks)[: max(round(share * n_tasks), 1)]] = 1
    accuracy = random.uniform(0.72, 0.92, 7)
    of_class, of_others = accuracy, accuracy
    if kind == "biased":
        of_class, of_others = np.minimum(accuracy + 0.1, 0.97), accuracy - 0.15
    right = random.random((n_tasks, 7)) < np.where(truth[:, None] == 1, of_class, of_others)
    if kind == "correlated":
        repeats = random.random((n_tasks, 7)) < np.array([0.55] * 4 + [0.0] * 3)
        right = np.where(repeats, (random.random(n_tasks) < 0.78)[:, None], right)
    return _problem(
        f"{kind} {share:.0%}", truth, np.where(right, truth[:, None], 1 - truth[:, None])
    )


def _problem(name: str, truth: NDArray[np.int64], said: NDArray[np.int64]) -> Problem:
    n_tasks, n_judges = said.shape
    task, judge = np.divmod(np.arange(n_tasks * n_judges), n_judges)
    labels = Labels.from_codes(task, judge, said.ravel(), n_classes=2)
    consensus = quorate.aggregate(labels).posterior[:, 1]
    return Problem(name, truth.astype(np.float64), consensus, csr_array(2.0 * said - 1))


def on_simulated(arguments: argparse.Namespace) -> None:
    """27 cells for each number of tasks."""
    lines = {}
    sizes = [int(size) for size in arguments.sizes.split(",")]
    for share, kind, n_tasks in product(SHARES, PANELS, sizes):
        random = np.random.default_rng([arguments.seed, n_tasks, int(100 * share), len(kind)])
        n_sets = min(SETS, arguments.draws)
        problems = [panel_of(kind, n_tasks, share, random) for _ in range(n_sets)]
        for n in KNOWN:
            line = measured(problems, n, arguments.draws, arguments.seed)
            lines[share, kind, n_tasks, n] = line
            print(
                f"{share:4.0%} {kind:<10} {n_tasks:5,} tasks {n:3} known: covers"
                f" {line.coverage:.3f} (alone {line.coverage_alone:.3f}), width {line.width:.4f},"
                f" {line.ratio:.3f} of the answers alone",
                flush=True,
            )
    least = min(line.coverage for line in lines.values())
    most = max(line.coverage for (share, _, _, n), line in lines.items() if share * n >= 5)
    widest = max(line.ratio for line in lines.values())
    print(f"simulated: {len(lines)} cells, {arguments.draws:,} draws each")
    verdict("coverage", "at least 0.93 in every cell", f"{least:.3f}", least >= 0.93)
    verdict(
        "coverage with 5 or more expected of the rarer class",
        "at most 0.98",
        f"{most:.3f}",
        most <= 0.98,
    )
    verdict("width", "at most 1.03 of the answers alone", f"{widest:.3f}", widest <= 1.03)


# Public crowds


@cache
def crowd(directory: Path) -> list[Problem]:
    """A public crowd as questions of yes and no: its commonest class and its rarest."""
    votes = pl.read_csv(directory / "labels.csv", infer_schema=False)
    gold = pl.read_csv(directory / "gold.csv", infer_schema=False)
    read = read_votes(votes)
    weighted = is_swapped(read.codebook.workers)
    if weighted:
        read, _ = one_judge(read)
    result = quorate.aggregate(read, discount=False if weighted else None)
    task = find(gold["task"], read.codebook.tasks)
    label = find(gold["label"], read.codebook.classes).fill_null(len(read.codebook.classes))
    truth = np.full(len(read.codebook.tasks), -1)
    truth[task.drop_nulls().to_numpy()] = label.filter(task.is_not_null()).to_numpy()
    known = np.flatnonzero(truth >= 0)
    if not len(known):
        return []
    counts = np.bincount(truth[known], minlength=len(read.codebook.classes) + 1)[:-1]
    some = np.flatnonzero(counts >= 2)
    classes = (
        [1] if len(counts) == 2 else [some[counts[some].argmax()], some[counts[some].argmin()]]
    )
    labels = read.labels
    place, shape = (labels.task_of_label(), labels.worker), (labels.n_tasks, labels.n_workers)
    found = []
    for c in dict.fromkeys(int(c) for c in classes):
        total = csr_array(
            (labels.weighted(np.where(labels.label == c, 1.0, -1.0)), place), shape=shape
        )
        one = (truth[known] == c).astype(np.float64)
        consensus = result.posterior[known, c]
        found.append(Problem(directory.name, one, consensus, total[known]))
    return found


def crowds(arguments: argparse.Namespace, second: bool = True) -> Iterator[Problem]:
    first = Path(arguments.data)
    directories = [first / name for name in SCORED]
    if second and (first.parent / "data-second").is_dir():
        directories += sorted((first.parent / "data-second").iterdir())
    names = arguments.sets.split(",") if arguments.sets else None
    for directory in directories:
        if (directory / "labels.csv").exists() and (names is None or directory.name in names):
            yield from crowd(directory)


def on_real(arguments: argparse.Namespace) -> None:
    """Coverage and width on public crowds."""
    lines: dict[tuple[str, int, float], Line] = {}
    for problem in crowds(arguments):
        for n in KNOWN:
            if 2 * n > len(problem.truth):
                continue
            line = measured([problem], n, arguments.real_draws, arguments.seed)
            lines[problem.name, n, problem.share] = line
            print(
                f"{problem.name:<14} {len(problem.truth):5,} tasks, share {problem.share:.3f},"
                f" {n:3} known: covers {line.coverage:.3f} (alone {line.coverage_alone:.3f}), width"
                f" {line.width:.4f}, {line.ratio:.3f} of the answers alone",
                flush=True,
            )
    if not lines:
        return
    low = [key for key, line in lines.items() if line.coverage < 0.93]
    least, worst = min((line.coverage, key) for key, line in lines.items())
    mean = float(np.mean([line.coverage for line in lines.values()]))
    widest, wide = max((line.ratio, key) for key, line in lines.items())
    print(f"real: {len(lines)} lines, {arguments.real_draws:,} draws each")
    found = f"{least:.3f} ({worst[0]}, {worst[1]} known), {len(low)} below; mean {mean:.3f}"
    verdict("coverage", "at least 0.93 on every set", found, not low)
    verdict(
        "width",
        "at most 1.03 of the answers alone",
        f"{widest:.3f} ({wide[0]}, {wide[1]})",
        widest <= 1.03,
    )
    for name in ("rte", "sp"):
        for (set_, n, _), line in lines.items():
            if set_ == name and n == 50:
                verdict(
                    f"width on {name}",
                    "at most 0.6 of it at 50",
                    f"{line.ratio:.3f}",
                    line.ratio <= 0.6,
                )


# Against the best single judge


def single_judge_widths(problem: Problem, known: NDArray[np.intp]) -> Floats:
    """Width of PPI++'s interval with each judge's votes alone as the predictor, by truescore; a
    judge who did not vote on a task counts as a half."""
    from truescore import ppi_estimate

    said = (np.asarray(problem.votes.todense()) + 1) / 2
    widths = []
    for judge in range(said.shape[1]):
        found = ppi_estimate(said[:, judge], problem.truth[known], known, alpha=1 - LEVEL)
        widths.append(found.high - found.low)
    return np.array(widths)


def against_judges(problem: Problem, n: int, draws: int, seed: int) -> tuple[float, float]:
    """Mean width of the estimate, and of the judge whose mean width is least."""
    random = np.random.default_rng([seed, n, 7])
    ours, theirs = [], []
    for _ in range(draws):
        known = random.permutation(len(problem.truth))[:n]
        ours.append(estimated(problem, known, random, these=False).width)
        theirs.append(single_judge_widths(problem, known))
    return float(np.mean(ours)), float(np.mean(theirs, axis=0).min())


def on_judges(arguments: argparse.Namespace) -> None:
    """Width against the best single judge, chosen in hindsight; both of all tasks like these."""
    draws = max(arguments.real_draws // 10, 10)
    for problem in crowds(arguments):
        if problem.name == "llmbar":
            ours, best = against_judges(problem, 50, draws, arguments.seed)
            ratio = ours / best
            found = f"{ours:.3f} against {best:.3f}: {ratio:.3f}"
            verdict("llmbar, best judge", "at most 1.05 at 50 known", found, ratio <= 1.05)
    ratios = []
    random = np.random.default_rng([arguments.seed, 11])
    for n_judges in (5, 7, 10):
        for _ in range(3):
            truth = (random.random(1000) < random.uniform(0.3, 0.7)).astype(np.int64)
            right = random.random((1000, n_judges)) < random.uniform(0.74, 0.82, n_judges)
            said = np.where(right, truth[:, None], 1 - truth[:, None])
            problem = _problem(f"{n_judges} judges", truth, said)
            ours, best = against_judges(problem, 50, draws, arguments.seed)
            ratios.append(ours / best)
            print(f"{n_judges:2} similar judges: {ours:.3f} against {best:.3f}, {ours / best:.3f}")
    worst = max(ratios)
    verdict(
        "5 to 10 similar judges", "at most 0.9 of the best", f"{worst:.3f} at most", worst <= 0.9
    )


# The plan


def planned_width(problem: Problem, n: int, random: np.random.Generator) -> tuple[Interval, float]:
    """The estimate from answers drawn by the plan."""
    spread = sampling.spread_of(problem.consensus)
    probability = sampling.inclusion(spread, n)
    seed = int(random.integers(2**31))
    keys = np.arange(len(spread), dtype=np.uint64)
    known = sampling.drawn(probability, keys, seed)
    value = problem.truth[known]
    of = prediction.Known(known, value, random.permutation(len(known)) % prediction.FOLDS)
    answers = calibration.Answers.drawn(value, probability[known], len(spread))
    scores = prediction.candidates(problem.consensus, problem.votes, of)
    found = calibration.evidence(scores, answers)
    tasks = Tasks(len(spread), True, whole=True)
    return figure(found, found.log_weight, answers, tasks, LEVEL), problem.share


def on_plan(arguments: argparse.Namespace) -> None:
    """Widths with answers drawn by the plan, against drawn evenly, on A's sets."""
    ratios, covered, against_alone = [], [], []
    for problem in crowds(arguments, second=False):
        n = min(50, len(problem.truth) // 4)
        random = np.random.default_rng([arguments.seed, 5])
        draws = max(arguments.real_draws // 5, 10)
        even = measured([problem], n, draws, arguments.seed)
        rows = [planned_width(problem, n, random) for _ in range(draws)]
        width = float(np.mean([found.width for found, _ in rows]))
        held = float(np.mean([f.low - 1e-9 <= share <= f.high + 1e-9 for f, share in rows]))
        ratios.append(width / even.width)
        against_alone.append(width / even.width_alone)
        covered.append(held)
        print(
            f"{problem.name:<14} share {problem.share:.3f}, {n} known: {width:.4f} by plan (covers"
            f" {held:.3f}), {even.width:.4f} evenly, {ratios[-1]:.3f}",
            flush=True,
        )
    mean = float(np.mean(ratios))
    verdict(
        "plan", "at most 0.85 of the width drawn evenly, on average", f"{mean:.3f}", mean <= 0.85
    )
    print(
        f"  coverage by plan {np.mean(covered):.3f} on average, {min(covered):.3f} at least;"
        f" {np.mean(against_alone):.3f} of the width of answers alone, drawn evenly"
    )


SECTIONS = {"simulated": on_simulated, "real": on_real, "judges": on_judges, "plan": on_plan}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=list(SECTIONS))
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--real-draws", type=int, default=1000)
    parser.add_argument("--sizes", default="300,1000,5000")
    parser.add_argument("--sets", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default=os.environ.get("QUORATE_DATA", "../shared/data"))
    arguments = parser.parse_args()
    for section in arguments.sections:
        SECTIONS[section](arguments)


if __name__ == "__main__":
    main()
