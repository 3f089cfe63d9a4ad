"""Factorise a column: the codes of its values, in order of appearance."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.labels import LARGEST_CODE

BLOCK = 1 << 16  # rows whose slots fit in the cache

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

    Values that collide in a slot are found by comparing, and coded among themselves by another
    hash."""
    code, is_first = _codes_by_slot(column, seed)
    late = _differs(column, column.filter(is_first).rechunk(), code)
    if not late.any():
        return code, is_first
    late_code, is_first_late = _codes_and_firsts(column.filter(late), seed + 1)
    late_rows = np.flatnonzero(late)
    is_first[late_rows] = is_first_late
    is_late = late[is_first]  # by the code that a value has in the end
    in_the_end = np.flatnonzero(~is_late).astype(code.dtype)
    for block in _blocks(len(code)):
        np.take(in_the_end, code[block], out=code[block], mode="clip")
    code[late_rows] = np.flatnonzero(is_late)[late_code]
    return code, is_first


def _codes_by_slot(column: pl.Series, seed: int) -> CodesAndFirsts:
    """One pass of hash factorisation, assuming no collisions.

    A slot holds the code of the value that hashes to it, or -1; while a block's new values are
    coded, the place in the block of the first of them."""
    n_rows, n_codes = len(column), 0
    n_slots = max(BLOCK, 1 << (n_rows // 2).bit_length())  # a few values hardly ever collide
    slots = np.full(n_slots, -1, dtype=np.int32 if n_rows <= LARGEST_CODE else np.int64)
    code = np.empty(n_rows, dtype=slots.dtype)
    is_first = np.zeros(n_rows, dtype=bool)
    for block in _blocks(n_rows):
        slot = _hashes(column[block], seed) & (n_slots - 1)
        found = np.take(slots, slot, out=code[block], mode="clip")  # in range, and so unchecked
        new = np.flatnonzero(found < 0)
        if len(new):
            new_slot = slot[new]
            slots[new_slot[::-1]] = new[::-1]  # the last to be assigned stays
            first = new[slots[new_slot] == new]
            slots[slot[first]] = np.arange(n_codes, n_codes + len(first))
            n_codes += len(first)
            found[new] = slots[new_slot]
            is_first[block.start + first] = True
    return code, is_first


def _hashes(values: pl.Series, seed: int) -> NDArray[np.int64]:
    """Hashes of the values. In the first pass integers, also those behind dates and categories, are
    their own hash: if they lie close together, each has a slot next to its neighbours'."""
    whole = values.to_physical()
    if seed == 0 and whole.dtype.is_integer():
        return whole.cast(pl.Int64, wrap_numerical=True).fill_null(-1).to_numpy()
    return values.hash(seed).to_numpy().view(np.int64)


def _differs(
    column: pl.Series, names: pl.Series, code: NDArray[np.signedinteger]
) -> NDArray[np.bool_]:
    """Whether each row's value differs from the name of its code; every other block is compared in
    a thread beside, as the longest column is the last to be coded."""
    differs = np.empty(len(column), dtype=bool)
    blocks = list(_blocks(len(column)))

    def compare(some: list[slice]) -> None:
        for block in some:
            differs[block] = names.gather(code[block]).ne_missing(column[block])

    if len(blocks) < 2:
        compare(blocks)
        return differs
    with ThreadPoolExecutor(1) as beside:
        others = beside.submit(compare, blocks[1::2])
        compare(blocks[::2])
        others.result()
    return differs


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, BLOCK):
        yield slice(start, start + BLOCK)
