"""The adaptive experiment: runs that share what they should, and the real votes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproductions.adaptive import EXPERIMENT, replay, simulated
from reproductions.experiment import Plan

QUICK = Plan(Path("nowhere"), frozenset(), quick=True)


@pytest.fixture(scope="module")
def report() -> dict[str, object]:
    return {cell.key: cell.function(QUICK, **cell.arguments) for cell in simulated.cells(QUICK)}


def test_all_modes_of_a_run_begin_alike() -> None:
    """With the prior, and without it: the same votes, and so the same errors at first."""
    first = {mode: simulated.one_run(QUICK, 30, mode, 0)[0] for mode in simulated.MODES}
    assert first["random"] == first["forest"]
    assert first["random, prior"] == first["forest, prior"] == first["gain, prior"]
    assert simulated.one_run(QUICK, 30, "random", 0) == simulated.one_run(QUICK, 30, "random", 0)


def test_strangers_are_strangers() -> None:
    random = np.random.default_rng(0)
    votes = simulated.Votes(*(np.array(c, dtype=np.int32) for c in ([0, 0, 1], [0, 1, 2], [0] * 3)))
    tasks = np.array([0, 1, 0])
    for _ in range(20):
        workers = simulated.strangers(votes, tasks, 4, random)
        assert set(workers[[0, 2]]) == {2, 3} and workers[1] != 2


def test_without_data_there_are_the_simulated_crowds(report: dict[str, object]) -> None:
    assert {cell.key for cell in EXPERIMENT.cells(QUICK)} == set(report)
    made = EXPERIMENT.report(QUICK, report)
    assert [table.name for table in made.tables] == ["figure-2", "figure-3"]
    claims = {claim.text: claim for claim in made.claims}
    assert len(claims) == 12
    for workers in (100, 30):
        text = f"With {workers} workers the prior hardly matters to edges added at random."
        assert claims[text].holds, claims[text].detail


def test_more_edges_leave_fewer_errors(report: dict[str, object]) -> None:
    for figure in simulated.FIGURES:
        for mode, errors in simulated.gathered(QUICK, report, figure).items():
            assert (np.diff(errors.mean(axis=0)) < 0).all(), (figure, mode)


def test_real_votes_are_bought_where_they_are_needed(data: Path) -> None:
    plan = Plan(data, frozenset(replay.DATA_SETS), quick=True)
    runs = {policy: replay.bought(plan, "rte", policy, 0) for policy in ("random", "gain")}
    for run in runs.values():
        assert run["shares"][0] == pytest.approx(0.2)
        assert (np.diff(run["shares"]) > 0).all() and run["shares"][-1] >= replay.LAST
    assert runs["random"]["errors"][0] == runs["gain"]["errors"][0]
    assert replay.reached(runs["gain"]) <= 0.6 < replay.reached(runs["random"])
