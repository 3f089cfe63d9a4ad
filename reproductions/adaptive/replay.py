"""Real votes, bought one by one: from two votes on each task, policies may buy any that exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quorate.labels import Labels
from quorate.result import Result
from reproductions.adaptive.policy import Grown, task_scores, vote_worths, worker_confusions
from reproductions.experiment import Cell, Claim, Figure, Panel, Plan, Report, Table
from reproductions.fast_ds.contest import shuffled_ranks
from reproductions.fitting import fitted
from reproductions.remarks import Remarks
from reproductions.scoring import Known, known, percent_wrong, subset
from reproductions.trials import line

REMARKS = Remarks.beside(__file__)

DATA_SETS = ("d_possent", "rte", "weather")
POLICIES = ("random", "entropy", "forest", "gain")
STEP = 0.2  # of the tasks get a vote at a time
LAST = 0.65  # of the votes: enough to see
GRID = np.round(np.arange(0.2, LAST, 0.05), 2)


def trials(plan: Plan) -> int:
    return int(plan.pick(8, 1))


def cells(plan: Plan) -> list[Cell]:
    here = [name for name in DATA_SETS if name in plan.here]
    if plan.quick:
        here = [name for name in here if name == "rte"]
    return [
        Cell(
            f"replay/{name}/{policy}/{trial}",
            bought,
            {"name": name, "policy": policy, "trial": trial},
            cost=10 if policy == "forest" else 2,
        )
        for name in here
        for policy in POLICIES
        for trial in range(trials(plan))
    ]


def bought(plan: Plan, name: str, policy: str, trial: int) -> dict[str, Any]:
    """The error in percent after each purchase, by the share of votes bought, and with all."""
    votes = known(name, plan.directory)
    labels = votes.labels
    options = {"beta": (4.0, 2.0), "low": 1 / labels.n_classes}
    random = np.random.default_rng([plan.seed, trial])
    have = shuffled_ranks(labels, random) < 2
    shares, errors = [], []
    while True:
        now = subset(votes, have)
        result = fitted("one-coin", now.labels, **options)
        shares.append(float(have.mean()))
        errors.append(percent_wrong(result.posterior, votes.truth))
        if shares[-1] >= LAST:
            break
        have[_next(policy, result, now.labels, votes, have, random, plan)] = True
    everything = fitted("one-coin", labels, **options)
    return {
        "shares": shares,
        "errors": errors,
        "all": percent_wrong(everything.posterior, votes.truth),
    }


def _next(
    policy: str,
    result: Result,
    so_far: Labels,
    votes: Known,
    have: Any,
    random: np.random.Generator,
    plan: Plan,
) -> list[int]:
    """The votes to buy: on the first tasks in rank, each of the best of those who voted there."""
    labels = votes.labels
    grown = Grown(*plan.pick((3, 50), (1, 20)))
    score = task_scores(policy, result, so_far, grown, random)
    task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))
    has_more = np.bincount(task[~have], minlength=labels.n_tasks) > 0
    step = min(max(1, round(STEP * labels.n_tasks)), int(has_more.sum()))
    order = np.argsort(-np.where(has_more, score, -np.inf))[:step]
    confusions = worker_confusions(result, so_far)
    chosen = []
    for t in order.tolist():
        places = np.flatnonzero(~have[labels.indptr[t] : labels.indptr[t + 1]]) + labels.indptr[t]
        if policy == "random":
            chosen.append(int(random.choice(places)))
            continue
        worth = vote_worths(result.posterior[t], confusions[labels.worker[places]])
        chosen.append(int(places[worth.argmax()]))
    return chosen


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    here = [name for name in DATA_SETS if f"replay/{name}/random/0" in found]
    if not here:
        return Report()
    of = {
        (name, policy): [found[f"replay/{name}/{policy}/{t}"] for t in range(trials(plan))]
        for name in here
        for policy in POLICIES
    }
    return Report(
        tables=[_table(here, of)],
        figures=[_figure(here, of)],
        claims=[claim for name in here for claim in _claims(name, of)],
        remarks=[REMARKS.fill("Real votes", last=LAST)],
    )


def reached(run: Mapping[str, Any]) -> float:
    """The share of votes with which there are no more wrong labels than with all."""
    there = [s for s, e in zip(run["shares"], run["errors"], strict=True) if e <= run["all"] + 1e-9]
    return there[0] if there else float("inf")


def median_reached(runs: list[Any]) -> float | None:
    median = float(np.median([reached(run) for run in runs]))
    return median if np.isfinite(median) else None


def on_grid(runs: list[Any]) -> list[list[float]]:
    """The errors of each trial at the same shares: ``[share][trial]``."""
    curves = np.array([np.interp(GRID, run["shares"], run["errors"]) for run in runs])
    return [list(values) for values in curves.T.tolist()]


def _table(here: list[str], of: Mapping[tuple[str, str], list[Any]]) -> Table:
    rows = []
    for name in here:
        for policy in POLICIES:
            curve = dict(zip(GRID.tolist(), on_grid(of[name, policy]), strict=True))
            rows.append(
                {
                    "data": name,
                    "policy": policy,
                    "all votes, %": of[name, policy][0]["all"],
                    **{
                        f"at {at:.0%}": float(np.mean(curve[at]))
                        for at in (0.2, 0.3, 0.4, 0.5, 0.6)
                    },
                    "reached with": median_reached(of[name, policy]),
                }
            )
    decimals = dict.fromkeys(rows[0], 2)
    title = "Wrong labels in percent with a share of the votes, real votes bought one by one"
    return Table("replay", title, rows, decimals)


def _figure(here: list[str], of: Mapping[tuple[str, str], list[Any]]) -> Figure:
    panels = [
        Panel(
            name,
            "share of the votes bought",
            "wrong labels, %",
            [
                *(line(policy, GRID.tolist(), on_grid(of[name, policy])) for policy in POLICIES),
                line(
                    "all votes",
                    [float(GRID[0]), float(GRID[-1])],
                    [[of[name, "gain"][0]["all"]]] * 2,
                ),
            ],
        )
        for name in here
    ]
    title = "Real votes bought one by one: means over trials, with two standard errors"
    return Figure("replay", title, panels)


def _claims(name: str, of: Mapping[tuple[str, str], list[Any]]) -> list[Claim]:
    made = []
    for policy in ("forest", "gain"):
        share = median_reached(of[name, policy])
        made.append(
            Claim(
                f"On {name} {policy} reaches the error of all votes with at most 60 % of them.",
                share is not None and share <= 0.6,
                "never" if share is None else f"with {share:.0%}, the median over trials",
            )
        )
    return made
