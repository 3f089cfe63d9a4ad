"""Classes that only gold names: possible, and said."""

from __future__ import annotations

from typing import Any

import pytest

import quorate

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
