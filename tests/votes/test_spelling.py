"""How labels are spelt: what is said of it, and labels taken for one with `tidy`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import times

import quorate
from quorate.votes import read_votes

SPELT = [
    ("t1", "ann", "yes"),
    ("t1", "bob", "Yes "),
    ("t1", "eve", "yes"),
    ("t2", "ann", " no"),
    ("t2", "bob", "YES"),
    ("t2", "eve", " no"),
]


def test_labels_that_differ_only_in_spaces_or_case_are_named() -> None:
    votes = read_votes(SPELT)
    assert votes.codebook.classes.to_list() == [" no", "YES", "Yes ", "yes"]
    assert votes.notes == (
        "Labels that differ only in spaces or case are counted apart: 'YES' (1) and 'Yes ' (1) and"
        " 'yes' (2); tidy (--tidy) takes them for one.",
    )


def test_tidy_takes_them_for_one_in_the_most_frequent_spelling() -> None:
    votes = read_votes(SPELT, tidy=True)
    assert votes.codebook.classes.to_list() == ["no", "yes"]
    assert votes.labels.label.tolist() == [1, 1, 1, 0, 1, 0]
    assert votes.notes[0].startswith("Labels that differ only in spaces or case are taken for one")


def test_whole_numbers_that_became_fractions_are_named_too(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("id,x,y\n7,1,1.0\n8,2,\n9,1,2.0\n")
    assert "'1' (2) and '1.0' (1)" in read_votes(path).notes[1]
    assert read_votes(path, tidy=True).codebook.classes.to_list() == ["1", "2"]


def test_tidy_holds_for_known_answers_for_new_votes_and_on_disk(tmp_path: Path) -> None:
    gold = {"t1": "YES", "t2": "No"}
    result = quorate.aggregate(SPELT, "majority", tidy=True, gold=gold)
    assert result.classes == ["no", "yes"]
    assert result.labels["label"].to_list() == ["yes", "no"]
    assert result.predict([("t9", "ann", "yEs"), ("t9", "bob", "YES")], tidy=True)["label"][0] == (
        "yes"
    )
    pl.DataFrame(SPELT, schema=["task", "worker", "label"], orient="row").write_csv(
        tmp_path / "v.csv"
    )
    on_disk = quorate.aggregate(tmp_path / "v.csv", "majority", tidy=True, gold=gold, engine="disk")
    assert on_disk.labels.collect().rows() == result.labels.rows()
    assert on_disk.notes == result.notes


def test_tidy_holds_for_several_right_answers() -> None:
    votes = [
        ("t1", "ann", "Cat|dog"),
        ("t1", "bob", "cat"),
        ("t2", "ann", "cat"),
        ("t2", "bob", ""),
    ]
    options: Any = {"multilabel": True, "separator": "|", "tidy": True}
    result = quorate.aggregate(votes, "majority", gold={"t1": ["CAT"]}, **options)
    assert list(result.results) == ["cat", "dog"]
    assert result.labels.rows()[0][:2] == ("t1", "cat")


@given(st.lists(st.sampled_from(["a", "A", " a", "b", "B ", "a  c", "A C", "7", "x"]), min_size=1))
@settings(max_examples=times(30, 60))
def test_tidy_loses_no_vote(labels: list[str]) -> None:
    rows = [(task, "ann", label) for task, label in enumerate(labels)]
    votes = read_votes(rows, tidy=True)
    said = [votes.codebook.classes[code] for code in votes.labels.label.tolist()]
    plain = [" ".join(label.lower().split()) for label in labels]
    assert [" ".join(label.lower().split()) for label in said] == plain
    assert len(set(said)) == len(set(plain))
    for name in set(said):
        group = [label for label in labels if " ".join(label.lower().split()) == name.lower()]
        most = max(Counter(group).values(), default=0)
        assert most == 0 or name in {w.strip() for w, n in Counter(group).items() if n == most}


@pytest.mark.parametrize("word", ["N/A", "NA", "null", "None", "-"])
def test_words_for_no_label_are_named(word: str, tmp_path: Path) -> None:
    rows = [("t1", "ann", "yes"), ("t1", "bob", word), ("t2", "ann", "no")]
    votes = read_votes(rows)
    assert votes.notes == (
        f"'{word}' (1 vote) is counted as a label: missing (--missing {word}) leaves it out.",
    )
    assert read_votes(rows, missing=word).notes == ()
    assert read_votes(rows, missing=word).codebook.classes.to_list() == ["no", "yes"]


def test_numbers_can_be_missing_too() -> None:
    rows = [(1, "ann", 0), (1, "bob", -1), (2, "ann", 1)]
    votes = read_votes(rows, missing=["-1"])
    assert votes.codebook.classes.to_list() == [0, 1] and votes.report.missing == 1
