"""Naive Bayes with experts: recovery, classification, the features' weight, and reading them."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array, vstack
from tests.checks import assert_close, assert_same_bits, small_blocks

import quorate
from quorate import DataError, Labels, NaiveBayes, UsageError, metrics
from quorate.cli import main
from quorate.engines.threads import Threads
from quorate.heldout import folds, log_likelihood
from quorate.kernels import Codes, Floats
from quorate.votes import MemoryBlocks, find, read_features
from quorate.votes.blocks import all_labels

WEAK = np.array([0.60, 0.63, 0.65, 0.67, 0.70])


def experts(truth: Codes, accuracy: Floats, n_labelled: int, features: Any, seed: int) -> Labels:
    """Every expert labels the first tasks; of the others there are only features."""
    random = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_labelled), len(accuracy))
    worker = np.tile(np.arange(len(accuracy)), n_labelled)
    right = random.random(len(task)) < accuracy[worker]
    label = np.where(right, truth[task], 1 - truth[task])
    return Labels.from_codes(task, worker, label, n_tasks=len(truth), features=features)


def generated(n_tasks: int, n_labelled: int, seed: int = 0) -> tuple[Labels, Codes, Floats]:
    """Votes and features that follow the model: labels, truth and rates."""
    random = np.random.default_rng(seed)
    truth = (random.random(n_tasks) < 0.4).astype(np.int32)
    rate = random.uniform(0.1, 0.9, (12, 2))
    features = csr_array((random.random((n_tasks, 12)) < rate[:, truth].T).astype(np.int8))
    return experts(truth, WEAK, n_labelled, features, seed), truth, rate


def real(data: Path, name: str, seed: int) -> tuple[csr_array, Codes]:
    """Features and truth of a data set that has no crowd, in an order by seed."""
    gold = pl.read_csv(data / name / "gold.csv")
    read = read_features(data / name / "features.csv")
    order = np.random.default_rng(seed).permutation(len(gold))
    row = find(gold["task"], read.tasks).fill_null(-1).to_numpy()[order]
    bare = csr_array((1, read.matrix.shape[1]), dtype=np.int8)
    return vstack([read.matrix, bare], format="csr")[row], gold["label"].to_numpy()[order]


def test_what_generated_the_data_is_recovered() -> None:
    labels, truth, rate = generated(6000, 4000)
    result = quorate.fit(NaiveBayes(feature_weight=1.0, smoothing=1.0), labels)
    params = result.params
    assert_close(params.prior, [0.6, 0.4], atol=0.03)
    assert_close(params.feature_rate, rate, atol=0.05)
    assert_close(params.unmixed_rate, rate, atol=0.08)
    assert_close(np.diagonal(result.confusion, axis1=1, axis2=2).mean(axis=1), WEAK, atol=0.04)
    without = quorate.fit(NaiveBayes(feature_weight=0.0), labels)
    heard = slice(0, 4000)
    error = metrics.error(result.posterior[heard], truth[heard])
    assert error < metrics.error(without.posterior[heard], truth[heard]) / 2
    assert metrics.error(result.posterior[4000:], truth[4000:]) < 0.15


def test_unmixed_rates_are_not_blurred_by_what_the_votes_leave_open() -> None:
    """Without a weight the votes alone say what the classes are, and they are weak."""
    labels, _, rate = generated(6000, 6000, seed=1)
    params = quorate.fit(NaiveBayes(feature_weight=0.0), labels).params
    blurred = np.abs(params.feature_rate - rate).max()
    assert blurred > 0.2
    assert np.abs(params.unmixed_rate - rate).max() < blurred / 2


def test_sure_answers_need_no_unmixing() -> None:
    labels, truth, _ = generated(500, 500)
    known = Labels.from_codes([0], [0], [0], n_tasks=500, n_classes=2, gold=truth)
    known = replace(known, features=labels.features)
    params = quorate.fit(NaiveBayes(feature_weight=1.0), known).params
    assert_close(params.unmixed_rate, params.feature_rate, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "at_most", "printed"), [("labelme", 0.20, 17.9), ("sp", 0.083, 8.16)]
)
def test_features_with_a_weight_found_without_gold(
    data: Path, name: str, at_most: float, printed: float
) -> None:
    votes, features = data / name / "labels.csv", data / name / "features.csv"
    result = quorate.aggregate(votes, "naive-bayes", features=features)
    assert 0 < result.model.feature_weight < 1
    assert wrong(data, name, result) <= at_most
    assert 100 * wrong(data, name, result) == pytest.approx(printed, abs=0.05)
    alone = quorate.aggregate(votes, "naive-bayes")
    assert wrong(data, name, result) < wrong(data, name, alone)


@pytest.mark.parametrize(
    ("name", "weight", "percent"),
    [("labelme", 0, 28.2), ("labelme", 0.1, 18.4), ("labelme", 1, 28.8), ("sp", 0.3, 8.14)],
)
def test_error_at_the_smoothing_of_the_report(
    data: Path, name: str, weight: float, percent: float
) -> None:
    result = quorate.aggregate(
        data / name / "labels.csv",
        NaiveBayes(feature_weight=weight, smoothing=1),
        features=data / name / "features.csv",
    )
    assert 100 * wrong(data, name, result) == pytest.approx(percent, abs=0.11)


def wrong(data: Path, name: str, result: quorate.Result) -> float:
    gold = pl.read_csv(data / name / "gold.csv")
    both = result.labels.join(gold, on="task", suffix="_true")
    assert len(both) > 900
    return float((both["label"] != both["label_true"]).mean())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weak_experts_teach_a_classifier_of_mushrooms(data: Path, seed: int) -> None:
    features, truth = real(data, "mushroom", seed)
    labels = experts(truth, WEAK, 4000, features, seed)
    model = quorate.weigh_features(NaiveBayes(), labels)
    result = quorate.fit(model, labels)
    assert metrics.error(result.posterior[4000:], truth[4000:]) < 0.08
    accuracy = np.diagonal(result.confusion, axis1=1, axis2=2).mean(axis=1)
    assert_close(accuracy, WEAK, atol=0.05)


def test_experts_on_votes_of_the_house(data: Path) -> None:
    features, truth = real(data, "vote", 0)
    labels = experts(truth, WEAK, len(truth), features, 0)
    joint = quorate.fit(NaiveBayes(feature_weight=0.3), labels)
    votes = quorate.fit(NaiveBayes(feature_weight=0.0), labels)
    assert metrics.error(joint.posterior, truth) < 0.13
    assert metrics.error(joint.posterior, truth) < metrics.error(votes.posterior, truth) / 1.5
    found = np.diagonal(joint.confusion, axis1=1, axis2=2).mean(axis=1)
    assert_close(found, WEAK, atol=0.1)


# The weight


def test_the_weight_does_not_depend_on_blocks_or_threads() -> None:
    labels, _, _ = generated(80, 60)
    one = quorate.weigh_features(NaiveBayes(seed=3), labels, engine=Threads(1))
    with small_blocks(400):
        other = quorate.weigh_features(NaiveBayes(seed=3), labels, engine=Threads(2))
    assert one.feature_weight == other.feature_weight


def test_features_that_tell_nothing_get_no_weight() -> None:
    labels, _, _ = generated(300, 300)
    random = np.random.default_rng(0)
    noise = csr_array((random.random((300, 50)) < 0.5).astype(np.int8))
    assert quorate.weigh_features(NaiveBayes(), replace(labels, features=noise)).feature_weight == 0


def folds_of(labels: Labels) -> list[tuple[Labels, Labels]]:
    """The parts of the votes: those that are kept, and those that are held out."""
    every = folds(MemoryBlocks(labels), seed=0)
    return [(all_labels(kept), all_labels(part)) for kept, part in every]


def test_every_vote_is_held_out_once_with_its_repeats() -> None:
    labels = Labels.from_codes([0, 0, 0, 1, 1, 2], [0, 0, 1, 2, 0, 1], [0, 1, 1, 0, 1, 1])
    held_out = [part for _, part in folds_of(labels)]
    assert sum(part.n_labels for part in held_out) == labels.n_labels
    together = [int(((part.worker == 0)[: part.indptr[1]]).sum()) for part in held_out]
    assert sorted(together) == [0, 0, 0, 0, 2]
    for kept, part in folds_of(labels):
        assert kept.n_labels + part.n_labels == labels.n_labels
        assert (np.diff(kept.indptr) + np.diff(part.indptr)).tolist() == [3, 2, 1]


def test_held_out_votes_are_predicted_by_posterior_and_matrices() -> None:
    labels, _, _ = generated(50, 50)
    kept, held_out = folds_of(labels)[0]
    result = quorate.fit(NaiveBayes(feature_weight=0.5), kept)
    expected = 0.0
    for task in range(50):
        at = range(held_out.indptr[task], held_out.indptr[task + 1])
        chance = 0.0
        for truth in range(2):
            product = result.posterior[task, truth]
            for i in at:
                product *= result.confusion[held_out.worker[i], truth, held_out.label[i]]
            chance += product
        expected += np.log(chance)
    assert log_likelihood(result, MemoryBlocks(held_out)) == pytest.approx(expected, rel=1e-10)


def test_a_weight_to_be_found_is_not_fitted_blindly() -> None:
    labels, _, _ = generated(20, 20)
    with pytest.raises(UsageError, match="weigh_features"):
        quorate.fit(NaiveBayes(), labels)
    with pytest.raises(UsageError, match="'much'"):
        NaiveBayes(feature_weight="much")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="feature_weight"):
        NaiveBayes(feature_weight=-1.0)
    with pytest.raises(UsageError, match="smoothing"):
        NaiveBayes(smoothing=0.0)


# Reading, and using again

VOTES = [("a", "x", "yes"), ("a", "y", "yes"), ("b", "x", "no"), ("b", "y", "no")]
LONG = [("a", "red"), ("a", "round"), ("b", "blue"), ("c", "red"), ("c", "round")]
WIDE = "task,red,round,blue\na,1,1,0\nb,0,0,1\nc,1,1,0\n"


def test_long_wide_and_matrix_are_the_same(tmp_path: Path) -> None:
    long, wide = tmp_path / "long.csv", tmp_path / "wide.csv"
    long.write_text("task,feature\n" + "".join(f"{t},{f}\n" for t, f in LONG))
    wide.write_text(WIDE)
    frame = pl.read_csv(io.StringIO(WIDE))
    tables: list[Any] = [LONG, iter(LONG), long, wide, frame, frame.to_pandas()]
    truths = frame.with_columns(pl.col("red", "round", "blue").cast(pl.Boolean))
    for source in [*tables, truths, frame.cast({"red": pl.Float64})]:
        read = read_features(source)
        assert read.names.to_list() == ["red", "round", "blue"]
        assert read.tasks.to_list() == ["a", "b", "c"]
        assert read.matrix.toarray().tolist() == [[1, 1, 0], [0, 0, 1], [1, 1, 0]]
        assert read.missing == 0
    dense = frame.drop("task").to_numpy()
    for matrix in (dense, csr_array(dense), dense.astype(bool)):
        read = read_features(matrix)
        assert read.tasks.to_list() == [0, 1, 2]
        assert read.matrix.toarray().tolist() == dense.tolist()


def test_a_feature_that_is_named_twice_is_there_once() -> None:
    assert read_features([("a", "red"), ("a", "red")]).matrix.toarray().tolist() == [[1]]


def test_what_is_missing_is_left_out_and_said() -> None:
    frame = pl.DataFrame({"task": ["a", "b", None], "red": [1, None, 1], "blue": [0, 1, 1]})
    notes = quorate.aggregate(VOTES, "naive-bayes", features=frame).notes
    assert notes[0] == "2 features lack a field, and are left out."
    assert notes[1] == "The weight of the features, 1, comes from held-out votes."


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("task,size\na,3\n", "'3' in the column 'size'"),
        ("task\na\n", "has no features"),
        ("item,question,x\na,b,1\n", "could be the task"),
        ("task,feature\n,red\n", "no row with a task and a feature"),
        ("task,red\n,1\n", "no row with a task"),
    ],
)
def test_what_are_no_features_is_said_in_a_sentence(
    source: str, fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "features.csv"
    path.write_text(source)
    with pytest.raises(DataError, match=fault):
        quorate.aggregate(VOTES, "naive-bayes", features=path)


def test_a_matrix_that_has_no_features_is_said() -> None:
    for matrix in (np.array([[2, 0]]), np.array([1, 0]), np.array([["a"]])):
        with pytest.raises(DataError, match="A matrix of features"):
            read_features(matrix)


def test_a_method_that_makes_no_use_of_features_says_so() -> None:
    with pytest.raises(UsageError, match="majority does not learn from features"):
        quorate.aggregate(VOTES, "majority", features=LONG)


def test_the_default_makes_no_use_of_features_and_says_which_method_does() -> None:
    with pytest.raises(UsageError, match=r"^auto does not learn from features: naive-bayes"):
        quorate.aggregate(VOTES, features=LONG)


def test_tasks_with_only_features_are_labelled_and_reported() -> None:
    result = quorate.aggregate(VOTES, "naive-bayes", features=LONG)
    assert result.labels.select("task", "label").rows() == [("a", "yes"), ("b", "no"), ("c", "yes")]
    assert any("1 tasks have features and no votes" in note for note in result.notes)


def test_gold_of_tasks_with_only_features_teaches() -> None:
    votes = [("t1", "x", "yes"), ("t2", "x", "no")]
    features = [("t1", "other"), ("t2", "other"), ("g1", "red"), ("g2", "blue"), ("n", "blue")]
    gold = {"g1": "yes", "g2": "no"}
    result = quorate.aggregate(votes, NaiveBayes(feature_weight=1), features=features, gold=gold)
    assert result.labels.filter(pl.col("task") == "n")["label"].to_list() == ["no"]


def test_predict_from_features_alone_and_with_votes(tmp_path: Path) -> None:
    result = quorate.aggregate(VOTES, NaiveBayes(feature_weight=1), features=LONG[:3])
    result.save(tmp_path / "crowd.quorate")
    again = quorate.load(tmp_path / "crowd.quorate")
    assert_same_bits(result, again)
    new = [("n1", "red"), ("n2", "blue"), ("n2", "unheard of")]
    for known in (result, again):
        alone = known.predict(features=new)
        assert alone.select("task", "label").rows() == [("n1", "yes"), ("n2", "no")]
        both = known.predict([("n1", "x", "no"), ("n3", "y", "yes")], features=new)
        assert both["task"].to_list() == ["n1", "n3", "n2"]
        assert both["confidence"][0] < alone["confidence"][0]


def test_predict_says_what_it_cannot() -> None:
    result = quorate.aggregate(VOTES, "dawid-skene", smoothing=0.1)
    with pytest.raises(UsageError, match="has not learned from features"):
        result.predict(features=LONG)
    with pytest.raises(UsageError, match="votes or features"):
        result.predict()


def test_the_command_line_takes_features(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("task,worker,label\n" + "".join(f"{','.join(v)}\n" for v in VOTES))
    Path("wide.csv").write_text(WIDE)
    run = ["aggregate", "votes.csv", "-m", "naive-bayes", "--features", "wide.csv", "-o", "out.csv"]
    for weight in ([], ["--set", "feature_weight=0.5"], ["--set", "feature_weight=auto"]):
        result = CliRunner().invoke(main, [*run, *weight])
        assert result.exit_code == 0, result.output
        labels = pl.read_csv("out.csv").select("task", "label").rows()
        assert labels == [("a", "yes"), ("b", "no"), ("c", "yes")]
    result = CliRunner().invoke(main, [*run, "--set", "feature_weight=much"])
    assert result.exit_code == 2 and "feature_weight" in result.output
