"""Where the next votes should go: what they are worth, who gets them, and when to stop."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.checks import assert_close

import quorate
from quorate import DataError, UsageError, assign
from quorate.assignment import forest
from quorate.assignment.forest import (
    MOST_TASKS,
    Forest,
    chance_wrong,
    features,
    make_up,
    skills_of,
)
from quorate.assignment.gain import errors_ahead, horizon, worth_of_each
from quorate.cli import main
from quorate.labels import Labels
from quorate.models.one_coin import one_coin_confusion
from quorate.simulation import simulate

POLICIES = ("gain", "forest", "entropy", "random")


def crowd_votes(n_tasks: int = 120, per_task: int = 3, k: int = 2, seed: int = 0) -> Any:
    accuracy = np.random.default_rng(1).uniform(0.55, 0.95, 10)
    crowd = simulate(one_coin_confusion(accuracy, k), n_tasks, per_task, seed=seed)
    task = np.repeat(np.arange(n_tasks), per_task)
    return pl.DataFrame(
        {"task": task, "worker": crowd.labels.worker, "label": crowd.labels.label}
    ), crowd


# What votes are worth.


@given(
    k=st.integers(2, 4),
    m=st.integers(0, 3),
    seed=st.integers(0, 1000),
)
def test_the_error_ahead_is_that_of_every_possible_answer(k: int, m: int, seed: int) -> None:
    """All sequences of answers, one by one."""
    random = np.random.default_rng(seed)
    belief, confusion = random.dirichlet(np.ones(k)), random.dirichlet(np.ones(k), k)
    if m > horizon(k):
        return
    right = 0.0
    for said in product(range(k), repeat=m):
        right += max(belief[t] * np.prod([confusion[t, c] for c in said]) for t in range(k))
    ahead = errors_ahead(belief[None], confusion)
    assert ahead[0, m] == pytest.approx(1 - right, abs=1e-12)
    assert (np.diff(ahead[0]) < 1e-12).all(), "more votes never hurt in expectation"


def test_a_single_vote_of_each_worker() -> None:
    random = np.random.default_rng(0)
    belief, confusions = random.dirichlet(np.ones(3)), random.dirichlet(np.ones(3), (5, 3))
    for worth, confusion in zip(worth_of_each(belief, confusions), confusions, strict=True):
        ahead = errors_ahead(belief[None], confusion)[0]
        assert worth == pytest.approx(ahead[0] - ahead[1], abs=1e-12)


# Who gets what.


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("ask", ["anyone", "best"])
@pytest.mark.parametrize("k", [2, 4])
def test_nobody_is_asked_twice_and_nothing_piles_up(policy: str, ask: str, k: int) -> None:
    votes, _ = crowd_votes(k=k)
    plan = assign(votes, 100, policy=policy, ask=ask)
    table = plan.table
    assert table.columns == ["task", "worker", "risk", "gain", "confidence", "votes"]
    assert len(table) == 100 and plan.cost == 100 and plan.reason == "the budget is spent"
    asked = set(table.select("task", "worker").rows())
    assert len(asked) == 100
    assert not asked & set(votes.select("task", "worker").rows())
    assert (table["votes"] == 3).all()
    per_task = table.group_by("task").len()["len"]
    if policy != "gain":
        assert per_task.max() <= 2
    assert per_task.max() - per_task.min() <= 1
    assert plan.error_after <= plan.error_now
    assert_close(table["risk"].is_between(0, 1).all(), True)


@pytest.mark.parametrize("policy", POLICIES[:3])
def test_open_tasks_come_first(policy: str) -> None:
    votes, _ = crowd_votes(400)
    plan = assign(votes, 60, policy=policy)
    result = quorate.aggregate(votes, quorate.OneCoin(beta=(4, 2), low=0.5))
    assert plan.table["confidence"].mean() < np.mean(result.confidence) - 0.1


def test_more_votes_where_they_are_needed_leave_fewer_errors() -> None:
    """Thirty rounds of asking and answering; the simulated workers answer."""
    errors = {}
    for policy in ("gain", "random"):
        wrong = []
        for seed in range(3):
            votes, crowd = crowd_votes(300, 2, seed=seed)
            random = np.random.default_rng(seed)
            for _ in range(4):
                table = assign(votes, 75, policy=policy, seed=seed).table
                task, worker = table["task"].to_numpy(), table["worker"].to_numpy()
                rows = crowd.confusion[worker, crowd.truth[task]]
                label = (random.random(len(task)) >= rows[:, 0]).astype(np.int32)
                new = {"task": task, "worker": worker.astype(np.int32), "label": label}
                votes = pl.concat([votes, pl.DataFrame(new)])
            result = quorate.aggregate(votes, quorate.OneCoin(beta=(4, 2), low=0.5))
            answers = dict(result.labels.select("task", "label").rows())
            wrong.append(np.mean([answers[t] != crowd.truth[t] for t in range(300)]))
        errors[policy] = np.mean(wrong)
    assert errors["gain"] < errors["random"] - 0.01


def test_capacity_cost_and_who_is_there() -> None:
    votes, _ = crowd_votes()
    plan = assign(
        votes,
        30,
        available=[0, 1, 99],
        capacity={0: 5, 1: 4, 99: 100},
        cost={0: 1.0, 1: 2.0, 99: 1.5},
    )
    given = dict(plan.table.group_by("worker").len().rows())
    assert set(given) <= {0, 1, 99}
    assert given[0] <= 5 and given[1] <= 4
    assert plan.cost == given[0] + 2 * given[1] + 1.5 * given[99] <= 30
    assert plan.cost > 28


def test_the_best_are_asked_first() -> None:
    votes, crowd = crowd_votes(400, 5)
    best = assign(votes, 50, ask="best", capacity=10).table
    anyone = assign(votes, 50, capacity=10).table
    accuracy = np.trace(crowd.confusion, axis1=1, axis2=2) / 2
    of = [accuracy[table["worker"].to_numpy()].mean() for table in (best, anyone)]
    assert of[0] > of[1] + 0.05


def test_tasks_without_a_vote_are_asked_for_too() -> None:
    votes, _ = crowd_votes(20)
    plan = assign(votes, 22, tasks=[3, 100, 101], policy="random")
    chosen = plan.table.filter(pl.col("votes") == 0)["task"].to_list()
    assert sorted(chosen) == [100, 101]
    with pytest.raises(DataError, match="not of the kind"):
        assign(votes, 4, tasks=["new"])


def test_of_duplicates_only_one_is_asked() -> None:
    """Six accounts of one judge: a second of them adds nothing to a task."""
    random = np.random.default_rng(0)
    truth = random.integers(2, size=200)
    panel = np.where(
        random.random((5, 200)) < [[0.8], [0.8], [0.8], [0.8], [0.6]], truth, 1 - truth
    )
    panel = np.concatenate([panel[:4], np.repeat(panel[4:], 6, axis=0)])
    said = random.random(panel.shape) < 0.5
    votes = [(t, f"w{w}", int(panel[w, t])) for w in range(10) for t in range(200) if said[w, t]]
    duplicates = {f"w{w}" for w in range(4, 10)}
    heard = {task for task, worker, _ in votes if worker in duplicates}
    for ask in ("anyone", "best"):
        plan = assign(votes, 300, policy="random", ask=ask)
        asked = plan.table.filter(pl.col("worker").is_in(duplicates))["task"].to_list()
        assert len(asked) == len(set(asked)) and not heard & set(asked)
    plain = assign(votes, 300, policy="random", discount=False).table
    assert heard & set(plain.filter(pl.col("worker").is_in(duplicates))["task"])


def test_everyone_has_answered() -> None:
    votes = pl.DataFrame({"task": [0, 0], "worker": [0, 1], "label": [0, 1]})
    plan = assign(votes, 5)
    assert len(plan.table) == 0 and plan.reason == "nobody is left to ask"
    assert plan.error_after == plan.error_now


# When to stop.


def test_a_confidence_leaves_what_is_sure_alone() -> None:
    votes, _ = crowd_votes()
    plan = assign(votes, confidence=0.8)
    assert (plan.table["confidence"] < 0.8).all() and len(plan.table)
    assert "every label below a confidence of 0.8" in plan.reason
    everything = assign(votes, confidence=0.01)
    assert len(everything.table) == 0 and "has a confidence of 0.01 or more" in everything.reason


def test_an_error_that_is_reached_and_one_that_is_not() -> None:
    votes, _ = crowd_votes(400)
    now = assign(votes, 1).error_now
    plan = assign(votes, target_error=0.8 * now)
    assert plan.error_after <= 0.8 * now and "is down to" in plan.reason
    shorter = assign(votes, budget=len(plan.table) - 1)
    assert shorter.error_after > 0.8 * now
    far = assign(votes, target_error=1e-9)
    assert "look again" in far.reason and far.error_after > 1e-9


def test_the_curve_says_what_budgets_buy() -> None:
    votes, _ = crowd_votes(300)
    plan = assign(votes, 50)
    curve = plan.curve
    assert curve["votes"][0] == 0 and curve["error"][0] == pytest.approx(plan.error_now)
    assert (curve["error"].diff().drop_nulls() <= 1e-12).all()
    at = dict(curve.select("votes", "error").rows())
    assert at[50] == pytest.approx(plan.error_after, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Say when to stop"),
        ({"budget": -1}, "budget must be"),
        ({"budget": 1, "policy": "luck"}, "policy is one of"),
        ({"budget": 1, "ask": "all"}, "ask is one of"),
        ({"confidence": 2}, "confidence is between 0 and 1"),
        ({"target_error": 0}, "target_error is between 0 and 1"),
        ({"budget": 1, "avialable": ["x"]}, "did you mean 'available'"),
        ({"budget": 1, "available": {"x": 2.0}}, "mapping of workers has columns"),
        ({"budget": 1, "seed": -1}, "seed must be"),
        ({"budget": 1, "available": []}, "nobody to ask"),
        ({"budget": 1, "cost": 0}, "cost must be"),
        ({"budget": 1, "capacity": -1}, "capacity must be"),
        ({"budget": 1, "method": "luck"}, "There is no method"),
    ],
)
def test_options(options: dict[str, Any], sentence: str) -> None:
    votes, _ = crowd_votes(10)
    with pytest.raises(UsageError, match=sentence):
        assign(votes, **options)


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "mace", "glad", "rank-one"])
def test_beliefs_of_other_methods(method: str) -> None:
    votes, _ = crowd_votes()
    plan = assign(votes, 10, method=method)
    assert len(plan.table) == 10 and plan.method == method


def test_the_same_seed_is_the_same_plan_on_any_threads() -> None:
    votes, _ = crowd_votes()
    plans = [assign(votes, 20, policy="forest", seed=3, threads=n).table for n in (1, 2)]
    assert plans[0].equals(plans[1])
    assert not assign(votes, 20, policy="random", seed=4).table.equals(
        assign(votes, 20, policy="random", seed=5).table
    )


def test_a_model_is_a_method() -> None:
    votes, _ = crowd_votes()
    by_name = assign(votes, 10, method="dawid-skene")
    by_model = assign(votes, 10, method=quorate.DawidSkene())
    assert by_name.table.equals(by_model.table) and by_model.method == "dawid-skene"
    smoothed = assign(votes, 10, method=quorate.DawidSkene(smoothing=5))
    assert smoothed.error_now != by_name.error_now


def test_pandas_in_pandas_out() -> None:
    import pandas as pd

    votes, _ = crowd_votes(20)
    mine = votes.to_pandas().rename(columns={"task": "item", "worker": "annotator"})
    plan = assign(mine, 3)
    assert isinstance(plan.table, pd.DataFrame) and isinstance(plan.curve, pd.DataFrame)
    assert list(plan.table.columns[:2]) == ["item", "annotator"]
    new = pd.DataFrame({"item": [500, 501]})
    plan = assign(mine, 22, tasks=new, policy="random")
    assert {500, 501} <= set(plan.table["item"])


AVAILABLE: dict[str, Any] = {
    "a name": "human",
    "names": ["human"],
    "a series": pl.Series(["human"]),
    "an array": np.array(["human"]),
    "a generator": (name for name in ["human"]),
    "rows": [("human", 1.0)],
    "mappings": [{"worker": "human", "cost": 1.0}],
    "columns": {"worker": ["human"]},
    "polars": pl.DataFrame({"worker": ["human"], "cost": [1.0]}),
    "arrow": pl.DataFrame({"annotator": ["human"], "capacity": [9]}).to_arrow(),
    "pandas": pl.DataFrame({"worker": ["human"], "note": ["cost"]}).to_pandas(),
}


@pytest.mark.parametrize("given", AVAILABLE)
def test_who_is_available_comes_in_any_kind_of_table(given: str) -> None:
    votes = [("t1", "a", 1), ("t1", "b", 1), ("t2", "a", 1), ("t2", "b", 0), ("t3", "a", 0)]
    plan = assign(votes, 2, available=AVAILABLE[given])
    assert plan.table["worker"].to_list() == ["human", "human"] and plan.cost == 2


def test_a_table_of_workers_says_what_each_costs_and_can_take() -> None:
    votes, _ = crowd_votes()
    table = pl.DataFrame({"worker": [0, 1], "cost": [5.0, None], "capacity": [2, 3]})
    for known in (table, table.to_pandas(), table.to_arrow(), table.rows()):
        plan = assign(votes, 100, available=known, cost=2.0)
        assert dict(plan.table.group_by("worker").len().rows()) == {0: 2, 1: 3}
        assert plan.cost == 2 * 5 + 3 * 2


def test_names_are_found_whatever_their_type() -> None:
    """A worker who voted as number 3 is not asked again as text, nor a task added again."""
    votes = [(t, w, (t + w) % 2) for t in range(3) for w in range(4)]
    plan = assign(votes, 9, available=["3", "new"], tasks=["2", "7"], policy="random")
    asked = [(int(task), worker) for task, worker in plan.table.select("task", "worker").rows()]
    assert sorted(asked) == [(0, "new"), (1, "new"), (2, "new"), (7, "3"), (7, "new")]


@pytest.mark.parametrize("tasks", ["t9", ["t9"], {"task": ["t9"]}, pl.DataFrame({"task": ["t9"]})])
def test_a_text_is_one_task(tasks: Any) -> None:
    votes = [("t1", "a", 1), ("t1", "b", 0)]
    plan = assign(votes, 2, tasks=tasks, available=["c"])
    assert sorted(plan.table["task"]) == ["t1", "t9"]


def test_files_of_tasks_and_workers(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("task\nt9\n")
    (tmp_path / "workers.csv").write_text("worker,cost\nc,3\n")
    votes = [("t1", "a", 1), ("t1", "b", 0)]
    for kind in (str, Path):
        files = {name: kind(tmp_path / f"{name}.csv") for name in ("tasks", "workers")}
        plan = assign(votes, 6, tasks=files["tasks"], available=files["workers"])
        assert sorted(plan.table.select("task", "worker").rows()) == [("t1", "c"), ("t9", "c")]
        assert plan.cost == 6


def test_an_assignment_says_in_a_few_lines_what_it_buys() -> None:
    votes, _ = crowd_votes()
    lines = repr(assign(votes, 25)).splitlines()
    assert lines[0].startswith("Assignment of 25 votes on 25 tasks to ")
    assert "expected error" in lines[1] and "by auto" in lines[1]
    assert "cost" in lines[2] and "the budget is spent" in lines[2]
    assert len(lines) == 4


# The forest.


def test_a_made_up_crowd_is_on_the_same_graph() -> None:
    graph = crowd_votes(500, 4)[1].labels
    random = np.random.default_rng(0)
    truth, accuracy, made_up = make_up(
        graph, lambda r, n: np.full(n, 0.9), np.array([0.7, 0.3]), random
    )
    assert (accuracy == 0.9).all()
    assert made_up.worker is graph.worker and made_up.indptr is graph.indptr
    assert truth.mean() == pytest.approx(0.3, abs=0.08)
    right = made_up.label == np.repeat(truth, 4)
    assert right.mean() == pytest.approx(0.9, abs=0.03)


def test_what_the_forest_sees() -> None:
    labels = Labels.from_codes([0, 0, 1], [0, 1, 1], [0, 0, 1], n_tasks=3)
    result = quorate.fit(quorate.OneCoin(beta=(4, 2), low=0.5), labels)
    seen = features(result, labels)
    assert seen.shape == (3, 12)
    assert seen[:, 1].tolist() == [2, 1, 0]
    assert (seen[:, 2:].sum(axis=1) == seen[:, 1]).all()
    assert seen[2, 0] > seen[0, 0]


def test_the_forests_risk_is_the_chance_of_being_wrong() -> None:
    """Among the third of the tasks it finds riskiest, many more labels are wrong, and the mean risk
    is near the true error."""
    _, crowd = crowd_votes(3_000, 2)
    model = quorate.OneCoin(beta=(4, 2), low=0.5)
    result = quorate.fit(model, crowd.labels)
    risk = Forest(seed=1).risks(
        result, crowd.labels, skills_of(model, result), np.array([0.5, 0.5])
    )
    wrong = result.answers != crowd.truth
    riskiest = np.argsort(-risk)[:1_000]
    assert wrong[riskiest].mean() > 2 * np.delete(wrong, riskiest).mean()
    assert risk.mean() == pytest.approx(wrong.mean(), abs=0.05)


@pytest.mark.parametrize("k", [2, 3])
def test_the_forest_learns_from_how_likely_labels_are_wrong(k: int) -> None:
    """By Bayes' rule, vote by vote; and on average that is how many are wrong."""
    graph = crowd_votes(2_000, 3, k)[1].labels
    shares = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    random = np.random.default_rng(0)
    crowd = make_up(graph, lambda r, n: r.uniform(0.4, 0.9, n), shares, random)
    answers = quorate.fit(quorate.Majority(), crowd.labels).answers
    chance = chance_wrong(crowd, shares, answers)
    for task in range(0, 2_000, 200):
        belief = shares.copy()
        for vote in range(3 * task, 3 * task + 3):
            right = crowd.accuracy[graph.worker[vote]]
            said = np.arange(k) == crowd.labels.label[vote]
            belief *= np.where(said, right, (1 - right) / (k - 1))
        assert chance[task] == pytest.approx(1 - belief[answers[task]] / belief.sum(), abs=1e-12)
    assert chance.mean() == pytest.approx((answers != crowd.truth).mean(), abs=0.03)


def test_the_forest_tells_sure_tasks_apart() -> None:
    """Also where hardly any label of the crowds that it learns from is wrong."""
    skilled = one_coin_confusion(np.full(40, 0.9), 2)
    labels = simulate(skilled, 600, 9, seed=0).labels
    model = quorate.OneCoin(beta=(4, 2), low=0.5)
    result = quorate.fit(model, labels)
    least_sure = np.argsort(result.confidence)[:60]
    for seed in range(3):
        risk = Forest(seed=seed).risks(
            result, labels, skills_of(model, result), np.array([0.5, 0.5])
        )
        assert np.isin(np.argsort(-risk)[:60], least_sure).mean() > 0.8


def test_a_large_graph_is_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Crowds are made up on some of its tasks, and all of its tasks get a risk."""
    made: list[Labels] = []

    def make_up_and_keep(*given: Any) -> Any:
        made.append(make_up(*given).labels)
        return make_up(*given)

    monkeypatch.setattr(forest, "make_up", make_up_and_keep)
    graph = crowd_votes(MOST_TASKS + 500, 2)[1].labels
    model = quorate.Majority()
    result = quorate.fit(model, graph)
    grown = Forest(crowds=1, trees=2)
    risk = grown.risks(result, graph, skills_of(model, result), np.array([0.5, 0.5]))
    assert len(risk) == MOST_TASKS + 500
    assert made[0].n_tasks == MOST_TASKS and made[0].n_labels == 2 * MOST_TASKS
    assert made[0].n_workers == graph.n_workers


def test_without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    votes, _ = crowd_votes(10)
    with pytest.raises(UsageError, match="pip install 'quorate"):
        assign(votes, 1, policy="forest")


# The command.


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, ["assign", *map(str, arguments)])


def test_the_command_writes_and_tells(tmp_path: Path) -> None:
    votes, _ = crowd_votes()
    votes.write_csv(tmp_path / "votes.csv")
    done = run(tmp_path / "votes.csv", "--budget", 25, "-o", tmp_path / "next.csv")
    assert done.exit_code == 0, done.output
    assert "25, as the budget is spent" in done.output and "expected error" in done.output
    assert len(pl.read_csv(tmp_path / "next.csv")) == 25
    told = json.loads(run(tmp_path / "votes.csv", "--budget", 25, "--json").stdout)
    assert told["votes"] == 25 and told["error_after"] < told["error_now"]
    assert run(tmp_path / "votes.csv").exit_code == 2


def test_tables_of_tasks_and_workers(tmp_path: Path) -> None:
    votes, _ = crowd_votes(30)
    votes.write_csv(tmp_path / "votes.csv")
    (tmp_path / "tasks.csv").write_text("task\n500\n501\n")
    (tmp_path / "workers.csv").write_text("worker,cost,capacity\n3,1,1\n77,2,50\n")
    done = run(
        *(tmp_path / "votes.csv", "--budget", 63, "--policy", "random", "-o", "-"),
        *("--tasks", tmp_path / "tasks.csv", "--available", tmp_path / "workers.csv"),
    )
    assert done.exit_code == 0, done.output
    table = pl.read_csv(done.stdout.encode())
    assert {500, 501} <= set(table["task"]) and set(table["worker"]) == {3, 77}
    assert len(table) == 32  # one at 1, 31 at 2


def test_a_cost_may_be_a_fraction_or_missing_but_not_a_word(tmp_path: Path) -> None:
    votes, _ = crowd_votes(30)
    votes.write_csv(tmp_path / "votes.csv")
    table = tmp_path / "workers.csv"
    table.write_text("worker,cost\n3,0.5\n4,\n")
    asking = (tmp_path / "votes.csv", "--available", table, "--policy", "random")
    told = json.loads(run(*asking, "--budget", 10, "--cost", 2, "--json").stdout)
    assert 0.5 < told["cost"] / told["votes"] < 2, "of 3 at 0.5 and of 4 at 2"
    table.write_text("worker,cost\n3,cheap\n")
    refused = run(*asking, "--budget", 10)
    assert refused.exit_code == 1 and "A cost is a number, not 'cheap'" in refused.output
    table.write_text("worker,cost\n,1\n")
    assert "names no worker" in run(*asking, "--budget", 10).output


def test_one_class_one_worker_one_task() -> None:
    one = pl.DataFrame({"task": ["t"], "worker": ["w"], "label": ["yes"]})
    plan = assign(one, 1, available=["w", "v"])
    assert plan.table.select("task", "worker").rows() == [("t", "v")]
    assert plan.error_now == pytest.approx(0, abs=1e-6)
