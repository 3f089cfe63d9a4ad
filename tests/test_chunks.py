"""Chunks of large tables, on threads."""

from __future__ import annotations

import numpy as np
import pytest

import quorate
from quorate import Threads, chunks
from quorate.simulation import simulate


@pytest.mark.parametrize("method", ["auto", "dawid-skene", "hierarchical", "ibcc", "two-kinds"])
def test_a_fit_has_the_same_bits_on_any_number_of_threads(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "CACHED", 200)  # numbers of a table of thousands
    votes = simulate(60, 400, 5, n_classes=4, seed=1).votes
    one, two = (quorate.aggregate(votes, method, engine=Threads(n)) for n in (1, 2))
    np.testing.assert_array_equal(one.posterior, two.posterior)
    assert one.objective == two.objective


def test_what_fails_in_a_chunk_fails() -> None:
    def fail(some: slice) -> None:
        raise ValueError(f"at {some.start}")

    with chunks.on_threads(2), pytest.raises(ValueError, match="at 0"):
        chunks.each(fail, np.empty((4, chunks.CACHED)))
