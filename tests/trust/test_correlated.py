"""Correlated workers: duplicates count once, the independent are left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks import small_blocks

import quorate
from quorate import Labels, kernels, sparse
from quorate.cli import main
from quorate.engines.threads import Threads
from quorate.errors import DataError, UsageError
from quorate.models import METHODS, make
from quorate.trust.correlated import Group, agreement, pairs
from quorate.trust.correlated.groups import vote_weights

WEIGHING = [name for name, method in METHODS.items() if method.takes_weights]


def judges(random: np.random.Generator, truth: np.ndarray, accuracy: list[float], k: int):
    """What each of the judges says of every task: ``[judge, task]``."""
    wrong = (truth + random.integers(1, k, size=(len(accuracy), len(truth)))) % k
    right = random.random(wrong.shape) < np.array(accuracy)[:, None]
    return np.where(right, truth, wrong)


def copies(random: np.random.Generator, judge: np.ndarray, n: int, share: float, k: int):
    guess = random.integers(k, size=(n, len(judge)))
    return np.where(random.random(guess.shape) < share, judge, guess)


def panel_labels(panel: np.ndarray, k: int) -> Labels:
    worker, task = np.indices(panel.shape).reshape(2, -1)
    return Labels.from_codes(task, worker, panel.ravel(), n_classes=k)


def table(panel: np.ndarray) -> pl.DataFrame:
    worker, task = np.indices(panel.shape).reshape(2, -1)
    columns = {"task": task, "worker": [f"j{w}" for w in worker], "label": panel.ravel()}
    return pl.DataFrame(columns)


def answers(method: str, labels: Labels) -> np.ndarray:
    return quorate.fit(make(method), labels, engine=Threads(1)).answers


def discounted(labels: Labels) -> tuple[Labels, list[list[int]]]:
    found = quorate.independence(labels, engine=Threads(1))
    groups = [group.workers.tolist() for group in found.groups]
    return replace(labels, weight=found.weight), groups


# Ten copies of a bad judge among five good ones.


@pytest.mark.parametrize("share", [1.0, 0.95])
@pytest.mark.parametrize(("k", "n"), [(2, 300), (2, 2000), (3, 300), (4, 300), (4, 1000)])
@pytest.mark.parametrize("seed", range(3))
def test_ten_copies_of_a_bad_judge_change_nothing(seed: int, k: int, n: int, share: float) -> None:
    random = np.random.default_rng([seed, k, n])
    truth = random.integers(k, size=n)
    accuracy = [*random.uniform(0.75, 0.9, 5), random.uniform(0.4, 0.55)]
    alone = judges(random, truth, accuracy, k)
    crowd = np.vstack([alone, copies(random, alone[5], 10, share, k)])
    without, labels = panel_labels(alone, k), panel_labels(crowd, k)
    weighed, groups = discounted(labels)
    assert groups == [list(range(5, 16))]
    before = answers("dawid-skene", without)
    assert np.mean(before != answers("dawid-skene", weighed)) <= 0.01
    assert np.mean(before != answers("dawid-skene", labels)) > 0.2
    vote = answers("majority", without)
    assert np.mean(vote != answers("majority", labels)) > 0.2
    if share == 1:  # nearly exact copies are worth a little more than a vote, which decides ties
        assert np.mean(vote != answers("majority", weighed)) <= 0.01


@pytest.mark.parametrize("method", ["one-coin", "fast-dawid-skene", "mace", "ibcc", "glad", "iwmv"])
def test_other_methods_leave_copies_alone_too(method: str) -> None:
    random = np.random.default_rng(7)
    truth = random.integers(3, size=500)
    alone = judges(random, truth, [0.85, 0.8, 0.8, 0.75, 0.9, 0.45], 3)
    crowd = panel_labels(np.vstack([alone, *[alone[5:]] * 10]), 3)
    before = answers(method, panel_labels(alone, 3))
    weighed, _ = discounted(crowd)
    assert np.mean(before != answers(method, crowd)) > 0.2
    assert np.mean(before != answers(method, weighed)) <= 0.01


@pytest.mark.parametrize("share", [1.0, 0.95])
def test_two_groups_are_told_apart(share: float) -> None:
    random = np.random.default_rng(3)
    truth = random.integers(3, size=600)
    alone = judges(random, truth, [0.85, 0.8, 0.8, 0.75, 0.9, 0.45, 0.5], 3)
    more = [copies(random, alone[i], 10, share, 3) for i in (5, 6)]
    weighed, groups = discounted(panel_labels(np.vstack([alone, *more]), 3))
    assert groups == [[5, *range(7, 17)], [6, *range(17, 27)]]
    before = answers("dawid-skene", panel_labels(alone, 3))
    assert np.mean(before != answers("dawid-skene", weighed)) <= 0.01


# The independent are left alone.


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "options",
    [
        {"workers": 50, "n_tasks": 1000, "labels_per_task": 5},
        {"workers": 12, "n_tasks": 600, "assignment": "clique"},
        {"workers": 15, "n_tasks": 600, "assignment": "clique", "kind": "glad", "n_classes": 4},
        {"workers": 15, "n_tasks": 600, "assignment": "clique", "kind": "confusion"},
        {"workers": 30, "n_tasks": 800, "labels_per_task": 8, "spammers": 0.4, "n_classes": 3},
    ],
    ids=["sparse", "dense", "difficulty", "confusion", "spammers"],
)
def test_who_errs_independently_counts_in_full(options: dict, seed: int) -> None:
    found = quorate.independence(quorate.simulate(**options, seed=seed).labels)
    assert found.weight is None and found.groups == ()


@pytest.mark.parametrize("accuracy", [[0.97] * 10 + [0.8] * 5, [0.97] * 5, [0.95] * 3])
def test_experts_who_nearly_always_agree_are_no_copies(accuracy: list[float]) -> None:
    random = np.random.default_rng(1)
    panel = judges(random, random.integers(2, size=800), accuracy, 2)
    assert quorate.independence(panel_labels(panel, 2)).groups == ()


def test_two_camps_that_contradict_each_other_are_left_alone() -> None:
    """Which of them has copied, votes cannot tell."""
    random = np.random.default_rng(2)
    camps = random.integers(2, size=(2, 500))
    panel = np.vstack([copies(random, camp, 5, 0.8, 2) for camp in camps])
    assert quorate.independence(panel_labels(panel, 2)).groups == ()


def test_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.labels.BLOCK_SIZE", 500)
    random = np.random.default_rng(4)
    alone = judges(random, random.integers(2, size=400), [0.8, 0.8, 0.75, 0.85, 0.5], 2)
    labels = panel_labels(np.vstack([alone, copies(random, alone[4], 4, 0.95, 2)]), 2)
    one, two = (quorate.independence(labels, engine=Threads(n)) for n in (1, 2))
    assert one.weight is not None and one.weight.tobytes() == two.weight.tobytes()


# What a vote counts.


def test_weights_by_the_formula() -> None:
    labels = Labels.from_codes([0, 0, 0, 1, 1, 2], [0, 1, 2, 0, 2, 1], [0, 1, 1, 0, 0, 1])
    groups = (Group(np.array([0, 1], dtype=np.int32), 0.5),)
    expected = [1 / 1.5, 1 / 1.5, 1, 1, 1, 1]
    np.testing.assert_allclose(vote_weights(labels, groups), expected)
    assert vote_weights(labels, ()) is None


def votes(random: np.random.Generator, n_tasks: int, n_workers: int, k: int):
    task, worker = np.divmod(np.arange(n_tasks * n_workers), n_workers)
    truth = random.integers(k, size=n_tasks)
    label = np.where(
        random.random(len(task)) < 0.7, truth[task], random.integers(k, size=len(task))
    )
    return task, worker, label


@pytest.mark.parametrize("method", [m for m in WEIGHING if m != "auto"])  # which hides votes
@pytest.mark.parametrize(("n_tasks", "n_workers"), [(40, 7), (6, 30)], ids=["wide", "tall"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_vote_of_weight_two_is_the_vote_twice(
    method: str, n_tasks: int, n_workers: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "SHORT", 0)
    random = np.random.default_rng(k)
    columns = votes(random, n_tasks, n_workers, k)
    times = random.integers(1, 4, size=len(columns[0]))
    order = random.permutation(len(times))
    shuffled = (column[order] for column in columns)
    weighed = Labels.from_codes(*shuffled, weight=times[order].astype(float))
    repeated = Labels.from_codes(*(np.repeat(column, times) for column in columns))
    one, other = (quorate.fit(make(method), labels) for labels in (weighed, repeated))
    np.testing.assert_allclose(one.posterior, other.posterior, rtol=0, atol=1e-10)
    assert one.tally.sum() == pytest.approx(len(times))  # whatever they weigh


@pytest.mark.parametrize(("n_tasks", "n_workers"), [(30, 6), (5, 20)], ids=["wide", "tall"])
@pytest.mark.parametrize("by_numpy", [False, True])
def test_weighted_dawid_skene_as_the_loops_say(
    n_tasks: int, n_workers: int, by_numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "SHORT", 0)
    if by_numpy:
        for loop in ("coo_matmat_dense", "csr_matvecs", "csc_matvecs"):
            monkeypatch.setattr(sparse, loop, None)
    random = np.random.default_rng(9)
    task, worker, label = votes(random, n_tasks, n_workers, 3)
    weight = random.uniform(0.1, 2, size=len(task))
    labels = Labels.from_codes(task, worker, label, weight=weight)
    model = make("dawid-skene", smoothing=0.1, max_iter=4, tol=0.0)
    found = quorate.fit(model, labels).posterior
    np.testing.assert_allclose(found, loops(task, worker, label, weight, 0.1, 4), atol=1e-10)


def loops(task, worker, label, weight, smoothing: float, iterations: int) -> np.ndarray:
    k = label.max() + 1
    posterior = np.zeros((task.max() + 1, k))
    for t, c, v in zip(task, label, weight, strict=True):
        posterior[t, c] += v
    posterior /= posterior.sum(axis=1, keepdims=True)
    for _ in range(iterations):
        prior = posterior.sum(axis=0) + smoothing
        confusion = np.full((worker.max() + 1, k, k), smoothing)
        for t, w, c, v in zip(task, worker, label, weight, strict=True):
            confusion[w, :, c] += v * posterior[t]
        confusion /= confusion.sum(axis=2, keepdims=True)
        joint = np.tile(prior / prior.sum(), (len(posterior), 1))
        for t, w, c, v in zip(task, worker, label, weight, strict=True):
            joint[t] *= confusion[w, :, c] ** v
        posterior = joint / joint.sum(axis=1, keepdims=True)
    return posterior


def test_weights_stay_with_their_labels() -> None:
    task, worker, label = [2, 0, 1, 0, 2], [0, 1, 2, 0, 0], [0, 1, 1, 0, 1]
    labels = Labels.from_codes(task, worker, label, weight=[5, 1, 3, 2, 6])
    assert labels.weight.tolist() == [1, 2, 3, 5, 6]
    assert labels[1:3].weight.tolist() == [3, 5, 6]
    assert [block.weight.tolist() for block in labels.blocks(4)] == [[1, 2, 3], [5, 6]]
    assert labels.without_repeats().weight.tolist() == [1, 2, 3, 5]
    moved = labels.with_workers(np.array([2, 1, 0], dtype=np.int32), 3).above(0)
    assert moved.weight.tolist() == [1, 2, 3, 5, 6]


@pytest.mark.parametrize("method", [name for name in METHODS if name not in WEIGHING])
def test_methods_that_cannot_weigh_say_so(method: str) -> None:
    labels = Labels.from_codes([0, 0, 1], [0, 1, 0], [0, 1, 1], weight=[1, 2, 1])
    with pytest.raises(UsageError, match="takes all votes alike"):
        quorate.fit(make(method), labels)
    with pytest.raises(UsageError, match="cannot discount votes: auto, dawid-skene"):
        quorate.aggregate([(0, 0, "a"), (0, 1, "b")], method, discount=True)


# Degenerate crowds.


@pytest.mark.parametrize(
    "rows",
    [
        [("t", "w", "a")],
        [("t", "w", "a"), ("t", "v", "a")],
        [("t", "w", "a"), ("u", "v", "b")],
        [("t", "w", "a"), ("t", "w", "b"), ("t", "w", "b")],
        [(t, w, "a") for t in range(40) for w in range(4)],
        [(t, w, "ab"[t % 2]) for t in range(40) for w in range(2)],
        [(t, w, "ab"[t % 2]) for t in range(40) for w in range(6)],
    ],
    ids=["one vote", "one class", "apart", "repeats", "all alike", "two alike", "six alike"],
)
def test_nothing_to_find(rows: list[tuple]) -> None:
    result = quorate.aggregate(rows, "dawid-skene", discount=True, smoothing=0.1)
    plain = quorate.aggregate(rows, "dawid-skene", smoothing=0.1)
    assert result.workers["group"].null_count() == len(result.workers)
    assert np.array_equal(result.posterior, plain.posterior)
    assert "every vote counts in full" in result.notes[-1]


# By name.


@pytest.fixture
def panel() -> np.ndarray:
    random = np.random.default_rng(6)
    alone = judges(random, random.integers(3, size=300), [0.85, 0.8, 0.8, 0.75, 0.9, 0.45], 3)
    return np.vstack([alone, *[alone[5:]] * 10])


KINDS = {f"j{i}": "human" if i < 5 else "model" for i in range(16)}


def test_groups_and_kinds_are_columns_of_the_workers(panel: np.ndarray, tmp_path) -> None:
    result = quorate.aggregate(table(panel), discount=True, worker_kinds=KINDS)
    assert result.workers["group"].to_list() == [None] * 5 + [1] * 11
    assert result.workers["kind"].to_list() == ["human"] * 5 + ["model"] * 11
    assert result.workers["labels"].to_list() == [300] * 16
    assert "16 workers" not in result.notes[0] and "11 workers are in 1 group" in result.notes[0]
    without = quorate.aggregate(table(panel[:6]))
    assert np.mean(result.answers != without.answers) <= 0.01
    result.save(tmp_path / "panel.quorate")
    assert quorate.load(tmp_path / "panel.quorate").workers.equals(result.workers)


def test_ordered_classes_and_several_answers_are_discounted(panel: np.ndarray) -> None:
    model = quorate.DawidSkene(smoothing=0.1)
    ordered = quorate.aggregate(table(panel), model, discount=True, ordered=True)
    without = quorate.aggregate(table(panel[:6]), model, ordered=True)
    assert np.mean(ordered.answers != without.answers) <= 0.01
    several = quorate.aggregate(table(panel), model, discount=True, multilabel=True)
    without = quorate.aggregate(table(panel[:6]), model, multilabel=True)
    assert np.mean(several.answers != without.answers) <= 0.02


@pytest.mark.parametrize("method", ["auto", "majority"])
def test_on_disk_as_in_memory(method: str, panel: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    table(panel).write_csv(path)
    in_memory = quorate.aggregate(path, method, discount=True, worker_kinds=KINDS)
    on_disk = quorate.aggregate(path, method, discount=True, worker_kinds=KINDS, engine="disk")
    assert on_disk.labels.collect().sort("task").equals(in_memory.labels.sort("task"))
    assert on_disk.workers.equals(in_memory.workers)
    assert on_disk.workers["group"].max() == 1 and on_disk.notes == in_memory.notes


def test_independence_says_in_a_line_what_was_found(panel: np.ndarray) -> None:
    found = quorate.independence(panel_labels(panel, 3))
    assert repr(found) == "Independence(1 groups of correlated workers: 11 workers worth 1.0)"
    alone = quorate.independence(panel_labels(panel[:6], 3))
    assert repr(alone) == "Independence(no correlated workers)"


def test_auto_looks_for_copies_by_itself(panel: np.ndarray) -> None:
    without = quorate.aggregate(table(panel[:6]))
    with_copies = quorate.aggregate(table(panel))
    assert np.mean(with_copies.answers != without.answers) <= 0.01
    assert with_copies.workers["group"].to_list() == [None] * 5 + [1] * 11
    assert "group" not in without.workers.columns and not without.notes
    outvoted = quorate.aggregate(table(panel), discount=False)
    assert np.mean(outvoted.answers != without.answers) > 0.1


def test_of_very_many_votes_some_are_enough(
    panel: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate.trust.correlated.finding.MOST_LABELS", 2000)
    labels = panel_labels(panel, 3)
    with small_blocks(200):
        assert len(list(labels.blocks())) > 20
        few = quorate.independence(labels)
    assert [group.workers.tolist() for group in few.groups] == [list(range(5, 16))]
    assert few.weight is not None and len(few.weight) == labels.n_labels


def test_what_is_said_of_kinds_is_checked(panel: np.ndarray) -> None:
    few = quorate.aggregate(table(panel), worker_kinds={"j0": "human", "x": "model"})
    assert few.workers["kind"].to_list() == ["human"] + [None] * 15
    assert few.notes[0] == "15 of 16 workers have no kind in worker_kinds."
    with pytest.raises(DataError, match="'j0' more than once"):
        quorate.aggregate(table(panel), worker_kinds=[("j0", "human"), ("j0", "model")])


def test_diagnose_names_groups_and_compares_kinds(panel: np.ndarray) -> None:
    found = quorate.diagnose(table(panel), worker_kinds=KINDS)
    (group,) = found.groups
    assert group.workers == tuple(f"j{i}" for i in range(5, 16)) and group.worth == 1
    assert "correlated workers" in [finding.name for finding in found.findings]
    human, model = found.kinds
    assert (human.kind, human.workers, human.labels, human.in_groups) == ("human", 5, 1500, 0)
    assert (model.kind, model.workers, model.labels, model.in_groups) == ("model", 11, 3300, 11)
    pairs = [(i, j) for i in range(5) for j in range(i)]
    assert human.agree_within == pytest.approx(np.mean([panel[i] == panel[j] for i, j in pairs]))
    assert model.agree_within == 1
    across = np.mean([panel[i] == panel[5] for i in range(5)])
    assert human.agree_across == pytest.approx(across) == model.agree_across
    assert human.agreement > 0.75 and model.agreement < 0.6
    assert found.workers["kind"].to_list() == list(KINDS.values())


def test_on_the_command_line(panel: np.ndarray, tmp_path) -> None:
    files = {name: str(tmp_path / f"{name}.csv") for name in ("votes", "kinds", "workers")}
    table(panel).write_csv(files["votes"])
    kinds = pl.DataFrame({"worker": list(KINDS), "kind": list(KINDS.values())})
    kinds.write_csv(files["kinds"])
    options = ["--worker-kinds", files["kinds"], "--workers", files["workers"]]
    run = CliRunner().invoke(main, ["aggregate", files["votes"], "--discount", *options])
    assert run.exit_code == 0 and "11 workers are in 1 group" in run.output
    assert pl.read_csv(files["workers"])["group"].to_list() == [None] * 5 + [1] * 11
    run = CliRunner().invoke(main, ["diagnose", files["votes"], *options])
    assert run.exit_code == 0
    assert "11 with 3,300 labels" in run.output and "11 in groups" in run.output


def test_copies_are_found_on_some_of_very_many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorate.trust.correlated.agreement.MOST_PAIRS", 40_000)
    monkeypatch.setattr("quorate.trust.correlated.agreement.PER_LABEL", 0)
    random = np.random.default_rng(8)
    alone = judges(random, random.integers(2, size=2000), [0.85, 0.8, 0.8, 0.75, 0.9, 0.45], 2)
    labels = panel_labels(np.vstack([alone, *[alone[5:]] * 10]), 2)
    runs = agreement.pairs_to_test(labels, seed=0)
    assert 0 < max(pairs.shared.max() for pairs in runs) < 200
    assert discounted(labels)[1] == [list(range(5, 16))]


@pytest.mark.parametrize("name", ["bird", "rte", "dog", "web", "labelme", "adult2"])
def test_on_published_crowds_nobody_is_discounted_but_copies(name: str, data: Path) -> None:
    """The worst of the busier workers, and ten copies of that worker."""
    read = quorate.read_votes(data / name / "labels.csv")
    labels = read.labels.without_repeats()
    assert quorate.independence(labels).groups == ()
    gold = pl.read_csv(data / name / "gold.csv", infer_schema=False)
    known = dict(zip(gold["task"], gold["label"], strict=True))
    task = np.repeat(np.arange(labels.n_tasks), labels.n_said)
    truth = np.array([known.get(str(name), "") for name in read.codebook.tasks])
    right = truth[task] == read.codebook.classes.cast(pl.String).to_numpy()[labels.label]
    count = np.bincount(labels.worker)
    busy = np.flatnonzero(count >= np.quantile(count, 0.8))
    worst = busy[(np.bincount(labels.worker, right) / count)[busy].argmin()]
    theirs = labels.worker == worst
    copied = Labels.from_codes(
        np.concatenate([task, np.tile(task[theirs], 10)]),
        np.concatenate([labels.worker, labels.n_workers + np.repeat(range(10), theirs.sum())]),
        np.concatenate([labels.label, np.tile(labels.label[theirs], 10)]),
        n_classes=labels.n_classes,
    )
    before = answers("dawid-skene", labels)
    weighed, groups = discounted(copied)
    assert groups == [[worst, *range(labels.n_workers, labels.n_workers + 10)]]
    assert np.mean(before != answers("dawid-skene", weighed)) <= 0.01
    assert np.mean(before != answers("dawid-skene", copied)) > 0.02


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 12))
def test_no_pair_that_shares_enough_is_overlooked(seed: int, n_workers: int, most: int) -> None:
    random = np.random.default_rng(seed)
    said = random.integers(0, min(most, n_workers) + 1, 60)
    workers = [random.permutation(n_workers)[:n] for n in said]
    task, worker = np.repeat(np.arange(60), said), np.concatenate(workers)
    labels = Labels.from_codes(task, worker, np.zeros_like(worker), n_workers=n_workers)
    shares = [0]
    if labels.n_labels:
        shares += [int(run.shared.max(initial=0)) for run in pairs.count_pairs(labels, 0)[0]]
    assert all(pairs.may_share(labels, least) for least in range(1, max(shares) + 1))
    assert not pairs.may_share(labels, 61)
