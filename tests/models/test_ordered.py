"""Ordered classes: thresholds that agree with each other, and all that a result can do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.checks import assert_close, random_problem
from tests.naive.ordered import differences, pooled
from tests.reproductions.test_published_figures import gold_codes, votes_of

import quorate
from quorate import DawidSkene, Labels, Majority, OneCoin, Ordered, fit, metrics
from quorate.cli import main
from quorate.fitting import fit_labels
from quorate.models.ordered import classes_from, monotone
from quorate.simulation import simulate

GRADES = ["low", "mid", "high"]
VOTES = [
    (f"t{task}", worker, GRADES[int(grade)])
    for task, row in enumerate(["0010", "1120", "2212", "0120", "2221", "1011", "0001", "2122"])
    for worker, grade in zip("abcd", row, strict=True)
]


@given(st.lists(st.floats(0, 1), max_size=6))
def test_thresholds_are_pooled_as_the_loops_do(row: list[float]) -> None:
    found = monotone(np.array([row, row]))
    assert_close(found, [pooled(row)] * 2, atol=1e-12)
    assert_close(classes_from(found)[0], differences(pooled(row)), atol=1e-12)


def test_turning_the_order_around_turns_the_answers_around() -> None:
    up, down = (
        quorate.aggregate(VOTES, "dawid-skene", ordered=order, smoothing=0.1)
        for order in (GRADES, GRADES[::-1])
    )
    assert up.classes == GRADES
    assert_close(down.posterior[:, ::-1], up.posterior, atol=1e-12)
    assert up.method == "dawid-skene, ordered"


def test_sorted_is_the_order_when_none_is_named() -> None:
    numbers = [(task, worker, GRADES.index(grade)) for task, worker, grade in VOTES]
    by_name = quorate.aggregate(VOTES, "one-coin", ordered=GRADES)
    by_number = quorate.aggregate(numbers, "one-coin", ordered=True)
    np.testing.assert_array_equal(by_number.posterior, by_name.posterior)
    assert by_number.classes == [0, 1, 2]


def test_the_vote_is_the_vote_in_any_order() -> None:
    plain = quorate.aggregate(VOTES, "majority")
    for order in (GRADES, ["mid", "low", "high"]):
        result = quorate.aggregate(VOTES, "majority", ordered=order)
        columns = [order.index(name) for name in plain.classes]
        assert_close(result.posterior[:, columns], plain.posterior, atol=1e-12)


def test_one_and_two_classes_are_what_the_model_makes_of_them() -> None:
    problem = random_problem(1, n_classes=2)
    labels = problem.labels(with_gold=True)
    inner = DawidSkene(smoothing=0.1)
    wrapped, plain = fit(Ordered(inner), labels), fit(inner, labels)
    assert_close(wrapped.posterior, plain.posterior, atol=1e-12)
    assert wrapped.objective == plain.objective
    assert_close(wrapped.confusion, plain.confusion, atol=1e-12)
    assert_close(wrapped.history, plain.history, atol=1e-9)
    single = Labels.from_codes([0, 1, 1], [0, 0, 1], [0, 0, 0])
    assert_close(fit(Ordered(inner), single).posterior, np.ones((2, 1)))


def test_a_class_that_nobody_named_may_be_in_the_order() -> None:
    result = quorate.aggregate(VOTES, "dawid-skene", ordered=["none", *GRADES], smoothing=0.1)
    assert result.classes == ["none", *GRADES]
    assert result.posterior[:, 0].max() < 0.5


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (["low", "high"], "The votes have the class 'mid', which is none of low, high."),
        (["low", "mid", "high", "mid"], "ordered names a class more than once"),
    ],
)
def test_an_order_that_does_not_fit_is_said(order: list[str], says: str) -> None:
    with pytest.raises(quorate.QuorateError, match=says):
        quorate.aggregate(VOTES, ordered=order)


@pytest.mark.parametrize("kind", [int, bool])
def test_an_order_in_text_is_of_the_classes_type(kind: type) -> None:
    votes = [(task, worker, kind(grade != "low")) for task, worker, grade in VOTES]
    names = [str(kind(1)).lower(), str(kind(0)).lower()]
    result = quorate.aggregate(votes, "majority", ordered=names)
    assert result.classes == [kind(1), kind(0)]


def test_an_order_in_text_may_have_a_number_that_nobody_named() -> None:
    votes = [(task, worker, GRADES.index(grade)) for task, worker, grade in VOTES]
    result = quorate.aggregate(votes, "majority", ordered=["3", "2", "1", "0"])
    assert result.classes == [3, 2, 1, 0]
    with pytest.raises(quorate.UsageError, match="a class that the votes do not have"):
        quorate.aggregate(votes, "majority", ordered=["none", "2", "1", "0"])


def test_known_answers_hold() -> None:
    result = quorate.aggregate(
        VOTES, "dawid-skene", ordered=GRADES, gold={"t0": "high", "t2": "mid"}, smoothing=0.1
    )
    known = {task: (label, sure) for task, label, sure in result.labels.rows()}
    assert known["t0"] == ("high", 1.0)
    assert known["t2"] == ("mid", 1.0)


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "ghosh-svd", "eigen-ratio", "kos"])
def test_a_saved_result_predicts_the_same(method: str, tmp_path: Path) -> None:
    result = quorate.aggregate(VOTES, method, ordered=GRADES)
    result.save(tmp_path / "kept.quorate")
    loaded = quorate.load(tmp_path / "kept.quorate")
    new = [("n1", "a", "mid"), ("n1", "b", "high"), ("n2", "stranger", "low"), ("n2", "c", "low")]
    assert loaded.predict(new).equals(result.predict(new))
    assert result.predict(new)["label"].to_list()[1] == "low"
    np.testing.assert_array_equal(loaded.posterior, result.posterior)
    assert loaded.model.model.seed == 0
    assert loaded.steps == result.steps


def test_a_saved_model_keeps_its_options(tmp_path: Path) -> None:
    prior = {"low": 0.2, "mid": 0.5, "high": 0.3}
    result = quorate.aggregate(VOTES, OneCoin(beta=(4, 2), prior=prior), ordered=GRADES)
    result.save(tmp_path / "kept.quorate")
    inner = quorate.load(tmp_path / "kept.quorate").model.model
    assert inner.beta == (4, 2)
    assert_close(inner.prior, [0.2, 0.5, 0.3])


def test_what_is_known_of_classes_is_known_of_thresholds() -> None:
    """A prior, a start and a history in all classes are narrowed to each threshold's two."""
    problem = random_problem(2)
    labels = problem.labels(with_gold=False)
    for options in (
        {"prior": problem.shares},
        {"worker_prior": problem.counts},
        {"init": problem.confusion},
    ):
        result = fit_labels(Ordered(DawidSkene(**options)), labels)
        for threshold, params in enumerate(result.params):
            side = np.eye(2)[(np.arange(3) > threshold).astype(int)]
            narrow = {
                "prior": lambda given, side: given @ side,
                "worker_prior": lambda given, side: side.T @ given @ side,
                "init": lambda given, side: (side / side.sum(axis=0)).T @ given @ side,
            }
            two = {name: narrow[name](given, side) for name, given in options.items()}
            inner = DawidSkene(tol=0.0, max_iter=result.iterations, **two)
            alone = fit_labels(inner, labels.above(threshold))
            found = alone.model.confusion(params)
            assert found is not None
            assert_close(found, alone.confusion, atol=1e-9)


def ordered_crowd() -> tuple[np.ndarray, quorate.simulate]:
    """Workers who miss by one grade, some often, some seldom."""
    random = np.random.default_rng(3)
    confusion = np.zeros((25, 4, 4))
    for worker, slip in enumerate(random.uniform(0.1, 0.8, 25)):
        for truth in range(4):
            near = [c for c in (truth - 1, truth + 1) if 0 <= c < 4]
            confusion[worker, truth, near] = slip / len(near)
            confusion[worker, truth, truth] = 1 - slip
    return confusion, simulate(confusion, 3000, 7, seed=4)


def test_a_simulated_crowd_is_recovered() -> None:
    confusion, crowd = ordered_crowd()
    vote = metrics.error(fit(Majority(), crowd.labels).posterior, crowd.truth)
    result = fit(Ordered(DawidSkene(smoothing=0.01)), crowd.labels)
    assert metrics.error(result.posterior, crowd.truth) < 0.8 * vote
    assert result.confusion is not None and result.history is not None
    assert_close(result.confusion.sum(axis=2), 1.0, atol=1e-12)
    found, true = (np.trace(c, axis1=1, axis2=2) for c in (result.confusion, confusion))
    assert np.corrcoef(found, true)[0, 1] > 0.95
    assert_close(result.history.sum(), crowd.labels.n_labels, rtol=1e-9)
    again = fit(Ordered(DawidSkene(worker_prior=result.history)), crowd.labels)
    assert metrics.error(again.posterior, crowd.truth) < 0.8 * vote


def test_workers_are_judged_by_all_classes() -> None:
    confusion, crowd = ordered_crowd()
    result = fit(Ordered(OneCoin()), crowd.labels)
    skilled = confusion[:, 0, 0]
    assert np.corrcoef(result.workers["agreement"].to_numpy(), skilled)[0, 1] > 0.95


@pytest.mark.parametrize(
    ("flags", "classes"),
    [(["--ordered"], ["high", "low", "mid"]), (["--class-order", "low,mid,high"], GRADES)],
)
def test_the_command_line_orders(tmp_path: Path, flags: list[str], classes: list[str]) -> None:
    rows = pl.DataFrame(VOTES, schema=["task", "worker", "label"], orient="row")
    rows.write_csv(tmp_path / "votes.csv")
    posterior = tmp_path / "posterior.csv"
    arguments = ["aggregate", str(tmp_path / "votes.csv"), "-m", "ghosh-svd", *flags]
    run = CliRunner().invoke(main, [*arguments, "--posterior", str(posterior)])
    assert run.exit_code == 0, run.output
    assert pl.read_csv(posterior).columns == ["task", *classes]


@pytest.mark.parametrize(
    ("name", "method", "order", "percent"),
    [
        ("web", "dawid-skene", False, 17.08),
        ("web", "dawid-skene", True, 13.95),
        ("web", "ghosh-svd", True, 6.52),
        ("web", "kos", True, 5.01),
        ("adult2", "dawid-skene", False, 22.52),
        ("adult2", "dawid-skene", True, 21.62),
        ("adult2", "ghosh-svd", True, 25.83),
        ("s_rel", "dawid-skene", False, 38.54),
        ("s_rel", "dawid-skene", True, 38.81),
        ("s_rel", "dawid-skene", ["3", "0", "1", "2"], 38.18),
        ("s_rel", "ghosh-svd", True, 64.35),
    ],
)
def test_error_on_published_data(
    data: Path, name: str, method: str, order: bool | list[str], percent: float
) -> None:
    """What reproductions/field/notes.md says of web, adult2 (G < P < R < X) and s_rel."""
    result = quorate.aggregate(votes_of(data, name), method, ordered=order)
    error = 100 * metrics.error(result.posterior, gold_codes(data, name, result))
    assert error == pytest.approx(percent, abs=0.06)


@pytest.mark.parametrize("method", ["kos", "one-coin"])
def test_too_many_thresholds_are_refused_at_once(method: str) -> None:
    votes = [(i, i % 7, i) for i in range(2000)]
    with pytest.raises(quorate.UsageError, match="may be 1,000, not 2,000: put classes together"):
        quorate.aggregate(votes, method, ordered=method != "kos")
