"""Factorise a column: the codes of its values, in order of appearance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.labels import LARGEST_CODE

BLOCK = 1 << 16  # rows that are worked on at a time, in a cache
SLOTS = 1 << 20  # of a table that is looked up in a cache
FEW = 1 << 15  # values, which seldom collide in it
FEW_BLOCKS = 32  # whose threads would wait for each other

CodesAndFirsts = tuple[NDArray[np.signedinteger], NDArray[np.bool_]]


def codes_of(column: pl.Series) -> tuple[NDArray[np.signedinteger], pl.Series]:
    """Code of each row, and the values in code order.

    Examples:
        >>> code, names = codes_of(pl.Series(["b", "a", "b", None]))
        >>> code.tolist(), names.to_list()
        ([0, 1, 0, 2], ['b', 'a', None])
    """
    code, is_first = _codes_and_firsts(column, seed=0)
    return code, column.filter(is_first)


def _codes_and_firsts(column: pl.Series, seed: int) -> CodesAndFirsts:
    """Code of each row, and whether its value appears for the first time.

    Values with the same hash are found by comparing, and coded among themselves by another
    hash."""
    code, is_first = _codes_by_slot(column, seed) or _codes_by_sorting(column, seed)
    late_rows = _rows_that_differ(column, column.filter(is_first).rechunk(), code)
    if not len(late_rows):
        return code, is_first
    late = np.zeros(len(code), dtype=bool)
    late[late_rows] = True
    late_code, is_first_late = _codes_and_firsts(column.filter(late), seed + 1)
    late_first = late_rows[is_first_late]
    before_late = np.searchsorted(np.flatnonzero(is_first), late_first)
    is_first[late_first] = True
    moved = np.arange(is_first.sum() - len(late_first), dtype=code.dtype)
    moved += np.searchsorted(before_late, moved, side="right").astype(code.dtype)
    for some in _blocks(len(code)):
        code[some] = moved[code[some]]
    code[late_rows] = (before_late + np.arange(len(late_first)))[late_code]
    return code, is_first


def _codes_by_slot(column: pl.Series, seed: int) -> CodesAndFirsts | None:
    """Codes of a few values by a table of their hashes, as if none had the same slot; None if
    there are more. Most blocks hold no new value, and are only looked up."""
    n_rows, n_codes = len(column), 0
    code = np.empty(n_rows, dtype=_code_type(n_rows))
    is_first = np.zeros(n_rows, dtype=bool)
    n_slots = min(SLOTS, max(BLOCK, 1 << n_rows.bit_length()))
    slots = np.full(n_slots, -1, dtype=np.int32)
    for some in _blocks(n_rows):
        slot = _hashes(column[some], seed) & (n_slots - 1)
        found = slots[slot]
        if found.min() < 0:
            unknown = np.flatnonzero(found < 0)
            new, first = np.unique(slot[unknown], return_index=True)
            order = np.argsort(first)
            slots[new[order]] = np.arange(n_codes, n_codes + len(new), dtype=np.int32)
            is_first[some.start + unknown[first]] = True
            n_codes += len(new)
            if n_codes > FEW:
                return None
            found = slots[slot]
        code[some] = found
    return code, is_first


def _codes_by_sorting(column: pl.Series, seed: int) -> CodesAndFirsts:
    """Codes of any number of values by sorting their hashes, as if no two were the same.

    A key has as many bits of the hash as there is room for, and the row. Sorted keys are gone
    through twice: for the first row of each value, and when all are known, for the codes."""
    n_rows, code_type = len(column), _code_type(len(column))
    bits = np.int64(n_rows.bit_length())
    in_row = (np.int64(1) << bits) - 1
    key, is_new = np.empty(n_rows, dtype=np.int64), np.ones(n_rows, dtype=bool)
    code = np.empty(n_rows, dtype=code_type)

    def fill(some: slice) -> None:
        np.left_shift(_hashes(column[some], seed), bits, out=key[some])
        key[some] |= np.arange(some.start, some.stop)

    def mark_new(some: slice) -> int:
        hashes = key[max(some.start - 1, 0) : some.stop] >> bits
        np.not_equal(hashes[1:], hashes[:-1], out=is_new[max(some.start, 1) : some.stop])
        return int(np.count_nonzero(is_new[some]))

    def put(some: slice) -> None:
        value = np.cumsum(is_new[some]) + (values_before[some.start // BLOCK] - 1)
        code[key[some] & in_row] = code_of_value[value]

    _each_block(fill, n_rows)
    key.sort()
    values_before = np.cumsum([0, *_each_block(mark_new, n_rows)])
    first = (key[is_new] & in_row).astype(code_type)
    code_of_value = np.empty(len(first), dtype=code_type)
    code_of_value[np.argsort(first)] = np.arange(len(first), dtype=code_type)
    _each_block(put, n_rows)
    is_new[:] = False
    is_new[first] = True
    return code, is_new


def _code_type(n_rows: int) -> type[np.signedinteger]:
    return np.int32 if n_rows <= LARGEST_CODE else np.int64


def _hashes(values: pl.Series, seed: int) -> NDArray[np.int64]:
    """Hashes of the values. In the first pass integers, also those behind dates and categories, are
    their own hash: if they lie close together, each has a slot next to its neighbours'."""
    whole = values.to_physical()
    if seed == 0 and whole.dtype.is_integer():
        return whole.cast(pl.Int64, wrap_numerical=True).fill_null(-1).to_numpy()
    return values.hash(seed).to_numpy().view(np.int64)


def _rows_that_differ(
    column: pl.Series, names: pl.Series, code: NDArray[np.signedinteger]
) -> NDArray[np.intp]:
    """Rows whose value differs from the name of its code."""

    def compare(some: slice) -> NDArray[np.intp]:
        differs = names.gather(code[some]).ne_missing(column[some])
        return some.start + np.flatnonzero(differs) if differs.any() else nothing

    nothing = np.empty(0, dtype=np.intp)
    return np.concatenate([nothing, *_each_block(compare, len(column))])


def _each_block(work: Callable[[slice], Any], n_rows: int) -> list[Any]:
    """What the work returns for each block of rows, on two threads if there are many."""
    if n_rows <= FEW_BLOCKS * BLOCK:
        return list(map(work, _blocks(n_rows)))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(work, _blocks(n_rows)))


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, BLOCK):
        yield slice(start, min(start + BLOCK, n_rows))
