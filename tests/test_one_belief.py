"""One belief: every verb says of the same votes what `aggregate` says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

import quorate
from quorate.cli import main

Crowd = tuple[pl.DataFrame, dict[Any, Any]]  # votes, and the truth
SHARED = ["worker", "labels", "agreement", "accuracy", "low", "high"]


def simulated(data: Path) -> Crowd:
    people = quorate.simulate(12, 250, 4, n_classes=3, seed=3)
    return as_crowd(people.votes, people.labels.n_tasks, np.array(["a", "b", "c"])[people.truth])


def as_crowd(votes: Any, n_tasks: int, truth: Any) -> Crowd:
    frame = pl.DataFrame(votes, schema=["task", "worker", "label"], orient="row")
    names = frame["task"].unique(maintain_order=True).to_list()
    assert len(names) == n_tasks
    return frame, dict(zip(names, truth.tolist(), strict=True))


def ten_duplicates(data: Path) -> Crowd:
    """Three fair judges, and one who is hardly better than a coin under ten names."""
    random = np.random.default_rng(1)
    truth = random.integers(2, size=300)
    right = random.random((4, 300)) < [[0.85], [0.85], [0.85], [0.55]]
    panel = np.where(right, truth, 1 - truth)
    panel = np.concatenate([panel[:3], np.repeat(panel[3:], 10, axis=0)])
    votes = [(t, f"judge-{w}", int(panel[w, t])) for t in range(300) for w in range(13)]
    return as_crowd(votes, 300, truth)


def rte(data: Path) -> Crowd:
    gold = pl.read_csv(data / "rte" / "gold.csv")
    return pl.read_csv(data / "rte" / "labels.csv"), dict(gold.select("task", "label").rows())


CROWDS: list[Callable[[Path], Crowd]] = [simulated, ten_duplicates, rte]
BELIEFS: list[dict[str, Any]] = [
    {},
    {"discount": False},
    {"method": "dawid-skene", "discount": True},
    {"method": "majority"},
    {"method": quorate.OneCoin(beta=(4, 2), low=0.5)},
]


@pytest.fixture(scope="module", params=CROWDS, ids=lambda crowd: crowd.__name__)
def crowd(request: pytest.FixtureRequest) -> Crowd:
    made: Callable[[Path], Crowd] = request.param
    if made is not rte:
        return made(Path())
    return made(request.getfixturevalue("data"))


@pytest.mark.parametrize("belief", BELIEFS, ids=range(len(BELIEFS)))
def test_assign_expects_the_error_of_aggregate(crowd: Crowd, belief: dict[str, Any]) -> None:
    votes, _ = crowd
    result = quorate.aggregate(votes, **belief)
    plan = quorate.assign(votes, 40, policy="random", available=["someone new"], **belief)
    assert plan.error_now == result.expected_error.error
    assert plan.curve["error"][0] == pytest.approx(plan.error_now, rel=1e-9)
    assert plan.method == result.method
    confidence = dict(result.labels.select("task", "confidence").rows())
    asked = plan.table.select("task", "confidence").rows()
    assert asked and all(confidence[task] == value for task, value in asked)


@pytest.mark.parametrize("belief", BELIEFS, ids=range(len(BELIEFS)))
def test_compare_scores_the_labels_of_aggregate(crowd: Crowd, belief: dict[str, Any]) -> None:
    votes, truth = crowd
    labels = quorate.aggregate(votes, **belief).labels
    wrong = np.mean([truth[task] != label for task, label in labels["task", "label"].rows()])
    options = {name: value for name, value in belief.items() if name != "method"}
    (score,) = quorate.compare(
        votes, [belief.get("method", "auto")], gold=truth, held_out=0, **options
    ).scores
    assert score.error == pytest.approx(wrong, rel=1e-12)


@pytest.mark.parametrize("with_gold", [False, True])
def test_diagnose_tells_what_aggregate_tells(crowd: Crowd, with_gold: bool) -> None:
    votes, truth = crowd
    gold = dict(list(truth.items())[:60]) if with_gold else None
    result, found = quorate.aggregate(votes, gold=gold), quorate.diagnose(votes, gold=gold)
    assert found.result.method == result.method == "auto"
    assert_frame_equal(found.result.labels, result.labels, check_exact=True)
    assert_frame_equal(found.result.class_shares, result.class_shares, check_exact=True)
    assert found.result.expected_error == result.expected_error
    assert_frame_equal(found.workers.select(SHARED), result.workers.select(SHARED))
    if "group" not in result.workers.columns:
        assert found.groups == ()
        return
    groups = result.workers.drop_nulls("group").group_by("group", maintain_order=True)
    named = {tuple(sorted(group["worker"])) for _, group in groups}
    assert {tuple(sorted(group.workers)) for group in found.groups} == named


def test_the_duplicates_are_one_voice_in_every_verb() -> None:
    """Which would be wrong on many more tasks if they were ten."""
    votes, truth = ten_duplicates(Path())
    plain, result = quorate.aggregate(votes, discount=False), quorate.aggregate(votes)
    answers = dict(result.labels.select("task", "label").rows())
    fooled = dict(plain.labels.select("task", "label").rows())
    wrong = sum(answers[task] != truth[task] for task in truth)
    assert wrong < 0.5 * sum(fooled[task] != truth[task] for task in truth)
    (group,) = quorate.diagnose(votes).groups
    assert len(group.workers) == 10
    assert quorate.compare(votes, ["auto"], gold=truth).scores[0].error == pytest.approx(
        wrong / 300
    )


def test_explain_shows_the_label_the_confidence_and_the_workers_of_aggregate(crowd: Crowd) -> None:
    votes, _ = crowd
    result = quorate.aggregate(votes)
    workers = {row[0]: row[1:] for row in result.workers.select(SHARED[:1] + SHARED[3:]).rows()}
    for task, label, confidence in result.labels.head(5).iter_rows():
        why = result.explain(task)
        assert (why.label, why.confidence) == (label, confidence)
        for worker, *known in why.votes.select(SHARED[:1] + SHARED[3:]).iter_rows():
            assert workers[worker] == tuple(known)


def test_the_commands_say_the_same(tmp_path: Path) -> None:
    votes, truth = ten_duplicates(Path())
    votes.write_csv(tmp_path / "votes.csv")
    gold = pl.DataFrame({"task": list(truth), "label": list(truth.values())})
    gold.write_csv(tmp_path / "gold.csv")

    def told(verb: str, *options: str) -> dict[str, Any]:
        run = CliRunner().invoke(main, [verb, str(tmp_path / "votes.csv"), *options, "--json"])
        assert run.exit_code == 0, run.output
        found: dict[str, Any] = json.loads(run.stdout)
        return found

    expected = {}
    for discount in ("--discount", "--no-discount"):
        out = tmp_path / "labels.csv"
        summary = told("aggregate", discount, "-o", str(out))
        expected[discount] = summary["found"]["expected_error"]["error"]
        assert told("assign", "--budget", "5", discount)["error_now"] == expected[discount]
        labels = pl.read_csv(out).join(gold, on="task")
        (score,) = told("compare", "-m", "auto", "--gold", str(tmp_path / "gold.csv"), discount)[
            "scores"
        ]
        assert score["error"] == pytest.approx((labels["label"] != labels["label_right"]).mean())
        (why,) = told("explain", "--task", "7", discount)["tasks"]
        row = labels.row(by_predicate=pl.col("task") == 7, named=True)
        assert (why["label"], why["confidence"]) == (row["label"], pytest.approx(row["confidence"]))
    assert expected["--discount"] != expected["--no-discount"]
