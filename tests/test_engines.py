"""Every model on every engine: the same bits as threads in memory give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checks import Case, assert_same_bits, leaves, small_blocks
from tests.test_models import CASES

from quorate import Auto, Labels, Result, fit
from quorate.engines.stream import Stream
from quorate.engines.threads import Threads
from quorate.engines.wire import Cut, only, together, whole
from quorate.fitting import Conclude, Found, climb
from quorate.kernels import Codes, Floats
from quorate.model import Tree, run_length
from quorate.models.dawid_skene import Params, Stats
from quorate.models.em import EMState, Evidence
from quorate.votes.store import StoredBlocks, StoredStates
from quorate.votes.store.shuffle import block_place, save

STORED = [case for case in CASES if not case.features]


def stored(labels: Labels, root: Path) -> StoredBlocks:
    """The labels' blocks, put into a directory."""
    starts = []
    for block in labels.blocks():
        place = block_place(root, block.first_task)
        place.mkdir(parents=True)
        save(place, said=np.diff(block.indptr), worker=block.worker, label=block.label)
        if block.gold is not None:
            save(place, gold=block.gold)
        starts.append(block.first_task)
    codes = np.arange(labels.n_classes, dtype=np.int32)
    gold = labels.gold is not None
    return StoredBlocks(root, starts, labels.n_workers, labels.n_classes, codes, gold)


class OnDisk(Threads):
    """Threads that put the blocks on disk first."""

    def __init__(self, root: Path, n_threads: int) -> None:
        super().__init__(n_threads)
        self.root = root

    def over(self, labels: Labels) -> Stream:
        blocks = stored(labels, self.root)
        return Stream(self, blocks, StoredStates(self.root, blocks.starts))


def problem_in_many_blocks(case: Case) -> tuple[Any, Labels]:
    problem = case.problem(3, n_tasks=60, n_workers=8)
    labels = case.labels(problem)
    n_blocks = len(list(labels.blocks()))
    assert n_blocks > 2 * run_length(n_blocks, labels) > 2
    return case.model(problem), labels


def auto_in_many_blocks() -> tuple[Any, Labels]:
    """Auto, which is several models in one, on a problem with known answers among its tasks."""
    _, labels = problem_in_many_blocks(STORED[0])
    gold = np.full(labels.n_tasks, -1, dtype=np.int32)
    gold[::7] = 1
    return Auto(max_iter=15), replace(labels, gold=gold)


MADE = {case.name: partial(problem_in_many_blocks, case) for case in STORED}
MADE["auto"] = auto_in_many_blocks


@pytest.mark.parametrize("name", MADE)
def test_stream_gives_the_bits_of_threads(name: str, tmp_path: Path) -> None:
    with small_blocks(12):
        model, labels = MADE[name]()
        in_memory = fit(model, labels, engine=Threads(1))
        on_disk = fit(model, labels, engine=OnDisk(tmp_path, 2))
    assert_same_bits(in_memory, on_disk)
    for name, values in in_memory.per_task.items():
        np.testing.assert_array_equal(values, on_disk.per_task[name])


@dataclass(frozen=True)
class SaveAnswers:
    root: Path

    def __call__(
        self, block: Labels, posterior: Floats, answers: Codes, more: Mapping[str, Floats]
    ) -> None:
        save(block_place(self.root, block.first_task), posterior=posterior, answers=answers, **more)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    from quorate.engines.ray import Cluster

    yield Cluster(n_cpus=2)
    ray.shutdown()


@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("name", MADE)
def test_ray_gives_the_bits_of_threads(name: str, cluster: Any, tmp_path: Path) -> None:
    from quorate.engines.ray import Actors

    with small_blocks(12):
        model, labels = MADE[name]()
        in_memory = fit(model, labels)
        blocks = stored(labels, tmp_path)
        engine = Actors(cluster, blocks, StoredStates(tmp_path, blocks.starts))
    engine.begin(model.begin)
    found = climb(model.phases(blocks.shape), engine, Found(model.start(blocks.shape)))
    tally = engine.sweep(Conclude(model, SaveAnswers(tmp_path)), found.params)
    assert_same_as(in_memory, found, tally.workers, blocks)


def assert_same_as(expected: Result, found: Found, tally: Floats, blocks: StoredBlocks) -> None:
    assert found.steps == expected.steps
    for one, other in zip(leaves(found.params), leaves(expected.params), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(tally, expected.tally)
    for name, values in {
        "posterior": expected.posterior,
        "answers": expected.answers,
        **expected.per_task,
    }.items():
        parts = [np.load(block_place(blocks.root, s) / f"{name}.npy") for s in blocks.starts]
        np.testing.assert_array_equal(np.concatenate(parts), values)


def test_the_order_of_adding_is_that_of_any_parts() -> None:
    """Sums of 1, 2, 4, ... runs, added as a tree, are the sum of all at once, to the bit."""
    random = np.random.default_rng(0)
    for n in (1, 7, 8, 9, 40, 100, 129):
        numbers = [(float(number),) for number in 10.0 ** random.uniform(-8, 8, n)]
        expected = added(numbers)
        for size in (1, 2, 4, 8):
            sums = [added(numbers[at : at + size]) for at in range(0, n, size)]
            while len(sums) > 1:
                odd = sums[-1:] if len(sums) % 2 else []
                pairs = zip(sums[::2], sums[1::2], strict=False)
                sums = [together(one, other) for one, other in pairs] + odd
            assert sums[0] == expected


def added(numbers: list[tuple[float]]) -> Any:
    tree = Tree()
    for number in numbers:
        tree.add(number)
    return tree.result()


def test_what_travels_has_the_rows_of_its_workers_only() -> None:
    skill = np.arange(24.0).reshape(12, 2)  # two rows for each of six workers
    params = Params(skill, EMState(np.zeros(2), np.ones(2)))
    workers = np.array([1, 4])
    sent = only(params, workers, 6)
    assert isinstance(sent.log_confusion, Cut)
    assert sent.log_confusion.rows.tolist() == [2, 3, 8, 9]
    back = whole(sent)
    np.testing.assert_array_equal(
        back.log_confusion[sent.log_confusion.rows], skill[sent.log_confusion.rows]
    )
    assert not back.log_confusion[[0, 1, 4, 5, 6, 7, 10, 11]].any()
    np.testing.assert_array_equal(back.state.marginals, params.state.marginals)
    one = only(Stats(skill, Evidence(np.ones(2), 1.5)), workers, 6)
    other = only(Stats(skill, Evidence(np.ones(2), 2.0)), np.array([0, 4]), 6)
    total = whole(together(one, other))
    expected = np.zeros_like(skill)
    expected[[0, 1, 2, 3]] = skill[[0, 1, 2, 3]]
    expected[[8, 9]] = 2 * skill[[8, 9]]
    np.testing.assert_array_equal(total.counts, expected)
    assert total.evidence.log_likelihood == 3.5
    np.testing.assert_array_equal(one.counts.values, skill[[2, 3, 8, 9]])  # not changed
