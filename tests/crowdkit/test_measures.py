"""Agreement, consistency and uncertainty in the shape of Crowd-Kit's, by closed forms and loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.crowdkit.crowds import ROLES, TRUTH, quiz, simulated
from tests.naive.skilled_votes import alpha, label_entropy, probability_of

from quorate import DataError, UsageError
from quorate.crowdkit import (
    MMSR,
    DawidSkene,
    MajorityVote,
    OneCoinDawidSkene,
    Wawa,
    accuracy_on_aggregates,
    alpha_krippendorff,
    consistency,
    uncertainty,
)

SKILLS = pd.Series({"ann": 0.9, "bob": 0.8, "cid": 0.7, "dee": 0.4})


def rows_of(data: pd.DataFrame) -> list[tuple[Any, Any, Any]]:
    return list(data[ROLES].itertuples(index=False, name=None))


def table(*rows: tuple[Any, Any, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=ROLES)


# Krippendorff's alpha.


def test_alpha_is_one_where_all_agree() -> None:
    agreed = table(("t", "x", 1), ("t", "y", 1), ("u", "x", 2), ("u", "y", 2))
    assert alpha_krippendorff(agreed) == 1
    assert alpha_krippendorff(agreed[:2]) == 1  # though there is nothing else to be said


def unlike(one: Any, other: Any) -> float:
    return float(one != other)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return 1 - len(one & other) / len(one | other)


@given(st.lists(st.tuples(st.sampled_from("tuv"), st.sampled_from("xyz"), st.sampled_from("abc"))))
def test_alpha_compares_pairs_of_labels(rows: list[tuple[str, str, str]]) -> None:
    data = table(*rows, ("w", "x", "a"), ("w", "y", "b"))
    assert alpha_krippendorff(data) == pytest.approx(alpha(rows_of(data), unlike))


def test_alpha_heeds_how_far_labels_are_apart() -> None:
    dog, cat, both = frozenset(["dog"]), frozenset(["cat"]), frozenset(["cat", "dog"])
    seen = [("t", "x", dog), ("t", "y", dog), ("u", "x", cat), ("u", "y", both), ("v", "x", both)]
    data = table(*seen)
    near, far = alpha_krippendorff(data, jaccard), alpha_krippendorff(data)
    assert near == pytest.approx(alpha(seen, jaccard)) and far == pytest.approx(alpha(seen, unlike))
    assert near > far
    assert alpha_krippendorff(data, lambda one, other: 0.0) == 1


def test_alpha_needs_two_labels_of_a_task() -> None:
    with pytest.raises(DataError, match="No task has two labels"):
        alpha_krippendorff(table(("t", "x", 1), ("u", "y", 1)))


# Consistency.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_consistency_is_the_posterior_of_the_answer(n_classes: int) -> None:
    data, _ = simulated(n_classes, seed=1)
    fitted = MajorityVote().fit(data)
    found = consistency(data, by_task=True)
    labels = set(data["label"])
    for task, answer in fitted.labels_.items():
        expected = probability_of(rows_of(data), task, answer, fitted.skills_, labels)
        assert found[task] == pytest.approx(expected)
    assert consistency(data) == pytest.approx(found.mean())


def test_consistency_takes_skills_and_aggregators() -> None:
    expected = probability_of(rows_of(quiz()), "p5", "yes", SKILLS, {"yes", "no"})
    assert consistency(quiz(), SKILLS, by_task=True)["p5"] == pytest.approx(expected)
    one_coin = OneCoinDawidSkene(n_iter=2)
    found = consistency(quiz(), aggregator=one_coin, by_task=True)
    expected = probability_of(rows_of(quiz()), "p5", "yes", one_coin.skills_, {"yes", "no"})
    assert found["p5"] == pytest.approx(expected)
    assert consistency(quiz(), aggregator=Wawa()) == pytest.approx(consistency(quiz()))


def test_what_cannot_be_has_no_consistency() -> None:
    """Two workers who are always right contradict each other."""
    data = table(("t", "x", "a"), ("t", "y", "b"), ("u", "x", "a"))
    assert consistency(data, pd.Series({"x": 1.0, "y": 1.0}), by_task=True).to_list() == [0, 1]


def test_many_votes_of_a_task_are_no_less_consistent() -> None:
    """The probability of each of 3,000 votes together is no longer a floating-point number."""
    data = table(*(("t", worker, worker % 3 > 0) for worker in range(3000)))
    assert consistency(data, pd.Series(0.6, range(3000))) == pytest.approx(1)


def test_skills_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(DataError, match="Skills are probabilities here, from 0 to 1"):
        consistency(quiz(), aggregator=MMSR())
    with pytest.raises(UsageError, match="DawidSkene finds no skills: give workers_skills"):
        consistency(quiz(), aggregator=DawidSkene())
    with pytest.raises(DataError, match="2 of 4 workers have no skill, 'ann' among them"):
        consistency(quiz(), SKILLS[["cid", "dee"]])


# Uncertainty.


@pytest.mark.parametrize("role", ["task", "worker"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_uncertainty_is_the_entropy_of_labels(role: str, n_classes: int) -> None:
    data, _ = simulated(n_classes, seed=2)
    skills = MajorityVote().fit(data).skills_
    found = uncertainty(data, skills, compute_by=role, aggregate=False)
    assert found.index.name == role
    for name, part in data.groupby(role):
        expected = label_entropy(rows_of(part), skills, set(data["label"]))
        assert found[name] == pytest.approx(expected)
    assert uncertainty(data, skills, compute_by=role) == pytest.approx(found.mean())
    assert uncertainty(data, aggregator=Wawa(), compute_by=role) == pytest.approx(found.mean())


def test_uncertainty_without_skills_counts_labels() -> None:
    assert uncertainty(table(("t", "x", 1), ("t", "y", 1))) == 0
    assert uncertainty(table(("t", "x", 1), ("t", "y", 2), ("t", "z", 3))) == pytest.approx(
        math.log(3)
    )
    sets = table(*(("t", who, frozenset([word])) for who, word in zip("xyz", "aab", strict=True)))
    expected = -(2 / 3) * math.log(2 / 3) - (1 / 3) * math.log(1 / 3)
    assert uncertainty(sets) == pytest.approx(expected)


def test_uncertainty_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="compute_by is one of task, worker, not 'label'"):
        uncertainty(quiz(), compute_by="label")
    with pytest.raises(DataError, match="1 of 4 workers have no skill, 'ann' among them"):
        uncertainty(quiz(), SKILLS.drop("ann"))
    with pytest.raises(UsageError, match="DawidSkene finds no skills"):
        uncertainty(quiz(), aggregator=DawidSkene())


@pytest.mark.parametrize("measure", [alpha_krippendorff, consistency, uncertainty])
def test_nothing_cannot_be_measured(measure: Any) -> None:
    with pytest.raises(DataError, match="There are no labels to measure"):
        measure(quiz()[:0])


# Accuracy on aggregates.


def test_accuracy_on_aggregates_is_the_share_of_labels_that_are_the_answers() -> None:
    assert accuracy_on_aggregates(quiz()) == pytest.approx(19 / 23)
    by_worker = accuracy_on_aggregates(quiz(), by="worker")
    assert by_worker.to_dict() == {"ann": 1, "bob": 4 / 5, "cid": 5 / 6, "dee": 4 / 6}
    assert by_worker.index.name == "worker"
    by_task = accuracy_on_aggregates(quiz(), by="task")
    assert by_task.to_dict() == pytest.approx(
        dict(zip(TRUTH.index, [3 / 4, 3 / 4, 1, 3 / 4, 3 / 4, 1], strict=True))
    )
    assert accuracy_on_aggregates(quiz(), by="label").to_dict() == {"no": 9 / 11, "yes": 10 / 12}
    of_truth = accuracy_on_aggregates(quiz(), by="true_label")
    assert of_truth.to_dict() == {"no": 9 / 11, "yes": 10 / 12}


def test_accuracy_on_aggregates_takes_answers_aggregators_and_weights() -> None:
    some = pd.Series({"p1": "no", "elsewhere": "yes", "p2": None})
    assert accuracy_on_aggregates(quiz(), aggregates=some) == 1 / 4
    assert accuracy_on_aggregates(quiz(), aggregator=DawidSkene()) == pytest.approx(19 / 23)
    heavy = quiz().assign(weight=np.where(quiz()["worker"] == "dee", 3.0, 1.0))
    assert accuracy_on_aggregates(heavy, aggregates=some) == 3 / 6
    with pytest.raises(DataError, match="None of the answers' tasks"):
        accuracy_on_aggregates(quiz(), aggregates=pd.Series({"elsewhere": "yes"}))
    with pytest.raises(UsageError, match="by is one of task, worker, label, true_label"):
        accuracy_on_aggregates(quiz(), by="colour")
    twice = pd.Series(["yes", "no"], index=["p1", "p1"])
    assert accuracy_on_aggregates(quiz(), aggregates=twice) == 1
    with pytest.raises(UsageError, match="one aggregated label for each task"):
        accuracy_on_aggregates(quiz(), aggregates=twice, by="true_label")
    with pytest.raises(UsageError, match="aggregates is a Series of labels"):
        accuracy_on_aggregates(quiz(), aggregates={"p1": "yes"})
