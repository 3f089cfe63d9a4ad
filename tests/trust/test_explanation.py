"""Why a label: the evidence adds up to the belief, and what is said to flip it does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.special import digamma

import quorate
from quorate import DataError, Result, UsageError
from quorate.cli import main
from quorate.models import METHODS
from quorate.trust.explanation import AVERAGED, NO_SUM, Explanation

CROWD = quorate.simulate(workers=12, n_tasks=60, labels_per_task=5, n_classes=3, seed=4)
TWO = quorate.simulate(workers=12, n_tasks=60, labels_per_task=4, n_classes=2, seed=5)
SUMS = ("dawid-skene", "fast-dawid-skene", "hybrid", "spectral", "one-coin", "naive-bayes")
SUMS += ("rank-one", "iwmv", "mace", "ibcc", "glad", "ghosh-svd", "eigen-ratio")
SMOOTHED = {name: {"smoothing": 0.5} for name in SUMS[:6]}


def fitted(method: str, crowd: Any = None) -> Result:
    if crowd is None:
        crowd = TWO if METHODS[method].two_classes_only else CROWD
    return quorate.aggregate(crowd.votes, method, **SMOOTHED.get(method, {}))


def log_odds(result: Result, task: str, why: Explanation) -> float:
    """In decibans, from the belief itself."""
    row = result.codebook.tasks.to_list().index(task)
    belief = dict(zip(result.classes, result.posterior[row], strict=True))
    return float(10 * np.log10(belief[why.label] / belief[why.runner_up]))


# Evidence


@pytest.mark.parametrize("method", SUMS)
def test_evidence_adds_up_to_the_belief(method: str) -> None:
    result = fitted(method)
    checked = 0
    for task, label, *_ in result.labels.rows():
        why = result.explain(task)
        assert (why.task, why.label, why.notes) == (task, label, ())
        total = why.prior + why.votes["decibans"].sum()
        assert total == pytest.approx(why.decibans, abs=1e-9)
        if why.decibans < 100:  # beyond, the belief in the other class is rounded
            assert total == pytest.approx(
                log_odds(result, task, why), abs=1e-6 if why.decibans > 30 else 1e-9
            )
            checked += 1
    assert checked > 10


def test_of_confusion_matrices_in_loops() -> None:
    for method in ("dawid-skene", "one-coin"):
        result = fitted(method)
        code = {name: i for i, name in enumerate(result.classes)}
        worker = {name: i for i, name in enumerate(result.codebook.workers)}
        said = {}
        for task, who, label in CROWD.votes.rows():
            said.setdefault(task, []).append((who, label))
        for task in ("t1", "t2", "t3"):
            why = result.explain(task)
            first, second = code[why.label], code[why.runner_up]
            expected = {}
            for who, label in said[task]:
                matrix = result.confusion[worker[who]]
                ratio = matrix[first, code[label]] / matrix[second, code[label]]
                expected[who, label] = 10 * np.log10(ratio)
            found = {(row[0], row[1]): row[5] for row in why.votes.rows()}
            assert found == pytest.approx(expected, abs=1e-9)
            shares = result.params.prior
            assert why.prior == pytest.approx(10 * np.log10(shares[first] / shares[second]))


def test_of_a_bayesian_model_and_of_difficulty() -> None:
    ibcc = fitted("ibcc")
    why = ibcc.explain("t1")
    code = {name: i for i, name in enumerate(ibcc.classes)}
    worker = {name: i for i, name in enumerate(ibcc.codebook.workers)}
    counts = ibcc.params.pseudo_counts.reshape(-1, 3, 3)  # [worker, label, truth]
    for who, label, decibans in why.votes.select("worker", "label", "decibans").rows():
        rows = counts[worker[who]]
        mean = [
            digamma(rows[code[label], code[truth]]) - digamma(rows[:, code[truth]].sum())
            for truth in (why.label, why.runner_up)
        ]
        assert decibans == pytest.approx(10 / np.log(10) * (mean[0] - mean[1]), abs=1e-9)

    glad = fitted("glad")
    why = glad.explain("t1")
    difficulty = glad.labels["difficulty"][0]
    for who, label, decibans in why.votes.select("worker", "label", "decibans").rows():
        right = 1 / (1 + np.exp(-glad.params.ability[worker[who]] / difficulty))
        ratio = right / ((1 - right) / 2)
        power = (label == why.label) - (label == why.runner_up)
        assert decibans == pytest.approx(power * 10 * np.log10(ratio), abs=1e-9)


def test_features_have_their_share() -> None:
    features = [(f"t{t}", "red" if t < 4 else "blue") for t in range(8)]
    said = [
        (f"t{t}", w, "ab"[(t >= 4) ^ (w == "z" and t % 3 == 0)]) for t in range(7) for w in "xyz"
    ]
    result = quorate.aggregate(said, quorate.NaiveBayes(feature_weight=1.0), features=features)
    why = result.explain("t1")
    assert why.features > 1
    total = why.prior + why.features + why.votes["decibans"].sum()
    assert total == pytest.approx(log_odds(result, "t1", why), abs=1e-9)
    silent = result.explain("t7")  # nobody labelled it
    assert silent.label == "b" and len(silent.votes) == 0


def test_a_class_that_is_ruled_out_still_adds_up() -> None:
    said = [(t, w, "ab"[t % 2]) for t in range(6) for w in "xyz"] + [(6, "x", "a")]
    why = quorate.aggregate(said, "dawid-skene").explain(6)
    assert why.votes["decibans"][0] > 1e9 and why.decibans > 1e9
    assert why.more_votes == 0


# What would flip it


@pytest.mark.parametrize("method", [*SUMS, "majority", "m3v"])
def test_flips_are_real(method: str) -> None:
    result = fitted(method)
    crowd = TWO if METHODS[method].two_classes_only else CROWD
    flips = stays = 0
    for task in result.labels["task"].to_list()[:25]:
        if method == "glad":
            break
        why = result.explain(task)
        votes = crowd.votes.filter(pl.col("task") == task).rows()
        for who, without, instead, becomes in why.votes.select(
            "worker", "without", "instead", "becomes"
        ).rows():
            others = [vote for vote in votes if vote[1] != who]
            believed = belief_of(result, others)
            flips, stays = check(believed, why.label, without, flips, stays)
            for other in result.classes:
                believed = belief_of(result, [*others, (task, who, other)])
                if other == instead:
                    assert max(believed, key=believed.get) == becomes
                    flips += 1
                elif instead is None:
                    assert believed[why.label] >= max(believed.values()) - 1e-9
    assert method == "glad" or (flips > 5 and stays > 5)


def belief_of(result: Result, votes: list[tuple[str, str, str]]) -> dict[str, float]:
    """What the same parameters make of other votes."""
    code = {name: i for i, name in enumerate(result.classes)}
    worker = {name: i for i, name in enumerate(result.codebook.workers)}
    who = [worker[vote[1]] for vote in votes]
    labels = quorate.Labels.from_codes(
        [0] * len(votes),
        who,
        [code[vote[2]] for vote in votes],
        n_tasks=1,
        n_workers=len(worker),
        n_classes=len(code),
    )
    local, _ = result.model.sweep(labels, result.params, result.model.begin(labels))
    belief = result.model.posterior(labels, result.params, local)[0]
    return dict(zip(result.classes, belief.tolist(), strict=True))


def check(
    believed: dict[str, float], label: str, becomes: str | None, flips: int, stays: int
) -> tuple[int, int]:
    if becomes is None:
        assert believed[label] >= max(believed.values()) - 1e-9
        return flips, stays + 1
    assert max(believed, key=believed.get) == becomes != label
    return flips + 1, stays


def test_flips_under_glad_keep_the_difficulty() -> None:
    result = fitted("glad")
    flips = 0
    for row, task in enumerate(result.labels["task"].to_list()[:30]):
        why = result.explain(task)
        x = result.params.ability / result.per_task["difficulty"][row]
        worker = {name: i for i, name in enumerate(result.codebook.workers)}
        votes = why.votes.select("worker", "label").rows()
        for at, (who, without) in enumerate(why.votes.select("worker", "without").rows()):
            scores = dict.fromkeys(result.classes, 0.0)
            for other, (name, label) in enumerate(votes):
                if other != at:
                    scores[label] += x[worker[name]] + np.log(2)
            assert (max(scores, key=scores.get) == without) or (
                without is None and scores[why.label] >= max(scores.values()) - 1e-9
            ), who
            flips += without is not None
    assert flips > 3


def test_a_method_that_does_not_add_up_says_so_and_lists_votes() -> None:
    for method in ("majority", "kos"):
        why = fitted(method).explain("t1")
        assert why.notes == (NO_SUM,)
        assert why.decibans is why.prior is why.more_votes is None
        assert why.votes["decibans"].is_null().all()
        assert len(why.votes) == 5 and why.votes["accuracy"].is_not_null().all()


# Beliefs that are no sums


def test_a_mixture_is_shared_out_over_the_orders_of_the_votes() -> None:
    result = quorate.aggregate(CROWD.votes, discount=False)
    why = result.explain("t1")
    assert why.notes == (AVERAGED,)
    votes = CROWD.votes.filter(pl.col("task") == "t1").rows()

    def score(some: Iterable[tuple[str, str, str]]) -> float:
        belief = belief_of(result, list(some))
        return 10 * np.log10(belief[why.label] / belief[why.runner_up])

    orders = list(permutations(votes))
    for vote in votes:
        added = [
            score(order[: order.index(vote) + 1]) - score(order[: order.index(vote)])
            for order in orders
        ]
        found = why.votes.filter(pl.col("worker") == vote[1])["decibans"][0]
        assert found == pytest.approx(np.mean(added), abs=1e-9)
    assert why.prior == pytest.approx(score([]), abs=1e-9)
    assert why.prior + why.votes["decibans"].sum() == pytest.approx(why.decibans, abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "m3v"])
def test_shares_of_many_votes_add_up_too(method: str) -> None:
    k = 2 if METHODS[method].two_classes_only else 3
    crowd = quorate.simulate(workers=20, n_tasks=60, labels_per_task=14, n_classes=k, seed=2)
    result = quorate.aggregate(crowd.votes, method)
    for task in result.labels["task"].to_list()[:5]:
        why = result.explain(task)
        assert len(why.votes) == 14 and why.notes == (AVERAGED,)
        assert why.prior + why.votes["decibans"].sum() == pytest.approx(why.decibans, abs=1e-9)
        for_it = why.votes["label"] == why.label
        assert why.votes.filter(for_it)["decibans"].mean() > 0
        assert why.votes.filter(~for_it)["decibans"].mean() < 0


def test_votes_that_count_less_have_less_evidence() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(2, size=300)
    judges = np.where(random.random((6, 300)) < 0.75, truth, 1 - truth)
    panel = np.concatenate([judges, judges[:1], judges[:1]])
    votes = [(t, f"j{w}", int(label)) for (w, t), label in np.ndenumerate(panel)]
    for method in ("one-coin", "auto"):
        result = quorate.aggregate(votes, method, discount=True)
        for task in range(10):
            why = result.explain(task)
            total = why.prior + why.votes["decibans"].sum()
            assert total == pytest.approx(why.decibans, abs=1e-6)
            evidence = dict(why.votes.select("worker", "decibans").rows())
            assert evidence["j0"] == pytest.approx(evidence["j7"], abs=1e-9)
            if method == "one-coin":  # all as good as each other, and three count as one
                assert 2.2 < abs(evidence["j1"] / evidence["j0"]) < 4


# More votes


@pytest.mark.parametrize(("method", "confidence"), [("one-coin", 0.999), ("auto", 0.9)])
def test_more_votes_settle_it_and_one_less_does_not(method: str, confidence: float) -> None:
    result = fitted(method)
    seen = set()
    for task in result.labels["task"].to_list()[:30]:
        why = result.explain(task, confidence=confidence)
        seen.add(why.more_votes)
        votes = CROWD.votes.filter(pl.col("task") == task).rows()
        for n in range(max(why.more_votes - 1, 0), why.more_votes + 1):
            more = [(task, f"somebody {i}", why.label) for i in range(n)]
            sure = result.predict([*votes, *more])["confidence"][0]
            assert (sure >= confidence) == (n == why.more_votes)
    assert {0, 1} < seen


def test_where_the_average_worker_guesses_no_number_settles() -> None:
    said = [(t, w, "ab"[(t + (w == "y") * (t // 2)) % 2]) for t in range(8) for w in "xy"]
    result = quorate.aggregate(said, "one-coin")
    result = quorate.fit(quorate.OneCoin(max_iter=1, init=np.full((2, 2, 2), 0.5)), result.votes)
    assert result.explain(0).more_votes is None


@pytest.mark.parametrize("confidence", [-0.1, 2, float("nan")])
def test_a_confidence_that_is_none(confidence: float) -> None:
    with pytest.raises(UsageError, match="confidence"):
        fitted("one-coin").explain("t1", confidence=confidence)


# Which tasks, which votes


def test_an_unknown_task() -> None:
    with pytest.raises(DataError, match="There is no task 'nowhere' among the votes"):
        fitted("one-coin").explain("nowhere")


def test_numbers_may_be_named_as_text() -> None:
    result = quorate.aggregate([(7, "x", 1), (7, "y", 1), (8, "x", 0)], "one-coin", smoothing=1)
    assert result.explain("7").label == result.explain(7).label == 1


def test_known_answers_stay() -> None:
    gold = {"t1": "a", "t2": "c"}
    why = quorate.aggregate(CROWD.votes, "one-coin", gold=gold).explain("t1")
    assert (why.label, why.confidence, why.known) == ("a", 1.0, True)
    assert why.votes["without"].is_null().all() and why.votes["instead"].is_null().all()
    assert why.prior + why.votes["decibans"].sum() == pytest.approx(why.decibans)


def test_a_loaded_result_needs_votes(tmp_path: Path) -> None:
    result = fitted("one-coin")
    result.save(tmp_path / "kept.quorate")
    loaded = quorate.load(tmp_path / "kept.quorate")
    with pytest.raises(UsageError, match="does not have its votes"):
        loaded.explain("t1")
    why, own = loaded.explain("t1", CROWD.votes), result.explain("t1")
    assert why.votes.equals(own.votes) and why.decibans == own.decibans


def test_a_worker_who_was_not_there_is_the_average() -> None:
    result = fitted("one-coin")
    why = result.explain("new", [("new", "w1", "a"), ("new", "stranger", "b")])
    stranger = why.votes.filter(pl.col("worker").is_null()).rows(named=True)[0]
    assert stranger["accuracy"] is None and stranger["decibans"] is not None


def test_one_class_has_no_runner_up() -> None:
    why = quorate.aggregate([("t", "x", "a"), ("t", "y", "a")]).explain("t")
    assert (why.label, why.runner_up, why.decibans, why.confidence) == ("a", None, None, 1.0)


def test_repeats_are_votes_each() -> None:
    votes = [("t", "x", "a"), ("t", "x", "a"), ("t", "y", "b"), ("u", "y", "b"), ("u", "x", "b")]
    assert len(quorate.aggregate(votes, "one-coin", smoothing=1).explain("t").votes) == 3


# The command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    CROWD.votes.write_csv("votes.csv")


def run(*args: str) -> Any:
    return CliRunner().invoke(main, ["explain", *args])


@pytest.mark.usefixtures("here")
def test_the_command_prints_and_adds_up() -> None:
    printed = run("votes.csv", "--task", "t1", "--task", "t2", "-m", "one-coin").stdout
    assert "Task t1" in printed and "Task t2" in printed
    assert printed.count("decibans: class shares") == 2
    told = json.loads(run("votes.csv", "--task", "t1", "-m", "one-coin", "--json").stdout)
    (why,) = told["tasks"]
    assert told["method"] == "one-coin" and why["task"] == "t1"
    total = why["prior"] + sum(vote["decibans"] for vote in why["votes"])
    assert total == pytest.approx(why["decibans"])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("method", METHODS)
def test_the_command_explains_every_method(method: str) -> None:
    more = ["--ordered"] if METHODS[method].two_classes_only else []
    result = run("votes.csv", "--task", "t1", "-m", method, *more)
    assert result.exit_code == 0, result.stderr
    assert "runner-up" in result.stdout and "w" in result.stdout
    assert json.loads(run("votes.csv", "--task", "t1", "-m", method, "--json", *more).stdout)


@pytest.mark.usefixtures("here")
def test_the_command_fails_in_one_sentence() -> None:
    missing = run("votes.csv", "--task", "nowhere")
    assert missing.exit_code == 1
    assert missing.stderr == "quorate: There is no task 'nowhere' among the votes.\n"
    assert run("votes.csv").exit_code == 2
