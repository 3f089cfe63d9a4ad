"""Whether estimates, plans, rankings and scores hold what they promise: every goal with a verdict.

    python benchmarks/estimate.py                       # everything: under an hour of one core
    python benchmarks/estimate.py simulated real        # some sections
    python benchmarks/estimate.py --seconds 400         # a part; the next run goes on from there
    python benchmarks/estimate.py simulated --draws 100 --kept /tmp/quick

Sections: simulated (coverage and width of 95 % intervals: known answers x shares x panels x tasks),
misled (the same of panels that are sure and wrong, all one way: no goal, a warning), real (the same
on public crowds, known answers drawn again and again), judges (width against the
best single judge in hindsight, by truescore's PPI++), plan (answers drawn by the plan against
answers drawn evenly), rank (choix, Crowd-Kit, a million comparisons) and scores (the consensus
against the mean). Each is cut into pieces whose results are kept in a file, so that a run that was
interrupted goes on; `--anew` forgets them.

Data sets are directories with labels.csv and gold.csv, in QUORATE_DATA, else ../shared/data (A),
and in data-second beside it (B). What is drawn is drawn from the seed; the settings of `estimate`
were chosen with other seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of small matrices, for which threads only wait

import numpy as np
import rank
import scores
from numpy.typing import NDArray
from problems import Problem, crowd, crowds, panel_of, similar_judges

from quorate.estimation import alone, calibration, prediction, sampling
from quorate.estimation.figures import Interval, Tasks, figure
from quorate.kernels import Floats

LEVEL = 0.95
KNOWN, SHARES, SIZES = (20, 50, 200), (0.02, 0.2, 0.5), (300, 1000, 5000)
KINDS = ("good", "biased", "correlated")
PANELS = 20  # simulated panels of a kind; each gets its part of the draws
LEAST, MOST = 0.93, 0.98  # coverage
ENOUGH = 5  # of the rarer class among the known, where intervals may not hold too often either
PLANNED = (50, 100)  # answers of plans
MORE_DRAWS = 4  # times as many on public crowds: of 1,000 each, one in 78 cells is off by chance
SIMILAR = tuple(product((5, 7, 10), range(3)))

share_alone = lru_cache(maxsize=None)(alone.share_of_these)
Row = dict[str, Any]
Piece = tuple[str, Callable[[], list[Row]]]


class Given(NamedTuple):
    """What the run was asked for."""

    draws: int
    real_draws: int
    seed: int


# An estimate from known answers that are drawn


def estimated(
    problem: Problem, known: NDArray[np.intp], random: np.random.Generator, these: bool = True
) -> Interval:
    """The estimate from the answers of some tasks, drawn evenly."""
    probability = np.full(len(known), len(known) / len(problem.truth))
    return from_answers(problem, known, probability, random, these)


def from_answers(
    problem: Problem,
    known: NDArray[np.intp],
    probability: Floats,
    random: np.random.Generator,
    these: bool = True,
) -> Interval:
    """The estimate from answers of tasks that were drawn with these probabilities."""
    n, n_tasks, value = len(known), len(problem.truth), problem.truth[known]
    of = prediction.Known(known, value, random.permutation(n) % prediction.FOLDS)
    by_plan = sampling.is_by_plan(problem.consensus, known, probability)
    answers = calibration.Answers.drawn(value, probability, n_tasks, by_plan)
    scores_ = prediction.candidates(problem.consensus, problem.votes, of)
    found = calibration.evidence(scores_, answers)
    interval = figure(found, found.log_weight, answers, Tasks(n_tasks, these), LEVEL)
    if not these or np.ptp(probability) > 0:
        return interval
    return interval.no_wider_than(
        Interval(0.0, *share_alone(round(value.sum()), n, n_tasks, LEVEL))
    )


def measured(problems: list[Problem], n: int, draws: int, seed: int) -> Row:
    """Coverage and width over draws of the known answers, shared among the problems."""
    random = np.random.default_rng([seed, n])
    rows = []
    for draw in range(draws):
        problem = problems[draw % len(problems)]
        n_tasks = len(problem.truth)
        known = random.permutation(n_tasks)[:n]
        found = estimated(problem, known, random)
        n_yes = round(problem.truth[known].sum())
        by_answers = Interval(0.0, *share_alone(n_yes, n, n_tasks, LEVEL))
        both = (found, by_answers)
        held = (holds(interval, problem.share) for interval in both)
        widths = (interval.width for interval in both)
        rows.append((*held, *widths, min(n_yes, n - n_yes) >= ENOUGH))
    columns = np.array(rows, dtype=np.float64).T
    held_, held_alone, width, width_alone, enough = columns
    many = enough > 0
    return {
        "known": n,
        "coverage": held_.mean(),
        "coverage_alone": held_alone.mean(),
        "width": width.mean(),
        "width_alone": width_alone.mean(),
        "enough": many.mean(),
        "coverage_enough": held_[many].mean() if many.any() else None,
        "alone_enough": held_alone[many].mean() if many.any() else None,
    }


def holds(interval: Interval, share: float) -> bool:
    return bool(interval.low - 1e-9 <= share <= interval.high + 1e-9)


def verdict(what: str, goal: str, found: str, is_met: bool) -> bool:
    print(f"  {'holds ' if is_met else 'FAILS '} {what}: {goal}; found {found}", flush=True)
    return is_met


# Simulated panels


def simulated_pieces(given: Given) -> Iterator[Piece]:
    for share, kind, n_tasks in product(SHARES, KINDS, SIZES):
        name = f"{share:.0%} {kind} {n_tasks}"
        yield name, partial(on_panels, share, kind, n_tasks, given)


def on_panels(share: float, kind: str, n_tasks: int, given: Given) -> list[Row]:
    random = np.random.default_rng([given.seed, n_tasks, int(100 * share), len(kind)])
    panels = [panel_of(kind, n_tasks, share, random) for _ in range(PANELS)]
    about = {"share": share, "kind": kind, "tasks": n_tasks}
    return [about | measured(panels, n, given.draws, given.seed) for n in KNOWN]


def told_line(row: Row) -> str:
    name = row.get("kind") or row["name"]
    return (
        f"{row['share']:5.1%} {name:<13} {row['tasks']:5,} tasks {row['known']:3} known: covers"
        f" {row['coverage']:.3f} (alone {row['coverage_alone']:.3f}), width {row['width']:.4f},"
        f" {ratio(row):.3f} of the answers alone"
    )


def ratio(row: Row) -> float:
    return float(row["width"] / row["width_alone"])


def judge_coverage(rows: list[Row], draws: int) -> bool:
    """The goals that simulated and public crowds share."""
    for row in rows:
        print(told_line(row))
    low = [row for row in rows if row["coverage"] < LEAST]
    least = min(rows, key=lambda row: row["coverage"])
    often = [row for row in rows if is_enough(row)]
    most = max(row["coverage"] for row in often)
    widest = max(ratio(row) for row in rows)
    mean = float(np.mean([row["coverage"] for row in rows]))
    found = f"{least['coverage']:.3f}, {len(low)} below; mean {mean:.3f}"
    goals = [
        verdict(f"coverage, {len(rows)} cells of {draws:,}", f"at least {LEAST}", found, not low),
        verdict(
            f"coverage where {ENOUGH} or more of the rarer class are expected among the known,"
            f" {len(often)} cells",
            f"at most {MOST}",
            f"{most:.3f}, {sum(row['coverage'] > MOST for row in often)} above",
            most <= MOST,
        ),
        verdict("width", "at most 1.03 of the answers alone", f"{widest:.3f}", widest <= 1.03),
    ]
    tell_draws_with_enough(rows)
    return all(goals)


def is_enough(row: Row) -> bool:
    return bool(row["known"] * min(row["share"], 1 - row["share"]) >= ENOUGH)


def tell_draws_with_enough(rows: list[Row]) -> None:
    """Coverage of the draws alone that have enough of the rarer class: a selection by the answers
    themselves, after which even the exact interval of the answers alone holds more often."""
    rows = [row for row in rows if row["enough"] >= 0.25]
    ours, alone_ = ([row[key] for row in rows] for key in ("coverage_enough", "alone_enough"))
    print(
        f"  only draws with {ENOUGH} or more of the rarer class among the known, {len(rows)} cells:"
        f" above {MOST} in {sum(held > MOST for held in ours)}, up to {max(ours):.3f}; the exact"
        f" interval of the answers alone in {sum(held > MOST for held in alone_)}, up to"
        f" {max(alone_):.3f}"
    )


def judge_simulated(rows: list[Row], given: Given) -> bool:
    return judge_coverage(rows, given.draws)


def misled_pieces(given: Given) -> Iterator[Piece]:
    for share in SHARES:
        yield f"{share:.0%}", partial(on_panels, share, "misled", 1000, given)


def judge_misled(rows: list[Row], given: Given) -> bool:
    for row in rows:
        print(told_line(row))
    return True


# Public crowds


def real_pieces(given: Given) -> Iterator[Piece]:
    for directory in crowds(second=True):
        yield directory.name, partial(on_crowd, directory, given)


def on_crowd(directory: Path, given: Given) -> list[Row]:
    draws = MORE_DRAWS * given.real_draws
    return [
        {"name": problem.name, "share": problem.share, "tasks": len(problem.truth)}
        | measured([problem], n, draws, given.seed)
        for problem in crowd(directory)
        for n in KNOWN
        if 2 * n <= len(problem.truth)
    ]


def judge_real(rows: list[Row], given: Given) -> bool:
    goals = [judge_coverage(rows, MORE_DRAWS * given.real_draws)]
    for row in rows:
        if row["name"] in ("rte", "sp") and row["known"] == 50:
            what = f"width on {row['name']} at 50"
            found = f"{ratio(row):.3f}"
            goals.append(
                verdict(what, "at most 0.6 of the answers alone", found, ratio(row) <= 0.6)
            )
    return all(goals)


# Against the best single judge


def judges_pieces(given: Given) -> Iterator[Piece]:
    draws = max(given.real_draws // 5, 10)
    for directory in crowds(second=True):
        if directory.name == "llmbar":
            yield "llmbar", partial(on_llmbar, directory, draws, given.seed)
    for n_judges, again in SIMILAR:
        random = np.random.default_rng([given.seed, 11, n_judges, again])
        yield (
            f"{n_judges} similar judges, {again}",
            partial(on_similar, n_judges, random, draws, given.seed),
        )


def on_llmbar(directory: Path, draws: int, seed: int) -> list[Row]:
    return [against_judges(crowd(directory)[0], draws, seed)]


def on_similar(n_judges: int, random: np.random.Generator, draws: int, seed: int) -> list[Row]:
    return [against_judges(similar_judges(n_judges, random), draws, seed)]


def against_judges(problem: Problem, draws: int, seed: int, n: int = 50) -> Row:
    """Mean width of the estimate, and of the judge whose mean width is least; both of all tasks
    like these."""
    random = np.random.default_rng([seed, n, 7])
    ours, theirs = [], []
    for _ in range(draws):
        known = random.permutation(len(problem.truth))[:n]
        ours.append(estimated(problem, known, random, these=False).width)
        theirs.append(single_judge_widths(problem, known))
    best = float(np.mean(theirs, axis=0).min())
    return {"name": problem.name, "ours": float(np.mean(ours)), "best": best}


def single_judge_widths(problem: Problem, known: NDArray[np.intp]) -> Floats:
    """Width of PPI++'s interval with each judge's votes alone as the predictor, by truescore; a
    judge who did not vote on a task counts as a half."""
    from truescore import ppi_estimate

    said = (np.asarray(problem.votes.todense()) + 1) / 2
    found = [ppi_estimate(one, problem.truth[known], known, alpha=1 - LEVEL) for one in said.T]
    return np.array([one.high - one.low for one in found])


def judge_judges(rows: list[Row], given: Given) -> bool:
    goals, similar = [], []
    for row in rows:
        of_best = row["ours"] / row["best"]
        told = f"{row['ours']:.3f} against {row['best']:.3f}: {of_best:.3f}"
        if row["name"] == "llmbar":
            what, goal = "width on llmbar at 50", "at most 1.05 of the best judge's by truescore"
            goals.append(verdict(what, goal, told, of_best <= 1.05))
        else:
            print(f"{row['name']}: {told}")
            similar.append(of_best)
    if similar:
        goal, worst = "at most 0.9 of the best judge's by truescore", max(similar)
        goals.append(verdict("width, similar judges", goal, f"{worst:.3f} at most", worst <= 0.9))
    return all(goals)


# The plan


def plan_pieces(given: Given) -> Iterator[Piece]:
    for directory in crowds(second=False):
        yield directory.name, partial(on_plan, directory, given)


def on_plan(directory: Path, given: Given) -> list[Row]:
    """Widths with answers drawn by the plan, against drawn evenly."""
    draws = MORE_DRAWS * given.real_draws
    return [
        {"answers": most, "name": problem.name, "share": problem.share, "tasks": len(problem.truth)}
        | by_plan(problem, min(most, len(problem.truth) // 4), draws, given.seed)
        for problem in crowd(directory)
        for most in PLANNED
    ]


def by_plan(problem: Problem, n: int, draws: int, seed: int) -> Row:
    random = np.random.default_rng([seed, 5])
    probability = sampling.inclusion(sampling.worth_of(problem.consensus), n)
    found = [planned(problem, probability, random) for _ in range(draws)]
    return measured([problem], n, draws, seed) | {
        "planned": float(np.mean([one.width for one in found])),
        "held": float(np.mean([holds(one, problem.share) for one in found])),
        "hindsight": hindsight(problem, n),
    }


def planned(problem: Problem, probability: Floats, random: np.random.Generator) -> Interval:
    """The estimate from answers drawn by the plan."""
    keys = np.arange(len(probability), dtype=np.uint64)
    known = sampling.drawn(probability, problem.consensus, keys, int(random.integers(2**31)))
    return from_answers(problem, known, probability[known], random)


def hindsight(problem: Problem, n: int) -> float:
    """Standard error, of that of even draws, with the best probabilities that somebody could choose
    who knew how often the consensus errs at each of twelve degrees of confidence, and who trusts no
    model: whose answers count their whole weights."""
    error = (problem.truth - problem.consensus) ** 2
    spread = np.empty(len(error))
    order = np.abs(problem.consensus - 0.5).argsort()
    for part in np.array_split(order, min(12, max(3, len(order) // 20))):
        spread[part] = max(error[part].mean(), 0.005)
    best, even = sampling.inclusion(np.sqrt(spread), n), np.full(len(spread), n / len(spread))
    best_, even_ = (float(((1 / pi - 1) * spread).sum()) for pi in (best, even))
    return float(np.sqrt(best_ / even_))


def judge_plan(rows: list[Row], given: Given) -> bool:
    for row in rows:
        print(
            f"{row['share']:5.1%} {row['name']:<13} {row['known']:3} answers: {row['planned']:.4f}"
            f" by plan (covers {row['held']:.3f}), {row['width']:.4f} evenly ("
            f"{row['coverage']:.3f}): {row['planned'] / row['width']:.3f}; in hindsight"
            f" {row['hindsight']:.3f}; {row['planned'] / row['width_alone']:.3f} of alone"
        )
    of = {most: [row for row in rows if row["answers"] == most] for most in PLANNED}
    goals = [judge_plans(rows_, most) for most, rows_ in of.items()]
    return all(goals)


def judge_plans(rows: list[Row], most: int) -> bool:
    mean = float(np.mean([row["planned"] / row["width"] for row in rows]))
    could = float(np.mean([row["hindsight"] for row in rows]))
    least = min(row["held"] for row in rows)
    alone_ = float(np.mean([row["planned"] / row["width_alone"] for row in rows]))
    found = f"{mean:.3f}; in hindsight {could:.3f}; {alone_:.3f} of the answers alone"
    held = f"{least:.3f}, mean {np.mean([row['held'] for row in rows]):.3f}"
    goal = "at most 0.85 of the width drawn evenly, on average"
    goals = [
        verdict(f"coverage by plan of {most}", f"at least {LEAST}", held, least >= LEAST),
        verdict(f"width by plan of {most}", goal, found, mean <= 0.85),
    ]
    return all(goals)


# Rankings and scores


def rank_pieces(given: Given) -> Iterator[Piece]:
    yield "choix", lambda: [{"what": "choix", "apart": rank.against_choix()}]
    yield (
        "crowd-kit",
        lambda: [{"what": "crowd-kit"} | rank.against_crowdkit(50_000, 100)._asdict()],
    )
    yield "million", lambda: [{"what": "million", "seconds": rank.a_million()}]


def judge_rank(rows: list[Row], given: Given) -> bool:
    of = {row["what"]: row for row in rows}
    apart, seconds = of["choix"]["apart"], of["million"]["seconds"]
    race = rank.Race(**{name: of["crowd-kit"][name] for name in rank.Race._fields})
    goals = [
        verdict("Bradley-Terry", "choix's maximum to 1e-6", f"{apart:.1e}", apart <= 1e-6),
        verdict("a million comparisons", "under 10 s", f"{seconds:.1f} s", seconds < 10),
        verdict("50,000 comparisons", "50 times NoisyBradleyTerry", str(race), race.times >= 50),
    ]
    return all(goals)


def scores_pieces(given: Given) -> Iterator[Piece]:
    for name in scores.SETS:
        yield name, partial(lambda name: [scores.errors_of(name)._asdict()], name)


def judge_scores(rows: list[Row], given: Given) -> bool:
    goals = []
    for row in rows:
        found = f"{row['rmse']:.4f} against {row['rmse_of_mean']:.4f}"
        goal = "root mean square error no more than the mean's"
        is_met = row["rmse"] <= row["rmse_of_mean"]
        goals.append(verdict(f"scores of {row['name']}", goal, found, is_met))
    return all(goals)


# Pieces, kept


class Section(NamedTuple):
    """The pieces of a section, and what says whether its goals hold."""

    pieces: Callable[[Given], Iterator[Piece]]
    judge: Callable[[list[Row], Given], bool]


SECTIONS = {
    "simulated": Section(simulated_pieces, judge_simulated),
    "misled": Section(misled_pieces, judge_misled),
    "real": Section(real_pieces, judge_real),
    "judges": Section(judges_pieces, judge_judges),
    "plan": Section(plan_pieces, judge_plan),
    "rank": Section(rank_pieces, judge_rank),
    "scores": Section(scores_pieces, judge_scores),
}


PARTLY = ("simulated", "misled", "real", "plan")  # sections of which some pieces say something


class Kept:
    """Results of pieces, one line each, in a file."""

    def __init__(self, path: Path, given: Given, anew: bool) -> None:
        self.path, self.settings = path, list(given)
        path.parent.mkdir(parents=True, exist_ok=True)
        if anew:
            path.unlink(missing_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        records = [json.loads(line) for line in lines]
        self.rows: dict[tuple[str, str], list[Row]] = {
            (one["section"], one["piece"]): one["rows"]
            for one in records
            if one["settings"] == self.settings
        }
        self.seconds = sum(one["seconds"] for one in records if one["settings"] == self.settings)

    def add(self, section: str, piece: str, run: Callable[[], list[Row]]) -> None:
        began = time.process_time()
        rows = run()
        seconds = time.process_time() - began
        self.rows[section, piece], self.seconds = rows, self.seconds + seconds
        record = {"section": section, "piece": piece, "settings": self.settings, "rows": rows}
        with self.path.open("a") as file:
            file.write(json.dumps(record | {"seconds": seconds}, default=float) + "\n")
        print(f"{section}, {piece}: {seconds:.0f} s", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=list(SECTIONS))
    parser.add_argument("--draws", type=int, default=2000, help="of each simulated cell")
    parser.add_argument("--real-draws", type=int, default=1000, help="of each public crowd")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="begin no piece after so many")
    parser.add_argument("--kept", type=Path, default=Path(".cache/estimate"))
    parser.add_argument("--anew", action="store_true", help="forget what was kept")
    arguments = parser.parse_args()
    given = Given(arguments.draws, arguments.real_draws, arguments.seed)
    kept = Kept(arguments.kept / "pieces.jsonl", given, arguments.anew)
    began, unfinished, are_met = time.monotonic(), 0, True
    for name in arguments.sections:
        pieces = list(SECTIONS[name].pieces(given))
        for piece, run in pieces:
            late = arguments.seconds and time.monotonic() - began > arguments.seconds
            if (name, piece) not in kept.rows and not late:
                kept.add(name, piece, run)
        done = [kept.rows[name, piece] for piece, _ in pieces if (name, piece) in kept.rows]
        unfinished += len(pieces) - len(done)
        print(f"\n{name}: {len(done)} of {len(pieces)} pieces")
        if done and (len(done) == len(pieces) or name in PARTLY):
            are_met &= SECTIONS[name].judge([row for rows in done for row in rows], given)
    print(f"\n{kept.seconds / 60:.0f} minutes of processor time in all; {unfinished} pieces to do")
    return 0 if are_met and not unfinished else 1


if __name__ == "__main__":
    sys.exit(main())
