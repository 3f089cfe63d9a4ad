"""Dawid-Skene, one coin, GLAD, MACE and KOS in the shape of Crowd-Kit's, against loops."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal
from tests.crowdkit.crowds import ROLES, TRUTH, in_codes, quiz, simulated
from tests.naive.dawid_skene import class_shares, dawid_skene, joint_probability
from tests.naive.dawid_skene import em as em_by_loops
from tests.naive.mace import likeliest_mace, mace
from tests.naive.majority import vote_shares
from tests.naive.one_coin import one_coin

import quorate
from quorate import DataError, UsageError
from quorate.crowdkit import GLAD, KOS, MACE, DawidSkene, OneCoinDawidSkene

WITH_PROBAS = [DawidSkene, OneCoinDawidSkene, GLAD, MACE]
FITTED = [*WITH_PROBAS, KOS]
ONLY_NOTHING = pd.DataFrame({"task": [], "worker": [], "label": []})


# What all of them do.


@pytest.mark.parametrize("kind", WITH_PROBAS)
def test_it_finds_the_right_answers_of_a_small_quiz(kind: Any) -> None:
    found = kind().fit_predict(quiz())
    assert_series_equal(found.sort_index(), TRUTH, check_dtype=False)


@pytest.mark.parametrize("kind", FITTED)
@pytest.mark.parametrize("n_iter", [0, 1, 10, 100_500])
def test_the_number_of_iterations_is_free(kind: Any, n_iter: int) -> None:
    data, truth = simulated(2, seed=13)
    found = kind(n_iter=n_iter).fit(data).labels_
    assert sorted(found.index) == sorted(truth.index)
    assert (found == truth[found.index]).mean() > 0.75


@pytest.mark.parametrize("kind", FITTED)
def test_labels_may_be_booleans(kind: Any) -> None:
    votes, truth = simulated(2, seed=12)
    found = kind().fit_predict(votes.assign(label=votes["label"] == "b"))
    assert found.dtype == bool and (found == (truth == "b")[found.index]).mean() > 0.85


@pytest.mark.parametrize("kind", FITTED)
def test_a_table_without_votes_gives_empty_tables(kind: Any) -> None:
    fitted = kind().fit(ONLY_NOTHING)
    found = {name: value for name, value in vars(fitted).items() if name.endswith("s_")}
    assert all(value is None or len(value) == 0 for value in found.values())
    assert fitted.labels_.name == "agg_label"


@pytest.mark.parametrize("kind", FITTED)
def test_series_are_named_after_their_attributes(kind: Any) -> None:
    fitted = kind().fit(quiz())
    series = {n: v.name for n, v in vars(fitted).items() if isinstance(v, pd.Series)}
    assert series.pop("labels_") == "agg_label"
    assert all(attribute == f"{name}s_" for attribute, name in series.items())


@pytest.mark.parametrize("kind", WITH_PROBAS)
def test_what_is_returned_is_what_is_kept(kind: Any) -> None:
    fitted = kind()
    assert fitted.fit(quiz()) is fitted
    assert fitted.fit_predict(quiz()) is fitted.labels_
    assert fitted.fit_predict_proba(quiz()) is fitted.probas_
    assert np.allclose(fitted.probas_.sum(axis=1), 1)
    assert (fitted.probas_.idxmax(axis=1) == fitted.labels_).all()


@pytest.mark.parametrize("kind", WITH_PROBAS)
def test_the_order_of_rows_and_other_columns_change_nothing(kind: Any) -> None:
    votes, _ = simulated(3, seed=4)
    shuffled = votes.sample(frac=1, random_state=9).assign(seconds=1.5)
    there, back = kind().fit_predict_proba(votes), kind().fit_predict_proba(shuffled)
    assert_frame_equal(there, back, check_like=True, atol=1e-6)


# Confusion matrices.


@pytest.mark.parametrize("n_iter", [1, 2, 5])
def test_dawid_skene_goes_the_steps_of_the_paper(n_iter: int) -> None:
    data, _ = simulated(3, seed=1, n_tasks=20)
    votes, tasks, workers, classes = in_codes(data)
    oracle = dawid_skene(votes, len(workers), len(classes), n_iter)
    after = dawid_skene(votes, len(workers), len(classes), n_iter + 1)  # its last M-step
    fitted = DawidSkene(n_iter=n_iter, tol=0).fit(data)
    expected = pd.DataFrame(oracle.posterior, tasks, classes)
    assert_frame_equal(fitted.probas_, expected, check_names=False, rtol=1e-9)
    assert fitted.probas_.index.name == "task" and fitted.probas_.columns.name == "label"
    assert_series_equal(
        fitted.priors_, pd.Series(after.prior, pd.Index(classes, name="label"), name="prior")
    )
    given = data.groupby(["worker", "label"]).size().index
    assert set(fitted.errors_.index) == set(given) and fitted.errors_.index.names == given.names
    for worker, label in given:
        for truth in classes:
            w, t, said = workers.index(worker), classes.index(truth), classes.index(label)
            probability = after.confusion[w][t][said]
            assert fitted.errors_.loc[(worker, label), truth] == pytest.approx(probability)
    per_vote = [value / len(data) for value in oracle.log_likelihood]
    assert fitted.loss_history_ == pytest.approx(per_vote)


def test_dawid_skene_without_iterations_is_the_vote() -> None:
    votes, tasks, _, classes = in_codes(quiz())
    fitted = DawidSkene(n_iter=0).fit(quiz())
    shares = pd.DataFrame(vote_shares(votes, 2, {}), tasks, classes)
    assert_frame_equal(fitted.probas_, shares, check_names=False)
    assert fitted.loss_history_ == []


def test_likelihood_only_rises_and_is_at_rest_in_the_end() -> None:
    data, _ = simulated(3, seed=2)
    history = DawidSkene(n_iter=1000).fit(data).loss_history_
    assert all(then <= now + 1e-12 for then, now in pairwise(history))
    assert len(history) < 1000 and (history[-1] - history[-2]) * len(data) < 2e-5


@pytest.mark.parametrize("overlap", [3, 300, 30_000])
def test_symmetric_workers_leave_the_vote_as_it_is(overlap: int) -> None:
    """Each of three kinds of workers says no on another of three tasks: nothing tells them apart,
    so that the vote, a third against two, is a fixed point however many votes there are."""
    worker, task = (axis.ravel() for axis in np.indices((overlap, 3)))
    label = np.where((worker - task) % 3 == 0, "no", "yes")
    fitted = DawidSkene(20).fit(pd.DataFrame({"task": task, "worker": worker, "label": label}))
    assert np.allclose(fitted.probas_[["no", "yes"]], [1 / 3, 2 / 3])
    assert np.allclose(fitted.priors_[["no", "yes"]], [1 / 3, 2 / 3])
    assert (fitted.labels_ == "yes").all()


@pytest.mark.parametrize("n_iter", [0, 1, 2, 100])
def test_known_answers_stay_and_teach(n_iter: int) -> None:
    data, _ = simulated(3, seed=3, n_tasks=20)
    known = pd.Series({"t3": "a", "t7": "c", "elsewhere": "b", "t9": None})
    fitted = DawidSkene(n_iter=n_iter, tol=0).fit(data, known)
    assert fitted.labels_["t3"] == "a" and fitted.labels_["t7"] == "c"
    assert fitted.probas_.loc["t3", "a"] == fitted.probas_.loc["t7", "c"] == 1
    assert np.allclose(fitted.probas_.sum(axis=1), 1)
    if n_iter in (1, 2):
        votes, tasks, workers, classes = in_codes(data)
        gold = {tasks.index("t3"): classes.index("a"), tasks.index("t7"): classes.index("c")}
        oracle = dawid_skene(votes, len(workers), 3, n_iter, gold=gold)
        assert np.allclose(fitted.probas_, oracle.posterior)


def test_a_known_answer_may_be_a_label_that_nobody_gave() -> None:
    fitted = DawidSkene().fit(quiz(), pd.Series({"p1": "maybe"}))
    assert fitted.labels_["p1"] == "maybe" and list(fitted.probas_.columns)[2] == "maybe"
    assert fitted.labels_.drop("p1").to_dict() == TRUTH.drop("p1").to_dict()
    assert list(fitted.errors_.columns) == list(fitted.priors_.index) == list(fitted.probas_)


def test_known_answers_that_cannot_be_are_refused() -> None:
    with pytest.raises(DataError, match="two different answers"):
        DawidSkene().fit(quiz(), pd.Series(["yes", "no"], index=["p1", "p1"]))
    with pytest.raises(UsageError, match="Series of labels indexed by task, not dict"):
        DawidSkene().fit(quiz(), {"p1": "yes"})


# Matrices to begin with.


def matrices(value: float = 0.0, workers: str = "ann bob cid dee") -> pd.DataFrame:
    index = pd.MultiIndex.from_product([workers.split(), ["yes", "no"]], names=["worker", "label"])
    return pd.DataFrame(value, index, ["no", "yes"])


@pytest.mark.parametrize("strategy", ["addition", "assign", None])
def test_a_strategy_without_matrices_changes_nothing(strategy: Any) -> None:
    plain = DawidSkene(n_iter=5).fit_predict_proba(quiz())
    assert_frame_equal(
        DawidSkene(n_iter=5, initial_error_strategy=strategy).fit_predict_proba(quiz()), plain
    )


@pytest.mark.parametrize("rows", [8, 3])
def test_adding_nothing_changes_nothing(rows: int) -> None:
    added = DawidSkene(n_iter=5, initial_error_strategy="addition")
    found = added.fit_predict_proba(quiz(), initial_error=matrices()[:rows])
    assert_frame_equal(found, DawidSkene(n_iter=5).fit_predict_proba(quiz()))


def test_counts_are_added_to_those_of_the_vote_once() -> None:
    """By hand at first: cid says yes on p1, p2, p3 and p5, of which the vote has 3/4, 1/4, 1 and
    3/4 for yes, and no on p4 and p6, of which it has 1/4 and 0. One iteration more by loops."""
    more = matrices(workers="cid nobody")
    more.loc[("cid", "yes"), "yes"] = 1.25
    more.loc[("cid", "no"), "no"] = 0.25
    fitted = DawidSkene(n_iter=0, initial_error_strategy="addition").fit(quiz(), None, more)
    cid = fitted.errors_.loc["cid"]
    assert cid.loc["yes", "yes"] == pytest.approx((2.75 + 1.25) / (2.75 + 1.25 + 0.25))
    assert cid.loc["no", "no"] == pytest.approx((1.75 + 0.25) / (1.75 + 0.25 + 1.25))

    votes, _, workers, classes = in_codes(quiz())
    confusion = [
        [
            [
                fitted.errors_["yes" if t == classes.index("yes") else "no"].get((worker, label), 0)
                for label in classes
            ]
            for t in range(2)
        ]
        for worker in workers
    ]
    prior = class_shares(vote_shares(votes, 2, {}), list(range(6)), 0.0)
    joint = joint_probability(votes, prior, confusion, {}, False)
    fitted = DawidSkene(n_iter=1, initial_error_strategy="addition").fit(quiz(), None, more)
    assert np.allclose(fitted.probas_, [[value / sum(row) for value in row] for row in joint])


def test_much_known_from_before_decides() -> None:
    """If those who say yes on p3 have always said so of what was no, p3 is no."""
    before = matrices()
    before.loc[(slice(None), "yes"), "no"] = 99.0
    before.loc[(slice(None), "no"), "yes"] = 99.0
    fitted = DawidSkene(n_iter=10, initial_error_strategy="addition")
    assert fitted.fit(quiz(), initial_error=before).labels_["p3"] == "no"


@pytest.mark.parametrize("scale", [1, 20])
def test_it_begins_from_matrices_that_are_given_as_probabilities_or_counts(scale: int) -> None:
    start = matrices(0.1)
    for label in ("yes", "no"):
        start.loc[(slice(None), label), label] = 0.9
    assigned = DawidSkene(n_iter=1, initial_error_strategy="assign")
    found = assigned.fit_predict_proba(quiz(), initial_error=start * scale)
    votes, _, _, classes = in_codes(quiz())
    given = [[[0.9 if t == said else 0.1 for said in range(2)] for t in range(2)]] * 4
    prior = class_shares(vote_shares(votes, 2, {}), list(range(6)), 0.0)
    oracle = em_by_loops(votes, 2, 1, lambda _: given, lambda _: 0.0, prior=prior)
    assert np.allclose(found[classes], oracle.posterior)


def test_matrices_that_cannot_be_are_refused() -> None:
    assign = DawidSkene(initial_error_strategy="assign")
    with pytest.raises(DataError, match="do not sum to 1"):
        assign.fit(quiz(), initial_error=matrices())
    with pytest.raises(DataError, match="for 2 workers, 'cid' among them"):
        assign.fit(quiz(), initial_error=matrices(0.5, workers="ann bob"))
    with pytest.raises(UsageError, match="indexed by worker and label"):
        assign.fit(quiz(), initial_error=matrices(0.5).reset_index())
    with pytest.raises(DataError, match="other labels than the votes"):
        assign.fit(quiz(), initial_error=matrices(0.5).rename(columns={"no": "never"}))
    with pytest.raises(DataError, match="missing, negative, or not a number"):
        assign.fit(quiz(), initial_error=matrices(-1.0))
    with pytest.raises(UsageError, match="needs an initial_error_strategy"):
        DawidSkene().fit(quiz(), initial_error=matrices(0.5))
    with pytest.raises(UsageError, match="one of assign, addition, not 'replace'"):
        DawidSkene(initial_error_strategy="replace").fit(quiz())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot heed initial_error_strategy"):
        OneCoinDawidSkene(initial_error_strategy="assign").fit(quiz())


# One coin.


@pytest.mark.parametrize("n_iter", [1, 3])
def test_one_coin_goes_the_steps_of_the_paper(n_iter: int) -> None:
    data, _ = simulated(3, seed=5, n_tasks=20)
    votes, tasks, workers, classes = in_codes(data)
    oracle = one_coin(votes, len(workers), 3, n_iter)
    after = one_coin(votes, len(workers), 3, n_iter + 1)
    fitted = OneCoinDawidSkene(n_iter=n_iter, tol=0).fit(data)
    assert_frame_equal(
        fitted.probas_, pd.DataFrame(oracle.posterior, tasks, classes), check_names=False
    )
    accuracy = [matrix[0][0] for matrix in after.confusion]
    index = pd.Index(workers, name="worker")
    assert_series_equal(fitted.skills_, pd.Series(accuracy, index, name="skill"))
    for worker, label in fitted.errors_.index:
        row = fitted.errors_.loc[(worker, label)]
        right = fitted.skills_[worker]
        assert row[label] == pytest.approx(right)
        assert np.allclose(row.drop(label), (1 - right) / 2)


# Abilities and difficulties.


def test_glad_begins_with_the_posterior_under_its_priors_mean() -> None:
    """All abilities and logarithms of easiness are 1: a label is right with probability
    sigma(e), and wrong in each of two ways with half of what is left."""
    data = pd.DataFrame(
        [("t", "w1", "owl"), ("t", "w2", "owl"), ("t", "w3", "hen"), ("u", "w3", "fox")],
        columns=ROLES,
    )
    right = 1 / (1 + math.exp(-math.e))
    wrong = (1 - right) / 2
    joint = {"fox": wrong**3, "hen": wrong**2 * right, "owl": right**2 * wrong}
    found = GLAD(n_iter=0).fit(data).probas_
    assert list(found.columns) == list(joint) and found.columns.name == "variable"
    for label, probability in joint.items():
        assert found.loc["t", label] == pytest.approx(probability / sum(joint.values()))


def test_glad_ends_where_the_posterior_of_its_parameters_is_highest() -> None:
    """Half a thousandth up or down in any parameter, truths summed out by loops, is no higher."""
    data, _ = simulated(2, seed=6, n_tasks=5, n_workers=4, per_task=3)
    fitted = GLAD(n_iter=2000, tol=1e-9).fit(data)
    assert_series_equal(
        fitted.priors_, pd.Series(0.5, ["b", "c"], name="prior"), check_index_type=False
    )

    def objective(alphas: pd.Series, betas: pd.Series) -> float:
        total = -((alphas - 1) ** 2).sum() / 2 - ((betas - 1) ** 2).sum() / 2
        for task, votes in data.groupby("task"):
            joint = []
            for truth in ("b", "c"):
                x = alphas[votes["worker"]].to_numpy() * math.exp(betas[task])
                right = 1 / (1 + np.exp(-x))
                joint.append(0.5 * np.where(votes["label"] == truth, right, 1 - right).prod())
            total += math.log(sum(joint))
        return float(total)

    best = objective(fitted.alphas_, fitted.betas_)
    assert fitted.loss_history_[-1] * len(data) == pytest.approx(best)
    for step in (5e-4, -5e-4):
        for name in fitted.alphas_.index:
            moved = fitted.alphas_.copy()
            moved[name] += step
            assert objective(moved, fitted.betas_) < best
        for name in fitted.betas_.index:
            moved = fitted.betas_.copy()
            moved[name] += step
            assert objective(fitted.alphas_, moved) < best


def test_glad_takes_shares_of_labels_that_nobody_gave() -> None:
    shares = pd.Series({"yes": 2.0, "no": 1.0, "never": 1.0})
    found = GLAD(labels_priors=shares).fit(quiz())
    assert found.priors_.to_dict() == {"yes": 0.5, "no": 0.25, "never": 0.25}
    assert (found.labels_ == TRUTH).all() and set(found.probas_.columns) == set(shares.index)
    with pytest.raises(DataError, match="has the label 'no', none of"):
        GLAD(labels_priors=pd.Series({"yes": 1.0})).fit(quiz())
    with pytest.raises(UsageError, match="Series of shares"):
        GLAD(labels_priors=[0.5, 0.5]).fit(quiz())
    with pytest.raises(UsageError, match="missing, negative"):
        GLAD(labels_priors=shares - 5).fit(quiz())


def test_glad_takes_one_mean_for_all() -> None:
    low = pd.Series(0.2, index=["ann", "bob", "cid", "dee"])
    shy, plain = (GLAD(alphas_priors_mean=mean).fit(quiz()) for mean in (low, None))
    assert (shy.alphas_ < plain.alphas_).all()
    easy = GLAD(betas_priors_mean=pd.Series(2.0, index=TRUTH.index)).fit(quiz())
    assert (easy.betas_ > plain.betas_).all()
    with pytest.raises(UsageError, match="alphas_priors_mean has several means"):
        GLAD(alphas_priors_mean=low + np.arange(4)).fit(quiz())


@pytest.mark.parametrize("option", ["m_step_max_iter", "m_step_tol"])
def test_glad_refuses_what_would_have_no_effect(option: str) -> None:
    with pytest.raises(UsageError, match=f"GLAD cannot heed {option}: its M-step is in closed"):
        GLAD(**{option: 3}).fit(quiz())


def test_a_bar_shows_the_iterations_if_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    GLAD(silent=False, n_iter=3, tol=0).fit(quiz())
    MACE(verbose=1, n_iter=3).fit(quiz())
    shown = capsys.readouterr()
    assert "iteration 3 of 3" in shown.err and shown.out == ""
    GLAD().fit(quiz())
    assert capsys.readouterr().err == ""


# Knowing or spamming.


def test_mace_by_variational_bayes_is_that_of_the_paper() -> None:
    data, _ = simulated(3, seed=7, n_tasks=20)
    votes, tasks, workers, classes = in_codes(data)
    fitted = MACE(n_iter=4, alpha=0.7, beta=0.4).fit(data)
    oracle = mace(votes, len(workers), 3, 4, competence_prior=(0.4, 0.7), strategy_prior=10.0)
    assert_frame_equal(
        fitted.probas_, pd.DataFrame(oracle.posterior, tasks, classes), check_names=False
    )
    assert fitted.probas_.columns.name is None
    assert fitted.spamming_.shape == (len(workers), 2) and fitted.thetas_.shape == (len(workers), 3)
    assert (fitted.theta_priors_ == [0.7, 0.4]).all() and (fitted.strategy_priors_ == 10).all()


@pytest.mark.parametrize("smoothing", [0.1, 0.01 / 3])
def test_mace_by_maximum_likelihood_is_that_of_the_paper(smoothing: float) -> None:
    data, _ = simulated(3, seed=8, n_tasks=20)
    votes, _, workers, _ = in_codes(data)
    fitted = MACE(n_iter=6, method="em", smoothing=smoothing).fit(data)
    posterior, know, spam = likeliest_mace(votes, len(workers), 3, 6, smoothing)
    assert np.allclose(fitted.probas_, posterior)
    assert np.allclose(fitted.spamming_, [[1 - knowing, knowing] for knowing in know])
    assert np.allclose(fitted.thetas_, spam)


@pytest.mark.parametrize("method", ["vb", "em"])
def test_mace_tells_who_spams_and_how(method: str) -> None:
    """Whoever always says the same is a spammer who says that, whatever order the names are in."""
    data, truth = simulated(3, seed=9)
    lazy = pd.DataFrame({"task": truth.index, "worker": "always a", "label": "a"})
    fitted = MACE(method=method).fit(pd.concat([data, lazy], ignore_index=True))
    workers = list(dict.fromkeys([*data["worker"], "always a"]))
    spams = pd.DataFrame(fitted.spamming_, workers, ["spams", "knows"])["spams"]
    said = pd.DataFrame(fitted.thetas_, workers, fitted.probas_.columns)
    assert spams.idxmax() == "always a" and said.loc["always a"].idxmax() == "a"
    assert (fitted.labels_ == truth[fitted.labels_.index]).mean() > 0.85


def test_mace_is_left_to_chance_in_nothing() -> None:
    data, _ = simulated(3, seed=10)
    first = MACE().fit_predict_proba(data)
    assert_frame_equal(MACE(n_restarts=1, random_state=7).fit_predict_proba(data), first)
    with pytest.raises(UsageError, match="MACE cannot heed default_noise: it begins from the vote"):
        MACE(default_noise=0.1).fit(data)
    with pytest.raises(UsageError, match="cannot heed smoothing"):
        MACE(smoothing=1.0).fit(data)
    with pytest.raises(UsageError, match="cannot heed alpha: method='em' has no prior"):
        MACE(method="em", alpha=2.0).fit(data)
    with pytest.raises(UsageError, match="method is one of vb, em, not 'gibbs'"):
        MACE(method="gibbs").fit(data)
    with pytest.raises(UsageError, match="smoothing must be a number of at least"):
        MACE(method="em", smoothing=0.0).fit(data)


# Messages.


def test_kos_has_the_labels_of_quorates_messages() -> None:
    data, truth = simulated(2, seed=11)
    found = KOS(random_state=3).fit_predict(data)
    result = quorate.aggregate(data, quorate.KOS(seed=3))
    expected = result.labels.set_index("task")["label"].sort_index()
    assert (found == expected).mean() > 0.95 and (found == truth.sort_index()).mean() > 0.85


def test_kos_is_for_two_labels() -> None:
    with pytest.raises(DataError, match="KOS is for two labels, and there are 3"):
        KOS().fit(simulated(3, seed=1)[0])


def test_kos_decides_a_task_of_which_nothing_is_known() -> None:
    alone = pd.DataFrame([("t", "ann", "x"), ("u", "bob", "y")], columns=ROLES)
    assert KOS().fit_predict(alone).isin(["x", "y"]).all()


# Bad input.


def test_an_iteration_less_than_none_is_refused() -> None:
    for kind in FITTED:
        with pytest.raises(UsageError, match="n_iter must be a number of at least 0, not -1"):
            kind(n_iter=-1).fit(quiz())
    with pytest.raises(UsageError, match="tol must be a number of at least 0"):
        DawidSkene(tol=-1).fit(quiz())
