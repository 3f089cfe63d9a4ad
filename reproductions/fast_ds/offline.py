"""Tables 1 and 2 and figure 1 of *Fast Dawid-Skene*: speed, likelihood and accuracy as each task
has more and more annotators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quorate.kernels import Floats
from quorate.labels import Labels
from reproductions.experiment import (
    Cell,
    Figure,
    Panel,
    Plan,
    Report,
    Series,
    Table,
    compared,
)
from reproductions.fast_ds import findings
from reproductions.fast_ds.contest import (
    LIKELIHOODS,
    METHODS,
    PAPER_NAMES,
    PUBLISHED_LOSS,
    PUBLISHED_SIZES,
    PUBLISHED_SPEED,
    RACES,
    Runs,
    Timed,
    annotators,
    contest,
    iterations,
    prepared,
    shuffled_ranks,
    sizes,
    speed_ups,
    timed,
    with_all,
)
from reproductions.scoring import known, subset

DATA_SETS = tuple(PUBLISHED_SIZES)
ALL_LABELS = (*DATA_SETS, "web")
TRIALS_AT_ONCE = 5


def cells(plan: Plan) -> list[Cell]:
    here = [name for name in DATA_SETS if name in plan.here]
    trials = plan.pick(40, 1)
    return [
        *(Cell(f"sizes/{name}", sizes, {"name": name}, cost=0.2) for name in here),
        *(
            Cell(
                f"trials/{name}/{first}",
                run_trials,
                {"name": name, "first": first, "count": min(TRIALS_AT_ONCE, trials - first)},
                cost=0.1 * annotators(name) * min(TRIALS_AT_ONCE, trials - first),
            )
            for name in here
            for first in range(0, trials, TRIALS_AT_ONCE)
        ),
        *(Cell(f"cost/{name}", cost_of_iterations, {"name": name}, cost=0.5) for name in here),
        *(
            Cell(f"all labels/{name}", iterations_on_all, {"name": name}, cost=0.2)
            for name in ALL_LABELS
            if name in plan.here
        ),
    ]


def run_trials(plan: Plan, name: str, first: int, count: int) -> dict[str, dict[str, Any]]:
    """Every method, with each number of annotators, on several random orders of the labels."""
    found = [_trial(plan, name, trial) for trial in range(first, first + count)]
    return {
        method: {
            what: [[contest[method][what] for contest in trial] for trial in found]
            for what in found[0][0][method]
        }
        for method in found[0][0]
    }


def _trial(plan: Plan, name: str, trial: int) -> list[dict[str, dict[str, float]]]:
    votes = prepared(name, plan)
    ranks = shuffled_ranks(votes.labels, np.random.default_rng([plan.seed, trial]))
    seed = 1_000 * plan.seed + trial
    return [
        contest(subset(votes, ranks < n), seed, repeats=plan.pick(3, 1))
        for n in range(1, annotators(name) + 1)
    ]


def cost_of_iterations(plan: Plan, name: str) -> dict[str, dict[str, float | None]]:
    """Milliseconds of a fit of one iteration and of each further one, with all annotators."""
    votes = prepared(name, plan)
    ranks = shuffled_ranks(votes.labels, np.random.default_rng([plan.seed, 0]))
    labels = subset(votes, ranks < annotators(name)).labels
    runs = [
        {method: _short_and_whole(method, labels, plan.seed) for method in ("DS", "FDS", "IWMV")}
        for _ in range(plan.pick(15, 2))
    ]
    found: dict[str, dict[str, float | None]] = {}
    for method in runs[0]:
        once, whole = (min(run[method][i].ms for run in runs) for i in (0, 1))
        further = len(runs[0][method][1].result.steps) - 1
        found[method] = {"once": once, "further": (whole - once) / further if further else None}
    return found


def _short_and_whole(method: str, labels: Labels, seed: int) -> tuple[Timed, Timed]:
    return timed(method, labels, seed, max_iter=1), timed(method, labels, seed)


def iterations_on_all(plan: Plan, name: str) -> dict[str, int]:
    """Number of iterations on all labels of all tasks, as they are."""
    labels = known(name, plan.directory).labels
    return {m: iterations(timed(m, labels, plan.seed).result) for m in LIKELIHOODS}


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    runs = {name: _runs(name, found) for name in DATA_SETS if f"trials/{name}/0" in found}
    if not runs:
        return Report(tables=_all_labels(found), claims=findings.claims_of_all_labels(found))
    return Report(
        tables=[
            _sizes(runs, found),
            _speed_ups(runs),
            _costs(runs, found),
            *_all_labels(found),
            _losses(runs),
            _accuracies(runs),
        ],
        figures=[
            _figure(runs, "right", "accuracy", "accuracy, %"),
            _figure(runs, "ms", "time", "processor time, ms", "log"),
            _figure(runs, "iterations", "iterations", "iterations", "log"),
        ],
        claims=findings.claims(runs, found),
        remarks=findings.remarks(runs, found),
    )


def _runs(name: str, found: Mapping[str, Any]) -> Runs:
    parts = [found[key] for key in found if key.startswith(f"trials/{name}/")]
    return {
        method: {
            what: np.concatenate([np.array(part[method][what], dtype=float) for part in parts])
            for what in parts[0][method]
        }
        for method in parts[0]
    }


def _deviation(values: Floats) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 else None


# Tables.


def _sizes(runs: Mapping[str, Runs], found: Mapping[str, Any]) -> Table:
    rows = []
    for name in runs:
        ours = found[f"sizes/{name}"]
        for what, paper in zip(
            ("tasks", "options", "annotators"), PUBLISHED_SIZES[name], strict=True
        ):
            rows.append(
                {
                    "data": name,
                    "in the paper": PAPER_NAMES[name],
                    "count": what if what != "annotators" else "annotators per task",
                    "paper": paper,
                    "ours": ours[what],
                }
            )
    title = "Table 1, left: the data sets as prepared"
    return Table("sizes", title, compared(rows, 0), {"difference": 0})


def _speed_ups(runs: Mapping[str, Runs]) -> Table:
    rows = []
    for name, ours in runs.items():
        for (fast, slow), published in zip(RACES, PUBLISHED_SPEED[name], strict=True):
            for what, paper in zip(("ms", "iterations"), published, strict=True):
                ratios = speed_ups(ours, fast, slow, what)
                rows.append(
                    {
                        "data": name,
                        "speed-up": f"{fast} over {slow}",
                        "in": "time" if what == "ms" else "iterations",
                        "paper": paper,
                        "ours": float(ratios.mean()),
                        "deviation": _deviation(ratios),
                    }
                )
    title = (
        "Table 1, right: speed-ups, mean over all numbers of annotators and"
        f" {_n_trials(runs)} random subsets, with the standard deviation over subsets"
    )
    decimals = dict.fromkeys(("paper", "ours", "deviation", "difference"), 2)
    return Table("table-1", title, compared(rows, 2), decimals)


def _n_trials(runs: Mapping[str, Runs]) -> int:
    return max(len(of["DS"]["ms"]) for of in runs.values())


def _costs(runs: Mapping[str, Runs], found: Mapping[str, Any]) -> Table:
    rows = [
        {
            "data": name,
            "method": method,
            "a fit of one iteration, ms": cost["once"],
            "each further iteration, ms": cost["further"],
        }
        for name in runs
        for method, cost in found[f"cost/{name}"].items()
    ]
    return Table("cost", "What an iteration costs, with all annotators", rows)


def _all_labels(found: Mapping[str, Any]) -> list[Table]:
    rows = [
        {
            "data": name,
            **found[key],
            "DS / FDS": found[key]["DS"] / found[key]["FDS"],
            "DS / Hybrid": found[key]["DS"] / found[key]["Hybrid"],
        }
        for name in ALL_LABELS
        if (key := f"all labels/{name}") in found
    ]
    title = "Iterations on all labels of all tasks (the paper has no such table)"
    decimals = {"DS / FDS": 1, "DS / Hybrid": 1}
    return [Table("all-labels", title, rows, decimals)] if rows else []


def _losses(runs: Mapping[str, Runs]) -> Table:
    rows = []
    for name, ours in runs.items():
        for method, paper in zip(LIKELIHOODS, PUBLISHED_LOSS[name], strict=True):
            losses = ours[method]["loss"][:, -1]
            rows.append(
                {
                    "data": name,
                    "method": method,
                    "paper": paper,
                    "ours": float(losses.mean()),
                    "deviation": _deviation(losses),
                }
            )
    title = (
        "Table 2: negative log-likelihood with all annotators, mean and standard deviation over"
        f" {_n_trials(runs)} random subsets and ties"
    )
    decimals = dict.fromkeys(("paper", "ours", "deviation", "difference"), 2)
    return Table("table-2", title, compared(rows, 2), decimals)


def _accuracies(runs: Mapping[str, Runs]) -> Table:
    rows = [
        {
            "data": name,
            **{
                method: with_all(of, method, "right") if method in of else None
                for method in METHODS
            },
            "FDS over MV, z": with_all(of, "FDS", "better"),
        }
        for name, of in runs.items()
    ]
    title = "Accuracy in percent with all annotators: where the lines of figure 1 end"
    return Table("accuracy", title, rows, dict.fromkeys((*METHODS, "FDS over MV, z"), 2))


# Figure 1.


def _figure(
    runs: Mapping[str, Runs],
    what: str,
    name: str,
    label: str,
    scale: str = "linear",
) -> Figure:
    panels = [
        Panel(
            title=data,
            x="annotators per task",
            y=label,
            series=[_line(method, of[method][what]) for method in of if what in of[method]],
            y_scale=scale,
        )
        for data, of in runs.items()
    ]
    title = f"Figure 1: {name}; means over random subsets, with two standard errors"
    return Figure(f"figure-1-{name}", title, panels)


def _line(method: str, values: Floats) -> Series:
    mean = values.mean(axis=0)
    error = 2 * values.std(axis=0) / np.sqrt(len(values))
    low = np.maximum(mean - error, values.min(axis=0))  # which a logarithmic axis can show
    x = list(range(1, len(mean) + 1))
    return Series(method, x, mean.tolist(), low.tolist(), (mean + error).tolist())
