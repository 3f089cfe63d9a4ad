"""Real crowds and real features: what features are worth by how many labels a task has and who
gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.labels import Labels
from reproductions.experiment import Cell, Claim, Figure, Panel, Plan, Report, Table
from reproductions.experts.featured import (
    FOUND,
    FULL,
    LINES,
    REPORTS_SMOOTHING,
    VOTE,
    WITHOUT,
    answered,
    described,
    points,
)
from reproductions.fitting import DEFAULT_SEED, DEFAULT_SMOOTHING
from reproductions.remarks import Remarks
from reproductions.scoring import Known
from reproductions.trials import line

REMARKS = Remarks.beside(__file__)

DATA_SETS = ("labelme", "sp")
SMOOTHINGS = (REPORTS_SMOOTHING, DEFAULT_SMOOTHING)
CROWDS = ("all", "weaker half", "stronger half")


def here(plan: Plan) -> list[str]:
    return [name for name in DATA_SETS if name in plan.here]


def most_labels(plan: Plan, name: str) -> Sequence[int]:
    """The most labels that a task is left with; the last leaves all."""
    full = {"labelme": (1, 2, 3), "sp": (1, 2, 3, 4, 5, 10)}
    quick = {"labelme": (3,), "sp": (2, 10)}
    chosen: Sequence[int] = plan.pick(full, quick)[name]
    return chosen


def trials(plan: Plan) -> int:
    n: int = plan.pick(8, 1)
    return n


def cells(plan: Plan) -> list[Cell]:
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
    return [*by_crowd, *by_labels]


def smoothings(plan: Plan) -> Sequence[float]:
    """The smoothings that the figure shows."""
    chosen: Sequence[float] = plan.pick(SMOOTHINGS, SMOOTHINGS[:1])
    return chosen


def _crowds(plan: Plan) -> Sequence[str]:
    chosen: Sequence[str] = plan.pick(CROWDS, CROWDS[:1])
    return chosen


def errors_of_crowd(plan: Plan, name: str, smoothing: float, crowd: str) -> dict[str, Any]:
    votes = described(plan, name)
    labels = kept(votes.labels, members(votes, crowd))
    answers = answered(labels, smoothing, DEFAULT_SEED)
    return {
        "labels": labels.n_labels,
        "tasks": int(labels.has_evidence.sum()),
        "right": 100 * float(_is_right(replace(votes, labels=labels)).mean()),
        "errors": answers.percent_wrong(votes.truth, labels.has_evidence),
        "weight": answers.weight,
    }


def errors_by_labels(
    plan: Plan, name: str, smoothing: float, most: Sequence[int], trial: int
) -> list[dict[str, Any]]:
    """Errors by the maximum number of labels of each task, which are drawn at random."""
    votes = described(plan, name)
    place = random_ranks(votes.labels, np.random.default_rng([plan.seed, trial]))
    found = []
    for n in most:
        labels = kept(votes.labels, place < n)
        answers = answered(labels, smoothing, trial)
        found.append(
            {
                "labels": labels.n_labels / labels.n_tasks,
                "errors": answers.percent_wrong(votes.truth, labels.has_evidence),
                "weight": answers.weight,
            }
        )
    return found


def kept(labels: Labels, keep: NDArray[np.bool_]) -> Labels:
    """The given labels only; every task, worker, class and feature stays."""
    before = np.concatenate([[0], np.cumsum(keep)])
    indptr = before[labels.indptr].astype(labels.indptr.dtype)
    return replace(labels, indptr=indptr, worker=labels.worker[keep], label=labels.label[keep])


def random_ranks(labels: Labels, random: np.random.Generator) -> NDArray[np.integer]:
    """Rank of each label in a random order of its task's labels, from 0."""
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
        tables=[_crowd_table(plan, found)],
        figures=[_figure(plan, found)],
        claims=[claim for name in here(plan) for claim in _claims(plan, found, name)],
        remarks=_remarks(plan, found),
    )


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
            by_number = by_labels(plan, found, name, smoothing)
            x = [trials[0]["labels"] for trials in by_number]
            lines = [
                line(which, x, [[t["errors"][which] for t in trials] for trials in by_number])
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
    by_number = by_labels(plan, found, name, smoothing)
    few = {n: p for n, p in zip(most_labels(plan, name), by_number, strict=True) if n <= 2}
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
    kept = by_labels(plan, found, name, smoothing)
    gains = [_mean(trials, WITHOUT) - _mean(trials, FOUND) for trials in kept]
    return Claim(
        f"On {name} the more labels there are the less the weight found gains on the same model"
        f" without features, at smoothing {smoothing:g}.",
        all(later < earlier for earlier, later in pairwise(gains)),
        ", ".join(
            f"{points(gain)} points with {point[0]['labels']:.1f}"
            for gain, point in zip(gains, kept, strict=True)
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
            f"{points(weak)} points against {points(strong)} at smoothing {smoothing:g}"
            for smoothing, weak, strong in zip(SMOOTHINGS, weaker, stronger, strict=True)
        ),
    )


def _remarks(plan: Plan, found: Mapping[str, Any]) -> list[str]:
    how = REMARKS.fill(
        "How the weight is found", default=DEFAULT_SMOOTHING, reports=REPORTS_SMOOTHING
    )
    remarks = [" ".join([how, *(_at_both_smoothings(found, name) for name in here(plan))])]
    remarks += [_one_label(plan, found, n) for n in here(plan) if 1 in most_labels(plan, n)]
    return remarks + [text for name in here(plan) for text in _halves(plan, found, name)]


def _at_both_smoothings(found: Mapping[str, Any], name: str) -> str:
    of = {s: found[f"crowd/{name}/{s:g}/all"] for s in SMOOTHINGS}
    errors = " and ".join(
        f"{of[s]['errors'][FOUND]:.2f} % at {s:g} (weight {of[s]['weight']:g})" for s in SMOOTHINGS
    )
    return REMARKS.fill("Both smoothings", data=name, errors=errors, vote=of[1.0]["errors"][VOTE])


def _one_label(plan: Plan, found: Mapping[str, Any], name: str) -> str:
    def wrong(which: str, at: Sequence[float]) -> str:
        means = [_mean(by_labels(plan, found, name, smoothing)[0], which) for smoothing in at]
        return " and ".join(f"{mean:.1f} %" for mean in means)

    at = smoothings(plan)
    return REMARKS.fill(
        "A single label",
        data=name,
        smoothings=" and ".join(f"{smoothing:g}" for smoothing in at),
        without=wrong(WITHOUT, at),
        found=wrong(FOUND, at),
        full=wrong(FULL, at),
        vote=wrong(VOTE, at[:1]),
    )


def _halves(plan: Plan, found: Mapping[str, Any], name: str) -> list[str]:
    """A remark where half of the crowd is too little for the model without features."""
    halves = [
        (smoothing, crowd, found[f"crowd/{name}/{smoothing:g}/{crowd}"])
        for smoothing in SMOOTHINGS
        for crowd in _crowds(plan)[1:]
    ]
    failing = [
        f"{half['errors'][WITHOUT]:.1f} % against {half['errors'][VOTE]:.1f} % ({crowd}, smoothing"
        f" {smoothing:g}, {half['labels'] / half['tasks']:.1f} labels of a task)"
        for smoothing, crowd, half in halves
        if half["errors"][WITHOUT] > half["errors"][VOTE]
    ]
    return [REMARKS.fill("Half a crowd", data=name, failing="; ".join(failing))] if failing else []
