"""The rank-one experiment: the figures that come out, its claims, and what its parts promise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reproductions.conftest import QuickRun

from quorate import Labels
from quorate.labels import Codebook
from quorate.simulation.assignment import teams_of
from reproductions import rank_one
from reproductions.experiment import Plan, Report
from reproductions.rank_one import graph_trials, sparse
from reproductions.rank_one.contestants import METHODS, mean_and_error
from reproductions.rank_one.table import DATA_SETS, best_of_two
from reproductions.rank_one.teams import GRAPHS, crowd_on
from reproductions.scoring import Known, known

EVERY_SET = frozenset(DATA_SETS)


@pytest.fixture(scope="module")
def simulated(quick: QuickRun) -> dict[str, Any]:
    return quick.found(rank_one.EXPERIMENT, quick.plan())


@pytest.fixture(scope="module")
def real(quick: QuickRun) -> Report:
    return quick.report(rank_one.EXPERIMENT, *EVERY_SET)


def table(report: Report, name: str) -> list[dict[str, Any]]:
    (found,) = (t for t in report.tables if t.name == name)
    return [dict(row) for row in found.rows]


@pytest.mark.parametrize(
    ("name", "method", "ours"),
    [
        ("rte", "MV", 0.1031),
        ("rte", "Opt-D&S", 0.0712),
        ("rte", "KOS", 0.3975),
        ("temp", "MV", 0.0639),
        ("temp", "KOS", 0.0628),
        ("dog", "KOS", 0.3172),
        ("web", "MV", 0.2693),
        ("web", "KOS", 0.4293),
    ],
)
def test_figures_of_table_1_come_out(real: Report, name: str, method: str, ours: float) -> None:
    rows = table(real, "table-1")
    (row,) = (r for r in rows if (r["data"], r["method"]) == (name, method))
    assert row["paper"] == ours
    assert row["difference"] == 0
    assert row["ours"] == pytest.approx(ours, abs=5.1e-5)


def test_one_skill_gives_the_printed_figure_on_dog(real: Report) -> None:
    rows = table(real, "table-1-set-ups")
    ours = {r["set-up"]: r for r in rows if r["data"] == "dog" and r["method"] == "PGD"}
    assert ours["one-skill"]["ours"] == pytest.approx(0.1660, abs=5.1e-5)
    assert ours["one-skill"]["difference"] == ours["auto"]["difference"] == 0


def test_counts_come_out_but_for_a_misprint(real: Report) -> None:
    off = [(r["data"], r["count"]) for r in table(real, "table-1-counts") if r["difference"] != 0]
    assert off == [("web", "sparsity")]


def test_readings(real: Report) -> None:
    """The plain solver gives what the model does, and even weights what the paper has on temp."""
    by_reading = {
        (r["weights of pairs"], r["margin by"]): r for r in table(real, "table-1-readings")
    }
    rows = table(real, "table-1-set-ups")
    one_skill = {r["data"]: r["ours"] for r in rows if r["set-up"] == "one-skill"}
    ours = by_reading["meetings", "meetings"]
    for name in ("dog", "web"):
        assert ours[name] == pytest.approx(one_skill[name], abs=1e-9)
    pgd = {r["data"]: r["ours"] for r in table(real, "table-1") if r["method"] == "PGD"}
    for name in ("rte", "temp"):
        assert ours[name] == pytest.approx(pgd[name], abs=1e-9)
    assert by_reading["even", "tasks"]["temp"] == pytest.approx(24 / 462)


def test_claims(real: Report) -> None:
    """A few crowds show the vote to be worse; that errors fall takes more (test_rank_one)."""
    held = {claim.text for claim in real.claims if claim.holds}
    assert any("On the clique PGD errs less than MV" in text for text in held)
    assert len(real.claims) == len({claim.text for claim in real.claims})


def test_figure_3_is_of_fewer_and_fewer_votes(real: Report) -> None:
    for name in sparse.DATA_SETS:
        rows = [r for r in table(real, "figure-3") if r["data"] == name]
        assert (np.diff([r["tasks left"] for r in rows]) <= 0).all()
        assert (np.diff([r["labels a task"] for r in rows]) < 0).all()
        assert rows[-1]["MV"] > rows[0]["MV"]


def test_report_without_any_data_set(simulated: dict[str, Any]) -> None:
    plan = Plan(Path(), frozenset(), quick=True)
    report = rank_one.EXPERIMENT.report(plan, simulated)
    assert [t.name for t in report.tables] == [
        "figure-2-means",
        "figure-2-beyond",
        "figure-2-deviations",
    ]
    assert [f.name for f in report.figures] == ["figure-2"]
    assert all(remark for remark in report.remarks)
    assert "nan" not in " ".join(report.remarks)


@pytest.mark.parametrize("name", sorted(EVERY_SET))
def test_report_with_one_data_set(quick: QuickRun, name: str) -> None:
    report = quick.report(rank_one.EXPERIMENT, name)
    assert {row["data"] for row in table(report, "table-1")} == {name}
    assert len(report.figures) == 1 + (name in sparse.DATA_SETS)
    assert "nan" not in " ".join([*report.remarks, *(claim.detail for claim in report.claims)])


def test_moments_have_no_answer_with_two_labels_a_task(simulated: dict[str, Any]) -> None:
    plan = Plan(Path(), frozenset(), quick=True)
    errors = graph_trials.gathered(plan, simulated)
    assert errors["ring", 330]["fell back"].all()
    assert errors["star", 330]["fell back"].all()
    for graph in GRAPHS:
        at_most = errors[graph, 330]
        assert at_most["true skills"].mean() <= min(at_most[m].mean() for m in METHODS)


def test_seeds_tell_the_crowds() -> None:
    cell: dict[str, Any] = {"graph": "ring", "n_tasks": 11, "first": 3, "assignments": 1}
    first, again, other = (
        graph_trials.errors_on_graph(Plan(Path(), frozenset(), seed=seed), **cell)
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_graphs() -> None:
    assert len(teams_of("star", 11)) == len(teams_of("ring", 11)) == 11
    for graph in GRAPHS:
        crowd = crowd_on(graph, 44, [1.0] * 5 + [-1.0] * 6, np.random.default_rng(0))
        worker, label = crowd.labels.worker, crowd.labels.label
        truth = np.repeat(crowd.truth, np.diff(crowd.labels.indptr))
        np.testing.assert_array_equal(label == truth, worker < 5)
        member = sparse.members(crowd.labels)
        teams = {tuple(np.flatnonzero(row)) for row in member}
        assert teams == {tuple(sorted(team)) for team in teams_of(graph, 11)}


@pytest.mark.parametrize("most", [0, 1, 3, 7])
def test_sparsified(most: int) -> None:
    random = np.random.default_rng(most)
    member = random.random((60, 20)) < 0.2
    fewer = sparse.sparsified(member, most, random)
    assert sparse.degree_of(fewer) == most
    assert (fewer <= member).all()
    assert fewer[member.any(axis=1)].any(axis=1).all()  # a coin takes one of two votes, never both


def test_what_is_sparse_stays() -> None:
    random = np.random.default_rng(0)
    member = random.random((60, 20)) < 0.2
    degree = sparse.degree_of(member)
    same = sparse.sparsified(member, degree, random)
    np.testing.assert_array_equal(same, member)
    assert sparse.degree_of(np.zeros((3, 0), dtype=bool)) == 0


def test_with_pairs_drops_tasks_with_one_vote() -> None:
    labels = Labels.from_codes([0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1])
    votes = Known(labels, Codebook.numbered(labels), np.array([0, 1], dtype=np.int32))
    member = sparse.members(labels)
    member[0, 1] = False
    left = sparse.with_pairs(votes, member)
    assert (left.labels.n_tasks, left.labels.n_labels, left.truth.tolist()) == (1, 2, [1])
    nothing = sparse.with_pairs(votes, np.zeros_like(member))
    assert nothing.labels.n_labels == 0


def test_all_votes_are_kept_of_real_data(data: Path) -> None:
    votes = known("temp", data)
    same = sparse.with_pairs(votes, sparse.members(votes.labels))
    assert same.labels.n_labels == votes.labels.n_labels
    np.testing.assert_array_equal(same.truth, votes.truth)


def test_best_of_two_leaves_out_our_own_choice() -> None:
    assert best_of_two({"": 0.1}) == ("", 0.1)
    assert best_of_two({"one-skill": 0.1, "one-vs-rest": 0.2, "auto": 0.0})[1] == 0.1


def test_one_value_has_no_standard_error() -> None:
    mean, error = mean_and_error([0.5])
    assert mean == 0.5
    assert np.isnan(error)


def test_the_hub_has_every_skill_as_often() -> None:
    plan = Plan(Path(), frozenset())
    drawn = np.array([graph_trials.skills_of(plan, assignment) for assignment in range(22)])
    for skills in drawn:
        np.testing.assert_array_equal(np.sort(skills)[::-1], graph_trials.SKILLS)
    np.testing.assert_array_equal(drawn[:11, 0], drawn[11:, 0])
    assert (drawn[:11, 1:] != drawn[11:, 1:]).any()
