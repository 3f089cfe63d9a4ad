"""The adaptive experiment: runs that share what they should, and the real votes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reproductions.conftest import QuickRun

from reproductions.adaptive import EXPERIMENT, replay, simulated
from reproductions.experiment import Plan

QUICK = Plan(Path("nowhere"), frozenset(), quick=True)


@pytest.fixture(scope="module")
def found(quick: QuickRun) -> dict[str, Any]:
    return quick.found(EXPERIMENT, QUICK)


def test_all_modes_of_a_run_begin_alike(found: dict[str, Any]) -> None:
    """With the prior, and without it: the same votes, and so the same errors at first."""
    for figure in simulated.FIGURES:
        errors = simulated.gathered(QUICK, found, figure)
        first = {mode: runs[:, 0].tolist() for mode, runs in errors.items()}
        assert first["random"] == first["forest"]
        assert first["random, prior"] == first["forest, prior"] == first["gain, prior"]


@pytest.mark.parametrize("mode", ["random", "gain, prior"])
def test_a_run_is_the_same_in_any_process(found: dict[str, Any], mode: str) -> None:
    errors = simulated.gathered(QUICK, found, "figure-3")[mode]
    assert simulated.one_run(QUICK, 30, mode, 1) == errors[1].tolist()


def test_strangers_are_strangers() -> None:
    random = np.random.default_rng(0)
    votes = simulated.Votes(*(np.array(c, dtype=np.int32) for c in ([0, 0, 1], [0, 1, 2], [0] * 3)))
    tasks = np.array([0, 1, 0])
    for _ in range(20):
        workers = simulated.strangers(votes, tasks, 4, random)
        assert set(workers[[0, 2]]) == {2, 3} and workers[1] != 2


def test_without_data_there_are_the_simulated_crowds(found: dict[str, Any]) -> None:
    assert {cell.key for cell in EXPERIMENT.cells(QUICK)} == set(found)
    made = EXPERIMENT.report(QUICK, found)
    assert [table.name for table in made.tables] == ["figure-2", "figure-3"]
    claims = {claim.text: claim for claim in made.claims}
    assert len(claims) == 12
    for workers in (100, 30):
        text = f"With {workers} workers the prior hardly matters to edges added at random."
        assert claims[text].holds, claims[text].detail


def test_more_edges_leave_fewer_errors(found: dict[str, Any]) -> None:
    for figure in simulated.FIGURES:
        for mode, errors in simulated.gathered(QUICK, found, figure).items():
            assert (np.diff(errors.mean(axis=0)) < 0).all(), (figure, mode)


def test_real_votes_are_bought_where_they_are_needed(data: Path) -> None:
    plan = Plan(data, frozenset(replay.DATA_SETS), quick=True)
    runs = {policy: replay.bought(plan, "rte", policy, 0) for policy in ("random", "gain")}
    for run in runs.values():
        assert run["shares"][0] == pytest.approx(0.2)
        assert (np.diff(run["shares"]) > 0).all() and run["shares"][-1] >= replay.LAST
    assert runs["random"]["errors"][0] == runs["gain"]["errors"][0]
    assert replay.reached(runs["gain"]) <= 0.6 < replay.reached(runs["random"])
