"""Panels: the effective number of judges, biases, and cheaper panels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import quorate
from quorate import DataError
from quorate.cli import main
from quorate.judging import errors
from quorate.labels import Labels


def votes_of(said: np.ndarray) -> pl.DataFrame:  # type: ignore[type-arg]
    n_tasks, n_judges = said.shape
    return pl.DataFrame(
        {
            "task": np.repeat(np.arange(n_tasks), n_judges),
            "worker": np.tile([f"j{j}" for j in range(n_judges)], n_tasks),
            "label": said.ravel(),
        }
    )


def drawn(n_tasks: int = 500, copies: int = 0, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Five independent judges, and copies of the first."""
    random = np.random.default_rng(seed)
    truth = (random.random(n_tasks) < 0.5).astype(int)
    right = random.random((n_tasks, 5)) < 0.8
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    said = np.hstack([said, np.repeat(said[:, :1], copies, axis=1)])
    return votes_of(said), pl.DataFrame({"task": np.arange(n_tasks), "label": truth})


def test_mean_correlation_is_that_of_all_pairs() -> None:
    votes, gold = drawn(300, copies=2)
    labels = quorate.read_votes(votes).labels
    found = errors.errors_of(labels, np.eye(2)[gold["label"].to_numpy()])
    wrong = votes["label"].to_numpy().reshape(300, 7) != gold["label"].to_numpy()[:, None]
    pairs = np.corrcoef(wrong.T.astype(float))
    mean = (pairs.sum() - 7) / 42
    got = errors.worth(found, np.random.default_rng(0))
    assert got.correlation == pytest.approx(mean)
    assert got.effective == pytest.approx(7 / (1 + 6 * mean))
    np.testing.assert_allclose(errors.correlations(found)[0, 1:], pairs[0, 1:], atol=1e-9)
    without = wrong[:, 1:]
    rest = np.corrcoef(without.T.astype(float))
    rho = (rest.sum() - 6) / 30
    assert errors.without_each(found)[0] == pytest.approx(6 / (1 + 5 * rho))


def test_independent_judges_count_in_full_and_copies_do_not() -> None:
    votes, gold = drawn(800)
    alone = quorate.panel(votes, gold=gold)
    assert alone.effective.low <= 5 <= alone.effective.high + 0.5
    votes, gold = drawn(800, copies=5)
    many = quorate.panel(votes, gold=gold)
    assert many.effective.judges == 10 and many.effective.effective < 4
    first = many.judges.filter(pl.col("judge") == "j0").row(0, named=True)
    assert first["most_like"] in {f"j{j}" for j in range(5, 10)}
    assert first["correlation"] == pytest.approx(1.0)
    assert first["adds"] < many.judges.filter(pl.col("judge") == "j1")["adds"][0]


def test_sensitivity_and_specificity_are_counted() -> None:
    votes, gold = drawn(200)
    row = quorate.panel(votes, gold=gold).judges.row(0, named=True)
    said = votes.filter(pl.col("worker") == "j0")["label"].to_numpy()
    truth = gold["label"].to_numpy()
    assert row["sensitivity"] == pytest.approx(said[truth == 1].mean())
    assert row["specificity"] == pytest.approx(1 - said[truth == 0].mean())
    assert row["sensitivity_low"] < row["sensitivity"] < row["sensitivity_high"]


def test_judge_who_goes_by_length_is_found() -> None:
    random = np.random.default_rng(3)
    truth = (random.random(600) < 0.5).astype(int)
    length = random.normal(100, 20, 600)
    fair = np.where(random.random((600, 3)) < 0.85, truth[:, None], 1 - truth[:, None])
    biased = np.where(random.random(600) < 0.4, (length > 100).astype(int), truth)
    votes = votes_of(np.column_stack([fair, biased])).with_columns(length=np.repeat(length, 4))
    gold = pl.DataFrame({"task": np.arange(600), "label": truth})
    rows = quorate.panel(votes, gold=gold, covariate="length").biases
    of = {row["judge"]: row for row in rows.to_dicts()}
    assert of["j3"]["low"] > 0.05 and of["j3"]["p_value"] < 1e-6
    assert of["j0"]["low"] < 0 < of["j0"]["high"] or abs(of["j0"]["effect"]) < 0.05


def test_cheaper_panel_drops_what_adds_nothing() -> None:
    votes, gold = drawn(600, copies=4)
    costs = {f"j{j}": 1.0 for j in range(5)} | {f"j{j}": 3.0 for j in range(5, 9)}
    found = quorate.panel(votes, gold=gold, costs=costs, max_loss=0.02)
    assert found.cheaper is not None
    assert {f"j{j}" for j in range(5, 9)} & set(found.cheaper.dropped)
    assert found.cheaper.saved > 0.3
    assert found.cheaper.accuracy_without >= found.cheaper.accuracy - 0.02


def test_without_known_answers_the_consensus_judges_and_that_is_said() -> None:
    votes, _ = drawn(150)
    found = quorate.panel(votes)
    assert found.against == "the consensus" and any("known answers" in n for n in found.notes)


def test_command_and_refusals(tmp_path: Path) -> None:
    votes, gold = drawn(120)
    votes.write_csv(tmp_path / "votes.csv")
    gold.write_csv(tmp_path / "gold.csv")
    call = ["panel", str(tmp_path / "votes.csv"), "--gold", str(tmp_path / "gold.csv")]
    shown = CliRunner().invoke(main, call)
    assert shown.exit_code == 0, shown.output
    assert "independent ones" in shown.output and "sensitivity" in shown.output
    told = json.loads(CliRunner().invoke(main, [*call, "--json"]).stdout)
    assert told["effective"]["judges"] == 5 and len(told["judges"]) == 5
    with pytest.raises(DataError, match="at least two judges"):
        quorate.panel([("a", "x", 1), ("b", "x", 0)])
    with pytest.raises(DataError, match="no cost"):
        quorate.panel(votes, costs={"j0": 1})
    assert "independent" in repr(quorate.panel(votes, gold=gold))


def test_effective_number_of_one_label_each() -> None:
    labels = Labels.from_codes([0, 1, 2], [0, 1, 2], [0, 1, 0])
    found = errors.errors_of(labels, np.eye(2)[[0, 1, 1]])
    assert np.isfinite(errors.worth(found, np.random.default_rng(0)).effective)


def test_judges_who_never_err_together_are_not_worth_more_than_their_number() -> None:
    turn = np.arange(400) % 8
    wrong = turn[:, None] == np.arange(4)  # one at a time, so that errors correlate negatively
    votes = votes_of(wrong.astype(int))
    found = quorate.panel(votes, gold=dict.fromkeys(range(399), 0) | {399: 1}).effective
    assert found.correlation < 0
    assert found.effective == found.judges == found.high == 4 and found.low <= 4


def test_two_orders_of_a_judge_are_one_judge_whose_position_bias_is_shown() -> None:
    truth = [str(1 + t % 2) for t in range(60)]
    rows = [(t, f"{name}#{o}", truth[t]) for t in range(60) for name in "xy" for o in "ab"]
    rows += [(t, f"first#{o}", "12"[o == "b"]) for t in range(60) for o in "ab"]
    found = quorate.panel(rows, gold=dict(enumerate(truth)))
    assert found.effective.judges == 3 and found.judges["judge"].to_list() == ["x", "y", "first"]
    assert {one.judge: one.bias for one in found.positions}["first"] == 0.5
    assert found.as_dict()["positions"][0]["pairs"] == 60


def test_two_orders_of_a_judge_are_no_more_evidence_than_one() -> None:
    votes, gold = drawn(200)
    both = pl.concat([votes.with_columns(pl.col("worker") + order) for order in ("#a", "#b")])
    columns = ["sensitivity", "sensitivity_low", "sensitivity_high", "specificity_high"]
    once = quorate.panel(votes, gold=gold).judges.select(columns).row(0)
    assert quorate.panel(both, gold=gold).judges.select(columns).row(0) == pytest.approx(once)
