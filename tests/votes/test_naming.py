"""Keys: numbers for names that nothing but their spelling decides."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.votes.naming import AT_A_TIME, key, keys, retyped

WORDS = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.integers(-(2**70), 2**70)


@given(st.lists(WORDS | NUMBERS.map(str) | NUMBERS.map("{:05d}".format), max_size=20))
def test_one_name_at_a_time_has_the_keys_of_all(names: list[str]) -> None:
    assert keys(pl.Series(names, dtype=pl.String)).tolist() == list(map(key, names))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20))
def test_numbers_have_the_keys_of_their_text(names: list[int]) -> None:
    found = keys(pl.Series(names, dtype=pl.Int64))
    assert found.tolist() == keys(pl.Series(map(str, names), dtype=pl.String)).tolist()
    assert found.tolist() == list(map(key, names))


@pytest.mark.parametrize("names", [[True, False], [2**100, -(2**90)], [1.5, -0.25]])
def test_names_of_other_types_have_keys_too(names: list[object]) -> None:
    assert keys(pl.Series(names)).tolist() == list(map(key, names))


@pytest.mark.parametrize(
    ("last", "dtype"), [("7", pl.Int64), ("007", pl.String), ("a", pl.String), (None, pl.Int64)]
)
def test_many_names_are_numbers_only_if_the_last_is_too(last: str | None, dtype: object) -> None:
    names = pl.Series([*map(str, range(10, AT_A_TIME + 20)), last], dtype=pl.String)
    found = retyped(names)
    assert found.dtype == dtype
    assert found.cast(pl.String).equals(names)
    assert retyped(names.reverse()).dtype == dtype
