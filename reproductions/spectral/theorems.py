"""Theorems 1 and 2 of *Spectral Methods Meet EM*, by simulation on three classes: confusion
matrices whose error falls as one over the root of the number of tasks, and labels that are all
right once there are workers enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate.kernels import Floats
from quorate.simulation import simulate
from reproductions.experiment import Cell, Claim, Figure, Panel, Plan, Series, Table
from reproductions.fitting import fitted
from reproductions.trials import line, slope

PRIOR = np.array([0.25, 0.35, 0.4])
LEAST, DELTA = 0.05, 0.1
RECOVERY_TASKS = 300


def sample_sizes(plan: Plan) -> Sequence[int]:
    sizes: Sequence[int] = plan.pick([1_000 * 2**i for i in range(7)], [2_000, 8_000, 32_000])
    return sizes


def crowd_sizes(plan: Plan) -> Sequence[int]:
    sizes: Sequence[int] = plan.pick([6, 12, 24, 48, 96, 144, 192, 288], [6, 24, 96, 288])
    return sizes


def confusions(n_workers: int, knows: float, random: np.random.Generator) -> Floats:
    """Workers who know the truth that often, and guess in a way of their own if not; no entry is
    below the theorem's rho."""
    guess = random.dirichlet(np.ones(3), (n_workers, 3))
    matrices: Floats = LEAST + (1 - 3 * LEAST) * ((1 - knows) * guess + knows * np.eye(3))
    return matrices


def confusion_errors(plan: Plan, n_tasks: int, trial: int) -> dict[str, float | None]:
    """The largest error of any entry: of the start, which theorem 1 bounds (none where the moments
    could not be solved), and after EM, theorem 2 (b)."""
    confusion = confusions(24, 0.6, np.random.default_rng(5))
    crowd = simulate(confusion, n_tasks, 12, prior=PRIOR, seed=1_000 * plan.seed + trial)
    start = fitted("spectral", crowd.labels, max_iter=1)
    after = fitted("spectral", crowd.labels)
    assert start.confusion is not None and after.confusion is not None
    return {
        "start": None if start.notes else float(np.abs(start.confusion - confusion).max()),
        "after": float(np.abs(after.confusion - confusion).max()),
    }


def recovery(plan: Plan, n_workers: int, trials: int) -> dict[str, Any]:
    """Theorem 2 (a): how often every label is right, with half of the workers on each task, and
    how many workers its condition asks for (with the constant, which it leaves open, at 1)."""
    wrong, asked = [], []
    for trial in range(trials):
        random = np.random.default_rng([plan.seed, n_workers, trial])
        confusion = confusions(n_workers, 0.3, random)
        crowd = simulate(
            confusion, RECOVERY_TASKS, n_workers // 2, prior=PRIOR, seed=int(random.integers(2**31))
        )
        result = fitted("spectral", crowd.labels)
        wrong.append(float((result.answers != crowd.truth).mean()))
        asked.append(workers_asked_for(confusion))
    return {"wrong": wrong, "asked": float(np.mean(asked))}


def workers_asked_for(confusion: Floats) -> float:
    """The condition on m of theorem 2, each worker being on half of the tasks."""
    n_workers, k, _ = confusion.shape
    rows, others = confusion[:, :, None, :], confusion[:, None, :, :]
    divergence = (rows * np.log(rows / others)).sum(axis=3).mean(axis=0) / 2
    least = float(divergence[~np.eye(k, dtype=bool)].min())  # D-bar, equation (6)
    logs = np.log(1 / LEAST) * np.log(k * RECOVERY_TASKS / DELTA)
    return float((logs + np.log(n_workers * RECOVERY_TASKS)) / least)


def cells(plan: Plan) -> list[Cell]:
    trials = plan.pick(20, 3)
    first = [
        Cell(f"theorem 1/{n}/{i}", confusion_errors, {"n_tasks": n, "trial": i}, cost=n / 30_000)
        for n in sample_sizes(plan)
        for i in range(trials)
    ]
    second = [
        Cell(f"theorem 2/{m}", recovery, {"n_workers": m, "trials": 5 * trials}, m * trials / 500)
        for m in crowd_sizes(plan)
    ]
    return [*first, *second]


def _by_size(plan: Plan, found: Mapping[str, Any], which: str) -> list[tuple[int, list[float]]]:
    trials = {
        n: [f[which] for key, f in found.items() if key.startswith(f"theorem 1/{n}/")]
        for n in sample_sizes(plan)
    }
    return [(n, [e for e in errors if e is not None]) for n, errors in trials.items()]


def tables(plan: Plan, found: Mapping[str, Any]) -> list[Table]:
    start, after = _by_size(plan, found, "start"), _by_size(plan, found, "after")
    first = [
        {
            "tasks": n,
            "largest error, start": float(np.mean(errors)) if errors else None,
            "largest error, after EM": float(np.mean(later)),
            "trials": len(later),
            "moments solved": len(errors),
        }
        for (n, errors), (_, later) in zip(start, after, strict=True)
    ]
    second = []
    for m in crowd_sizes(plan):
        wrong = np.array(found[f"theorem 2/{m}"]["wrong"])
        second.append(
            {
                "workers": m,
                "workers asked for": found[f"theorem 2/{m}"]["asked"],
                "error, %": float(100 * wrong.mean()),
                "all labels right, % of trials": float(100 * (wrong == 0).mean()),
                "trials": len(wrong),
            }
        )
    return [
        Table("theorem-1", "Theorems 1 and 2 (b): confusion matrices, simulated", first),
        Table(
            "theorem-2",
            "Theorem 2 (a): labels recovered, simulated",
            second,
            {"workers asked for": 0, "error, %": 2, "all labels right, % of trials": 1},
        ),
    ]


def figure(plan: Plan, found: Mapping[str, Any]) -> Figure:
    lines = [
        _line(name, _by_size(plan, found, which))
        for name, which in (("start", "start"), ("after EM", "after"))
    ]
    sizes = crowd_sizes(plan)
    wrong = [(m, [100 * w for w in found[f"theorem 2/{m}"]["wrong"]]) for m in sizes]
    right = [(m, [100.0 * (w == 0) for w in values]) for m, values in wrong]
    return Figure(
        "theorems",
        "Theorems 1 and 2 on simulated crowds: means, with two standard errors",
        [
            Panel("confusion matrices", "tasks", "largest error", lines, "log", "log"),
            Panel(
                "labels",
                "workers",
                "percent",
                [_line("all right, % of trials", right), _line("wrong labels, %", wrong)],
                "log",
            ),
        ],
        columns=2,
    )


def _line(name: str, points: Sequence[tuple[int, Sequence[float]]]) -> Series:
    return line(name, [n for n, trials in points if trials], [v for _, v in points if v])


def claims(plan: Plan, found: Mapping[str, Any]) -> list[Claim]:
    claims = []
    for what, which in (("the spectral start", "start"), ("EM from it", "after")):
        mean = [(n, float(np.mean(v))) for n, v in _by_size(plan, found, which) if v]
        fall = slope([n for n, _ in mean], [error for _, error in mean])
        claims.append(
            Claim(
                f"The error of {what} falls as one over the root of the number of tasks.",
                -0.65 < fall < -0.35,
                f"slope {fall:.2f} on logarithmic axes, against -0.5",
            )
        )
    beyond = [m for m in crowd_sizes(plan) if m >= found[f"theorem 2/{m}"]["asked"]]
    wrong = [w for m in beyond for w in found[f"theorem 2/{m}"]["wrong"]]
    claims.append(
        Claim(
            "With more workers than theorem 2 asks for every label is right, with probability"
            f" {1 - DELTA:g}.",
            bool(wrong) and bool(np.mean(np.array(wrong) > 0) <= DELTA),
            f"{sum(w > 0 for w in wrong)} of {len(wrong)} crowds have a wrong label,"
            f" of {' and '.join(str(m) for m in beyond)} workers",
        )
    )
    return claims
