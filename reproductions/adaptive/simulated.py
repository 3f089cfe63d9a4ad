"""Figures 2 and 3: 2,000 tasks of which three quarters are of one class, one worker for each at the
start, and edges added at random or where the estimate of the moment says that they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.result import Result
from reproductions.adaptive.policy import Grown, task_scores
from reproductions.experiment import Cell, Claim, Figure, Panel, Plan, Report, Table
from reproductions.fitting import fitted
from reproductions.remarks import Remarks
from reproductions.trials import line, standard_error

REMARKS = Remarks.beside(__file__)

TASKS, SHARES, LEAST = 2_000, np.array([0.75, 0.25]), 0.1
# The paper does not print its alpha and beta.
BETA = (4.0, 2.0)
FIGURES = {"figure-2": 100, "figure-3": 30}
STEP, MOST = 1_000, 10_000
MODES = {
    "random": ("random", False),
    "random, prior": ("random", True),
    "forest": ("forest", False),
    "forest, prior": ("forest", True),
    "gain, prior": ("gain", True),
}
RUNS_AT_ONCE = 5
# Smaller than the default, to be grown many thousand times.
CROWDS, TREES = 3, 40


def runs(plan: Plan) -> int:
    return int(plan.pick(100, 2))


def budgets(plan: Plan) -> list[int]:
    return list(range(TASKS, plan.pick(MOST, 6_000) + 1, plan.pick(STEP, 2_000)))


def cells(plan: Plan) -> list[Cell]:
    at_once = min(RUNS_AT_ONCE, runs(plan))
    return [
        Cell(
            f"{figure}/{mode}/{first}",
            errors_of,
            {"workers": workers, "mode": mode, "first": first, "runs": at_once},
            cost=at_once * (1.5 if mode.startswith("forest") else 0.12),
        )
        for figure, workers in FIGURES.items()
        for mode in MODES
        for first in range(0, runs(plan), at_once)
    ]


def errors_of(plan: Plan, workers: int, mode: str, first: int, runs: int) -> list[list[float]]:
    """Percent of wrong labels at each budget. A run of one number has the same truth, workers and
    first edges in every mode."""
    return [one_run(plan, workers, mode, number) for number in range(first, first + runs)]


class Votes(NamedTuple):
    task: Codes
    worker: Codes
    label: Codes


class Crowd(NamedTuple):
    truth: Codes
    accuracy: Floats


def one_run(plan: Plan, n_workers: int, mode: str, number: int) -> list[float]:
    policy, prior = MODES[mode]
    random = np.random.default_rng([plan.seed, n_workers, number])
    crowd = Crowd(random.choice(2, TASKS, p=SHARES).astype(np.int32), skills(random, n_workers))
    everyone = np.concatenate(
        [np.arange(n_workers), random.integers(n_workers, size=TASKS - n_workers)]
    )
    votes = cast(crowd, np.arange(TASKS), random.permutation(everyone), random)
    options = {"prior": SHARES, **({"beta": BETA, "low": LEAST} if prior else {})}
    errors: list[float] = []
    for budget, after in zip_longest(budgets(plan), budgets(plan)[1:], fillvalue=0):
        labels = Labels.from_codes(*votes, n_tasks=TASKS, n_workers=n_workers, n_classes=2)
        result = fitted("one-coin", labels, **options)
        errors.append(float(100 * (result.answers != crowd.truth).mean()))
        if after:
            tasks = chosen(policy, result, labels, after - budget, random)
            new = cast(crowd, tasks, strangers(votes, tasks, n_workers, random), random)
            votes = Votes(*(np.concatenate(columns) for columns in zip(votes, new, strict=True)))
    return errors


def skills(random: np.random.Generator, n: int) -> Floats:
    """The shifted and rescaled beta prior."""
    accuracy: Floats = LEAST + (1 - LEAST) * random.beta(*BETA, n)
    return accuracy


def cast(crowd: Crowd, tasks: Any, workers: Any, random: np.random.Generator) -> Votes:
    truth = crowd.truth[tasks]
    right = random.random(len(tasks)) < crowd.accuracy[workers]
    return Votes(
        tasks.astype(np.int32), workers.astype(np.int32), np.where(right, truth, 1 - truth)
    )


def chosen(
    policy: str, result: Result, labels: Labels, edges: int, random: np.random.Generator
) -> Any:
    """The tasks that get a further worker: drawn with replacement, or the highest in rank."""
    if policy == "random":
        return random.integers(TASKS, size=edges)
    grown = Grown(CROWDS, TREES, skills, SHARES)
    return np.argsort(-task_scores(policy, result, labels, grown, random))[:edges]


def strangers(votes: Votes, tasks: Any, n_workers: int, random: np.random.Generator) -> Any:
    """A random worker for each task, among those who are not on it yet."""
    taken = set((votes.task.astype(np.int64) * n_workers + votes.worker).tolist())
    found = []
    for task in tasks.tolist():
        worker = int(random.integers(n_workers))
        while task * n_workers + worker in taken:
            worker = int(random.integers(n_workers))
        taken.add(task * n_workers + worker)
        found.append(worker)
    return np.array(found)


def gathered(plan: Plan, found: Mapping[str, Any], figure: str) -> dict[str, Floats]:
    """``[run, budget]`` of each mode."""
    return {
        mode: np.concatenate(
            [value for key, value in found.items() if key.startswith(f"{figure}/{mode}/")]
        )
        for mode in MODES
    }


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    errors = {figure: gathered(plan, found, figure) for figure in FIGURES}
    return Report(
        tables=[_table(plan, figure, errors[figure]) for figure in FIGURES],
        figures=[_figure(plan, errors)],
        claims=[claim for figure in FIGURES for claim in _claims(plan, figure, errors[figure])],
        remarks=_remarks(plan),
    )


def _table(plan: Plan, figure: str, errors: Mapping[str, Floats]) -> Table:
    rows = [
        {
            "edges": budget,
            **{mode: float(values[:, i].mean()) for mode, values in errors.items()},
            "standard error": max(
                standard_error(values[:, i].tolist()) for values in errors.values()
            ),
        }
        for i, budget in enumerate(budgets(plan))
    ]
    name = figure.replace("-", " ").capitalize()
    title = f"{name}: wrong labels in percent, {FIGURES[figure]} workers, mean of {runs(plan)} runs"
    return Table(figure, title, rows, dict.fromkeys((*MODES, "standard error"), 2), list(MODES))


def _figure(plan: Plan, errors: Mapping[str, Mapping[str, Floats]]) -> Figure:
    panels = [
        Panel(
            f"{workers} workers",
            "edges (votes)",
            "wrong labels, %",
            [line(mode, budgets(plan), list(values.T)) for mode, values in errors[figure].items()],
        )
        for figure, workers in FIGURES.items()
    ]
    title = f"Figures 2 and 3: means of {runs(plan)} runs, with two standard errors"
    return Figure("figures-2-and-3", title, panels, columns=2)


def _claims(plan: Plan, figure: str, errors: Mapping[str, Floats]) -> list[Claim]:
    n = FIGURES[figure]
    random, forest, gain = (errors[f"{policy}, prior"] for policy in ("random", "forest", "gain"))
    later = slice(1, None)
    # The first budget is the same for all, and the first step without a prior knows little.
    middle = slice(2, -1) if len(budgets(plan)) > 3 else later
    alone = (
        f"With {n} workers the forest beats random without the prior too, at the middle budgets."
    )
    prior = (
        f"With {n} workers the forest is better with the prior than without, at the middle budgets."
    )
    return [
        _prior_hardly_matters(n, errors["random"], random),
        _better(f"With {n} workers forest, prior beats random.", forest, random, later),
        _better(f"With {n} workers gain, prior beats random.", gain, random, later),
        _better(alone, errors["forest"], errors["random"], middle),
        _better(prior, forest, errors["forest"], middle),
        _not_worse(f"With {n} workers gain is at least as good as the forest.", gain, forest),
    ]


def _prior_hardly_matters(workers: int, without: Floats, prior: Floats) -> Claim:
    apart = np.abs((without - prior).mean(axis=0))[1:]
    return Claim(
        f"With {workers} workers the prior hardly matters to edges added at random.",
        bool(apart.max() < 1),
        f"at most {apart.max():.2f} points beyond the first edges",
    )


def _better(text: str, ours: Floats, theirs: Floats, where: slice) -> Claim:
    """A claim that holds if the 95 % interval of the difference, run by run, is above zero at each
    budget."""
    lead = (theirs - ours)[:, where]
    mean, error = lead.mean(axis=0), lead.std(axis=0, ddof=1) / np.sqrt(len(lead))
    sure = mean > 1.96 * error
    return Claim(
        text,
        bool(sure.all()),
        f"by {mean.min():.2f} to {mean.max():.2f} points; the 95 % interval of the difference, run"
        f" by run, is above zero at {sure.sum()} of {len(sure)} budgets",
    )


def _not_worse(text: str, ours: Floats, theirs: Floats) -> Claim:
    """A claim that holds if ours is not worse by two standard errors, run by run over budgets."""
    lead = (theirs - ours)[:, 1:].mean(axis=1)
    error = standard_error(lead.tolist())
    return Claim(
        text,
        bool(lead.mean() > -2 * error),
        f"better by {lead.mean():.2f} points in the mean over budgets, standard error {error:.2f}",
    )


def _remarks(plan: Plan) -> list[str]:
    alpha, beta = BETA
    step = plan.pick(STEP, 2_000)
    return [REMARKS.fill("Simulated crowds", alpha=alpha, beta=beta, step=step, crowds=CROWDS)]
