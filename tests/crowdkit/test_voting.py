"""Votes weighted by skills in the shape of Crowd-Kit's, against loops over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal, assert_series_equal
from tests.crowdkit.crowds import ROLES, TRUTH, quiz, simulated
from tests.naive.rank_one import rank_one
from tests.naive.skilled_votes import agreement, stepwise_skills, weighted_vote, winners

from quorate import DataError, UsageError
from quorate.crowdkit import MMSR, GoldMajorityVote, MajorityVote, Wawa, ZeroBasedSkill

LEARNERS = [Wawa, ZeroBasedSkill, MMSR]
SKILLS = pd.Series({"ann": 0.5, "bob": 0.25, "cid": 1.0, "dee": 2.0})
NOTHING = pd.DataFrame({"task": [], "worker": [], "label": []})
FEW = st.lists(
    st.tuples(st.sampled_from("tuv"), st.sampled_from("xyz"), st.sampled_from("ab")), min_size=1
)


def rows_of(data: pd.DataFrame) -> list[tuple[Any, Any, Any]]:
    return list(data[ROLES].itertuples(index=False, name=None))


def expected_tables(data: pd.DataFrame, skills: Any) -> tuple[dict[Any, Any], pd.DataFrame]:
    """The answers and the shares of the weighted vote, by loops."""
    votes = weighted_vote(rows_of(data), skills)
    shares = {
        task: {label: weight / sum(of.values()) for label, weight in of.items()}
        for task, of in votes.items()
    }
    table = pd.DataFrame.from_dict(shares, orient="index").fillna(0.0)
    return winners(votes), table.sort_index().sort_index(axis=1)


# The vote.


def test_a_vote_has_the_shares_of_the_labels_and_the_agreement_of_workers() -> None:
    fitted = MajorityVote().fit(quiz())
    answers, shares = expected_tables(quiz(), dict.fromkeys(SKILLS.index, 1.0))
    assert fitted.labels_.to_dict() == answers == TRUTH.to_dict()
    assert_frame_equal(fitted.probas_, shares, check_like=True, check_names=False)
    assert fitted.probas_.index.name == "task" and fitted.probas_.columns.name == "label"
    assert fitted.skills_.to_dict() == {"ann": 1, "bob": 4 / 5, "cid": 5 / 6, "dee": 4 / 6}
    assert fitted.skills_.name == "skill" and fitted.skills_.index.name == "worker"


def test_skills_weight_the_votes() -> None:
    fitted = MajorityVote()
    labels = fitted.fit_predict(quiz(), skills=SKILLS)
    answers, shares = expected_tables(quiz(), SKILLS)
    assert labels.to_dict() == answers and labels["p1"] == "no"
    assert_frame_equal(fitted.probas_, shares, check_names=False)
    assert fitted.skills_.to_dict() == pytest.approx(agreement(rows_of(quiz()), answers))
    assert fitted.fit_predict_proba(quiz(), SKILLS) is fitted.probas_


@given(FEW, st.dictionaries(st.sampled_from("xyz"), st.floats(-2, 2), min_size=3))
def test_the_answer_has_the_greatest_weight_even_if_weights_are_negative(
    rows: list[tuple[str, str, str]], skills: dict[str, float]
) -> None:
    data = pd.DataFrame(rows, columns=ROLES)
    fitted = MajorityVote().fit(data, pd.Series(skills))
    votes = weighted_vote(rows, skills)
    labels = sorted({label for _, _, label in rows})
    for task, of_task in votes.items():
        best = max(of_task.get(label, 0.0) for label in labels)
        assert of_task.get(fitted.labels_[task], 0.0) == pytest.approx(best)
        assert np.isfinite(fitted.probas_.loc[task]).all()
        assert fitted.probas_.loc[task, fitted.labels_[task]] == fitted.probas_.loc[task].max()


def test_of_labels_without_weight_one_that_somebody_gave_wins() -> None:
    """bob agrees with nobody, so that his vote alone has no weight."""
    votes = [("t", "ann", "a"), ("t", "cid", "a"), ("t", "bob", "b"), ("u", "bob", "b")]
    clumsy = pd.Series({"t": "a", "u": "a"})
    fitted = GoldMajorityVote()
    assert fitted.fit_predict(pd.DataFrame(votes, columns=ROLES), clumsy)["u"] == "b"
    assert fitted.skills_["bob"] == 0 and fitted.probas_.loc["u"].to_list() == [0.5, 0.5]


def test_of_tied_labels_the_first_in_the_table_wins_and_with_skills_the_first_in_order() -> None:
    tied = pd.DataFrame([("t", "x", "b"), ("t", "y", "a")], columns=ROLES)
    assert MajorityVote().fit_predict(tied)["t"] == "b"
    assert MajorityVote().fit_predict(tied, pd.Series({"x": 1.0, "y": 1.0}))["t"] == "a"


def test_a_skill_that_is_missing_is_an_error_left_out_or_the_default() -> None:
    known = SKILLS.drop("dee")
    with pytest.raises(DataError, match="1 of 4 workers have no skill, 'dee' among them"):
        MajorityVote().fit(quiz(), known)
    left_out = MajorityVote(on_missing_skill="ignore").fit(quiz(), known)
    assert "dee" not in left_out.skills_.index
    without = quiz().query("worker != 'dee'")
    assert_series_equal(left_out.labels_, MajorityVote().fit(without, known).labels_)
    decisive = MajorityVote(default_skill=1e6, on_missing_skill="value").fit(quiz(), known)
    said = quiz().query("worker == 'dee'").set_index("task")["label"]
    assert (decisive.labels_ == said).all()


def test_what_skills_cannot_be_is_refused() -> None:
    with pytest.raises(DataError, match="6 tasks have no vote of a worker with a skill"):
        MajorityVote(on_missing_skill="ignore").fit(quiz(), pd.Series(dtype=float))
    with pytest.raises(UsageError, match="default_skill goes with on_missing_skill='value'"):
        MajorityVote(default_skill=1.0).fit(quiz(), SKILLS)
    with pytest.raises(UsageError, match="default_skill goes with on_missing_skill='value'"):
        MajorityVote(on_missing_skill="value").fit(quiz(), SKILLS)
    with pytest.raises(UsageError, match="on_missing_skill is one of error, ignore, value"):
        MajorityVote(on_missing_skill="guess").fit(quiz(), SKILLS)
    with pytest.raises(UsageError, match="a Series of numbers indexed by worker"):
        MajorityVote().fit(quiz(), {"ann": 1.0})
    with pytest.raises(UsageError, match="with one of each"):
        MajorityVote().fit(quiz(), pd.concat([SKILLS, SKILLS]))


# Skills that are learned.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_wawa_counts_workers_by_their_agreement_with_the_vote(n_classes: int) -> None:
    data, _ = simulated(n_classes, seed=1)
    data = data.sort_values("label")  # so that ties go to the label that sorts first
    skills = stepwise_skills(rows_of(data), [1.0], 1.0)
    check_skilled(Wawa(), data, skills)


@pytest.mark.parametrize("n_iter", [0, 1, 7, 45])
def test_zero_based_skill_steps_towards_the_agreement(n_iter: int) -> None:
    data, _ = simulated(3, seed=2)
    options = {"lr_init": 0.8, "lr_steps_to_reduce": 3, "lr_reduce_factor": 0.7, "eps": 1e-3}
    rates = [0.8 * 0.7 ** (step // 3) for step in range(1, n_iter + 1)]
    skills = stepwise_skills(rows_of(data), rates, 1 / 3 + 1e-3)
    check_skilled(ZeroBasedSkill(n_iter=n_iter, **options), data, skills)


def check_skilled(aggregator: Any, data: pd.DataFrame, skills: dict[Any, float]) -> None:
    labels = aggregator.fit_predict(data)
    answers, shares = expected_tables(data, skills)
    assert aggregator.skills_.to_dict() == pytest.approx(skills)
    assert aggregator.skills_.name == "skill" and aggregator.skills_.index.name == "worker"
    assert labels.to_dict() == answers and labels is aggregator.labels_
    assert_frame_equal(aggregator.probas_, shares, check_names=False)
    assert aggregator.fit_predict_proba(data) is aggregator.probas_


def test_known_answers_judge_workers() -> None:
    known = TRUTH[["p1", "p2"]]
    fitted = GoldMajorityVote()
    assert fitted.fit(quiz(), known) is fitted
    assert fitted.skills_.to_dict() == {"ann": 1.0, "bob": 1.0, "cid": 0.5, "dee": 0.5}
    labels = fitted.predict(quiz())
    answers, shares = expected_tables(quiz(), fitted.skills_)
    assert labels.to_dict() == answers
    assert_frame_equal(fitted.predict_proba(quiz()), shares, check_names=False)
    assert_series_equal(GoldMajorityVote().fit_predict(quiz(), true_labels=known), labels)


def test_a_task_may_have_several_right_labels() -> None:
    said = [("t", "x", "a"), ("t", "y", "b"), ("t", "z", "c"), ("u", "x", "a"), ("u", "y", "b")]
    data = pd.DataFrame([*said, ("v", "x", "a"), ("v", "y", "a")], columns=ROLES)
    right = pd.Series(["a", "b", "b"], index=["t", "t", "u"])
    fitted = GoldMajorityVote()
    found = fitted.fit_predict(data, right)
    assert fitted.skills_.to_dict() == {"x": 0.5, "y": 1.0, "z": 0.0}
    assert found.to_dict() == {"t": "b", "u": "b", "v": "a"}


def test_who_has_no_known_answer_has_no_skill() -> None:
    fitted = GoldMajorityVote().fit(quiz(), TRUTH[["p6"]])
    assert "bob" not in fitted.skills_.index
    with pytest.raises(DataError, match="1 of 4 workers have no skill, 'bob' among them"):
        fitted.predict(quiz())


# Skills from agreement between workers.


def test_mmsr_has_the_log_odds_of_rank_one_skills() -> None:
    data, truth = simulated(2, seed=3, n_tasks=120)
    fitted = MMSR()
    labels = fitted.fit_predict(data)
    workers, tasks, classes = (sorted(set(data[role])) for role in ("worker", "task", "label"))
    votes: list[list[tuple[int, int]]] = [[] for _ in tasks]
    for task, worker, label in rows_of(data):
        votes[tasks.index(task)].append((workers.index(worker), classes.index(label)))
    found = rank_one(votes, len(workers), 2)
    margin = 1 / len(tasks) ** 0.5
    for worker, (skill,) in zip(workers, found.skill, strict=True):
        kept = min(max(skill, margin - 1), 1 - margin)
        odds = np.log((1 + kept) / (1 - kept))
        assert fitted.skills_[worker] == pytest.approx(odds, abs=1e-4)
    answers, shares = expected_tables(data, fitted.skills_)
    assert labels.to_dict() == answers
    assert_frame_equal(fitted.scores_, shares, check_names=False)
    assert fitted.fit_predict_score(data) is fitted.scores_
    assert (labels == truth[labels.index]).mean() > 0.85
    assert len(fitted.loss_history_) == 1


def test_mmsr_takes_no_iteration_less_than_one() -> None:
    with pytest.raises(UsageError, match="n_iter must be a number of at least 1, not 0"):
        MMSR(n_iter=0).fit(quiz())


# What all of them do.


@pytest.mark.parametrize("kind", LEARNERS)
def test_skills_of_some_tasks_label_others(kind: Any) -> None:
    data, _ = simulated(2, seed=4)
    fitted = kind().fit(data)
    assert not hasattr(fitted, "labels_")
    new = data.assign(task="new " + data["task"])
    labels = fitted.predict(new)
    answers, _ = expected_tables(new, fitted.skills_)
    assert labels.to_dict() == answers
    with pytest.raises(DataError, match="have no skill, 'stranger' among them"):
        fitted.predict(new.assign(worker="stranger"))
    assert fitted.predict(new[:0]).empty and len(fitted.skills_) == data["worker"].nunique()
    with pytest.raises(UsageError, match="fit comes before predict"):
        kind().predict(new)


@pytest.mark.parametrize("kind", [*LEARNERS, MajorityVote])
def test_a_table_without_votes_gives_empty_tables(kind: Any) -> None:
    found = kind().fit_predict(NOTHING)
    assert found.empty and found.name == "agg_label"
    assert kind().fit(NOTHING).skills_.empty


def test_known_answers_of_nothing_give_empty_tables() -> None:
    assert GoldMajorityVote().fit_predict_proba(NOTHING, pd.Series(dtype=float)).empty


@pytest.mark.parametrize("kind", [*LEARNERS, MajorityVote])
@pytest.mark.parametrize("role", ROLES)
def test_a_column_that_is_missing_is_named(kind: Any, role: str) -> None:
    with pytest.raises(DataError, match=f"and none called {role}: rename it"):
        kind().fit_predict(quiz().drop(columns=role))


@pytest.mark.parametrize("role", ROLES)
def test_a_column_that_is_missing_is_named_where_there_are_known_answers(role: str) -> None:
    with pytest.raises(DataError, match=f"and none called {role}: rename it"):
        GoldMajorityVote().fit(quiz().drop(columns=role), TRUTH)
    fitted = GoldMajorityVote().fit(quiz(), TRUTH)
    with pytest.raises(DataError, match=f"and none called {role}: rename it"):
        fitted.predict_proba(quiz().drop(columns=role))
    with pytest.raises(UsageError, match="true_labels is a Series of labels indexed by task"):
        GoldMajorityVote().fit(quiz(), TRUTH.reset_index())
