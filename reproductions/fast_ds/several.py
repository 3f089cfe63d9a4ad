"""Table 5 of *Fast Dawid-Skene*, several right answers, on simulated crowds: the paper's data
cannot be had."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.labels import Labels
from reproductions.experiment import Cell, Claim, Plan, Report, Table
from reproductions.fast_ds.contest import iterations, timed
from reproductions.fitting import questions_of_options
from reproductions.remarks import Remarks

REMARKS = Remarks.beside(__file__)

CONTESTANTS = ("DS", "FDS", "Hybrid")
# Accuracy in percent, milliseconds and iterations, on AffectAnnotation.
PUBLISHED = {"DS": (88.66, 440, 29.6), "FDS": (94.14, 57, 2.0), "Hybrid": (89.26, 140, 5.8)}

# Sentences of a story and the feelings in them: most feelings are rare, and a reader misses one
# more often than seeing one that is not there.
N_OPTIONS, N_WORKERS = 10, 30
ANNOTATORS, SUBSETS = 5, 5
RIGHT, HIT, FALSE_ALARM = (1.5, 8.5), (6.0, 3.0), (1.0, 11.0)  # beta distributions
TOGETHER, APART = "together", "apart"


class Kind(NamedTuple):
    """A kind of crowd: a reader's skill is the same for all options, or each option has its own.
    The long story is to tell what comes from there being few sentences."""

    n_tasks: int
    own_skills: bool

    @property
    def skill(self) -> str:
        return "own" if self.own_skills else "same"


SHORT, SHORT_OWN, LONG = Kind(60, False), Kind(60, True), Kind(600, False)
KINDS = (SHORT, SHORT_OWN, LONG)
SKILLS = ("a reader's skill the same for all", "each with a skill of its own")

Bools = NDArray[np.bool_]
# Accuracy in percent, milliseconds, and iterations; by way and method ``[crowd, subset]`` of them.
Row = tuple[float, float | None, int | None]
Measured = Mapping[str, NDArray[np.float64]]


class Solved(NamedTuple):
    """Answers for each option of each task, and what they cost."""

    answers: Bools
    ms: float
    iterations: int


def cells(plan: Plan) -> list[Cell]:
    return [
        Cell(f"{_key(kind)}{i}", race, {**kind._asdict(), "crowd": i}, cost=kind.n_tasks / 60)
        for kind in KINDS
        for i in range(plan.pick(20, 2) if kind is not LONG else plan.pick(5, 1))
    ]


def _key(kind: Kind) -> str:
    return f"several/{kind.n_tasks}/{kind.skill}/"


def race(plan: Plan, n_tasks: int, own_skills: bool, crowd: int) -> dict[str, list[Row]]:
    """Each method in each way, on subsets of a crowd's answers."""
    random = np.random.default_rng([plan.seed, n_tasks, own_skills, crowd])
    truth, chosen = simulated(random, Kind(n_tasks, own_skills))
    found: dict[str, list[Row]] = {}
    for seed in range(plan.pick(SUBSETS, 2)):
        asked = random.random((n_tasks, N_WORKERS)).argsort(axis=1)[:, :ANNOTATORS]
        yes = np.take_along_axis(chosen, asked[:, :, None], axis=1)
        majority = yes.sum(axis=1) > ANNOTATORS / 2
        found.setdefault("/MV", []).append((_percent(majority == truth), None, None))
        for way, solve in ((TOGETHER, together), (APART, apart)):
            for name in CONTESTANTS:
                runs = [solve(name, asked, yes, seed) for _ in range(2)]
                ms = min(run.ms for run in runs)
                found.setdefault(f"{way}/{name}", []).append(
                    (_percent(runs[0].answers == truth), ms, runs[0].iterations)
                )
    return found


def _percent(right: Bools) -> float:
    return 100 * float(right.mean())


def simulated(random: np.random.Generator, kind: Kind) -> tuple[Bools, Bools]:
    """Which options are right, ``[task, option]``, and who chose which, ``[task, worker,
    option]``."""
    skills = (N_WORKERS, N_OPTIONS if kind.own_skills else 1)
    truth = random.random((kind.n_tasks, N_OPTIONS)) < random.beta(*RIGHT, N_OPTIONS)
    hit, false_alarm = (random.beta(*rate, skills) for rate in (HIT, FALSE_ALARM))
    says_yes = np.where(truth[:, None, :], hit, false_alarm)
    return truth, random.random(says_yes.shape) < says_yes


def together(name: str, asked: NDArray[np.integer], yes: Bools, seed: int) -> Solved:
    """Answers as in the paper: every option of every task is a question, all of one problem."""
    n_tasks, _, n_options = yes.shape
    question = np.arange(n_tasks * n_options).reshape(n_tasks, 1, n_options)
    labels = Labels.from_codes(
        np.broadcast_to(question, yes.shape).ravel(),
        np.broadcast_to(asked[..., None], yes.shape).ravel(),
        yes.ravel().astype(np.int32),
        n_classes=2,
    )
    result, ms = timed(name, labels, seed)
    answers = (result.answers == 1).reshape(n_tasks, n_options)
    return Solved(answers, ms, iterations(result))


def apart(name: str, asked: NDArray[np.integer], yes: Bools, seed: int) -> Solved:
    """Answers as `quorate.aggregate` finds them: each option is a problem of its own."""
    n_tasks, _, n_options = yes.shape
    nothing: list[int | None] = [None]
    by_option = questions_of_options(
        (task, int(worker), option)
        for task in range(n_tasks)
        for worker, choice in zip(asked[task], yes[task], strict=True)
        for option in (np.flatnonzero(choice).tolist() or nothing)
    )
    fits = [timed(name, labels, seed) for _, _, labels in by_option]
    answers = np.zeros((n_tasks, n_options), dtype=bool)
    for (option, tasks, _), fit in zip(by_option, fits, strict=True):
        answers[tasks, option] = fit.result.answers == 1
    return Solved(answers, sum(fit.ms for fit in fits), max(iterations(fit.result) for fit in fits))


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    measured = {kind: _measured(kind, found) for kind in KINDS}
    title = (
        f"Table 5: several right answers, {ANNOTATORS} annotators, on simulated crowds (the paper's"
        " figures are of other data, AffectAnnotation)"
    )
    decimals = {
        **dict.fromkeys(("paper, accuracy %", "ours, accuracy %", "standard error"), 2),
        **dict.fromkeys(("paper, iterations", "ours, iterations", "ours, ms"), 1),
    }
    rows = [row for kind in KINDS for row in _rows(kind, measured[kind])]
    return Report(
        [Table("table-5", title, rows, decimals)],
        claims=[
            *(
                _claim(kind, way, measured)
                for kind in (SHORT, SHORT_OWN)
                for way in (TOGETHER, APART)
            ),
            _claim_of_iterations(measured),
        ],
        remarks=[_on_the_crowds(), _on_few_tasks(measured)],
    )


def _measured(kind: Kind, found: Mapping[str, Any]) -> Measured:
    crowds = [found[key] for key in found if key.startswith(_key(kind))]
    return {key: np.array([crowd[key] for crowd in crowds], dtype=float) for key in crowds[0]}


def _rows(kind: Kind, measured: Measured) -> list[dict[str, Any]]:
    rows = []
    for key, values in measured.items():
        way, method = key.split("/")
        comparable = way == TOGETHER and kind is not LONG
        accuracy, ms, rounds = PUBLISHED[method] if comparable else (None, None, None)
        means = values.mean(axis=(0, 1)).tolist()
        by_crowd = values[..., 0].mean(axis=1)
        spread = by_crowd.std(ddof=1) / np.sqrt(len(by_crowd)) if len(by_crowd) > 1 else None
        rows.append(
            {
                "tasks": kind.n_tasks,
                "skill": kind.skill,
                "options": way or "-",
                "method": method,
                "paper, accuracy %": accuracy,
                "ours, accuracy %": means[0],
                "standard error": spread,
                "paper, ms": ms,
                "ours, ms": means[1] if way else None,
                "paper, iterations": rounds,
                "ours, iterations": means[2] if way else None,
            }
        )
    return rows


def _right(measured: Measured, way: str) -> dict[str, float]:
    return {name: float(measured[f"{way}/{name}"][..., 0].mean()) for name in CONTESTANTS}


def _claim(kind: Kind, way: str, measured: Mapping[Kind, Measured]) -> Claim:
    right = _right(measured[kind], way)
    return Claim(
        f"With several right answers FDS is right more often than DS and Hybrid (options {way},"
        f" {SKILLS[kind.own_skills]}).",
        right["FDS"] > max(right["DS"], right["Hybrid"]),
        ", ".join(f"{name} {value:.2f} %" for name, value in right.items()),
    )


def _claim_of_iterations(measured: Mapping[Kind, Measured]) -> Claim:
    rounds = {
        name: np.mean(
            [measured[k][f"{TOGETHER}/{name}"][..., 2].mean() for k in (SHORT, SHORT_OWN)]
        )
        for name in CONTESTANTS
    }
    return Claim(
        "With several right answers FDS needs the fewest iterations and DS the most.",
        bool(rounds["FDS"] < rounds["Hybrid"] < rounds["DS"]),
        ", ".join(f"{name} {value:.1f}" for name, value in rounds.items()),
    )


def _on_the_crowds() -> str:
    right, hit, false_alarm = (100 * a / (a + b) for a, b in (RIGHT, HIT, FALSE_ALARM))
    return REMARKS.fill(
        "Simulated readers",
        tasks=SHORT.n_tasks,
        options=N_OPTIONS,
        readers=N_WORKERS,
        right=right,
        hit=hit,
        false_alarm=false_alarm,
    )


def _on_few_tasks(measured: Mapping[Kind, Measured]) -> str:
    short, long = (_right(measured[kind], APART) for kind in (SHORT, LONG))
    one = _right(measured[SHORT], TOGETHER)
    return REMARKS.fill(
        "Few tasks",
        few=SHORT.n_tasks,
        many=LONG.n_tasks,
        paper_fds=PUBLISHED["FDS"][0],
        paper_ds=PUBLISHED["DS"][0],
        apart_fds=short["FDS"],
        apart_ds=short["DS"],
        together_fds=one["FDS"],
        together_ds=one["DS"],
        many_fds=long["FDS"],
        many_ds=long["DS"],
    )
