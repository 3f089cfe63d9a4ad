"""Real crowds and real features: what features are worth by how many labels a task has and who
gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.bench.experiment import Cell, Claim, Figure, Panel, Plan, Report, Table
from quorate.bench.featured import (
    FOUND,
    FULL,
    LINES,
    REPORTS_SMOOTHING,
    VOTE,
    WITHOUT,
    answered,
    features_of,
    line,
)
from quorate.bench.judging import Known, fitted, known, percent_wrong
from quorate.labels import Labels
from quorate.models.naive_bayes import NaiveBayes

DATA_SETS = ("labelme", "sp")
SMOOTHINGS = (REPORTS_SMOOTHING, NaiveBayes.smoothing)
CROWDS = ("all", "weaker half", "stronger half")
# Errors in percent, by the features' weight, that a program written apart from this one found.
APART = {
    "labelme": {0.0: 28.2, 0.1: 18.4, 1.0: 28.7},
    "sp": {0.0: 8.42, 0.3: 8.10, 1.0: 8.80},
}
APART_DECIMALS = {"labelme": 1, "sp": 2}
ITERATIONS = 30


def here(plan: Plan) -> list[str]:
    return [name for name in DATA_SETS if name in plan.here]


def most_labels(plan: Plan, name: str) -> Sequence[int]:
    """The most labels that a task is left with; the last leaves all."""
    full = {"labelme": (1, 2, 3), "sp": (1, 2, 3, 4, 5, 10)}
    quick = {"labelme": (1, 3), "sp": (1, 2, 10)}
    chosen: Sequence[int] = plan.pick(full, quick)[name]
    return chosen


def trials(plan: Plan) -> int:
    n: int = plan.pick(8, 1)
    return n


def cells(plan: Plan) -> list[Cell]:
    apart = [Cell(f"apart/{name}", errors_by_weight, {"name": name}) for name in here(plan)]
    by_crowd = [
        Cell(
            f"crowd/{name}/{smoothing:g}/{crowd}",
            errors_of_crowd,
            {"name": name, "smoothing": smoothing, "crowd": crowd},
            cost=2,
        )
        for name in here(plan)
        for smoothing in SMOOTHINGS
        for crowd in _crowds(plan)
    ]
    by_labels = [
        Cell(
            f"labels/{name}/{smoothing:g}/{trial}",
            errors_by_labels,
            {
                "name": name,
                "smoothing": smoothing,
                "most": list(most_labels(plan, name)),
                "trial": trial,
            },
            cost=2 * len(most_labels(plan, name)),
        )
        for name in here(plan)
        for smoothing in smoothings(plan)
        for trial in range(trials(plan))
    ]
    return [*apart, *by_crowd, *by_labels]


def smoothings(plan: Plan) -> Sequence[float]:
    """Of the figure."""
    chosen: Sequence[float] = plan.pick(SMOOTHINGS, SMOOTHINGS[:1])
    return chosen


def _crowds(plan: Plan) -> Sequence[str]:
    chosen: Sequence[str] = plan.pick(CROWDS, CROWDS[:1])
    return chosen


def described(plan: Plan, name: str) -> Known:
    """A data set with its features."""
    votes = known(name, plan.directory)
    features = features_of(votes.codebook.tasks, name, plan.directory)
    return replace(votes, labels=replace(votes.labels, features=features))


def errors_by_weight(plan: Plan, name: str) -> dict[str, list[float]]:
    """With the report's smoothing: after so many iterations, and until it stops by itself."""
    votes = described(plan, name)

    def wrong(weight: float, **options: Any) -> float:
        result = fitted(
            "naive-bayes",
            votes.labels,
            feature_weight=weight,
            smoothing=REPORTS_SMOOTHING,
            **options,
        )
        return percent_wrong(result.posterior, votes.truth)

    return {
        "iterations": [wrong(w, max_iter=ITERATIONS, tol=0) for w in APART[name]],
        "default": [wrong(w) for w in APART[name]],
    }


def errors_of_crowd(plan: Plan, name: str, smoothing: float, crowd: str) -> dict[str, Any]:
    votes = described(plan, name)
    labels = kept(votes.labels, members(votes, crowd))
    answers = answered(labels, smoothing, NaiveBayes.seed)
    return {
        "labels": labels.n_labels,
        "right": 100 * float(_is_right(replace(votes, labels=labels)).mean()),
        "errors": answers.percent_wrong(votes.truth, labels.heard),
        "weight": answers.weight,
    }


def errors_by_labels(
    plan: Plan, name: str, smoothing: float, most: Sequence[int], trial: int
) -> list[dict[str, Any]]:
    """With so many labels at most of each task, drawn by lot."""
    votes = described(plan, name)
    place = place_by_lot(votes.labels, np.random.default_rng([plan.seed, trial]))
    found = []
    for n in most:
        labels = kept(votes.labels, place < n)
        answers = answered(labels, smoothing, trial)
        found.append(
            {
                "labels": labels.n_labels / labels.n_tasks,
                "errors": answers.percent_wrong(votes.truth, labels.heard),
                "weight": answers.weight,
            }
        )
    return found


def kept(labels: Labels, keep: NDArray[np.bool_]) -> Labels:
    """Only those labels; every task, worker, class and feature stays."""
    before = np.concatenate([[0], np.cumsum(keep)])
    indptr = before[labels.indptr].astype(labels.indptr.dtype)
    return replace(labels, indptr=indptr, worker=labels.worker[keep], label=labels.label[keep])


def place_by_lot(labels: Labels, random: np.random.Generator) -> NDArray[np.integer]:
    """Each label's place in a random order of its task's labels, from 0."""
    task = np.repeat(np.arange(labels.n_tasks), labels.n_said)
    order = np.lexsort((random.random(labels.n_labels), task))
    place = np.empty(labels.n_labels, dtype=np.int64)
    place[order] = np.arange(labels.n_labels) - labels.indptr[task]
    return place


def members(votes: Known, crowd: str) -> NDArray[np.bool_]:
    """The labels of a part of the crowd: workers in the order of how often they are right, cut
    where half of the labels are on either side."""
    labels = votes.labels
    if crowd == "all":
        return np.ones(labels.n_labels, dtype=bool)
    count = np.bincount(labels.worker, minlength=labels.n_workers)
    right = np.bincount(labels.worker, _is_right(votes), minlength=labels.n_workers)
    order = np.argsort(right / np.maximum(count, 1), kind="stable")
    weaker = np.empty(labels.n_workers, dtype=bool)
    weaker[order] = np.cumsum(count[order]) <= labels.n_labels / 2
    chosen: NDArray[np.bool_] = weaker[labels.worker] == (crowd == "weaker half")
    return chosen


def _is_right(votes: Known) -> NDArray[np.bool_]:
    right: NDArray[np.bool_] = np.repeat(votes.truth, votes.labels.n_said) == votes.labels.label
    return right


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    if not here(plan):
        return Report()
    return Report(
        tables=[_apart_table(plan, found), _crowd_table(plan, found)],
        figures=[_figure(plan, found)],
        claims=[claim for name in here(plan) for claim in _claims(plan, found, name)],
        remarks=_remarks(plan, found),
    )


def _apart_table(plan: Plan, found: Mapping[str, Any]) -> Table:
    rows = [
        {
            "data": name,
            "weight": weight,
            "written apart": figure,
            "ours": found[f"apart/{name}"]["iterations"][i],
            "difference": round(
                found[f"apart/{name}"]["iterations"][i] - figure, APART_DECIMALS[name]
            )
            + 0.0,
            "ours, until it stops": found[f"apart/{name}"]["default"][i],
        }
        for name in here(plan)
        for i, (weight, figure) in enumerate(APART[name].items())
    ]
    title = (
        f"The report's smoothing, {ITERATIONS} iterations of EM: error, percent, beside a program"
        " written apart from ours (the report prints none)"
    )
    return Table("apart", title, rows, dict.fromkeys(rows[0], 2) | {"weight": 1})


def _crowd_table(plan: Plan, found: Mapping[str, Any]) -> Table:
    rows = [
        {
            "data": name,
            "smoothing": smoothing,
            "workers": crowd,
            "labels": result["labels"],
            "right, %": result["right"],
            **result["errors"],
            "the weight": result["weight"],
        }
        for name in here(plan)
        for smoothing in SMOOTHINGS
        for crowd in _crowds(plan)
        for result in [found[f"crowd/{name}/{smoothing:g}/{crowd}"]]
    ]
    title = "Real crowds and real features: error, percent (ours)"
    decimals = {"smoothing": 1, "labels": 0, "right, %": 1}
    return Table("crowds", title, rows, dict.fromkeys(rows[0], 2) | decimals)


def by_labels(
    plan: Plan, found: Mapping[str, Any], name: str, smoothing: float
) -> list[list[dict[str, Any]]]:
    """The trials for each number of labels kept."""
    results = [found[f"labels/{name}/{smoothing:g}/{trial}"] for trial in range(trials(plan))]
    return [[trial[at] for trial in results] for at in range(len(most_labels(plan, name)))]


def _figure(plan: Plan, found: Mapping[str, Any]) -> Figure:
    panels = []
    for name in here(plan):
        for smoothing in smoothings(plan):
            points = by_labels(plan, found, name, smoothing)
            x = [point[0]["labels"] for point in points]
            lines = [
                line(which, x, [[t["errors"][which] for t in point] for point in points])
                for which in LINES
            ]
            title = f"{name}, smoothing {smoothing:g}"
            panels.append(Panel(title, "labels of a task, mean", "error, %", lines))
    title = "Real crowds: error by the number of labels that are kept, with two standard errors"
    return Figure("crowds", title, panels, columns=2)


def _claims(plan: Plan, found: Mapping[str, Any], name: str) -> list[Claim]:
    every = {
        smoothing: found[f"crowd/{name}/{smoothing:g}/all"]["errors"] for smoothing in SMOOTHINGS
    }

    def less(text: str, which: str, other: str) -> Claim:
        return Claim(
            f"On {name}, all labels, {text}, at either smoothing.",
            all(errors[which] < errors[other] - 1e-9 for errors in every.values()),
            "; ".join(
                f"{errors[which]:.2f} % against {errors[other]:.2f} % at smoothing {smoothing:g}"
                for smoothing, errors in every.items()
            ),
        )

    return [
        less("no features err less than features at full weight", WITHOUT, FULL),
        less("features at the weight found err less than none", FOUND, WITHOUT),
        less("features at the weight found err less than the vote", FOUND, VOTE),
        *(_with_few_labels(plan, found, name, smoothing) for smoothing in smoothings(plan)),
        *(_less_for_many(plan, found, name, smoothing) for smoothing in smoothings(plan)),
        *([_less_for_skilled(found, name)] if len(_crowds(plan)) > 1 else []),
    ]


def _mean(trials: Sequence[Mapping[str, Any]], which: str) -> float:
    return float(np.mean([trial["errors"][which] for trial in trials]))


def _with_few_labels(plan: Plan, found: Mapping[str, Any], name: str, smoothing: float) -> Claim:
    points = by_labels(plan, found, name, smoothing)
    few = {n: p for n, p in zip(most_labels(plan, name), points, strict=True) if n <= 2}
    errors = {n: (_mean(p, FOUND), min(_mean(p, VOTE), _mean(p, WITHOUT))) for n, p in few.items()}
    return Claim(
        f"On {name} with one or two labels of a task features at the weight found err less than"
        f" the vote and than none, at smoothing {smoothing:g}.",
        all(ours < alone for ours, alone in errors.values()),
        "; ".join(
            f"{ours:.1f} % against {alone:.1f} % with {n} at most"
            for n, (ours, alone) in errors.items()
        ),
    )


def _less_for_many(plan: Plan, found: Mapping[str, Any], name: str, smoothing: float) -> Claim:
    points = by_labels(plan, found, name, smoothing)
    gains = [_mean(point, WITHOUT) - _mean(point, FOUND) for point in points]
    return Claim(
        f"On {name} the more labels there are the less the weight found gains on the same model"
        f" without features, at smoothing {smoothing:g}.",
        all(later < earlier for earlier, later in pairwise(gains)),
        ", ".join(
            f"{gain:+.1f} points with {point[0]['labels']:.1f}"
            for gain, point in zip(gains, points, strict=True)
        ),
    )


def _less_for_skilled(found: Mapping[str, Any], name: str) -> Claim:
    def gain(smoothing: float, crowd: str) -> float:
        errors = found[f"crowd/{name}/{smoothing:g}/{crowd}"]["errors"]
        return float(errors[WITHOUT] - errors[FOUND])

    weaker, stronger = (
        [gain(smoothing, crowd) for smoothing in SMOOTHINGS] for crowd in CROWDS[1:]
    )
    return Claim(
        f"On {name} the weight found gains more on the same model without features for the weaker"
        " half of the crowd than for the stronger, at either smoothing.",
        all(weak > strong for weak, strong in zip(weaker, stronger, strict=True)),
        "; ".join(
            f"{weak:+.1f} points against {strong:+.1f} at smoothing {smoothing:g}"
            for smoothing, weak, strong in zip(SMOOTHINGS, weaker, stronger, strict=True)
        ),
    )


def _remarks(plan: Plan, found: Mapping[str, Any]) -> list[str]:
    return []
