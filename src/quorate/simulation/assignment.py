"""Assignments of tasks to workers, no worker twice on a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate.errors import DataError, UsageError, require_number
from quorate.kernels import Codes, Floats
from quorate.labels import LARGEST_CODE

if TYPE_CHECKING:
    import polars as pl

GRAPHS = ("clique", "star", "ring")
ASSIGNMENTS = ("random", "regular", "skewed", *GRAPHS)
DRAWS_AT_ONCE = 4_000_000


class Assignment(NamedTuple):
    """Pairs of task and worker: ``worker[i]`` is asked about ``task[i]``, in task order. There are
    names where a table gave them."""

    task: Codes
    worker: Codes
    n_tasks: int
    n_workers: int
    task_names: pl.Series | None = None
    worker_names: pl.Series | None = None


def assign(
    assignment: str,
    n_tasks: int,
    n_workers: int,
    per_task: int | None,
    skew: float,
    random: np.random.Generator,
) -> Assignment:
    """Assign tasks to workers by the named scheme."""
    if assignment in GRAPHS:
        drawn = _on_graph(assignment, n_tasks, n_workers, per_task, random)
    else:
        per_task = min(5, n_workers) if per_task is None else per_task
        if per_task > n_workers:
            raise UsageError(f"{per_task} labels per task need as many workers, not {n_workers}.")
        if assignment == "skewed":
            drawn = _skewed(random, n_tasks, n_workers, per_task, skew)
        else:
            draw = _regular if assignment == "regular" else _random
            drawn = draw(random, n_tasks, n_workers, per_task)
    if drawn.size > LARGEST_CODE:
        raise UsageError(f"{drawn.size:,} votes are more than Quorate can index.")
    task = np.repeat(np.arange(n_tasks, dtype=np.int32), drawn.shape[1])
    return Assignment(task, drawn.ravel(), n_tasks, n_workers)


def teams_of(graph: str, n_workers: int) -> list[tuple[int, ...]]:
    """Teams of workers who share tasks: on the clique all, else the two workers of an edge. The
    star has one edge between its leaves, which makes an odd cycle.

    Examples:
        >>> teams_of("star", 4)
        [(0, 1), (0, 2), (0, 3), (1, 2)]
        >>> teams_of("ring", 4)
        [(0, 1), (1, 2), (2, 3), (3, 0)]
    """
    if graph == "clique":
        return [tuple(range(n_workers))]
    if n_workers < 3:
        raise UsageError(f"A {graph} needs at least 3 workers, not {n_workers}.")
    if graph == "star":
        return [*((0, i) for i in range(1, n_workers)), (1, 2)]
    return [(i, (i + 1) % n_workers) for i in range(n_workers)]


def _on_graph(
    graph: str, n_tasks: int, n_workers: int, per_task: int | None, random: np.random.Generator
) -> Codes:
    """Workers ``[task, i]`` of teams that have equally many tasks, or one more."""
    teams = np.array(teams_of(graph, n_workers), dtype=np.int32)
    if per_task not in (None, teams.shape[1]):
        raise UsageError(
            f"A {graph} of {n_workers} workers has {teams.shape[1]} labels per task, not"
            f" {per_task}: leave the number out."
        )
    drawn: Codes = teams[random.permutation(np.arange(n_tasks) % len(teams))]
    return drawn


def _random(random: np.random.Generator, n_tasks: int, n_workers: int, per_task: int) -> Codes:
    """Draw different workers ``[task, i]`` for each task, again where two are the same."""
    if per_task**2 > n_workers:
        return _lowest_draws(random.random, n_tasks, n_workers, per_task)
    drawn = random.integers(n_workers, size=(n_tasks, per_task), dtype=np.int32)
    while len(again := np.flatnonzero(_repeats(drawn))):
        drawn[again] = random.integers(n_workers, size=(len(again), per_task), dtype=np.int32)
    return drawn


def _lowest_draws(
    draws: Callable[[tuple[int, int]], Floats], n_tasks: int, n_workers: int, per_task: int
) -> Codes:
    """The workers with the lowest random numbers on each task."""
    drawn = np.empty((n_tasks, per_task), dtype=np.int32)
    rows = max(DRAWS_AT_ONCE // n_workers, 1)
    for start in range(0, n_tasks, rows):
        some = draws((min(rows, n_tasks - start), n_workers))
        drawn[start : start + rows] = some.argpartition(per_task - 1, axis=1)[:, :per_task]
    return drawn


def _repeats(drawn: Codes) -> NDArray[np.bool_]:
    """Whether a worker stands twice on each task."""
    ordered = np.sort(drawn, axis=1)
    twice: NDArray[np.bool_] = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return twice


def _skewed(
    random: np.random.Generator, n_tasks: int, n_workers: int, per_task: int, skew: float
) -> Codes:
    """Draw workers without replacement, weighted: the i-th worker has the weight i to the power of
    -skew."""
    require_number("skew", skew, at_least=0)
    if skew > 10:
        raise UsageError(f"skew must be a number from 0 to 10, not {skew!r}.")
    weight = np.arange(1, n_workers + 1, dtype=float) ** -skew
    weight /= weight.sum()
    if per_task**2 > n_workers or weight[per_task - 1 :].sum() < 0.1:
        return _lowest_draws(
            lambda size: random.exponential(size=size) / weight, n_tasks, n_workers, per_task
        )
    edges = weight.cumsum()[:-1]
    drawn = np.empty((n_tasks, per_task), dtype=np.int32)
    for i in range(per_task):
        left = np.arange(n_tasks)
        while len(left):
            drawn[left, i] = np.searchsorted(edges, random.random(len(left)), side="right")
            left = left[(drawn[left, :i] == drawn[left, i : i + 1]).any(axis=1)]
    return drawn


def _regular(random: np.random.Generator, n_tasks: int, n_workers: int, per_task: int) -> Codes:
    """Draw workers so that all have equally many tasks, or one more.

    The places are shuffled, and the workers of a task on which one stands twice are dealt again
    with those of another task, until there is no such task.
    """
    if 2 * per_task > n_workers:  # few are left out: draw those
        asked = np.ones((n_tasks, n_workers), dtype=bool)
        if per_task < n_workers:
            absent = _regular(random, n_tasks, n_workers, n_workers - per_task)
            np.put_along_axis(asked, absent, False, axis=1)
        return np.nonzero(asked)[1].reshape(n_tasks, per_task).astype(np.int32)
    places = np.arange(n_tasks * per_task) % n_workers
    worker = random.permutation(n_workers).astype(np.int32)
    drawn = random.permutation(worker[places]).reshape(n_tasks, per_task)
    while (twice := _repeats(drawn)).any():
        order = random.permutation(n_tasks)
        order = order[np.argsort(~twice[order], kind="stable")]
        pairs = min(int(twice.sum()), n_tasks // 2)
        one, other = order[:pairs], order[::-1][:pairs]
        drawn[one], drawn[other] = _redealt(random, drawn[one], drawn[other])
    return drawn


def _redealt(random: np.random.Generator, one: Codes, other: Codes) -> tuple[Codes, Codes]:
    """Deal the workers of pairs of tasks again: a worker on both stays, the others at random."""
    both = np.sort(np.concatenate([one, other], axis=1), axis=1)
    same = both[:, 1:] == both[:, :-1]
    draws = random.random(both.shape)
    draws[:, :-1][same] -= 1  # the first of a run goes to the one, the last to the other
    draws[:, 1:][same] += 1
    dealt = np.take_along_axis(both, np.argsort(draws, axis=1), axis=1)
    per_task = one.shape[1]
    return dealt[:, :per_task], dealt[:, per_task:]


def from_table(source: Any, n_tasks: int | None, n_workers: int | None) -> Assignment:
    """Read the assignment from a table of task and worker, by name, or an array of codes; a
    repeated pair counts once."""
    if isinstance(source, np.ndarray):
        asked = _from_codes(source, n_tasks, n_workers)
    else:
        asked = _from_names(source)
    for what, has, given in (
        ("tasks", asked.n_tasks, n_tasks),
        ("workers", asked.n_workers, n_workers),
    ):
        if given not in (None, has):
            raise UsageError(f"The table of assignments has {has} {what}, not {given}.")
    order = np.argsort(asked.task, kind="stable")
    return asked._replace(task=asked.task[order], worker=asked.worker[order])


def _from_codes(pairs: NDArray[Any], n_tasks: int | None, n_workers: int | None) -> Assignment:
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu" or not len(pairs):
        raise DataError(
            "An array of assignments has a row for each task and worker, both as numbers from 0;"
            f" this one has the shape {pairs.shape} and the type {pairs.dtype}."
        )
    sizes = []
    for what, column, given in zip(("task", "worker"), pairs.T, (n_tasks, n_workers), strict=True):
        size = int(column.max()) + 1 if given is None else given
        if column.min() < 0 or column.max() >= size:
            raise DataError(f"The array of assignments has a {what} beyond 0 to {size - 1}.")
        sizes.append(size)
    _, first = np.unique(pairs[:, 0].astype(np.int64) * sizes[1] + pairs[:, 1], return_index=True)
    task, worker = pairs[np.sort(first)].T.astype(np.int32)
    return Assignment(task, worker, sizes[0], sizes[1])


def _from_names(source: Any) -> Assignment:
    from quorate.votes import complete_rows, find, read_table, retyped

    table = read_table(source, ("task", "worker"), strict=False)
    frame = complete_rows(table).unique(maintain_order=True)
    if frame.is_empty():
        raise DataError(f"{table.origin} has no row with a task and a worker.")
    names = [frame[role].unique(maintain_order=True) for role in ("task", "worker")]
    task, worker = (find(frame[name.name], name).to_numpy().astype(np.int32) for name in names)
    if table.text:
        names = [retyped(name) for name in names]
    return Assignment(task, worker, len(names[0]), len(names[1]), *names)
