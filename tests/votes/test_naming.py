"""Keys: numbers for names that nothing but their spelling decides."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorate.votes.naming import key, keys

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
