"""Figure 3 of the rank-one paper: real crowds in which workers meet fewer and fewer others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.labels import Labels
from reproductions.experiment import Cell, Claim, Figure, Panel, Plan, Report, Series, Table
from reproductions.fitting import fitted, share_wrong
from reproductions.rank_one.contestants import DRAWN, FAR_OFF, METHODS, errors, mean_and_error
from reproductions.remarks import Remarks
from reproductions.scoring import Known, known, subset

REMARKS = Remarks.beside(__file__)

DATA_SETS = ("rte", "temp")
TIES_FIRST = "IWMV, ties first"
Member = NDArray[np.bool_]  # [task, worker]: has the worker a vote there?


def degrees(plan: Plan) -> Sequence[int]:
    chosen: Sequence[int] = plan.pick([60, 40, 30, 20, 15, 10, 7, 5, 3], [40, 15, 5])
    return chosen


def cells(plan: Plan) -> list[Cell]:
    parts, in_each = plan.pick((10, 5), (1, 2))
    return [
        Cell(
            f"figure 3/{name}/{part}",
            errors_when_sparse,
            {"name": name, "first": part * in_each, "trials": in_each},
            cost=0.12 * in_each * len(degrees(plan)),
        )
        for name in DATA_SETS
        if name in plan.here
        for part in range(parts)
    ]


def errors_when_sparse(plan: Plan, name: str, first: int, trials: int) -> list[list[Any]]:
    """Numbers of tasks and labels and the contestants' errors, by trial: of the votes as they are,
    then at each maximum degree. A trial goes on from one degree to the next."""
    votes = known(name, plan.directory)
    found = []
    for trial in range(first, first + trials):
        random = np.random.default_rng([plan.seed, DATA_SETS.index(name), trial])
        member = members(votes.labels)
        rungs = [_scored(votes, degree_of(member))]
        for most in degrees(plan):
            member = sparsified(member, most, random)
            rungs.append(_scored(with_pairs(votes, member), most))
        found.append(rungs)
    return found


def _scored(votes: Known, degree: int) -> dict[str, Any]:
    return {
        "degree": degree,
        "tasks": votes.labels.n_tasks,
        "labels": votes.labels.n_labels,
        "errors": {
            **errors(votes.labels, votes.truth),
            TIES_FIRST: share_wrong(
                fitted("iwmv", votes.labels, ties="first").posterior, votes.truth
            ),
        },
    }


def members(labels: Labels) -> Member:
    member = np.zeros((labels.n_tasks, labels.n_workers), dtype=bool)
    member[_task_of_votes(labels), labels.worker] = True
    return member


def _task_of_votes(labels: Labels) -> NDArray[np.integer]:
    return np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))


def with_pairs(votes: Known, member: Member) -> Known:
    """The votes that are left on tasks with two or more: a task with one joins no workers."""
    kept = member & (member.sum(axis=1, keepdims=True) > 1)
    return subset(votes, kept[_task_of_votes(votes.labels), votes.labels.worker])


def degree_of(member: Member) -> int:
    """The most others that any worker meets."""
    return int((_together(member) > 0).sum(axis=1).max(initial=0))


def _together(member: Member) -> NDArray[np.int64]:
    """Number of tasks that two workers share."""
    votes = member.astype(np.int64)
    together: NDArray[np.int64] = votes.T @ votes
    np.fill_diagonal(together, 0)
    return together


def sparsified(member: Member, most: int, random: np.random.Generator) -> Member:
    """Worker by worker, from the one who meets most others, edges of the graph of who meets whom
    are deleted at random until none has more than `most`.

    Examples:
        >>> full = np.ones((6, 4), dtype=bool)
        >>> degree_of(sparsified(full, 2, np.random.default_rng(0)))
        2
    """
    member, together = member.copy(), _together(member)
    for worker in np.argsort(-(together > 0).sum(axis=1), kind="stable"):
        while len(others := np.flatnonzero(together[worker])) > most:
            _delete_edge(member, together, worker, random.choice(others), random)
    return member


def _delete_edge(
    member: Member,
    together: NDArray[np.int64],
    one: int,
    other: int,
    random: np.random.Generator,
) -> None:
    """Delete one of two workers' votes, by a coin, on each task that they share."""
    shared = np.flatnonzero(member[:, one] & member[:, other])
    heads = random.random(len(shared)) < 0.5
    for loser, lost in ((one, shared[heads]), (other, shared[~heads])):
        member[lost, loser] = False
        met = member[lost].sum(axis=0)
        together[loser] -= met
        together[:, loser] -= met


Trials = Sequence[Sequence[Mapping[str, Any]]]


def report(plan: Plan, found: Mapping[str, Any]) -> Report:
    trials = gathered(plan, found)
    return Report(tables(trials), figures(trials), claims(trials), remarks(trials))


def gathered(plan: Plan, found: Mapping[str, Any]) -> Mapping[str, Trials]:
    trials: dict[str, list[Any]] = {}
    for cell in cells(plan):
        trials.setdefault(cell.arguments["name"], []).extend(found[cell.key])
    return trials


def _errors(trials: Trials, rung: int, method: str) -> list[float]:
    return [trial[rung]["errors"][method] for trial in trials]


def figures(found: Mapping[str, Trials]) -> list[Figure]:
    """Two of the methods err so much more that the others have a panel without them."""
    if not found:
        return []
    panels = [
        Panel(
            title,
            "maximum degree of a worker",
            "error, share of tasks left",
            [_line(method, trials) for method in shown],
            x_scale="log",
        )
        for name, trials in found.items()
        for title, shown in (
            (f"{name}, without {' and '.join(FAR_OFF)}", DRAWN[: -len(FAR_OFF)]),
            (f"{name}, all", DRAWN),
        )
    ]
    trials = len(next(iter(found.values())))
    title = f"Figure 3: sparsified votes, mean of {trials} trials with two standard errors"
    return [Figure("figure-3", title, panels, columns=2)]


def _line(method: str, trials: Trials) -> Series:
    """A line from the sparsest votes to those that there are."""
    rungs = range(len(trials[0]) - 1, -1, -1)
    means = [mean_and_error(_errors(trials, rung, method)) for rung in rungs]
    return Series(
        method,
        [trials[0][rung]["degree"] for rung in rungs],
        [mean for mean, _ in means],
        [mean - 2 * error for mean, error in means],
        [mean + 2 * error for mean, error in means],
    )


def tables(found: Mapping[str, Trials]) -> list[Table]:
    rows = []
    for name, trials in found.items():
        for rung, first in enumerate(trials[0]):
            tasks = np.mean([trial[rung]["tasks"] for trial in trials])
            labels = np.mean([trial[rung]["labels"] for trial in trials])
            rows.append(
                {
                    "data": name,
                    "maximum degree": first["degree"],
                    "tasks left": float(tasks),
                    "labels a task": float(labels / tasks),
                    **{m: float(np.mean(_errors(trials, rung, m))) for m in (*METHODS, TIES_FIRST)},
                }
            )
    title = "Figure 3: mean error over the tasks left (the paper prints no figures)"
    decimals = {"tasks left": 0, "labels a task": 1}
    return [Table("figure-3", title, rows, decimals)] if rows else []


def claims(found: Mapping[str, Trials]) -> list[Claim]:
    return [
        claim
        for name, trials in found.items()
        for claim in (_degrades_less_than_iwmv(name, trials), _degrades_least(name, trials))
    ]


def rise(trials: Trials, method: str) -> list[float]:
    """Rise of the error from the votes as they are to the sparsest, by trial."""
    first, last = _errors(trials, 0, method), _errors(trials, -1, method)
    return [after - before for before, after in zip(first, last, strict=True)]


def _degrades_less_than_iwmv(name: str, trials: Trials) -> Claim:
    pgd, iwmv = np.array(rise(trials, "PGD")), np.array(rise(trials, "IWMV"))
    lead, error = mean_and_error(iwmv - pgd)
    return Claim(
        f"On {name}, made sparse, PGD degrades less than IWMV, by two standard errors or more.",
        lead > 2 * error,
        f"by {pgd.mean():.3f} against {iwmv.mean():.3f} at degree {trials[0][-1]['degree']}:"
        f" less by {lead:.3f}, standard error {error:.3f}",
    )


def _degrades_least(name: str, trials: Trials) -> Claim:
    rises = {method: float(np.mean(rise(trials, method))) for method in METHODS}
    rest = min((m for m in METHODS if m != "PGD"), key=rises.__getitem__)
    return Claim(
        f"On {name}, made sparse, PGD degrades less than each of the others.",
        rises["PGD"] < rises[rest],
        f"by {rises['PGD']:.3f} against {rises[rest]:.3f} of {rest}",
    )


def remarks(found: Mapping[str, Trials]) -> list[str]:
    if not found:
        return []
    rises = [_on_iwmv(name, trials) for name, trials in found.items()]
    return [
        REMARKS.fill("Sparse votes"),
        " ".join([*rises, REMARKS.fill("IWMV when votes are sparse")]),
    ]


def _on_iwmv(name: str, trials: Trials) -> str:
    risen = {m: float(np.mean(rise(trials, m))) for m in (*METHODS, TIES_FIRST)}
    return REMARKS.fill(
        "Rises of the error",
        data=name,
        degree=trials[0][-1]["degree"],
        pgd=risen["PGD"],
        iwmv=risen["IWMV"],
        ties_first=risen[TIES_FIRST],
        mv=risen["MV"],
        opt=risen["Opt-D&S"],
        m3v=risen["M3V"],
        er=risen["ER"],
        kos=risen["KOS"],
    )
