"""Figure 2 of the rank-one paper: 11 workers on a clique, a star with an odd cycle and a ring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate import kernels
from quorate.kernels import Floats
from quorate.simulation import Crowd
from reproductions.experiment import Cell, Figure, Panel, Plan, Series, Table, compared
from reproductions.fitting import fitted, share_wrong
from reproductions.rank_one.contestants import DRAWN, METHODS, TEN_ROUNDS, errors, mean_and_error
from reproductions.rank_one.teams import GRAPHS, crowd_on

SKILLS = np.linspace(0.8, -0.3, 11)
FEWEST, MOST = 11, 330
PAPERS_TRIALS = 15
VOTINGS = 2  # for each way to assign the skills, so that both kinds of chance can be told apart
BEYOND = ("PGD", "MV", "Opt-D&S", "ER", "IWMV")  # those quick enough for many more tasks

# The caption's standard deviations at 11 and at 330 tasks, in its order of the methods.
IN_CAPTION = ("MV", "KOS", "Opt-D&S", "PGD", "ER", "IWMV", "M3V")
DEVIATIONS = {
    ("clique", 11): (0.09, 0.10, 0.14, 0.14, 0.19, 0.09, 0.09),
    ("clique", 330): (0.02, 0.01, 0.017, 0.014, 0.012, 0.013, 0.018),
    ("star", 11): (0.09, 0.13, 0.13, 0.06, 0.13, 0.09, 0.07),
    ("star", 330): (0.016, 0.015, 0.013, 0.012, 0.04, 0.03, 0.013),
    ("ring", 11): (0.096, 0.05, 0.08, 0.1, 0.11, 0.09, 0.08),
    ("ring", 330): (0.017, 0.05, 0.02, 0.043, 0.05, 0.086, 0.05),
}

SPARSE = ("star", "ring")
BESIDES = ("KOS, messages", "Ghosh-SVD", "D&S, random start", "true skills")

# errors[graph, tasks][method] is [assignment, voting], beyond the figure's sizes [assignment];
# "fell back" is there too, as 0 and 1.
Errors = Mapping[tuple[str, int], Mapping[str, Floats]]


def sizes(plan: Plan) -> Sequence[int]:
    chosen: Sequence[int] = plan.pick([11, 33, 66, 110, 165, 220, 330], [11, 330])
    return chosen


def parts(plan: Plan, graph: str) -> list[range]:
    """The assignments of skills, cell by cell. On the clique fewer tell as much, and take longer:
    there every worker has every task, and only chance differs."""
    if graph == "clique":
        n, at_once = plan.pick((44, 11), (4, 4))
    else:
        n, at_once = plan.pick((396, 44), (11, 11))
    return [range(first, first + at_once) for first in range(0, n, at_once)]


def sizes_beyond(plan: Plan) -> Sequence[int]:
    chosen: Sequence[int] = plan.pick([3_300, 33_000], [3_300])
    return chosen


def cells(plan: Plan) -> list[Cell]:
    figure = [
        Cell(
            f"figure 2/{graph}/{n}/{part.start}",
            errors_on_graph,
            {"graph": graph, "n_tasks": n, "first": part.start, "assignments": len(part)},
            cost=VOTINGS * len(part) * (0.06 + n / 2_000 if graph == "clique" else 0.04),
        )
        for graph in GRAPHS
        for n in sizes(plan)
        for part in parts(plan, graph)
    ]
    assignments = plan.pick(66, 11)
    beyond = [
        Cell(
            f"beyond/{graph}/{n}",
            errors_beyond,
            {"graph": graph, "n_tasks": n, "assignments": assignments},
            cost=assignments * (0.06 + n / 300_000),
        )
        for graph in SPARSE
        for n in sizes_beyond(plan)
    ]
    return [*figure, *beyond]


def skills_of(plan: Plan, assignment: int) -> Floats:
    """A random assignment of skills in which the first worker, the star's hub, has every skill as
    often."""
    first = assignment % len(SKILLS)
    random = np.random.default_rng([plan.seed, assignment])
    return np.append(SKILLS[first], random.permutation(np.delete(SKILLS, first)))


def errors_on_graph(
    plan: Plan, graph: str, n_tasks: int, first: int, assignments: int
) -> dict[str, list[list[float]]]:
    found: dict[str, list[list[float]]] = {}
    for assignment in range(first, first + assignments):
        skill = skills_of(plan, assignment)
        random = np.random.default_rng([plan.seed, assignment, n_tasks, GRAPHS.index(graph)])
        votings = [_one_crowd(graph, n_tasks, skill, random) for _ in range(VOTINGS)]
        for method in votings[0]:
            found.setdefault(method, []).append([voting[method] for voting in votings])
    return found


def errors_beyond(plan: Plan, graph: str, n_tasks: int, assignments: int) -> dict[str, list[float]]:
    """Errors with more tasks than the paper has, one voting for each assignment of skills."""
    found: dict[str, list[float]] = {method: [] for method in BEYOND}
    for assignment in range(assignments):
        random = np.random.default_rng([plan.seed, assignment, n_tasks, GRAPHS.index(graph)])
        crowd = crowd_on(graph, n_tasks, skills_of(plan, assignment), random)
        for method, wrong in errors(crowd.labels, crowd.truth, BEYOND).items():
            found[method].append(wrong)
    return found


def _one_crowd(
    graph: str, n_tasks: int, skill: Floats, random: np.random.Generator
) -> dict[str, float]:
    crowd = crowd_on(graph, n_tasks, skill, random)
    found = errors(crowd.labels, crowd.truth)
    return found if n_tasks < MOST else {**found, **_besides(crowd, skill, random)}


def _besides(crowd: Crowd, skill: Floats, random: np.random.Generator) -> dict[str, float]:
    """Errors to compare the paper's seven methods with."""

    def wrong(method: str, **options: Any) -> float:
        return share_wrong(fitted(method, crowd.labels, **options).posterior, crowd.truth)

    guess = random.dirichlet([1.0, 1.0], crowd.confusion.shape[:2])
    score = crowd.labels.weighted_votes(np.log((1 + skill) / (1 - skill)))
    return {
        "KOS, messages": wrong("kos"),
        "Ghosh-SVD": wrong("ghosh-svd"),
        "D&S, random start": wrong(
            "dawid-skene", init=guess, prior="uniform", zeros="skip", **TEN_ROUNDS
        ),
        "true skills": share_wrong(kernels.normalise(score)[0], crowd.truth),
        "fell back": float(bool(fitted("spectral", crowd.labels, **TEN_ROUNDS).notes)),
    }


def gathered(plan: Plan, found: Mapping[str, Any]) -> Errors:
    pieces: dict[tuple[str, int], list[Any]] = {}
    for cell in cells(plan):
        which = cell.arguments["graph"], cell.arguments["n_tasks"]
        pieces.setdefault(which, []).append(found[cell.key])
    return {
        which: {m: np.concatenate([part[m] for part in some]) for m in some[0]}
        for which, some in pieces.items()
    }


def figure(plan: Plan, errors: Errors) -> Figure:
    panels = [
        Panel(
            f"{graph}, {errors[graph, MOST]['PGD'].size} crowds",
            "tasks",
            "error, share of tasks",
            [_line(m, sizes(plan), [errors[graph, n][m] for n in sizes(plan)]) for m in DRAWN],
        )
        for graph in GRAPHS
    ]
    title = "Figure 2: error on three graphs, mean of all crowds with two standard errors"
    return Figure("figure-2", title, panels)


def _line(name: str, x: Sequence[int], points: Sequence[Floats]) -> Series:
    means = [mean_and_error(of_assignments(point)) for point in points]
    return Series(
        name,
        x,
        [mean for mean, _ in means],
        [mean - 2 * error for mean, error in means],
        [mean + 2 * error for mean, error in means],
    )


def of_assignments(errors: Floats) -> Floats:
    """The votings of one assignment of skills have that in common: each assignment is one case."""
    means: Floats = errors.mean(axis=1)
    return means


def held_deviation(errors: Floats) -> float:
    """The deviation between votings with the same skills, as the root of the mean square."""
    return float(np.sqrt(errors.var(axis=1, ddof=1).mean()))


def tables(plan: Plan, errors: Errors) -> list[Table]:
    return [_means(errors), _beyond(plan, errors), _deviations(errors)]


def _beyond(plan: Plan, errors: Errors) -> Table:
    rows = []
    for graph in SPARSE:
        for n in (MOST, *sizes_beyond(plan)):
            means = {m: float(errors[graph, n][m].mean()) for m in BEYOND}
            rows.append({"graph": graph, "tasks": n, **means})
    return Table("figure-2-beyond", "Figure 2, with more tasks: mean error", rows)


def _means(errors: Errors) -> Table:
    rows = []
    for graph in GRAPHS:
        most = errors[graph, MOST]
        for method in (*METHODS, *BESIDES):
            mean, error = mean_and_error(of_assignments(most[method]))
            lead, of_lead = mean_and_error(of_assignments(most[method] - most["PGD"]))
            rows.append(
                {
                    "graph": graph,
                    "method": method,
                    "error": mean,
                    "standard error": error,
                    "more than PGD": lead,
                    "its standard error": of_lead,
                    "crowds upside down, %": float(100 * (most[method] > 0.5).mean()),
                }
            )
    title = f"Figure 2 at {MOST} tasks: mean error of each method (the paper prints none)"
    return Table("figure-2-means", title, rows, {"crowds upside down, %": 0})


def _deviations(errors: Errors) -> Table:
    rows = []
    for (graph, n), published in DEVIATIONS.items():
        for method, paper in zip(IN_CAPTION, published, strict=True):
            found = errors[graph, n][method]
            anew = found[:PAPERS_TRIALS, 0]
            rows += compared(
                [
                    {
                        "graph": graph,
                        "tasks": n,
                        "method": method,
                        "paper": paper,
                        "ours": float(anew.std(ddof=1)),
                        "trials": len(anew),
                        "all trials": float(found.std()),
                        "skills held": held_deviation(found),
                    }
                ],
                3,
            )
    title = "Figure 2, caption: standard deviations of the error between trials"
    return Table("figure-2-deviations", title, rows)
