"""Gold as people have it, how workers did on it, and classes that only gold names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import quorate
from quorate import DataError

VOTES = [(t, w, "yes" if (t + i) % 3 else "no") for t in range(9) for i, w in enumerate("abcd")]


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ({1: "yess"}, "gold names 1 class that no vote has: 'yess' (did you mean 'yes'?)."),
        ({1: "Yes"}, "gold names 1 class that no vote has: 'Yes' (did you mean 'yes'?)."),
        ({1: "both"}, "gold names 1 class that no vote has: 'both'."),
        (
            {1: "both", 2: "noo", 3: "yes"},
            "gold names 2 classes that no vote has: 'both', 'noo' (did you mean 'no'?).",
        ),
        (
            {t: f"{t}" * 5 for t in range(7)},
            "gold names 7 classes that no vote has: '00000', '11111', '22222', '33333', '44444',"
            " and 2 more.",
        ),
    ],
)
def test_a_class_that_only_gold_names_is_said(gold: Any, said: str) -> None:
    result = quorate.aggregate(VOTES, "majority", gold=gold)
    assert said in result.notes and said in repr(result)
    assert result.labels["label"][1] == gold[1]
    assert said in quorate.diagnose(VOTES, gold=gold).notes


def test_nothing_is_said_of_known_classes() -> None:
    gold = {1: "yes", 99: "yess"}
    assert not any("names" in note for note in quorate.aggregate(VOTES, gold=gold).notes)


TABLE = pl.DataFrame(VOTES, schema=["task", "worker", "label"], orient="row")
TRUTH = {1: "no", 2: "yes", 5: "no"}


def test_gold_is_a_column_of_the_votes_a_table_of_two_columns_or_a_mapping(tmp_path: Path) -> None:
    beside = TABLE.with_columns(truth=pl.col("task").replace_strict(TRUTH, default=None))
    beside.write_csv(tmp_path / "votes.csv")
    two = pl.DataFrame({"foo": list(TRUTH), "bar": list(TRUTH.values())})
    expected = quorate.aggregate(VOTES, "dawid-skene", gold=TRUTH)
    for votes, gold in (
        (beside, "truth"),
        (beside.to_pandas(), "truth"),
        (tmp_path / "votes.csv", "truth"),
        (VOTES, two),
    ):
        result = quorate.aggregate(votes, "dawid-skene", gold=gold)
        assert np.array_equal(result.posterior, expected.posterior) and result.notes == ()
    stored = quorate.aggregate(tmp_path / "votes.csv", "dawid-skene", gold="truth", memory="1GB")
    assert np.array_equal(stored.posterior, expected.posterior)
    scores = [quorate.compare(beside, ["majority"], gold=gold).table for gold in ("truth", TRUTH)]
    assert scores[0].drop("seconds").equals(scores[1].drop("seconds"))


def test_names_tell_columns_of_gold_apart_before_their_places_do() -> None:
    swapped = pl.DataFrame({"label": ["no", "yes"], "foo": [1, 2]})
    result = quorate.aggregate(VOTES, "majority", gold=swapped)
    assert result.labels["label"].to_list()[1:3] == ["no", "yes"]


def test_gold_that_is_neither_a_file_nor_a_column_is_refused() -> None:
    with pytest.raises(DataError, match=r"no file truth, and no such column .*: task, worker, lab"):
        quorate.aggregate(TABLE, gold="truth")
    with pytest.raises(DataError, match=r"There is no file truth\.csv\."):
        quorate.aggregate(TABLE, gold="truth.csv")


@pytest.mark.parametrize("options", [{}, {"engine": "disk"}])
def test_workers_are_told_how_they_did_on_gold(options: Any) -> None:
    gold = {**TRUTH, 99: "no"}
    result = quorate.aggregate(VOTES, "majority", gold=gold, **options)
    said = {(task, worker): label for task, worker, label in VOTES}
    for row in result.workers.iter_rows(named=True):
        right = [said[task, row["worker"]] == truth for task, truth in TRUTH.items()]
        assert (row["gold_labels"], row["gold_accuracy"]) == (3, sum(right) / 3)
    nobody = quorate.aggregate([*VOTES, (20, "new", "yes")], "majority", gold=gold).workers
    assert nobody.row(-1, named=True)["gold_accuracy"] is None
    assert "gold_labels" not in quorate.aggregate(VOTES, "majority").workers.columns
