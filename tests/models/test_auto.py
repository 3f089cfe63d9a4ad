"""Auto: the mixture against slow loops, its weights, its calibration, and what it must hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.naive import auto as slow

import quorate
from quorate import Labels, demo, fit, kernels, metrics, simulate
from quorate.engines.threads import ThreadFold, Threads
from quorate.model import Calibration
from quorate.models import (
    MACE,
    Auto,
    DawidSkene,
    Hierarchical,
    Majority,
    OneCoinBayes,
    TwoKinds,
    em,
    ladder,
)
from quorate.models import auto as module
from quorate.models.members import EVERYBODY, WITHOUT_MATRICES, MemberStats
from quorate.result import Overview, Result
from quorate.trust import ExpectedError, Shift


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


def misled(n_tasks: int, n_classes: int, seed: int) -> tuple[Labels, Any]:
    """A crowd that shares its errors, and the truth: to all workers a task looks like each class
    with a probability of its own."""
    random = np.random.default_rng(seed)
    truth = random.integers(n_classes, size=n_tasks)
    looks = np.array([random.dirichlet(0.5 + 2 * np.eye(n_classes)[z]) for z in truth])
    task = np.repeat(np.arange(n_tasks), 5)
    worker = np.concatenate([random.permutation(20)[:5] for _ in range(n_tasks)])
    label = (looks.cumsum(axis=1)[task] < random.random(len(task))[:, None]).sum(axis=1)
    return Labels.from_codes(task, worker, label, n_classes=n_classes), truth


def auto(labels: Labels, **options: Any) -> Result:
    return fit(Auto(**options), labels, engine=Threads(1))


def weights_of(result: Result) -> dict[str, float]:
    weights: dict[str, float] = result.mixture["weights"]
    return weights


# Against slow loops.

ROUNDS = 4


def votes_of(labels: Labels) -> list[list[tuple[int, int]]]:
    votes = list(zip(labels.worker.tolist(), labels.label.tolist(), strict=True))
    return [votes[i:j] for i, j in zip(labels.indptr[:-1], labels.indptr[1:], strict=True)]


def alone(labels: Labels) -> list[slow.Member]:
    """The members, each fitted by itself."""
    how = {"max_iter": ROUNDS, "tol": 0.0}
    members = []
    for model in (
        OneCoinBayes(**how),
        Hierarchical(**how),
        MACE(prior="root", **how),
        TwoKinds(**how),
    ):
        result = fit(model, labels, engine=Threads(1))
        states, _ = model.sweep(labels, result.params, result.posterior)
        chances = model.chances(result.params)
        by_worker = chances.reshape(labels.n_workers, labels.n_classes, -1)
        members.append(slow.Member(states.tolist(), result.posterior.tolist(), by_worker.tolist()))
    return members


def folds_of(labels: Labels, n_folds: int) -> list[slow.Fold]:
    part = labels.parts(5, seed=0)
    folds = []
    for fold in range(n_folds):
        kept, held_out = labels.only(part != fold), labels.only(part == fold)
        folds.append(slow.Fold(votes_of(kept), votes_of(held_out), alone(kept)))
    return folds


def inverted(n_tasks: int, seed: int = 0) -> Labels:
    return simulate(demo._crowd()[1], n_tasks, demo.VOTES_PER_TASK, seed=seed).labels


def easy_and_hard(n_tasks: int) -> Labels:
    return simulate(30, n_tasks, 5, n_classes=2, kind="glad", seed=0).labels


@pytest.mark.parametrize(
    ("labels", "n_folds", "known"),
    [
        (crowd(), 5, 0),
        (misled(150, 2, seed=0)[0], 5, 0),
        (misled(120, 3, seed=3)[0], 5, 30),
        (inverted(300), 5, 0),
        (inverted(300), 1, 60),
        (easy_and_hard(600), 5, 0),
    ],
    ids=["few votes", "misled", "some known", "inverted", "one fifth", "kinds"],
)
def test_it_equals_the_slow_loops(
    labels: Labels, n_folds: int, known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ladder, "ENOUGH", n_folds * labels.n_labels)
    gold = {task: task % labels.n_classes for task in range(known)}
    if known:
        codes = np.full(labels.n_tasks, -1, dtype=np.int32)
        codes[:known] = list(gold.values())
        labels = replace(labels, gold=codes)
    result = auto(labels, max_iter=ROUNDS, tol=0.0)
    folds = folds_of(labels, n_folds)
    weights = slow.member_weights(folds)
    delta = slow.dependence(folds, weights, labels.n_classes, labels.n_workers)
    left = slow.without_little(weights)
    np.testing.assert_allclose(result.params.weights, left, atol=1e-9)
    assert result.mixture["dependence"] == pytest.approx(delta, abs=1e-9)
    assert result.mixture["held_out_votes"] == sum(len(v) for f in folds for v in f.held_out)
    posteriors = [member.posterior for member in alone(labels)]
    expected = slow.posterior(posteriors, left, delta, votes_of(labels), gold)
    np.testing.assert_allclose(result.posterior, expected, atol=1e-9)


def climb(x: Any, n: Any) -> float:
    return ladder.Ratio.of(x, n).share_of(ladder.FAR, ladder.SURE)


def test_how_far_a_rung_is_climbed() -> None:
    """By the mean of what speaks for it less three standard errors, in which a task is a draw."""
    random = np.random.default_rng(0)
    n = random.integers(0, 5, size=400)
    partly = 0
    for mean in (-0.01, 0.0, 0.02, 0.03, 0.05):
        x = n * random.normal(mean, 0.1, size=400)
        found = climb(x, n.astype(float))
        assert found == pytest.approx(slow.climb(x.tolist(), n.tolist()))
        partly += 0 < found < 1
    assert partly
    assert climb(np.full(9, 0.3), np.ones(9)) == 1.0
    assert climb(np.zeros(0), np.zeros(0)) == 0.0
    # The same votes in fewer tasks say less.
    alike, apart = np.repeat([0.5, -0.3], 50), np.array([0.5, -0.3] * 50)
    of_tasks = [climb(x.reshape(-1, 10).sum(axis=1), np.full(10, 10.0)) for x in (alike, apart)]
    assert of_tasks == [0.0, 1.0]


# What it finds.


@pytest.mark.parametrize("seed", range(3))
def test_independent_votes_are_found_so_and_its_confidences_right(seed: int) -> None:
    people = simulate(30, 1500, 5, n_classes=3, seed=seed)
    result = auto(people.labels)
    assert result.mixture["dependence"] == 0
    assert result.mixture["temperature"] == 1
    assert metrics.calibration_error(result.posterior, people.truth) < 0.03
    assert max(weights_of(result), key=weights_of(result).__getitem__) == "one-coin-bayes"


@pytest.mark.parametrize(("n_classes", "seed"), [(2, 0), (2, 1), (3, 0), (3, 1)])
def test_shared_errors_are_found_and_confidences_softened(n_classes: int, seed: int) -> None:
    labels, truth = misled(1500, n_classes, seed)
    result = auto(labels)
    assert result.mixture["dependence"] > 0.9
    assert result.mixture["temperature"] == pytest.approx(1.3, abs=0.03)
    of_members = [
        metrics.calibration_error(fit(model, labels, engine=Threads(1)).posterior, truth)
        for model in (OneCoinBayes(), Hierarchical(), MACE())
    ]
    assert metrics.calibration_error(result.posterior, truth) < 0.5 * min(of_members)


def test_a_crowd_with_an_inverted_worker_leans_to_matrices_and_keeps_its_accuracies() -> None:
    people = simulate(demo._crowd()[1], 1000, demo.VOTES_PER_TASK, seed=0)
    result = auto(people.labels)
    plain = fit(DawidSkene(), people.labels, engine=Threads(1))
    weights = weights_of(result)
    assert weights["hierarchical"] == pytest.approx(3 * weights["mace"])
    assert weights["one-coin-bayes"] == pytest.approx(0.1)
    assert "confusion matrices predict them better" in result.mixture["why"]
    assert metrics.error(result.posterior, people.truth) < 0.11
    apart = result.workers_frame["accuracy"] - plain.workers_frame["accuracy"]
    assert apart.abs().max() < 0.05


def test_kinds_weigh_where_they_predict_better() -> None:
    result = auto(easy_and_hard(6000))
    assert weights_of(result)["two-kinds"] > 0.1
    assert "two kinds of task" in result.mixture["why"]


def test_a_model_of_little_weight_is_left_out_and_the_others_sum_to_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LITTLE", 0.2)
    result = auto(easy_and_hard(6000))
    assert weights_of(result)["two-kinds"] == 0 and result.params.members.two_kinds == ()
    assert result.params.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)


def test_a_given_temperature_is_taken() -> None:
    labels = crowd()
    plain, cooler = auto(labels, temperature=1.0), auto(labels, temperature=2.0)
    assert cooler.mixture["temperature"] == 2
    np.testing.assert_allclose(cooler.posterior, kernels.temper(plain.posterior, 2.0))


# What it must hold.


def test_it_has_converged_after_all_its_steps_or_when_settled_but_not_when_cut_short() -> None:
    labels = inverted(300)
    whole, cut, settled = auto(labels, tol=0.0), auto(labels, max_iter=3), auto(labels, tol=0.5)
    assert (whole.iterations, whole.converged) == (10, True)
    assert (cut.iterations, cut.converged) == (3, False)
    assert settled.iterations < 10 and settled.converged
    longer = auto(labels, tol=0.0, max_iter=12)
    assert (longer.iterations, longer.converged) == (12, True)


def test_models_that_have_settled_rest_until_the_last_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = simulate(40, 800, 10, seed=1).labels
    judged = Auto().judged(fit(Auto(), labels).params)
    swept: dict[str, int] = {}
    for model in judged.members.models:
        kind = type(model)

        def sweep(self: Any, *given: Any, kind: Any = kind, whole: Any = kind.sweep) -> Any:
            swept[kind.__name__] = swept.get(kind.__name__, 0) + 1
            return whole(self, *given)

        monkeypatch.setattr(kind, "sweep", sweep)
    result = fit(judged, labels, engine=Threads(1))
    n_blocks = len(labels.cuts()) - 1
    sweeps = [count / n_blocks for count in swept.values()]
    assert max(sweeps) == result.iterations > min(sweeps) > 2
    assert all(
        sums != ()
        for _, sums, of_model in judged.members.present(result.stats.members, result.params.members)
    )
    with_all_steps = fit(replace(judged, tol=0.0), labels)
    assert np.abs(result.posterior - with_all_steps.posterior).mean() < 0.005
    assert (result.answers == with_all_steps.answers).mean() > 0.99
    assert result.objective[-1] == pytest.approx(with_all_steps.objective[-1], rel=1e-3)


def test_the_vote_is_counted_once_for_all_models() -> None:
    for n_classes in (3, kernels.FEW_CLASSES + 1):
        labels = crowd(n_classes=n_classes)
        members = Auto().members
        counts = members.count_vote(labels, split=80, present=EVERYBODY)
        assert (counts.by_truth == ()) == (n_classes == 3)
        *of_em, _ = zip(members.models, members.first_params(counts, EVERYBODY), strict=True)
        for model, params in of_em:
            own = model.from_vote(em.FromVote(model).sweep(labels, None, labels.vote_shares())[1])
            np.testing.assert_array_equal(params[0], own[0])
    without = members.first_params(
        members.count_vote(labels, 80, WITHOUT_MATRICES), WITHOUT_MATRICES
    )
    assert without.hierarchical == without.two_kinds == ()


def test_which_votes_are_held_out_does_not_depend_on_blocks() -> None:
    labels = crowd()
    whole = labels.parts(5, seed=3)
    cut = [block.parts(5, seed=3) for block in (labels[:20], labels[20:])]
    assert whole.tolist() == np.concatenate(cut).tolist()
    assert labels.only(whole == 0).n_labels + labels.only(whole != 0).n_labels == labels.n_labels


def test_it_is_deterministic_and_the_seed_matters() -> None:
    labels = inverted(1000, seed=1)
    one, again, other = auto(labels), auto(labels), auto(labels, seed=1)
    assert np.array_equal(one.posterior, again.posterior)
    assert not np.array_equal(one.params.weights, other.params.weights)
    assert sum(weights_of(one).values()) == pytest.approx(1)


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.labels.LEAST_BLOCK", 200)
    labels = misled(400, 2, seed=0)[0]
    assert len(labels.cuts()) > 5
    one, two = (fit(Auto(), labels, engine=Threads(n)) for n in (1, 2))
    assert np.array_equal(one.posterior, two.posterior)
    assert one.mixture == two.mixture


@pytest.mark.parametrize("labels", [crowd(), crowd(n_classes=9), inverted(600), easy_and_hard(600)])
@pytest.mark.parametrize("options", [{}, {"max_iter": 3}, {"tol": 0.0}])
def test_members_that_are_swept_in_turn_are_the_same(
    labels: Labels, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    side_by_side = auto(labels, **options)
    monkeypatch.setattr("quorate.model.LARGE_TABLE", 0)
    in_turn = auto(labels, **options)
    assert in_turn.params.in_turn > side_by_side.params.in_turn
    in_turn.save(tmp_path / "result")
    for found in (in_turn, quorate.load(tmp_path / "result")):
        assert np.array_equal(found.posterior, side_by_side.posterior)
        assert found.objective == side_by_side.objective
        assert found.mixture == side_by_side.mixture
        assert found.converged == side_by_side.converged
        assert np.array_equal(found.confusion, side_by_side.confusion)
        assert np.array_equal(found.history, side_by_side.history)


def test_of_a_member_that_is_swept_in_turn_nothing_else_is_summed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("quorate.model.LARGE_TABLE", 0)
    summed: list[int] = []

    def sweep(self: Any, *given: Any, whole: Any = ThreadFold.sweep, **how: Any) -> Any:
        stats = whole(self, *given, **how)
        members = getattr(stats, "members", stats[0] if isinstance(stats, tuple) else ())
        if isinstance(members, MemberStats):
            summed.append(sum(sums != () for sums in members))
        return stats

    monkeypatch.setattr(ThreadFold, "sweep", sweep)
    auto(inverted(600))
    assert len(summed) > 10 and max(summed) == 1


def test_the_disk_does_not_matter(tmp_path: Path) -> None:
    labels = misled(300, 3, seed=0)[0]
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
    assert found.mixture == expected.mixture
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
    assert 0 <= result.mixture["dependence"] <= 1
    assert result.expected_error is not None
    error, low, high = result.expected_error
    assert 0 <= low <= error <= high <= 1


@pytest.mark.parametrize("n_folds", [1, 5])
@pytest.mark.parametrize("part", [0, 4])
def test_all_votes_held_out_or_none(
    part: int, n_folds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Labels, "parts", lambda self, n, seed: np.full(self.n_labels, part, dtype=np.int8)
    )
    labels = crowd()
    monkeypatch.setattr(ladder, "ENOUGH", n_folds * labels.n_labels)
    result = auto(labels)
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(result.params.weights, [0.8, 0.1, 0.1, 0.0])
    assert result.mixture["dependence"] == 1
    none = part >= n_folds
    assert result.mixture["held_out_votes"] == (0 if none else labels.n_labels)
    assert result.notes == ((module.NOTHING_HELD_OUT,) if none else ())


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_it_takes_as_many_steps_as_it_may(rounds: int) -> None:
    result = auto(crowd(), max_iter=rounds, tol=0.0)
    assert result.iterations == rounds
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)


def test_known_answers_are_kept() -> None:
    labels, truth = misled(300, 3, seed=0)
    gold = np.where(np.arange(300) < 150, truth, -1).astype(np.int32)
    plain, told = auto(labels), auto(replace(labels, gold=gold))
    assert told.posterior[np.arange(150), gold[:150]].tolist() == [1.0] * 150
    assert (plain.answers[:150] != truth[:150]).any()
    assert not np.array_equal(plain.posterior[150:], told.posterior[150:])


def test_a_label_of_weight_two_counts_as_two_labels() -> None:
    labels = inverted(300)
    task = np.repeat(np.arange(labels.n_tasks), labels.n_said)
    times = np.random.default_rng(0).integers(1, 3, size=labels.n_labels)
    weighed = auto(replace(labels, weight=times.astype(float)))
    twice = auto(
        Labels.from_codes(*(np.repeat(x, times) for x in (task, labels.worker, labels.label)))
    )
    np.testing.assert_allclose(weighed.posterior, twice.posterior, atol=1e-9)
    np.testing.assert_allclose(weighed.params.weights, twice.params.weights, atol=1e-9)
    assert weighed.mixture["dependence"] == pytest.approx(twice.mixture["dependence"], abs=1e-9)
    plain = auto(labels)
    assert not np.allclose(weighed.posterior, plain.posterior, atol=1e-3)


@pytest.mark.parametrize(
    ("n_tasks", "n_workers", "n_classes"),
    [(300, 20, 150), (300, 400, 30)],
    ids=["wide", "too many cells"],
)
def test_without_matrices_where_there_are_too_few_votes_for_them(
    n_tasks: int, n_workers: int, n_classes: int
) -> None:
    people = simulate(n_workers, n_tasks, 5, n_classes=n_classes, seed=0)
    result = auto(people.labels)
    assert result.params.members.hierarchical == result.params.members.two_kinds == ()
    assert list(weights_of(result).values()) == pytest.approx([0.8, 0.0, 0.2, 0.0])
    assert "too few votes for a confusion matrix" in result.mixture["why"]
    assert result.mixture["dependence"] == 1
    assert metrics.error(result.posterior, people.truth) <= metrics.error(
        fit(Majority(), people.labels).posterior, people.truth
    )


def lines_of(labels: Labels) -> list[tuple[str, int, str]]:
    task = np.repeat(np.arange(labels.n_tasks), labels.n_said)
    return [
        (f"t{t}", int(w), f"c{c}")
        for t, w, c in zip(task, labels.worker, labels.label, strict=True)
    ]


@pytest.mark.parametrize(
    ("labels", "n_left_out"),
    [
        (easy_and_hard(6000), 0),
        (crowd(), 1),
        (crowd(), 2),
    ],
    ids=["none left out", "without kinds", "without matrices"],
)
def test_a_result_is_saved_and_loaded(
    labels: Labels, n_left_out: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if n_left_out == 2:
        monkeypatch.setattr(ladder, "WIDE", 2)
    votes = lines_of(labels)
    result = quorate.aggregate(votes, min_confidence=0.8)
    assert sum(member == () for member in result.params.members) == n_left_out
    result.save(tmp_path / "a.quorate")
    loaded = quorate.load(tmp_path / "a.quorate")
    assert loaded.labels.equals(result.labels)
    assert loaded.workers.equals(result.workers)
    assert loaded.expected_error == result.expected_error
    assert loaded.mixture == result.mixture
    assert np.array_equal(loaded.confusion, result.confusion)
    new = [("new", 0, "c0"), ("new", 1, "c0"), ("new", -1, "c1")]
    assert loaded.predict(new).equals(result.predict(new))
    assert loaded.predict(new)["label"].to_list() == ["c0"]
    task = result.labels["task"][0]
    assert str(loaded.explain(task, votes=votes)) == str(result.explain(task))


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
    shift = Shift.of(Calibration(0.0, 0.5))
    narrow, wide = (
        ExpectedError.of(Overview.of(np.full((n, 2), [0.9, 0.1]), np.zeros(n, np.int32)), shift)
        for n in (10_000, 10)
    )
    assert narrow.error == pytest.approx(wide.error) == pytest.approx(0.1, abs=0.02)
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
