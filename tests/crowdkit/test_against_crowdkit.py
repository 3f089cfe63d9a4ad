"""Crowd-Kit itself, where it is installed (`quorate[peers]`), on the same simulated crowd."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal
from tests.crowdkit.crowds import in_codes
from tests.crowdkit.crowds import simulated as simulated_in_any_order

import quorate.crowdkit as ours

pytest.importorskip("crowdkit", reason="Crowd-Kit is not installed: pip install 'quorate[peers]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # it uses much that pandas is about to remove
SAME = ["labels_", "probas_", "skills_", "priors_", "errors_"]


@pytest.fixture(autouse=True)
def their_check_of_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Theirs ask scikit-learn whether they are fitted, which refuses them from 1.8 on."""
    for name in ("wawa", "zero_based_skill", "gold_majority_vote"):
        module = import_module(f"crowdkit.aggregation.classification.{name}")
        monkeypatch.setattr(module, "check_is_fitted", lambda *_, **__: None)


def simulated(n_classes: int, seed: int, **sizes: int) -> tuple[pd.DataFrame, pd.Series]:
    """Votes whose labels first appear in order, so that of tied labels the first is the same
    whether theirs go by appearance (pandas 3) or in order (pandas 2)."""
    data, truth = simulated_in_any_order(n_classes, seed, **sizes)
    return data.sort_values("label", kind="stable", ignore_index=True), truth


def both(name: str, data: pd.DataFrame, *known: Any, **options: Any) -> tuple[Any, Any]:
    """Theirs and ours, fitted to the same votes."""
    from crowdkit import aggregation

    pair = getattr(aggregation, name)(**options), getattr(ours, name)(**options)
    for aggregator in pair:
        aggregator.fit_predict(data, *known)
    return pair


def assert_same(theirs: Any, mine: Any, tolerance: float = 1e-8) -> None:
    for name in SAME:
        expected = getattr(theirs, name, None)
        if expected is None:
            assert not hasattr(mine, name)
        elif isinstance(expected, pd.DataFrame):
            found = getattr(mine, name)
            assert_frame_equal(found, expected, check_like=True, rtol=0, atol=tolerance)
        else:
            found = getattr(mine, name).sort_index()
            assert_series_equal(found, expected.sort_index(), rtol=0, atol=tolerance)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_iter", [0, 1, 3])
@pytest.mark.parametrize("name", ["DawidSkene", "OneCoinDawidSkene"])
def test_em_goes_the_same_steps(name: str, n_iter: int, n_classes: int) -> None:
    data, _ = simulated(n_classes, seed=1)
    theirs, mine = both(name, data, n_iter=n_iter, tol=0)
    assert len(theirs.loss_history_) == len(mine.loss_history_) == n_iter
    assert_same(theirs, mine)


def test_em_keeps_known_answers_alike() -> None:
    data, truth = simulated(3, seed=2)
    assert_same(*both("DawidSkene", data, truth[:20], n_iter=3, tol=0))


@pytest.mark.parametrize("strategy", ["addition", "assign"])
@pytest.mark.parametrize("n_iter", [1, 3])
def test_em_begins_from_matrices_alike(strategy: str, n_iter: int) -> None:
    data, _ = simulated(2, seed=3)
    index = pd.MultiIndex.from_product(
        [sorted(set(data["worker"])), ["b", "c"]], names=["worker", "label"]
    )
    counts = np.random.default_rng(1).integers(1, 20, (len(index), 2)).astype(float)
    before = pd.DataFrame(counts, index, ["b", "c"])
    options = {"n_iter": n_iter, "tol": 0, "initial_error_strategy": strategy}
    assert_same(*both("DawidSkene", data, None, before, **options))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["MajorityVote", "Wawa", "ZeroBasedSkill"])
def test_votes_are_the_same(name: str, n_classes: int) -> None:
    data, _ = simulated(n_classes, seed=4)
    assert_same(*both(name, data))


@pytest.mark.parametrize("missing", ["ignore", "value"])
def test_votes_with_skills_and_without_are_the_same(missing: str) -> None:
    data, _ = simulated(3, seed=5)
    skills = pd.Series(np.linspace(0.1, 2, 7), [f"w{worker}" for worker in range(7)])
    default = 0.7 if missing == "value" else None
    options = {"on_missing_skill": missing, "default_skill": default}
    assert_same(*both("MajorityVote", data, skills, **options))


def test_votes_by_known_answers_are_the_same() -> None:
    data, truth = simulated(3, seed=6)
    assert_same(*both("GoldMajorityVote", data, truth[:30]))


def test_glad_is_the_same_where_theirs_is_let_run() -> None:
    """Theirs stops after two rounds, because what it compares is no bound: see the docs."""
    from crowdkit.aggregation import GLAD

    data, _ = simulated(3, seed=7, n_tasks=15)
    theirs = GLAD(n_iter=12, tol=-np.inf, m_step_tol=1e-5).fit(data)
    mine = ours.GLAD(n_iter=1000).fit(data)
    assert_frame_equal(mine.probas_, theirs.probas_, rtol=0, atol=0.02)
    assert mine.labels_.equals(theirs.labels_)
    assert np.abs(mine.alphas_ - theirs.alphas_).max() < 0.05
    assert np.abs(mine.betas_ - theirs.betas_).max() < 0.05


@pytest.mark.parametrize("method", ["vb", "em"])
def test_mace_is_the_same_where_names_first_appear_in_order(method: str) -> None:
    """Theirs takes one worker's strategy for another's unless they do: see the docs."""
    from crowdkit.aggregation import MACE

    data, _ = simulated(3, seed=8, n_tasks=40)
    _, _, workers, classes = in_codes(data)
    data = data.assign(
        worker=data["worker"].map({name: f"w{code:02}" for code, name in enumerate(workers)}),
        label=data["label"].map({name: f"c{code}" for code, name in enumerate(classes)}),
    )
    theirs = MACE(n_restarts=1, n_iter=100, method=method).fit(data)
    smoothing = {"smoothing": 0.01 / 3} if method == "em" else {}  # theirs is always that
    mine = ours.MACE(n_iter=100, method=method, **smoothing).fit(data)
    assert_frame_equal(mine.probas_, theirs.probas_, check_names=False, rtol=0, atol=1e-4)
    assert np.allclose(mine.spamming_, theirs.spamming_, rtol=0, atol=1e-4)
    assert np.allclose(mine.thetas_, theirs.thetas_, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", ["KOS", "MMSR"])
def test_spectral_methods_mostly_agree(name: str) -> None:
    """KOS begins from other random numbers, and MMSR is another algorithm for the same matrix."""
    data, _ = simulated(2, seed=9, n_tasks=200)
    theirs, mine = both(name, data)
    assert (theirs.labels_ == mine.labels_).mean() > 0.9


def test_several_labels_are_the_same() -> None:
    data, _ = simulated(3, seed=10, n_tasks=20)
    lists = data.groupby(["task", "worker"], sort=False)["label"].agg(list).reset_index()
    theirs, mine = both("BinaryRelevance", lists)
    assert theirs.labels_.to_dict() == mine.labels_.to_dict()


def test_measures_are_the_same() -> None:
    from crowdkit.metrics.data import alpha_krippendorff, consistency, uncertainty
    from crowdkit.metrics.workers import accuracy_on_aggregates

    data, _ = simulated(3, seed=11)
    skills = ours.MajorityVote().fit(data).skills_
    assert ours.alpha_krippendorff(data) == pytest.approx(alpha_krippendorff(data))
    assert ours.consistency(data) == pytest.approx(consistency(data))
    for role in ("task", "worker"):
        asked = {"workers_skills": skills, "compute_by": role, "aggregate": False}
        assert_series_equal(ours.uncertainty(data, **asked), uncertainty(data, **asked))
    for by in ("worker", "task", "label", "true_label"):
        found = ours.accuracy_on_aggregates(data, by=by)
        assert_series_equal(found, accuracy_on_aggregates(data, by=by))
    assert_series_equal(ours.consistency(data, by_task=True), consistency(data, by_task=True))
