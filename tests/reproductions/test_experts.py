"""The experiment `experts`: figures that must come out, what must hold, and any data set absent."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from tests.reproductions.conftest import QuickRun

from quorate.labels import Codebook, Labels
from reproductions import fitting
from reproductions.experiment import Plan, Report
from reproductions.experts import EXPERIMENT, crowds, recovery, simulated, weights
from reproductions.experts.featured import FOUND, FULL, LINES, VOTE, WITHOUT, features_of
from reproductions.results import as_dict
from reproductions.running import Outcome
from reproductions.scoring import Known
from reproductions.trials import line


def plan_of(directory: Path, *here: str) -> Plan:
    return Plan(directory, frozenset(here), quick=True)


@pytest.fixture(scope="module")
def recovered(quick: QuickRun) -> dict[str, Any]:
    return quick.found(EXPERIMENT, quick.plan(), recovery)


# Figures and claims


def test_parameters_are_recovered_as_one_over_the_root(recovered: Mapping[str, Any]) -> None:
    found = recovery.report(plan_of(Path()), recovered)
    assert len(found.claims) == 4
    assert [claim.text for claim in found.claims if not claim.holds] == []
    errors = [row["confusion"] for row in found.tables[0].rows]
    assert errors[0] > 2 * errors[-1] and errors[-1] < 0.02


@pytest.mark.parametrize(
    ("name", "stops", "thirty"),
    [("labelme", (28.2, 18.4, 28.8), (28.2, 18.4, 28.7)), ("sp", (8.40, 8.14, 8.80), None)],
)
def test_errors_by_weight(
    quick: QuickRun, name: str, stops: tuple[float, ...], thirty: tuple[float, ...] | None
) -> None:
    plan = quick.plan(name)
    errors = quick.cells["experts"][f"weights/{name}"]
    thirty = thirty or tuple(weights.PLAIN[name].values())
    assert np.round(errors[weights.STOPS], 2) == pytest.approx(stops, abs=1e-9)
    assert np.round(errors[weights.THIRTY], 2) == pytest.approx(thirty, abs=1e-9)
    found = weights.report(plan, {f"weights/{name}": errors})
    assert found.claims[0].holds, found.claims[0].detail
    assert "3 of the 3 figures are the same" in found.remarks[0]


@pytest.mark.parametrize(
    ("name", "smoothing", "expected", "weight"),
    [
        ("labelme", 1.0, (23.4, 28.2, 28.8, 23.4), 0.03),
        ("sp", 1.0, (11.41, 8.40, 8.80, 8.14), 0.3),
        ("sp", 0.2, (11.41, 8.46, 8.78, 8.16), 0.3),
    ],
)
def test_errors_of_whole_crowds(
    quick: QuickRun, name: str, smoothing: float, expected: tuple[float, ...], weight: float
) -> None:
    result = quick.cells["experts"][f"crowd/{name}/{smoothing:g}/all"]
    assert result["weight"] == weight
    assert [round(result["errors"][which], 2) for which in LINES] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["mushroom", "vote"])
def test_features_help_weak_experts_and_skilled_ones_less(data: Path, name: str) -> None:
    plan = plan_of(data, name)
    some: dict[str, Any] = {"name": name, "n_tasks": 435, "trial": 0}
    weak = simulated.errors_by_experts(plan, accuracy=0.65, experts=[3], **some)
    skilled = simulated.errors_by_experts(plan, accuracy=0.9, experts=[8], **some)

    def gain(found: list[dict[str, Any]]) -> float:
        errors = found[0]["labelled"]
        return float(min(errors[VOTE], errors[WITHOUT]) - errors[FULL])

    assert gain(weak) > 10 > 0 > gain(skilled)
    assert skilled[0]["labelled"][FOUND] < skilled[0]["labelled"][FULL]
    assert weak[0][simulated.NOBODY][FULL] < 20  # the experts err on 35


# Reports, whatever data sets there are


def test_a_report_without_any_data_set(recovered: Mapping[str, Any]) -> None:
    plan = plan_of(Path())
    assert {cell.key for cell in EXPERIMENT.cells(plan)} == set(recovered)
    found = EXPERIMENT.report(plan, recovered)
    assert [table.name for table in found.tables] == ["recovery"]
    assert len(found.claims) == 4 and len(found.remarks) == 1


def test_a_report_of_any_data_sets(quick: QuickRun) -> None:
    for n in range(1, 5):
        for here in combinations(EXPERIMENT.data_sets, n):
            made = quick.report(EXPERIMENT, *here)
            assert data_sets_of(made) == set(here)
            text = str(as_dict(Outcome(EXPERIMENT, made, 1.0), {}, []))
            assert not any(f"On {name}" in text for name in set(EXPERIMENT.data_sets) - set(here))


def data_sets_of(made: Report) -> set[str]:
    return {row["data"] for table in made.tables for row in table.rows if "data" in row}


def test_sizes_of_the_whole_run(data: Path) -> None:
    plan = Plan(data, frozenset(EXPERIMENT.data_sets))
    work = EXPERIMENT.cells(plan)
    assert len({cell.key for cell in work}) == len(work) > 200
    assert {c.arguments["accuracy"] for c in work if "accuracy" in c.arguments} >= {0.55, 0.9}


# Helpers

LABELS = Labels.from_codes(
    task=[0, 0, 0, 1, 2, 2],
    worker=[0, 1, 2, 0, 1, 2],
    label=[0, 0, 1, 1, 1, 0],
    features=csr_array(np.eye(3, dtype=np.int8)),
)
TRUTH = np.array([0, 1, 1], dtype=np.int32)


def test_kept_labels_leave_tasks_and_features_in_place() -> None:
    few = crowds.kept(LABELS, np.array([False, True, False, False, True, True]))
    assert few.indptr.tolist() == [0, 1, 1, 3]
    assert few.worker.tolist() == [1, 1, 2] and few.label.tolist() == [0, 1, 0]
    assert few.has_evidence.tolist() == [True, False, True]
    assert few.features is LABELS.features and few.n_workers == 3


def test_random_ranks_number_the_labels_of_each_task() -> None:
    orders = set()
    for seed in range(40):
        place = crowds.random_ranks(LABELS, np.random.default_rng(seed)).tolist()
        assert sorted(place[:3]) == [0, 1, 2] and place[3] == 0 and sorted(place[4:]) == [0, 1]
        orders.add(tuple(place[:3]))
    assert len(orders) == 6


def test_the_crowd_is_cut_by_how_often_workers_are_right() -> None:
    votes = Known(LABELS, Codebook.numbered(LABELS), TRUTH)  # worker 2 is always wrong
    weaker = crowds.members(votes, "weaker half")
    assert LABELS.worker[weaker].tolist() == [2, 2]
    assert (crowds.members(votes, "stronger half") == ~weaker).all()
    assert crowds.members(votes, "all").all()


def test_shuffled_features_keep_their_rates_within_each_class() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 200).astype(np.int32)
    same = np.repeat(random.random((200, 1)) < 0.5, 2, axis=1).astype(np.int8)
    labels = Labels.from_codes([0], [0], [0], n_tasks=200, features=csr_array(same))
    matrix = weights.shuffled(labels, truth, random).features.toarray()
    for which in (0, 1):
        assert (matrix[truth == which].sum(axis=0) == same[truth == which].sum(axis=0)).all()
    assert 0.3 < (matrix[:, 0] == matrix[:, 1]).mean() < 0.7  # they were always the same


def test_simulated_experts_label_half_of_three_quarters() -> None:
    truth = (np.arange(4_000) % 2).astype(np.int32)
    task, expert, label = simulated.one_coin_votes(truth, 0.7, 3, np.random.default_rng(0))
    assert task.max() < 3_000 and set(expert.tolist()) == {0, 1, 2}
    assert len(task) == pytest.approx(4_500, rel=0.05)
    for which in (0, 1):
        about = truth[task] == which
        assert (label[about] == which).mean() == pytest.approx(0.7, abs=0.03)


def test_generated_votes_and_features_follow_the_model() -> None:
    random = np.random.default_rng(0)
    confusion, rate = recovery.experts(random), random.uniform(0.1, 0.9, (4, 3))
    labels, truth = recovery.generated(confusion, rate, 40_000, random)
    assert labels.n_labels == pytest.approx(100_000, rel=0.02)
    said = np.repeat(truth, labels.n_said)
    for which in range(3):
        has = labels.features[truth == which].mean(axis=0)
        assert has == pytest.approx(rate[:, which], abs=0.02)
        about = (said == which) & (labels.worker == 1)
        shares = np.bincount(labels.label[about], minlength=3) / about.sum()
        assert shares == pytest.approx(confusion[1, which], abs=0.03)


def test_a_task_that_is_not_named_has_no_features(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"task": ["a", "b", "b"], "feature": ["red", "red", "round"]})
    monkeypatch.setattr(fitting.datasets, "features", lambda name, directory: table)
    rows = features_of(pl.Series("task", ["c", "b", "a"]), "no set", Path()).toarray()
    assert rows.tolist() == [[0, 0], [1, 1], [1, 0]]


def test_one_trial_has_no_band() -> None:
    assert line("error", [1, 2], [[1.0], [2.0]]).low is None
    assert line("error", [1], [[1.0, 3.0]]).low == [0.0]


def test_a_difference_that_rounds_to_nothing_is_zero() -> None:
    assert str(weights.rounded(-0.001, "sp")) == "0.0"
    assert weights.rounded(0.1, "labelme") == 0.1
