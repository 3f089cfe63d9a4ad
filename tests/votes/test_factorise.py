"""Codes in order of appearance: for values of any type, whatever their hashes."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.effort import times

from quorate.votes import factorise
from quorate.votes.factorise import codes_of

WORDS = st.text("ab0\u00e9", max_size=20)
INTS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
DAYS = st.integers(0, 9).map(lambda days: date(1969, 12, 28) + timedelta(days))


def columns(values: st.SearchStrategy[Any], dtype: Any) -> st.SearchStrategy[pl.Series]:
    cells = st.lists(st.none() | values, min_size=1, max_size=60)
    return cells.map(lambda cells: pl.Series(cells, dtype=dtype))


COLUMNS = st.one_of(
    columns(WORDS, pl.String),
    columns(WORDS, pl.Categorical),
    columns(st.sampled_from("abc"), pl.Enum(["c", "b", "a"])),
    columns(INTS, pl.Int64),
    columns(INTS.map(lambda number: number * 2**40), pl.Int128),
    columns(st.integers(0, 2**64 - 1), pl.UInt64),
    columns(st.integers(-128, 127), pl.Int8),
    columns(st.floats(allow_nan=False), pl.Float64),
    columns(st.booleans(), pl.Boolean),
    columns(DAYS, pl.Date),
)


def codes_by_dictionary(column: pl.Series) -> tuple[list[int], list[Any]]:
    known: dict[Any, int] = {}
    codes = [known.setdefault(value, len(known)) for value in column.to_list()]
    return codes, list(known)


def check(column: pl.Series) -> None:
    code, names = codes_of(column)
    assert (code.tolist(), names.to_list()) == codes_by_dictionary(column)
    assert names.dtype == column.dtype


@given(COLUMNS, st.integers(1, 7))
def test_codes_are_a_dictionarys_in_blocks_of_any_size(column: pl.Series, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factorise, "BLOCK", size)
        check(column)
        check(pl.concat([column, column.reverse()], rechunk=False))


@given(COLUMNS, st.integers(0, 3))
@settings(max_examples=times(25, 50))
def test_no_two_values_share_a_code_though_they_share_hashes(column: pl.Series, bits: int) -> None:
    hashes = factorise._hashes

    def few_hashes(values: pl.Series, seed: int) -> NDArray[np.int64]:
        return hashes(values, seed) & (2**bits - 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factorise, "_hashes", few_hashes)
        patch.setattr(factorise, "BLOCK", 8)
        check(column)


@pytest.mark.parametrize("values", [np.arange(50_000) << 40, np.arange(50_000) % 7 << 40])
def test_whole_numbers_whose_last_bits_are_alike(values: NDArray[np.int64]) -> None:
    check(pl.Series(values))


def test_many_names_in_many_chunks() -> None:
    number = np.random.default_rng(0).integers(0, 40_000, size=200_000)
    names = pl.Series(number).cast(pl.String)
    for column in (names, "a longer name, not kept in its view " + names):
        check(pl.concat([column[:7], column[7:70_000], column[70_000:]], rechunk=False))


def test_zero_is_one_value_with_either_sign() -> None:
    code, names = codes_of(pl.Series([-0.0, 0.5, 0.0]))
    assert (code.tolist(), len(names)) == ([0, 1, 0], 2)


def test_a_column_without_rows() -> None:
    check(pl.Series([], dtype=pl.String))
