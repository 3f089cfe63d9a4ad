"""Several right labels of a task in the shape of Crowd-Kit's BinaryRelevance."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_series_equal
from tests.crowdkit.crowds import ROLES

from quorate import DataError, UsageError
from quorate.crowdkit import (
    GLAD,
    BinaryRelevance,
    DawidSkene,
    GoldMajorityVote,
    MajorityVote,
    OneCoinDawidSkene,
    Wawa,
)

BASES = [MajorityVote, DawidSkene, OneCoinDawidSkene, Wawa, GLAD]
CHOSEN = [
    ("sea", "ann", ["boat", "gull"]),
    ("sea", "bob", ["boat"]),
    ("sea", "cid", ["boat", "gull", "tree"]),
    ("park", "ann", ["tree"]),
    ("park", "bob", ["dog", "tree"]),
    ("park", "cid", []),
]


def pictures() -> pd.DataFrame:
    return pd.DataFrame(CHOSEN, columns=ROLES)


@pytest.mark.parametrize("base", BASES)
def test_each_label_is_a_question_of_its_own(base: Any) -> None:
    several = BinaryRelevance(base())
    found = several.fit_predict(pictures())
    for label in ("boat", "dog", "gull", "tree"):
        asked = [(task, worker, int(label in chosen)) for task, worker, chosen in CHOSEN]
        alone = base().fit_predict(pd.DataFrame(asked, columns=ROLES))
        assert several.aggregators_[label].labels_.to_dict() == alone.to_dict()
        assert {task for task, right in found.items() if label in right} == set(
            alone[alone == 1].index
        )


def test_labels_are_lists_by_task() -> None:
    found = BinaryRelevance().fit_predict(pictures())
    index = pd.Index(["sea", "park"], name="task")
    expected = pd.Series([["boat", "gull"], ["tree"]], index, name="agg_label", dtype=object)
    assert_series_equal(found, expected, check_index_type=False)


def test_the_base_is_left_as_it_was_and_nothing_is_shared() -> None:
    base = DawidSkene(n_iter=3)
    first, second = BinaryRelevance(base), BinaryRelevance(base)
    first.fit(pictures())
    assert not hasattr(base, "labels_") and not hasattr(second, "aggregators_")
    assert all(each.n_iter == 3 for each in first.aggregators_.values())
    first.fit(pictures()[:1])
    assert set(first.aggregators_) == {"boat", "gull"}


@pytest.mark.parametrize("base", BASES)
def test_a_table_without_votes_has_no_labels(base: Any) -> None:
    found = BinaryRelevance(base()).fit_predict(pictures()[:0])
    assert found.empty and found.name == "agg_label"


def test_a_label_that_is_no_list_is_refused() -> None:
    with pytest.raises(DataError, match="a list of labels in each row, and one has 'boat'"):
        BinaryRelevance().fit(pictures().assign(label="boat"))
    with pytest.raises(DataError, match="a list of labels in each row, and one has 7"):
        BinaryRelevance().fit(pictures().assign(label=7))
    with pytest.raises(DataError, match="has lists in it: for several labels"):
        DawidSkene().fit(pictures())


@pytest.mark.parametrize("base", ["majority", GoldMajorityVote()])
def test_a_base_that_cannot_be_is_refused(base: Any) -> None:
    with pytest.raises(UsageError, match="base_aggregator is an aggregator of"):
        BinaryRelevance(base).fit(pictures())
