"""Tables 3 and 4 of *Fast Dawid-Skene*: votes that arrive question by question, on sp.

The paper does not say how many questions its initial set has. Here it is a quarter; the others
arrive in random order, each with all of its votes, and keep the answer they get on arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproductions.experiment import Cell, Claim, Plan, Report, Table, compared
from reproductions.fast_ds.contest import EM as AS_IN_THE_PAPER
from reproductions.fast_ds.contest import prepared, shuffled_ranks
from reproductions.fitting import Arrivals, fitted
from reproductions.remarks import Remarks
from reproductions.scoring import chosen_tasks, subset

REMARKS = Remarks.beside(__file__)

INITIAL = 0.25
ANNOTATORS = (2, 3, 4, 5)
# Accuracy in percent.
OFFLINE = {2: 85.59, 3: 88.41, 4: 90.02, 5: 90.74}
ONLINE = {2: 83.57, 3: 88.06, 4: 89.90, 5: 90.60}
# Table 3: accuracy, iterations.
METHODS = {"dawid-skene": (90.94, 26), "fast-dawid-skene": (90.60, 4), "hybrid": (90.64, 5)}


def cells(plan: Plan) -> list[Cell]:
    if "sp" not in plan.here:
        return []
    trials = plan.pick(12, 2)
    return [
        Cell(
            f"online/{method}/{n}/{trial}",
            online,
            {"method": method, "annotators": n, "trial": trial},
        )
        for method in METHODS
        for n in (ANNOTATORS if method == "fast-dawid-skene" else ANNOTATORS[-1:])
        for trial in range(trials)
    ]


def online(plan: Plan, method: str, annotators: int, trial: int) -> dict[str, float]:
    """Accuracy of both ways on one random subset of the votes."""
    random = np.random.default_rng([plan.seed, annotators, trial])
    questions = prepared("sp", plan)
    votes = subset(questions, shuffled_ranks(questions.labels, random) < annotators)
    labels = votes.labels
    offline = fitted(method, labels, **AS_IN_THE_PAPER)
    order = random.permutation(labels.n_tasks)
    n_first = round(INITIAL * labels.n_tasks)
    first = np.sort(order[:n_first]).astype(np.int32)
    began = chosen_tasks(votes, first)
    start = fitted(method, began.labels, **AS_IN_THE_PAPER)
    answers = np.empty(labels.n_tasks, dtype=np.int32)
    answers[first] = start.answers
    arrivals = Arrivals(start, began.labels)
    for task in order[n_first:].tolist():
        said = slice(labels.indptr[task], labels.indptr[task + 1])
        votes_on = zip(labels.worker[said].tolist(), labels.label[said].tolist(), strict=True)
        answers[task] = arrivals.answer(list(votes_on))
    return {
        "offline": float(100 * (offline.answers == votes.truth).mean()),
        "online": float(100 * (answers == votes.truth).mean()),
        "iterations": start.iterations,
    }


def _mean(
    found: Mapping[str, Any], method: str, annotators: int, which: str
) -> tuple[float, float]:
    """Mean over the subsets, and the standard deviation."""
    start = f"online/{method}/{annotators}/"
    values = [result[which] for key, result in found.items() if key.startswith(start)]
    return float(np.mean(values)), float(np.std(values))


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    if "sp" not in plan.here:
        return Report()
    return Report(_tables(found), (), _claims(found), _remarks(plan))


def _tables(found: Mapping[str, Any]) -> list[Table]:
    decimals = {"paper": 2, "ours": 2, "difference": 2, "deviation": 2}
    third = []
    for method, (accuracy, iterations) in METHODS.items():
        ours, deviation = _mean(found, method, ANNOTATORS[-1], "online")
        row = {"method": method, "what": "accuracy, %", "paper": accuracy, "ours": ours}
        third.append(row | {"deviation": deviation})
        ours, deviation = _mean(found, method, ANNOTATORS[-1], "iterations")
        row = {"method": method, "what": "iterations of the start", "paper": iterations}
        third.append(row | {"ours": ours, "deviation": deviation})
    fourth = []
    for n in ANNOTATORS:
        for which, paper in (("offline", OFFLINE[n]), ("online", ONLINE[n])):
            ours, deviation = _mean(found, "fast-dawid-skene", n, which)
            row = {"annotators": n, "way": which, "paper": paper, "ours": ours}
            fourth.append(row | {"deviation": deviation})
    return [
        Table("table-3", "Table 3: online on sp, five annotators", compared(third, 2), decimals),
        Table(
            "table-4",
            "Table 4: Fast Dawid-Skene on sp, accuracy in percent",
            compared(fourth, 2),
            decimals,
        ),
    ]


def _claims(found: Mapping[str, Any]) -> list[Claim]:
    made = []
    for n in ANNOTATORS:
        offline, _ = _mean(found, "fast-dawid-skene", n, "offline")
        online, _ = _mean(found, "fast-dawid-skene", n, "online")
        made.append(
            Claim(
                f"With {n} annotators online Fast Dawid-Skene is almost as accurate as offline.",
                offline - online < (2.1 if n == 2 else 0.6),
                f"{online:.2f} % against {offline:.2f} %; the paper {ONLINE[n]:.2f} and"
                f" {OFFLINE[n]:.2f}",
            )
        )
    return made


def _remarks(plan: Plan) -> list[str]:
    return [REMARKS.fill("Online", initial=INITIAL, subsets=plan.pick(12, 2))]
