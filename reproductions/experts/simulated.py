"""Real features and truth, simulated experts: what features are worth by how many experts there are
and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorate import datasets
from quorate.kernels import Codes
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
    features_of,
    points,
)
from reproductions.remarks import Remarks
from reproductions.trials import line

REMARKS = Remarks.beside(__file__)

DATA_SETS = ("mushroom", "vote")
# An expert labels each task with this chance, but for the tasks that nobody labels.
SHARE, UNLABELLED = 0.5, 0.25
NOBODY = "nobody labelled"


@dataclass(frozen=True)
class Size:
    """Numbers of tasks and trials on one data set."""

    tasks: int
    trials: int


def sizes(plan: Plan) -> dict[str, Size]:
    full = {"mushroom": Size(1_500, 8), "vote": Size(435, 12)}
    quick = {"mushroom": Size(400, 1), "vote": Size(435, 1)}
    chosen: dict[str, Size] = plan.pick(full, quick)
    return {name: size for name, size in chosen.items() if name in plan.here}


def accuracies(plan: Plan) -> Sequence[float]:
    chosen: Sequence[float] = plan.pick((0.55, 0.65, 0.75, 0.9), (0.65, 0.9))
    return chosen


def crowds(plan: Plan) -> Sequence[int]:
    chosen: Sequence[int] = plan.pick((1, 2, 3, 5, 8, 12), (1, 3, 8))
    return chosen


def cells(plan: Plan) -> list[Cell]:
    return [
        Cell(
            f"simulated/{name}/{accuracy}/{trial}",
            errors_by_experts,
            {
                "name": name,
                "n_tasks": size.tasks,
                "accuracy": accuracy,
                "experts": list(crowds(plan)),
                "trial": trial,
            },
            cost=len(crowds(plan)) * (size.tasks + 300) / 3_000,
        )
        for name, size in sizes(plan).items()
        for accuracy in accuracies(plan)
        for trial in range(size.trials)
    ]


def errors_by_experts(
    plan: Plan, name: str, n_tasks: int, accuracy: float, experts: Sequence[int], trial: int
) -> list[dict[str, Any]]:
    """Errors by the number of experts, of whom the first are taken: on the tasks that have labels,
    on those that nobody labelled, and the weight found."""
    random = np.random.default_rng([plan.seed, trial, round(1_000 * accuracy)])
    gold = datasets.gold(name, plan.directory)
    gold = gold[random.permutation(len(gold))[:n_tasks]]
    truth = gold["label"].cast(int).to_numpy().astype(np.int32)
    features = features_of(gold["task"], name, plan.directory)
    task, expert, label = one_coin_votes(truth, accuracy, max(experts), random)
    nobody = np.arange(len(truth)) >= labelled(len(truth))
    found = []
    for n in experts:
        some = expert < n
        votes = (task[some], expert[some], label[some])
        labels = Labels.from_codes(*votes, n_tasks=len(truth), n_classes=2, features=features)
        answers = answered(labels, REPORTS_SMOOTHING, trial)
        found.append(
            {
                "labelled": answers.percent_wrong(truth, labels.has_evidence),
                NOBODY: answers.percent_wrong(truth, nobody),
                "weight": answers.weight,
            }
        )
    return found


def labelled(n_tasks: int) -> int:
    """Number of tasks, the first ones, that may get labels."""
    return n_tasks - int(UNLABELLED * n_tasks)


def one_coin_votes(
    truth: Codes, accuracy: float, n_experts: int, random: np.random.Generator
) -> tuple[Codes, Codes, Codes]:
    """(task, expert, label) of experts who are right that often, whichever of two classes it is."""
    says = random.random((labelled(len(truth)), n_experts)) < SHARE
    task, expert = np.nonzero(says)
    right = random.random(len(task)) < accuracy
    label = np.where(right, truth[task], 1 - truth[task])
    return task.astype(np.int32), expert.astype(np.int32), label.astype(np.int32)


class Errors:
    """The trials' results: by data set, accuracy and number of experts."""

    def __init__(self, plan: Plan, found: Mapping[str, Any]) -> None:
        self._trials = {
            (name, accuracy, n): [
                found[f"simulated/{name}/{accuracy}/{trial}"][i] for trial in range(size.trials)
            ]
            for name, size in sizes(plan).items()
            for accuracy in accuracies(plan)
            for i, n in enumerate(crowds(plan))
        }

    def of(self, where: str, which: str, *crowd: Any) -> list[float]:
        return [trial[where][which] for trial in self._trials[crowd]]

    def mean(self, where: str, which: str, *crowd: Any) -> float:
        return float(np.mean(self.of(where, which, *crowd)))

    def votes_alone(self, *crowd: Any) -> float:
        """The better of the vote and Dawid-Skene."""
        return min(self.mean("labelled", which, *crowd) for which in (VOTE, WITHOUT))

    def gain(self, which: str, *crowd: Any) -> float:
        return self.votes_alone(*crowd) - self.mean("labelled", which, *crowd)

    def weight(self, *crowd: Any) -> float:
        return float(np.median([trial["weight"] for trial in self._trials[crowd]]))


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    names = list(sizes(plan))
    if not names:
        return Report()
    errors = Errors(plan, found)
    return Report(
        tables=[_table(plan, errors)],
        figures=[_labelled_figure(plan, errors), _nobody_figure(plan, errors)],
        claims=[claim for name in names for claim in _claims(plan, errors, name)],
        remarks=_remarks(plan, errors),
    )


def _table(plan: Plan, errors: Errors) -> Table:
    rows = [
        {
            "data": name,
            "accuracy": accuracy,
            "experts": n,
            **{which: errors.mean("labelled", which, name, accuracy, n) for which in LINES},
            "the weight": errors.weight(name, accuracy, n),
            **{
                f"{NOBODY}: {which}": errors.mean(NOBODY, which, name, accuracy, n)
                for which in (FULL, FOUND)
            },
            "trials": size.trials,
        }
        for name, size in sizes(plan).items()
        for accuracy in accuracies(plan)
        for n in crowds(plan)
    ]
    title = "Simulated experts on real features: error, percent, and the median weight (ours)"
    whole = {"experts": 0, "trials": 0}
    return Table(
        "simulated",
        title,
        rows,
        dict.fromkeys(rows[0], 1) | {"accuracy": 2, "the weight": 2} | whole,
    )


def _labelled_figure(plan: Plan, errors: Errors) -> Figure:
    title = "Tasks that experts labelled: error with and without features, with two standard errors"
    return _figure("simulated", title, plan, errors, "labelled", LINES)


def _nobody_figure(plan: Plan, errors: Errors) -> Figure:
    title = "Tasks that nobody labelled, by their features: error, with two standard errors"
    return _figure("unlabelled", title, plan, errors, NOBODY, (FULL, FOUND))


def _figure(
    name: str, title: str, plan: Plan, errors: Errors, where: str, lines: Sequence[str]
) -> Figure:
    panels = [
        Panel(
            f"{data}, experts right {100 * accuracy:.0f} %",
            "experts",
            "error, %",
            [
                line(which, n, [errors.of(where, which, data, accuracy, i) for i in n])
                for which in lines
            ],
        )
        for data in sizes(plan)
        for accuracy in accuracies(plan)
        for n in [crowds(plan)]
    ]
    return Figure(name, title, panels, columns=len(accuracies(plan)))


def _claims(plan: Plan, errors: Errors, name: str) -> list[Claim]:
    return [
        _few_are_helped(plan, errors, name),
        _found_does_no_harm(plan, errors, name),
        *(_less_for_many(plan, errors, name, accuracy) for accuracy in accuracies(plan)),
        _less_for_skilled(plan, errors, name),
        _pupils_beat_teachers(plan, errors, name),
    ]


def _few_are_helped(plan: Plan, errors: Errors, name: str) -> Claim:
    crowd = [(a, n) for a in accuracies(plan) for n in crowds(plan) if n <= 3 and a <= 0.75]
    gains = {c: errors.gain(FULL, name, *c) for c in crowd}
    least = min(gains, key=lambda c: gains[c])
    return Claim(
        f"On {name} features at full weight help up to three experts who are right up to 75 % of"
        " the time.",
        gains[least] > 0,
        f"the error falls by {gains[least]:.1f} points or more, least with"
        f" {least[1]} right {100 * least[0]:.0f} %",
    )


def _found_does_no_harm(plan: Plan, errors: Errors, name: str) -> Claim:
    gains = {(a, n): errors.gain(FOUND, name, a, n) for a in accuracies(plan) for n in crowds(plan)}
    least = min(gains.values())
    n_worse = sum(gain < -1e-9 for gain in gains.values())
    return Claim(
        f"On {name} features at the weight found never err more than the votes alone.",
        n_worse == 0,
        f"more in {n_worse} of {len(gains)} crowds, by {max(0.0, -least):.1f} points at most",
    )


def _less_for_many(plan: Plan, errors: Errors, name: str, accuracy: float) -> Claim:
    few, many = crowds(plan)[0], crowds(plan)[-1]
    first, last = (errors.gain(FULL, name, accuracy, n) for n in (few, many))
    alone = [errors.votes_alone(name, accuracy, n) for n in (few, many)]
    return Claim(
        f"On {name} features at full weight are worth less to many experts than to one, if they"
        f" are right {100 * accuracy:.0f} % of the time.",
        last < first,
        f"{points(first)} points for {few}, {points(last)} for {many}: the votes alone err on"
        f" {alone[0]:.1f} and {alone[1]:.1f} %",
    )


def _less_for_skilled(plan: Plan, errors: Errors, name: str) -> Claim:
    weak, skilled = accuracies(plan)[0], accuracies(plan)[-1]
    gains = [
        (errors.gain(FULL, name, weak, n), errors.gain(FULL, name, skilled, n))
        for n in crowds(plan)
    ]
    return Claim(
        f"On {name} features at full weight are worth less to skilled experts than to weak ones,"
        " however many there are.",
        all(to_skilled < to_weak for to_weak, to_skilled in gains),
        f"{points(max(g for _, g in gains))} points at most for those right {100 * skilled:.0f} %"
        f" of the time, {points(min(g for g, _ in gains))} at least for {100 * weak:.0f} %",
    )


def _pupils_beat_teachers(plan: Plan, errors: Errors, name: str) -> Claim:
    """A claim on three or more experts who are right 75 % of the time or less."""
    surplus = {
        (a, n): errors.mean(NOBODY, FOUND, name, a, n) - 100 * (1 - a)
        for a in accuracies(plan)
        for n in crowds(plan)
        if a <= 0.75 and n >= 3
    }
    accuracy, n = worst = max(surplus, key=lambda c: surplus[c])
    return Claim(
        f"On {name} three experts or more, right up to 75 % of the time, teach a classifier that"
        " errs less on tasks nobody labelled than they do.",
        surplus[worst] < 0,
        f"{errors.mean(NOBODY, FOUND, name, accuracy, n):.1f} % with {n} who err on"
        f" {100 * (1 - accuracy):.0f} %, which is the closest",
    )


def _remarks(plan: Plan, errors: Errors) -> list[str]:
    return [_set_up(plan, errors), *(_weights(plan, errors, name) for name in sizes(plan))]


def _set_up(plan: Plan, errors: Errors) -> str:
    few, skilled = crowds(plan)[0], accuracies(plan)[-1]
    alone = " and ".join(
        f"{errors.mean('labelled', WITHOUT, name, skilled, few):.1f} % of {name} (the expert on"
        f" {errors.mean('labelled', VOTE, name, skilled, few):.1f} %)"
        for name in sizes(plan)
    )
    return REMARKS.fill(
        "Simulated experts", smoothing=REPORTS_SMOOTHING, skilled=100 * skilled, alone=alone
    )


def _weights(plan: Plan, errors: Errors, name: str) -> str:
    few, many = crowds(plan)[0], crowds(plan)[-1]
    weak, skilled = accuracies(plan)[0], accuracies(plan)[-1]

    def wrong(which: str, accuracy: float, n: int) -> float:
        return errors.mean("labelled", which, name, accuracy, n)

    return REMARKS.fill(
        "Weights for simulated experts",
        data=name,
        few=few,
        many=many,
        weak=100 * weak,
        skilled=100 * skilled,
        full_skilled_many=wrong(FULL, skilled, many),
        vote_skilled_many=wrong(VOTE, skilled, many),
        found_skilled_many=wrong(FOUND, skilled, many),
        full_weak_few=wrong(FULL, weak, few),
        found_weak_few=wrong(FOUND, weak, few),
        vote_weak_few=wrong(VOTE, weak, few),
        full_weak_many=wrong(FULL, weak, many),
        vote_weak_many=wrong(VOTE, weak, many),
    )
