"""Auto: the mixture against slow loops, its weights, its calibration, and what it must hold."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import quorate
from quorate import Labels, demo, fit, kernels, metrics, simulate
from quorate.engines.threads import Threads
from quorate.model import Calibration
from quorate.models import MACE, Auto, DawidSkene, Majority
from quorate.models import auto as module
from quorate.result import ExpectedError, Overview, Result


def crowd(n_tasks: int = 60, n_workers: int = 8, n_classes: int = 3, seed: int = 0) -> Labels:
    random = np.random.default_rng(seed)
    truth = random.integers(n_classes, size=n_tasks)
    task, worker = np.divmod(np.arange(n_tasks * n_workers), n_workers)
    right = random.random(len(task)) < np.linspace(0.4, 0.9, n_workers)[worker]
    label = np.where(right, truth[task], random.integers(n_classes, size=len(task)))
    asked = random.random(len(task)) < 0.6
    return Labels.from_codes(
        task[asked],
        worker[asked],
        label[asked],
        n_tasks=n_tasks,
        n_workers=n_workers,
        n_classes=n_classes,
    )


def auto(labels: Labels, **options: Any) -> Result:
    return fit(Auto(**options), labels, engine=Threads(1))


def slowly_tempered(row: list[float], temperature: float) -> list[float]:
    powers = [share ** (1 / temperature) for share in row]
    return [power / sum(powers) for power in powers]


def test_the_belief_is_the_tempered_mixture_of_the_models_fitted_alone() -> None:
    labels = crowd()
    result = auto(labels, max_iter=19)  # below the patience of either model
    alone = [
        fit(model, labels, engine=Threads(1)).posterior.tolist()
        for model in (Majority(), DawidSkene(max_iter=19), MACE(max_iter=19))
    ]
    weights = result.params.weights.tolist()
    for task in range(labels.n_tasks):
        vote, *models = (belief[task] for belief in alone)
        parts = [vote]
        for belief in models:
            parts += [slowly_tempered(belief, worth) for worth in (1, 2, 4)]
        mixed = [sum(w * p[c] for w, p in zip(weights, parts, strict=True)) for c in range(3)]
        expected = slowly_tempered(mixed, 1.6)
        np.testing.assert_allclose(result.posterior[task], expected, atol=1e-9)


def test_the_weights_make_held_out_votes_likeliest() -> None:
    """EM, slowly: no other weights nearby give the sampled votes a higher penalised likelihood."""
    random = np.random.default_rng(0)
    likelihood = random.random((300, 7)) * np.linspace(0.5, 1, 7)
    rows = np.column_stack([likelihood, np.ones(300)])
    crowded = np.column_stack([9 * random.random((20, 7)), np.full(20, 2.0)])  # met: left out
    weights = module.weights_from(np.concatenate([rows, crowded, np.zeros((5, 8))]))

    def objective(w: np.ndarray[Any, Any]) -> float:
        mixture = sum(
            math.log(sum(a * b for a, b in zip(row, w, strict=True))) for row in rows[:, :7]
        )
        return mixture + module.EVEN / 7 * sum(math.log(share) for share in w)

    assert weights.sum() == pytest.approx(1)
    best = objective(weights)
    for other in random.dirichlet(np.ones(7), size=20):
        assert objective(0.95 * weights + 0.05 * other) <= best + 1e-3


def test_which_votes_are_held_out_does_not_depend_on_blocks() -> None:
    labels = crowd()
    whole = labels.parts(5, seed=3)
    cut = [block.parts(5, seed=3) for block in (labels[:20], labels[20:])]
    assert whole.tolist() == np.concatenate(cut).tolist()
    assert labels.only(whole == 0).n_labels + labels.only(whole != 0).n_labels == labels.n_labels


def test_it_is_deterministic_and_the_seed_matters() -> None:
    labels = crowd()
    one, again, other = auto(labels), auto(labels), auto(labels, seed=1)
    assert np.array_equal(one.posterior, again.posterior)
    assert not np.array_equal(one.params.weights, other.params.weights)
    assert sum(one.model.weights_of(one.params).values()) == pytest.approx(1)  # type: ignore[attr-defined]


def test_threads_do_not_matter() -> None:
    labels = crowd(400)
    few = [fit(Auto(), labels, engine=Threads(n)).posterior for n in (1, 2)]
    assert np.array_equal(*few)


def test_the_disk_does_not_matter(tmp_path: Path) -> None:
    labels = crowd(300)
    task = np.repeat(np.arange(labels.n_tasks), labels.n_said)
    frame = pl.DataFrame({"task": task, "worker": labels.worker, "label": labels.label})
    path = tmp_path / "votes.parquet"
    frame.write_parquet(path)
    gold = {0: 1, 5: 2}
    expected = quorate.aggregate(path, gold=gold, min_confidence=0.9)
    found = quorate.aggregate(
        path, gold=gold, min_confidence=0.9, engine="disk", store=tmp_path / "store"
    )
    assert found.labels.collect().equals(expected.labels)
    assert found.overview.undecided == expected.overview.undecided > 0
    assert found.expected_error == pytest.approx(expected.expected_error)


@pytest.mark.parametrize(
    ("task", "worker", "label"),
    [
        ([0, 0, 1], [0, 1, 0], [0, 0, 0]),  # one class
        ([0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 1, 0]),  # one worker
        ([0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 1, 0]),  # one label each
        ([0], [0], [0]),
        ([0, 0], [0, 1], [0, 1]),
    ],
)
def test_degenerate_votes(task: list[int], worker: list[int], label: list[int]) -> None:
    labels = Labels.from_codes(task, worker, label)
    result = auto(labels)
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    assert result.params.weights.sum() == pytest.approx(1)
    assert result.expected_error is not None
    error, low, high = result.expected_error
    assert 0 <= low <= error <= high <= 1


@pytest.mark.parametrize("part", [0, 1])
def test_all_votes_held_out_or_none(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Labels, "parts", lambda self, n, seed: np.full(self.n_labels, part, dtype=np.int8)
    )
    labels = crowd()
    result = auto(labels)
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    if part == 1:
        np.testing.assert_allclose(result.params.weights, 1 / 7)
        assert result.notes == (module.NOTHING_HELD_OUT,)


def test_known_answers_are_kept_and_set_the_temperature() -> None:
    labels = crowd(300)
    found = auto(labels).answers
    gold = np.full(300, -1, dtype=np.int32)
    gold[:150] = found[:150]
    sure = auto(Labels(**{**vars_of(labels), "gold": gold}))
    assert sure.posterior[np.arange(150), gold[:150]].tolist() == [1.0] * 150
    wrong = gold.copy()
    wrong[:75] = (found[:75] + 1) % 3
    unsure = auto(Labels(**{**vars_of(labels), "gold": wrong}))
    assert sure.params.temperature < module.SHARED < unsure.params.temperature


def vars_of(labels: Labels) -> dict[str, Any]:
    names = ("indptr", "worker", "label", "n_workers", "n_classes")
    return {name: getattr(labels, name) for name in names}


def test_a_crowd_with_an_inverted_worker_leans_to_dawid_skene_and_keeps_its_accuracies() -> None:
    _, confusion = demo._crowd()
    people = simulate(confusion, 1000, demo.VOTES_PER_TASK, seed=0)
    result = auto(people.labels)
    plain = fit(DawidSkene(), people.labels, engine=Threads(1))
    weights = result.model.weights_of(result.params)  # type: ignore[attr-defined]
    assert max(weights, key=weights.__getitem__) == "dawid-skene"
    assert metrics.error(result.posterior, people.truth) < 0.11
    apart = result.workers_frame["accuracy"] - plain.workers_frame["accuracy"]
    assert apart.abs().max() < 0.05


def test_a_result_is_saved_and_loaded(tmp_path: Path) -> None:
    votes = [(t, w, "yes" if (t + w) % 3 else "no") for t in range(20) for w in range(5)]
    result = quorate.aggregate(votes, min_confidence=0.8)
    result.save(tmp_path / "a.quorate")
    loaded = quorate.load(tmp_path / "a.quorate")
    assert loaded.labels.equals(result.labels)
    assert loaded.expected_error == result.expected_error
    new = [("new", 0, "yes"), ("new", 1, "yes")]
    assert loaded.predict(new).equals(result.predict(new))


def test_undecided_answers_have_no_label() -> None:
    votes = [(t, w, "yes" if (t + w) % 3 else "no") for t in range(20) for w in range(5)]
    everything = quorate.aggregate(votes)
    bound = float(np.median(everything.confidence))
    result = quorate.aggregate(votes, min_confidence=bound)
    left = result.labels.filter(pl.col("label").is_null())
    assert left["confidence"].max() < bound <= result.labels.drop_nulls()["confidence"].min()
    assert len(left) == result.overview.undecided
    with pytest.raises(quorate.QuorateError, match="probability"):
        quorate.aggregate(votes, min_confidence=1.5)


def test_the_expected_error_has_an_interval_that_widens_with_few_tasks() -> None:
    few, many = (Overview(n, np.empty(0), 0.9 * n, 0) for n in (10, 10_000))
    narrow, wide = (ExpectedError.of(tasks, Calibration(0.0, 0.5)) for tasks in (many, few))
    assert narrow.error == pytest.approx(wide.error) == pytest.approx(0.1)
    assert wide.low < narrow.low < 0.1 < narrow.high < wide.high


def test_other_methods_are_not_believed_as_they_are() -> None:
    """Models that take votes for independent say too low an error, and the vote one too high."""
    for model, sign in ((DawidSkene(), 1), (Majority(), -1)):
        result = quorate.fit(model, crowd())
        error, low, high = result.expected_error
        assert sign * (error - (1 - result.confidence.mean())) > 0
        assert low < error < high


def test_reliability_and_calibration_slowly() -> None:
    random = np.random.default_rng(0)
    belief, truth = random.dirichlet(np.ones(3), size=200), random.integers(-1, 3, size=200)
    apart = 0.0
    judged = [(max(row), row.argmax() == t) for row, t in zip(belief, truth, strict=True) if t >= 0]
    for i in range(10):
        some = [(c, r) for c, r in judged if min(int(c * 10), 9) == i]
        apart += abs(sum(c for c, _ in some) - sum(r for _, r in some))
    assert metrics.calibration_error(belief, truth) == pytest.approx(apart / len(judged))
    rows = metrics.reliability(belief, truth)
    assert sum(row["tasks"] for row in rows) == len(judged)
    assert all(row["low"] <= row["confidence"] <= row["high"] for row in rows)


def test_tempering_keeps_the_order_and_the_sum() -> None:
    belief = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    cooler = kernels.temper(belief, 3.0)
    np.testing.assert_allclose(cooler.sum(axis=1), 1)
    assert np.array_equal(cooler.argsort(axis=1), belief.argsort(axis=1))
    np.testing.assert_allclose(kernels.temper(cooler, 1 / 3.0), belief)
