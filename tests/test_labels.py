"""Labels: task order, slices, blocks, and what a block holds."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate import kernels, sparse
from quorate.errors import DataError
from quorate.kernels import Rows
from quorate.labels import Labels, NameKeys, joined


@pytest.fixture
def labels() -> Labels:
    """Seven tasks, of which the third and the last have no labels; one worker repeats herself."""
    task = [5, 0, 0, 1, 3, 3, 3, 4, 5, 5]
    worker = [0, 1, 2, 0, 0, 0, 2, 1, 1, 2]
    label = [1, 0, 1, 2, 2, 2, 0, 1, 1, 0]
    return Labels.from_codes(task, worker, label, n_tasks=7, gold=[-1, 2, 0, -1, -1, -1, -1])


def test_labels_stand_in_task_order_and_keep_theirs(labels: Labels) -> None:
    assert labels.indptr.tolist() == [0, 2, 3, 3, 6, 7, 10, 10]
    assert labels.worker.tolist() == [1, 2, 0, 0, 0, 2, 1, 0, 1, 2]
    assert labels.label.tolist() == [0, 1, 2, 2, 2, 0, 1, 1, 1, 0]


def test_labels_in_bytes_are_labels(labels: Labels) -> None:
    task, worker, label = [1, 0, 1], [2, 0, 1], np.array([-1, 1, 0], dtype=np.int8)
    for order in ([0, 1, 2], [1, 0, 2]):  # not in task order, and in it
        some = [np.array(column)[order] for column in (task, worker, label)]
        found = Labels.from_codes(*some)
        assert found.label.dtype == labels.label.dtype
        assert found.label.tolist() == [1, -1, 0]
        assert found.worker.tolist() == [0, 2, 1]


def test_a_slice_is_a_run_of_whole_tasks(labels: Labels) -> None:
    part = labels[1:4]
    assert part.indptr.tolist() == [0, 1, 1, 4]
    assert part.worker.tolist() == [0, 0, 0, 2]
    assert part.gold is not None and part.gold.tolist() == [2, 0, -1]
    assert (part.first_task, part.n_workers, part.n_classes) == (1, 3, 3)
    assert part[1:].first_task == 2
    with pytest.raises(IndexError):
        labels[::2]


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_blocks_are_all_tasks_in_order(labels: Labels, size: int) -> None:
    blocks = list(labels.blocks(size))
    assert sum(block.n_tasks for block in blocks) == labels.n_tasks
    assert np.concatenate([block.label for block in blocks]).tolist() == labels.label.tolist()
    largest_task = 4
    assert all(block.n_tasks + block.n_labels < size + largest_task for block in blocks)


def test_the_soft_vote_has_gold_in_its_place_and_is_even_without_votes(labels: Labels) -> None:
    shares = labels.vote_shares()
    assert shares[0].tolist() == [0.5, 0.5, 0]
    assert shares[1].tolist() == [0, 0, 1]
    assert shares[2].tolist() == [1, 0, 0]
    assert shares[6].tolist() == [1 / 3] * 3


def test_only_tasks_with_labels_or_gold_tell_of_class_shares(labels: Labels) -> None:
    heard = labels.has_evidence
    assert isinstance(heard, np.ndarray)
    assert heard.tolist() == [True, True, True, True, True, True, False]


def test_a_block_returns_no_more_rows_than_it_has_labels() -> None:
    random = np.random.default_rng(0)
    n_workers, n_classes = 100_000, 10
    block = Labels.from_codes(
        np.arange(300) // 3,
        random.integers(n_workers, size=300),
        random.integers(n_classes, size=300),
        n_workers=n_workers,
        n_classes=n_classes,
    )
    posterior = random.dirichlet(np.ones(n_classes), 100)
    for scattered in (block.pairs.scatter(posterior), block.agreement(posterior)):
        assert isinstance(scattered, Rows)
        assert len(scattered.incidence.row) <= block.n_labels
    table = random.random((n_workers * n_classes, n_classes))
    pair = block.worker * n_classes + block.label
    np.testing.assert_allclose(
        block.pairs.gather(table), table[pair].reshape(100, 3, n_classes).sum(axis=1)
    )


def test_sums_into_a_table_are_the_same_without_scipys_own_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(1)
    at, of = random.integers(7, size=50).astype(np.int32), random.integers(9, size=50)
    values = random.random((9, 3))
    expected = np.zeros((7, 3))
    for i in range(50):
        expected[at[i]] += values[of[i]]
    for loop in (sparse.coo_matmat_dense, None):
        monkeypatch.setattr(sparse, "coo_matmat_dense", loop)
        sums = np.zeros((7, 3))
        kernels.accumulate(sums, at, values, of.astype(np.int32))
        np.testing.assert_array_equal(sums, expected)


def test_columns_are_sorted_the_same_without_scipys_own_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(2)
    codes, first, second = random.integers(6, size=(3, 40)).astype(np.int32)
    order = np.argsort(codes, kind="stable")
    for loop in (sparse.coo_tocsr, None):
        monkeypatch.setattr(sparse, "coo_tocsr", loop)
        start, *columns = kernels.two_by_code(codes, 7, first, second)
        assert start.tolist() == np.searchsorted(codes[order], np.arange(8)).tolist()
        np.testing.assert_array_equal(columns, [first[order], second[order]])


@given(st.lists(st.integers(0, 5000), max_size=40))
def test_codes_are_sorted_by_halves_of_their_bits_as_by_comparing(codes: list[int]) -> None:
    array = np.array(codes, dtype=np.int32)
    order = np.argsort(array, kind="stable")
    found, place = kernels.sorted_with(array, np.arange(len(codes)), 5001)
    assert found.tolist() == array[order].tolist() and place.tolist() == order.tolist()


def test_weights_move_with_their_labels() -> None:
    labels = Labels.from_codes(
        [1, 0, 1, 0], [0, 1, 2, 3], [0, 1, 0, 1], weight=[1.0, 2.0, 3.0, 4.0]
    )
    assert labels.worker.tolist() == [1, 3, 0, 2]
    assert labels.weight is not None and labels.weight.tolist() == [2.0, 4.0, 1.0, 3.0]


def test_keys_of_names_are_computed_only_for_those_that_are_asked_for() -> None:
    asked: list[list[str]] = []

    def lengths(names: pl.Series) -> kernels.Keys:
        asked.append(names.to_list())
        return names.str.len_bytes().to_numpy().astype(np.uint64)

    names = pl.Series(["a", "bb", "ccc", "dddd"])
    labels = Labels.from_codes([0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 0, 1])
    labels = replace(labels, task_key=NameKeys(names, lengths))
    block = labels[1:4]
    assert not asked
    assert block.task_keys(np.array([2, 0])).tolist() == [4, 2]
    assert block.task_keys(np.array([False, True, False])).tolist() == [3]
    assert asked == [["dddd", "bb"], ["ccc"]]
    assert block.task_keys().tolist() == [2, 3, 4]
    assert block.task_keys(np.array([1])).tolist() == [3]
    assert asked[2:] == [["bb", "ccc", "dddd"]]  # once for all
    assert pickle.loads(pickle.dumps(block)).task_key.tolist() == [2, 3, 4]
    assert joined([labels[:2], block[1:]]).task_keys().tolist() == [1, 2, 3, 4]


def test_more_classes_than_can_be_indexed_is_said() -> None:
    with pytest.raises(DataError, match="check that the label column holds classes"):
        Labels.from_codes([0], [0], [0], n_workers=1_000_000, n_classes=1_000_000)


VISITS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(-1, 2)), max_size=40)


@given(VISITS)
def test_votes_in_any_order_are_sorted_by_task_alone(visits: list[tuple[int, int, int]]) -> None:
    task, worker, label = np.array(visits, dtype=np.int32).reshape(-1, 3).T
    labels = Labels.from_codes(task, worker, label, n_tasks=7, n_workers=5, n_classes=3)
    order = np.argsort(task, kind="stable")
    assert labels.worker.tolist() == worker[order].tolist()
    assert labels.label.tolist() == label[order].tolist()
    assert np.repeat(np.arange(7), labels.n_said).tolist() == task[order].tolist()


@given(VISITS)
def test_repeats_are_what_a_worker_says_after_the_first(visits: list[tuple[int, int, int]]) -> None:
    visits = sorted(visits, key=lambda visit: visit[0])
    task, worker, label = np.array(visits, dtype=np.int32).reshape(-1, 3).T
    labels = Labels.from_codes(task, worker, label, n_tasks=7, n_workers=5, n_classes=3)
    pairs = [visit[:2] for visit in visits]
    again = [i for i, pair in enumerate(pairs) if pair in pairs[:i]]
    assert sorted(labels.repeats().tolist()) == again
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quorate.labels.LEAST_BLOCK", 1)  # in several blocks
        assert sorted(labels.repeats().tolist()) == again
        later = [i - labels.indptr[3] for i in again if i >= labels.indptr[3]]
        assert sorted(labels[3:].repeats().tolist()) == later
    once = labels.without_repeats()
    assert once.label.tolist() == np.delete(label, again).tolist()
    assert np.repeat(np.arange(7), once.n_said).tolist() == np.delete(task, again).tolist()


@pytest.mark.parametrize("task", [[1, -1], [3, 0]])
def test_a_task_that_is_none_of_the_tasks(task: list[int]) -> None:
    with pytest.raises(
        DataError, match=r"^There are codes from -?\d to \d, where 0 to 1 can be\.$"
    ):
        Labels.from_codes(task, [0, 0], [0, 0], n_tasks=2)
