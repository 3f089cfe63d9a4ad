"""Every model on every engine: the same bits as threads in memory give."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from threading import Barrier, Event
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.checks import SLOWLY, Case, assert_same_bits, small_blocks
from tests.models.test_models import CASES

from quorate import Auto, Disk, Labels, Result, Threads, fit, simulate
from quorate.engines.wire import SomeRows, only, sum_of, whole
from quorate.model import Tree, branches, run_length
from quorate.votes import MemoryBlocks


def problem_in_many_blocks(case: Case) -> tuple[Any, Labels]:
    problem = case.problem(3, n_tasks=40, n_workers=8)
    labels = case.labels(problem)
    n_blocks = len(MemoryBlocks(labels))
    assert n_blocks > 2 * run_length(n_blocks, labels) > 2
    model = case.model(problem)
    if isinstance(model, SLOWLY):
        model = replace(model, max_iter=min(model.max_iter, 6))
    return model, labels


def auto_in_many_blocks() -> tuple[Any, Labels]:
    """Auto, which is several models in one, on a problem with known answers among its tasks."""
    _, labels = problem_in_many_blocks(CASES[0])
    gold = np.full(labels.n_tasks, -1, dtype=np.int32)
    gold[::7] = 1
    return Auto(max_iter=15), replace(labels, gold=gold)


MADE = {case.name: partial(problem_in_many_blocks, case) for case in CASES}
MADE["auto"] = auto_in_many_blocks


def assert_same(in_memory: Result, elsewhere: Result) -> None:
    assert_same_bits(in_memory, elsewhere)
    assert in_memory.per_task.keys() == elsewhere.per_task.keys()
    for name, values in in_memory.per_task.items():
        np.testing.assert_array_equal(values, elsewhere.per_task[name])


@pytest.mark.parametrize("name", MADE)
def test_disk_gives_the_bits_of_threads(name: str) -> None:
    with small_blocks(20):
        model, labels = MADE[name]()
        in_memory = fit(model, labels, engine=Threads(1))
        on_disk = fit(model, labels, engine=Disk(2))
    assert_same(in_memory, on_disk)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("name", MADE)
def test_ray_gives_the_bits_of_threads(name: str, cluster: Any) -> None:
    with small_blocks(20):
        model, labels = MADE[name]()
        assert_same(fit(model, labels), fit(model, labels, engine=cluster))


def many_workers() -> Labels:
    """So many that the members of auto are swept in turn."""
    return simulate(410_000, 8_000, 5, n_classes=2, seed=0).labels


@pytest.mark.filterwarnings("ignore::Warning")
def test_many_workers_have_the_same_bits_on_a_cluster(cluster: Any) -> None:
    in_memory = fit(Auto(max_iter=3), many_workers())
    assert in_memory.params.in_turn
    assert_same(in_memory, fit(Auto(max_iter=3), many_workers(), engine=cluster))


def test_the_order_of_adding_is_that_of_any_shares() -> None:
    """However runs are shared, the sums of the branches in each add up to the same bits."""
    random = np.random.default_rng(0)
    for n in (1, 7, 8, 9, 40, 100, 129):
        numbers = [(float(number),) for number in 10.0 ** random.uniform(-8, 8, n)]
        expected = added(numbers)
        for n_shares in (1, 2, 3, 5, 8):
            ends = [0, *sorted(random.integers(0, n + 1, n_shares - 1).tolist()), n]
            tree = Tree(sum_of)
            for first, last in pairwise(ends):
                for branch in branches(first, last, n):
                    tree.add(added(numbers[branch.start : branch.stop]), len(branch))
            assert tree.result() == expected


def added(numbers: list[tuple[float]]) -> Any:
    tree = Tree()
    for number in numbers:
        tree.add(number)
    return tree.result()


class Params(NamedTuple):
    """A table with rows for each worker, and one without."""

    table: Any
    shares: Any

    @property
    def by_worker(self) -> tuple[str, ...]:
        return ("table",)


def test_what_travels_has_the_rows_of_its_workers_only() -> None:
    table = np.arange(24.0).reshape(12, 2)  # two rows for each of six workers
    params = Params(table, np.ones(2))
    sent = only(params, np.array([1, 4]), 6)
    assert isinstance(sent.table, SomeRows)
    assert sent.table.rows.tolist() == [2, 3, 8, 9]
    back = whole(sent)
    np.testing.assert_array_equal(back.table[sent.table.rows], table[sent.table.rows])
    assert not back.table[[0, 1, 4, 5, 6, 7, 10, 11]].any()
    np.testing.assert_array_equal(back.shares, params.shares)
    other = only(params, np.array([0, 4]), 6)
    total = whole(sum_of(sent, other))
    expected = np.zeros_like(table)
    expected[[0, 1, 2, 3]] = table[[0, 1, 2, 3]]
    expected[[8, 9]] = 2 * table[[8, 9]]
    np.testing.assert_array_equal(total.table, expected)
    np.testing.assert_array_equal(total.shares, 2 * params.shares)
    twice = whole(sum_of(sent, sent))
    np.testing.assert_array_equal(twice.table, 2 * back.table)
    np.testing.assert_array_equal(sent.table.values, table[[2, 3, 8, 9]])  # not changed


def test_what_takes_long_is_told_when_another_has_failed() -> None:
    threads, both, told = Threads(2), Barrier(2), Event()

    def work(item: int) -> None:
        both.wait(10)
        if item == 0:
            raise ValueError("no")
        assert threads.halted.wait(10)
        told.set()

    with pytest.raises(ValueError, match="no"):
        list(threads.map(work, [0, 1]))
    assert told.is_set(), "nothing is under way any more"
    assert list(threads.map(lambda item: threads.halted.is_set(), [0, 1])) == [False, False]
