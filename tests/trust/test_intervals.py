"""Workers' intervals: they hold the truth as often as they say, and narrow with more labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quorate
from quorate import Labels
from quorate.engines.threads import Threads
from quorate.models import make
from quorate.models.one_coin import one_coin_confusion
from quorate.trust import Spread, accuracy_intervals, confusion_intervals
from quorate.trust.accuracies import PASSES
from quorate.trust.matrices import SimulatedCrowd
from quorate.votes import MemoryBlocks

UNEVEN = {2: [0.7, 0.3], 3: [0.5, 0.3, 0.2]}


def drawn(
    workers: int, tasks: int, votes: int, classes: int, seed: int
) -> tuple[quorate.Crowd, np.ndarray]:
    """A crowd with accuracies between 0.5 and 0.95, and these."""
    accuracy = np.random.default_rng(seed).uniform(0.5, 0.95, workers)
    matrices = one_coin_confusion(accuracy, classes)
    crowd = quorate.simulate(matrices, tasks, votes, prior=UNEVEN[classes], seed=seed)
    return crowd, accuracy


def spread_of(labels: Labels) -> Spread:
    spread = quorate.fit(quorate.Majority(), labels).spread
    assert spread is not None
    return spread


# They cover


@pytest.mark.parametrize(
    ("workers", "tasks", "votes", "classes"),
    [(10, 300, 3, 2), (50, 500, 2, 2), (50, 500, 5, 3), (200, 1000, 3, 3)],
)
def test_accuracies_are_held_as_often_as_is_said(
    workers: int, tasks: int, votes: int, classes: int
) -> None:
    held = []
    for seed in range(800 // workers):
        crowd, true = drawn(workers, tasks, votes, classes, seed)
        spread = spread_of(crowd.labels)
        held.append((spread.low <= true) & (true <= spread.high))
    assert 0.92 <= np.concatenate(held).mean() <= 0.98


def test_confusion_matrices_are_held() -> None:
    held = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        right = random.uniform(0.4, 0.95, (40, 3))
        matrices = np.zeros((40, 3, 3))
        matrices[:, np.eye(3, dtype=bool)] = right
        errors = random.dirichlet(np.ones(2), (40, 3)) * (1 - right)[:, :, None]
        matrices[:, ~np.eye(3, dtype=bool)] = errors.reshape(40, -1)
        crowd = quorate.simulate(matrices, 1500, 6, prior=UNEVEN[3], seed=seed)
        table = quorate.fit(make("ibcc"), crowd.labels).confusion_table
        low, high = table["low"].to_numpy(), table["high"].to_numpy()
        held.append((low <= matrices.ravel()) & (matrices.ravel() <= high))
        probability = table["probability"].to_numpy()
        assert (low <= probability).all() and (probability <= high).all()
    assert 0.91 <= np.concatenate(held).mean() <= 0.98


def test_crowds_are_drawn_from_what_was_found() -> None:
    """The labels of a drawn crowd come as its matrices say, and the same in whatever blocks."""
    crowd, _ = drawn(4, 6000, 3, 3, 0)
    labels = crowd.labels
    cumulative = np.cumsum(np.random.default_rng(0).dirichlet(np.ones(3), (4, 3)), axis=2)
    chosen = SimulatedCrowd(cumulative, np.array([0.2, 0.7, 1.0]), seed=3)
    pretended = chosen.relabelled(replace(labels, gold=np.zeros(labels.n_tasks, dtype=np.int32)))
    truth = np.repeat(pretended.gold, labels.n_said)
    assert np.bincount(pretended.gold) / 6000 == pytest.approx([0.2, 0.5, 0.3], abs=0.02)
    for worker in range(4):
        for t in range(3):
            said = pretended.label[(labels.worker == worker) & (truth == t)]
            share = np.bincount(said, minlength=3) / len(said)
            assert share == pytest.approx(chosen.chance[worker, t], abs=0.06)
    block = chosen.relabelled(labels[100:200])
    first, last = labels.indptr[100], labels.indptr[200]
    assert np.array_equal(block.label, pretended.label[first:last])


def test_they_hold_where_one_class_is_hard_for_all_workers() -> None:
    """What counts and doubts alone say would be too narrow: simulated crowds widen it."""
    held = []
    for seed in range(6):
        right = np.random.default_rng(seed).uniform((0.8, 0.5), (0.95, 0.7), (50, 2))
        matrices = np.stack([np.stack([r, 1 - r], axis=-1) for r in right.T], axis=1)
        matrices[:, 1] = matrices[:, 1, ::-1]
        crowd = quorate.simulate(matrices, 1000, 5, prior=UNEVEN[2], seed=seed)
        fold = Threads(1).over(MemoryBlocks(crowd.labels))
        mean, low, high = confusion_intervals(fold, spread_of(crowd.labels), 2)
        assert (low <= mean).all() and (mean <= high).all()
        held.append((low <= matrices) & (matrices <= high))
    assert np.mean(held) > 0.905


def test_the_vote_alone_takes_too_much_for_granted() -> None:
    """What is to be beaten: Wilson's interval of the expected tally."""
    crowd, true = drawn(50, 500, 2, 2, 1)
    result = quorate.fit(make("dawid-skene"), crowd.labels)
    low, high = quorate.metrics.wilson_interval(result.tally[:, 0], result.tally.sum(axis=1))
    assert ((low <= true) & (true <= high)).mean() < 0.8


# They narrow


def test_more_labels_are_narrower() -> None:
    widths = []
    for tasks in (50, 200, 800, 3200):
        crowd, _ = drawn(20, tasks, 4, 2, 3)
        spread = spread_of(crowd.labels)
        widths.append((spread.high - spread.low).mean())
    assert widths == sorted(widths, reverse=True) and widths[-1] < widths[0] / 3


def test_known_answers_are_narrower_than_none_and_about_those_of_a_share() -> None:
    crowd, true = drawn(10, 300, 2, 2, 5)
    labels = crowd.labels
    known = Labels(
        labels.indptr, labels.worker, labels.label, 10, 2, gold=crowd.truth.astype(np.int32)
    )
    without, given = spread_of(labels), spread_of(known)
    assert (given.high - given.low).mean() < 0.8 * (without.high - without.low).mean()
    right = np.bincount(labels.worker, labels.label == np.repeat(crowd.truth, labels.n_said))
    count = np.bincount(labels.worker)
    low, high = quorate.metrics.wilson_interval(right, count.astype(float))
    np.testing.assert_allclose(given.low, low, atol=0.05)
    np.testing.assert_allclose(given.high, high, atol=0.05)
    assert ((given.low <= true) & (true <= given.high)).mean() >= 0.8


# Edges


def test_one_label_says_next_to_nothing() -> None:
    spread = spread_of(Labels.from_codes([0], [0], [0], n_classes=2))
    assert spread.high[0] - spread.low[0] > 0.5


def test_a_worker_who_is_always_right_may_still_err() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    task, worker = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)
    wrong = (rng.random(240) < 0.2) & (worker != 0)
    labels = Labels.from_codes(task, worker, truth[task] ^ wrong)
    spread = spread_of(labels)
    assert 0.8 < spread.low[0] < 0.99 and spread.high[0] > 0.97
    assert spread.low[0] > spread.low[1:].max()


def test_a_worker_without_labels_could_be_anyone_of_the_crowd() -> None:
    crowd, _ = drawn(10, 200, 3, 2, 2)
    labels = crowd.labels.with_workers(np.arange(10, dtype=np.int32), 11)
    spread = spread_of(labels)
    assert spread.high[10] - spread.low[10] > (spread.high - spread.low)[:10].max()


def test_one_class_and_repeats_are_finite() -> None:
    for labels in (
        Labels.from_codes([0, 0, 1], [0, 1, 0], [0, 0, 0]),
        Labels.from_codes([0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 2]),
    ):
        result = quorate.fit(make("one-coin", smoothing=1.0), labels)
        for table in (result.workers_frame, result.confusion_table):
            assert table["low"].is_finite().all() and table["high"].is_finite().all()
            assert (table["low"] <= table["high"]).all()


# Wherever they are found


def test_they_depend_on_the_votes_and_not_on_the_method_or_the_blocks() -> None:
    crowd, _ = drawn(30, 300, 3, 2, 7)
    one = spread_of(crowd.labels)
    other = quorate.fit(make("ibcc"), crowd.labels).spread
    for first, second in zip(one, other, strict=True):
        np.testing.assert_array_equal(first, second)

    class InParts:
        def sweep(self, sweep, params):  # type: ignore[no-untyped-def]
            from quorate.model import add

            total = None
            for block in crowd.labels.blocks(100):
                total = add(total, sweep(block, params, None)[1])
            return total

    parts = accuracy_intervals(InParts())
    np.testing.assert_allclose(parts.low, one.low, atol=1e-9)
    np.testing.assert_allclose(parts.high, one.high, atol=1e-9)


def test_estimate_and_interval_come_from_one_model() -> None:
    """Whatever the method, an accuracy lies in its interval and is the same for all methods."""
    crowd, _ = drawn(30, 300, 3, 2, 9)
    tables = [quorate.fit(make(m), crowd.labels).workers for m in ("majority", "ibcc", "mace")]
    for table in tables:
        assert table["accuracy"].is_between(table["low"], table["high"]).all()
        assert table["accuracy"].equals(tables[0]["accuracy"])
    assert not tables[1]["agreement"].equals(tables[0]["agreement"])


def test_a_saved_result_has_them(tmp_path: Path) -> None:
    crowd, _ = drawn(10, 100, 3, 2, 8)
    result = quorate.fit(make("dawid-skene"), crowd.labels)
    result.save(tmp_path / "kept.quorate")
    loaded = quorate.load(tmp_path / "kept.quorate")
    assert loaded.workers.equals(result.workers)
    assert loaded.confusion_table.equals(result.confusion_table)


def test_several_right_answers_and_settled_votes_have_them_too() -> None:
    votes = [(t, w, o) for t in range(20) for w in "xyz" for o in "ab" if (t + ord(w) % 3) % 2]
    several = quorate.aggregate(votes, "one-coin", multilabel=True)
    option = several.results["a"]
    assert several.workers["low"].to_list()[:3] == option.workers_frame["low"].to_list()
    assert several.workers["option"].to_list() == ["a"] * 3 + ["b"] * 3

    online = quorate.Online("one-coin", classes=["a", "b"])
    for t in range(20):
        for w in "xyz":
            online.add((t, w, "ab"[(t + (w == "z")) % 2]))
    settled = online.settle()
    assert tuple(online.worker("x"))[2:] == settled.workers.row(0)[3:]


def test_workers_are_judged_by_the_others_in_two_sweeps_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd, _ = drawn(20, 200, 5, 3, seed=0)
    sweeps: list[str] = []
    fold = Threads(1).over(MemoryBlocks(crowd.labels))
    sweep = fold.sweep

    def counted(function: Any, params: Any, **more: Any) -> Any:
        sweeps.append(function.__name__)
        return sweep(function, params, **more)

    monkeypatch.setattr(fold, "sweep", counted)
    accuracy_intervals(fold)
    assert sweeps[0] == "_vote_stats" and sweeps.count("_support_from_others") == 2
    assert len(sweeps) <= 3 + PASSES
