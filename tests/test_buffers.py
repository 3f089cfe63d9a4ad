"""Buffers that are used again."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

from quorate import buffers

SHAPE = (buffers.LARGE // 16, 3)


def address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_an_array_that_is_gone_leaves_its_memory_to_the_next() -> None:
    with buffers.reuse():
        others = [buffers.zeros(SHAPE) for _ in range(2)]
        array = buffers.empty(SHAPE)
        array[:] = 7.0
        before = address(array)
        del array
        again = buffers.zeros(SHAPE)
        assert address(again) == before and not again.any()
        assert before not in map(address, others)


def test_memory_is_not_given_away_while_a_view_of_it_lives() -> None:
    with buffers.reuse():
        others = [buffers.zeros(SHAPE) for _ in range(2)]
        array = buffers.zeros(SHAPE)
        view, before = array[5:].T, address(array)
        del array
        gc.collect()
        assert before not in (address(buffers.empty(SHAPE)), *map(address, others))
        assert not view.any()


def test_nothing_is_kept_afterwards_nor_more_than_was_in_use() -> None:
    with buffers.reuse():
        arrays = [buffers.zeros(SHAPE) for _ in range(8)]
        size = arrays[0].nbytes
        del arrays[2:]
        assert sum(memory.size for memory in buffers._spare) == 6 * size
        arrays.append(buffers.zeros((2 * SHAPE[0], 3)))  # which no spare buffer is large enough for
        assert sum(memory.size for memory in buffers._spare) == 4 * size
    assert not buffers._spare
    arrays.clear()
    assert not buffers._spare


@pytest.mark.parametrize("shape", [(3, 2), SHAPE, (0, 4)])
def test_they_are_arrays_like_any_other(shape: tuple[int, ...]) -> None:
    array = buffers.zeros(shape)
    assert array.shape == shape and array.dtype == np.float64 and array.flags.c_contiguous
    assert array.flags.writeable
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(array)), np.zeros(shape))
