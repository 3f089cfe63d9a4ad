"""Votes in, labels out: gold answers, priors and starts by name."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quorate
from quorate import DataError, DawidSkene, Majority, Result, UsageError
from quorate.models import make

METHODS = [method.name for method in quorate.methods()]
COUNTED = {"init", "worker_prior", "smoothing"}
EM = [method.name for method in quorate.methods() if set(method.options) >= COUNTED]
# On so few votes its groups decide: those of the published program.
PUBLISHED = {"spectral": quorate.SpectralEM(groups="modulo")}
ANY_CLASSES = [m.name for m in quorate.methods() if not m.two_classes_only]

VOTES = [
    (f"t{task}", worker, "yes" if said == "1" else "no")
    for task, row in enumerate(["11110", "11010", "00001", "00100", "11101", "01000", "1.1.1"])
    for worker, said in zip(["ann", "bob", "cid", "dan", "eve"], row, strict=True)
    if said != "."
]
NAMES = ("no", "yes")
MATRIX = [[0.9, 0.1], [0.2, 0.8]]


def answers(result: Result) -> dict[Any, Any]:
    return dict(result.labels.select("task", "label").iter_rows())


def same(first: Result, second: Result) -> bool:
    return (
        bool(np.array_equal(first.posterior, second.posterior))
        and first.classes == second.classes
        and first.objective == second.objective
    )


# Gold


@pytest.fixture
def gold_kinds(tmp_path: Path) -> list[Any]:
    table = pl.DataFrame({"task": ["t0", "t5"], "label": ["no", "yes"]})
    table.write_csv(tmp_path / "gold.csv")
    table.write_parquet(tmp_path / "gold.parquet")
    table.write_ndjson(tmp_path / "gold.jsonl")
    return [
        {"t0": "no", "t5": "yes"},
        pd.Series({"t0": "no", "t5": "yes"}),
        pd.Series({"t0": "no", "t5": "yes"}, name="truth"),
        table,
        table.lazy(),
        table.to_pandas(),
        table.to_arrow(),
        table.rows(),
        str(tmp_path / "gold.csv"),
        tmp_path / "gold.parquet",
        tmp_path / "gold.jsonl",
    ]


@pytest.mark.parametrize("method", METHODS)
def test_gold_answers_are_kept_whatever_kind_of_table_they_come_in(
    method: str, gold_kinds: list[Any]
) -> None:
    if method != "kos":  # which on so few votes may answer anything
        without = quorate.aggregate(VOTES, PUBLISHED.get(method, method))
        assert answers(without)["t0"] == "yes" and answers(without)["t5"] == "no"
    results = [quorate.aggregate(VOTES, method, gold=gold) for gold in gold_kinds]
    for result in results:
        assert answers(result)["t0"] == "no" and answers(result)["t5"] == "yes"
        assert result.posterior[[0, 5]].tolist() == [[1, 0], [0, 1]]
        assert result.notes == ()
        assert same(result, results[0])


@pytest.mark.parametrize("method", METHODS)
def test_gold_answers_tell_of_the_workers(method: str) -> None:
    gold = {task: "yes" if said == "no" else "no" for task, who, said in VOTES if who == "ann"}
    result = quorate.aggregate(VOTES, method, gold=gold)
    workers = dict(result.workers.select("worker", "agreement").iter_rows())
    assert workers["ann"] == 0


@pytest.mark.parametrize("method", ANY_CLASSES)
def test_a_gold_class_that_nobody_voted_for_becomes_a_class(method: str) -> None:
    result = quorate.aggregate(VOTES, method, gold={"t1": "maybe"})
    assert result.classes == ["maybe", "no", "yes"]
    assert answers(result)["t1"] == "maybe"
    assert np.isfinite(result.posterior).all()
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("labels", "gold", "classes"),
    [
        (pl.Series([0, 1, 1], dtype=pl.Int8), 300, [0, 1, 300]),
        (pl.Series(["a", "b", "b"], dtype=pl.Categorical), "c", ["a", "b", "c"]),
        (pl.Series(["a", "b", "b"], dtype=pl.Enum(["b", "a"])), "c", ["a", "b", "c"]),
        (pl.Series(["a", "b", "b"], dtype=pl.Enum(["b", "a"])), "b", ["b", "a"]),
        (pl.Series([False, False, False]), True, [False, True]),
    ],
)
def test_a_gold_class_of_a_narrower_type(labels: pl.Series, gold: Any, classes: list[Any]) -> None:
    table = pl.DataFrame({"task": [1, 1, 2], "worker": ["x", "y", "x"], "label": labels})
    result = quorate.aggregate(table, "majority", gold={1: gold})
    assert result.classes == classes
    assert answers(result) == {1: gold, 2: labels[2]}


@pytest.mark.parametrize(
    ("votes", "gold"),
    [
        ([(1, "x", 0), (1, "y", 0), (2, "x", 1)], {"1": "1"}),
        ([(1, "x", 0), (1, "y", 0), (2, "x", 1)], {1.0: 1.0}),
        ([("1", "x", "0"), ("1", "y", "0"), ("2", "x", "1")], {1: 1}),
        ([(1, "x", False), (1, "y", False), (2, "x", True)], {"1": "true"}),
    ],
)
def test_gold_names_are_compared_as_text_when_types_differ(votes: Any, gold: Any) -> None:
    result = quorate.aggregate(votes, "majority", gold=gold)
    assert result.answers.tolist() == [1, 1]
    assert result.notes == ()


def test_gold_of_another_type() -> None:
    with pytest.raises(DataError) as raised:
        quorate.aggregate(VOTES, gold={"t0": 3})
    assert str(raised.value) == (
        "The gold label 3 is of another type than the votes' labels, such as 'no'."
    )


def test_gold_that_contradicts_itself() -> None:
    with pytest.raises(DataError, match="gives task 't0' more than one answer"):
        quorate.aggregate(VOTES, gold=[("t0", "no"), ("t0", "yes")])
    assert answers(quorate.aggregate(VOTES, gold=[("t0", "no"), ("t0", "no")]))["t0"] == "no"


def test_gold_of_unknown_tasks_is_left_out_and_counted() -> None:
    gold = {"t0": "no", "t99": "never", "t98": "no", "t1": None, "t2": float("nan")}
    result = quorate.aggregate(VOTES, gold=gold)
    assert result.notes == (
        "2 of 5 gold answers lack a field, and are left out.",
        "2 of 3 gold answers are of tasks without votes, and are left out.",
    )
    assert same(result, quorate.aggregate(VOTES, gold={"t0": "no"}))


@pytest.mark.parametrize("gold", [{}, [], pl.DataFrame({"task": [], "label": []})])
def test_no_gold_is_said(gold: Any) -> None:
    result = quorate.aggregate(VOTES, gold=gold)
    assert result.notes == ("There are no gold answers.",)
    assert same(result, quorate.aggregate(VOTES))


# Prior


@pytest.mark.parametrize("method", EM)
@pytest.mark.parametrize(
    "prior",
    [
        {"yes": 0.7, "no": 0.3},
        {"no": 3, "yes": 7},
        pd.Series({"yes": 0.7, "no": 0.3}),
        "yes=0.7,no=0.3",
        " no = 0.3, yes = 0.7",
        "0.3,0.7",
        [0.3, 0.7],
        np.array([0.3, 0.7]),
    ],
)
def test_a_prior_by_name(method: str, prior: Any) -> None:
    result = quorate.aggregate(VOTES, make(method, prior=prior))
    np.testing.assert_allclose(result.params.prior, [0.3, 0.7])


@pytest.mark.parametrize("names", [(False, True), (0, 1), ("0", "1"), (0.5, 1.5)])
def test_a_prior_for_classes_of_any_type(names: tuple[Any, Any]) -> None:
    votes = [(1, "x", names[0]), (1, "y", names[1])]
    result = quorate.aggregate(votes, DawidSkene(prior={names[1]: 3, names[0]: 1}), max_iter=1)
    np.testing.assert_allclose(result.params.prior, [0.25, 0.75])
    text = ",".join(
        f"{str(name).lower()}={share}" for name, share in zip(names, (1, 3), strict=True)
    )
    np.testing.assert_allclose(
        quorate.aggregate(votes, DawidSkene(prior=text), max_iter=1).params.prior, [0.25, 0.75]
    )


@pytest.mark.parametrize("method", EM)
def test_a_prior_without_a_name_in_it(method: str) -> None:
    uniform = quorate.aggregate(VOTES, make(method, prior="uniform"))
    assert uniform.params.prior.tolist() == [0.5, 0.5]
    assert same(uniform, quorate.aggregate(VOTES, make(method, prior={"yes": 1, "no": 1})))
    default = quorate.aggregate(VOTES, method)
    assert same(default, quorate.aggregate(VOTES, make(method, prior="estimated")))


@pytest.mark.parametrize(
    "prior",
    [
        {"yes": 0.7},
        {"yes": 0.7, "maybe": 0.3},
        {"yes": 0.7, "no": 0.2, "maybe": 0.1},
        {"yes": "most", "no": "few"},
        {"yes": None, "no": 1},
        {"yes": 1, 2: 1},
        {},
        [1, 2, 3],
        [[0.5, 0.5]],
        [0, 0],
        [-1, 2],
        [float("nan"), 1],
        [float("inf"), 1],
        0.5,
        None,
    ],
)
def test_a_prior_that_does_not_fit_the_classes(prior: Any) -> None:
    with pytest.raises(UsageError) as raised:
        quorate.aggregate(VOTES, DawidSkene(prior=prior))
    assert str(raised.value) == (
        f"prior needs a share of at least 0 for each of the 2 classes (no, yes), not {prior!r}."
    )


def test_a_prior_names_a_class_of_the_gold_answers() -> None:
    shares = {"yes": 1, "no": 2, "maybe": 1}
    result = quorate.aggregate(VOTES, DawidSkene(prior=shares), gold={"t1": "maybe"})
    np.testing.assert_allclose(result.params.prior, [0.25, 0.5, 0.25])


# Starts and histories


def kinds(result: Result, option: str, directory: Path) -> list[Any]:
    """What one result has learned of its workers, in every kind that the option takes."""
    value = "probability" if option == "init" else "count"
    array = result.confusion if option == "init" else result.history
    assert array is not None
    table = result.by_worker(array, value)
    table.write_csv(directory / "table.csv")
    table.write_parquet(directory / "table.parquet")
    result.save(directory / "earlier.quorate")
    return [
        array,
        result,
        quorate.load(directory / "earlier.quorate"),
        str(directory / "earlier.quorate"),
        directory / "earlier.quorate",
        table,
        table.lazy(),
        table.to_pandas(),
        table.to_arrow(),
        table.rows(),
        table.sample(fraction=1, shuffle=True, seed=0),
        str(directory / "table.csv"),
        directory / "table.parquet",
        dict(zip(result.workers_frame["worker"], array, strict=True)),
    ]


@pytest.mark.parametrize("option", ["init", "worker_prior"])
@pytest.mark.parametrize("method", EM)
def test_starts_and_histories_of_every_kind(method: str, option: str, tmp_path: Path) -> None:
    earlier = quorate.aggregate(VOTES[:20], method, smoothing=0.5)
    results = [
        quorate.aggregate(VOTES, make(method, smoothing=0.1, max_iter=3, **{option: given}))
        for given in kinds(earlier, option, tmp_path)
    ]
    for result in results:
        assert result.notes == ()
        assert same(result, results[0])
    assert not same(results[0], quorate.aggregate(VOTES, method, smoothing=0.1, max_iter=3))


@pytest.mark.parametrize("method", EM)
def test_a_history_counts_like_votes(method: str) -> None:
    history = [("ann", truth, label, 1000) for truth, label in (("yes", "no"), ("no", "yes"))]
    result = quorate.aggregate(VOTES, make(method, worker_prior=history))
    assert result.confusion is not None
    assert result.confusion[0].trace() < 0.1


def test_counts_of_one_cell_add_up() -> None:
    once = [("ann", "yes", "yes", 5), ("ann", "no", "no", 2)]
    twice = [("ann", "yes", "yes", 2), ("ann", "no", "no", 2), ("ann", "yes", "yes", 3)]
    results = [quorate.aggregate(VOTES, DawidSkene(worker_prior=rows)) for rows in (once, twice)]
    assert same(*results)


@pytest.mark.parametrize("option", ["init", "worker_prior"])
def test_unknown_workers_are_counted(option: str) -> None:
    for given in (
        {"ann": MATRIX, "zoe": MATRIX, "yan": MATRIX},
        [
            (who, truth, label, MATRIX[i][j])
            for who in ("ann", "zoe", "yan")
            for i, truth in enumerate(NAMES)
            for j, label in enumerate(NAMES)
        ],
    ):
        result = quorate.aggregate(VOTES, DawidSkene(**{option: given}))
        assert result.notes == (
            f"2 of 3 workers in {option} have no votes here, and are left out.",
        )
        assert same(result, quorate.aggregate(VOTES, DawidSkene(**{option: {"ann": MATRIX}})))


def test_workers_without_a_start_begin_as_the_crowds_average() -> None:
    other = [[0.7, 0.3], [0.0, 0.0]]
    given = {"ann": MATRIX, "bob": other}
    average = [[0.8, 0.2], [0.2, 0.8]]
    all_given = given | dict.fromkeys(("cid", "dan", "eve"), average)
    results = [
        quorate.aggregate(VOTES, DawidSkene(init=init, max_iter=2)) for init in (given, all_given)
    ]
    np.testing.assert_allclose(results[0].posterior, results[1].posterior, rtol=1e-9)


def test_worker_names_are_compared_as_text_when_types_differ() -> None:
    votes = [(1, 7, "no"), (1, 8, "yes"), (2, 7, "yes")]
    cells = [(t, s, MATRIX[i][j]) for i, t in enumerate(NAMES) for j, s in enumerate(NAMES)]
    given = [{"7": MATRIX}, {7: MATRIX}, [(7.0, *cell) for cell in cells]]
    results = [quorate.aggregate(votes, DawidSkene(worker_prior=history)) for history in given]
    assert all(same(result, results[0]) and result.notes == () for result in results)


def test_rows_that_lack_a_field_are_counted() -> None:
    rows = [("ann", "yes", "yes", 5), (None, "yes", "yes", 1), ("ann", "yes", "yes", None)]
    result = quorate.aggregate(VOTES, DawidSkene(worker_prior=rows))
    assert result.notes == ("2 of 3 rows of worker_prior lack a field, and are left out.",)


def test_an_empty_history_is_said() -> None:
    assert quorate.aggregate(VOTES, DawidSkene(worker_prior={})).notes == (
        "There is nothing in worker_prior.",
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"init": {}}, "init has no matrix for any worker of these votes."),
        ({"init": {"zoe": MATRIX}}, "init has no matrix for any worker of these votes."),
        (
            {"init": {"ann": [[1, 2, 3]]}},
            "init has probabilities of one worker and truth that do not sum to 1.",
        ),
        (
            {"init": {"ann": [0.5, 0.5]}},
            "init for 'ann' has the shape (2,), where (2, 2) was expected.",
        ),
        (
            {"worker_prior": {"ann": 3}},
            "worker_prior for 'ann' has the shape (1,), where (2, 2) was expected.",
        ),
        (
            {"worker_prior": {"ann": [[1, 2], [3]]}},
            "worker_prior has a value that is negative, or not a number.",
        ),
        (
            {"worker_prior": {"ann": [["a", "b"], ["c", "d"]]}},
            "worker_prior has a value that is negative, or not a number.",
        ),
        (
            {"init": {"ann": [[2, 3], [4, 5]]}},
            "init has probabilities of one worker and truth that do not sum to 1.",
        ),
        (
            {"init": np.full((5, 2, 2), np.nan)},
            "init has a value that is negative, or not a number.",
        ),
        (
            {"worker_prior": np.full((5, 2, 2), -1.0)},
            "worker_prior has a value that is negative, or not a number.",
        ),
        (
            {"worker_prior": {"ann": [[1, float("inf")], [0, 0]]}},
            "worker_prior has a value that is negative, or not a number.",
        ),
        (
            {"worker_prior": {"ann": MATRIX, 3: MATRIX}},
            "Column 'worker' mixes int and str: make its values one type.",
        ),
        (
            {"init": [("ann", "yes", "perhaps", 1)]},
            "init has the label 'perhaps', which is none of no, yes.",
        ),
        (
            {"init": pl.DataFrame({"worker": ["ann"], "label": ["yes"], "probability": [1]})},
            "The polars table has no column 'truth': its columns are worker, label, probability;"
            " name one of them truth.",
        ),
        ({"worker_prior": "no.csv"}, "There is no file no.csv."),
        ({"worker_prior": "no.quorate"}, "There is no file no.quorate."),
        ({"worker_prior": 5}, "Quorate cannot read a table from an object of type int."),
    ],
)
def test_starts_and_histories_that_are_wrong(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((DataError, UsageError)) as raised:
        quorate.aggregate(VOTES, DawidSkene(**options))
    assert str(raised.value) == sentence


def test_majority_has_no_start_and_no_history_to_give() -> None:
    majority = quorate.aggregate(VOTES, "majority")
    with pytest.raises(UsageError, match=r"^majority has no confusion matrices\.$"):
        quorate.aggregate(VOTES, DawidSkene(init=majority))
    with pytest.raises(UsageError, match=r"^worker_prior cannot come from majority, which does"):
        quorate.aggregate(VOTES, DawidSkene(worker_prior=majority))


# The call


def test_an_unknown_method_is_refused_before_the_votes_are_read() -> None:
    with pytest.raises(UsageError, match=r"^There is no method 'oracle': the methods are auto"):
        quorate.aggregate("no.csv", "oracle")


def test_an_option_that_the_method_does_not_have() -> None:
    with pytest.raises(UsageError, match=r"^majority has no option 'smoothing'"):
        quorate.aggregate(VOTES, "majority", smoothing=0.1)


def test_options_of_a_method_are_said_to_its_model() -> None:
    with pytest.raises(UsageError, match=r"^prior is an option of .*dawid-skene.*as an object"):
        quorate.aggregate(VOTES, prior="uniform")
    with pytest.raises(UsageError, match="did you mean 'gold'"):
        quorate.aggregate(VOTES, glod={"t0": "no"})
    with pytest.raises(UsageError, match="did you mean 'min_confidence'"):
        quorate.aggregate(VOTES, min_confidance=0.9)


@pytest.mark.parametrize("method", METHODS)
def test_a_model_is_a_method(method: str) -> None:
    result = quorate.aggregate(VOTES, make(method))
    assert result.method == method
    assert same(result, quorate.aggregate(VOTES, method))


def test_what_most_methods_share_can_be_said_of_a_model_too() -> None:
    result = quorate.aggregate(VOTES, DawidSkene(smoothing=0.5), max_iter=3, seed=7)
    assert (result.model.max_iter, result.model.seed, result.model.smoothing) == (3, 7, 0.5)
    assert same(result, quorate.aggregate(VOTES, "dawid-skene", smoothing=0.5, max_iter=3))


def test_a_function_is_a_method() -> None:
    result = quorate.aggregate(VOTES, lambda labels: labels.vote_shares())
    assert np.array_equal(result.posterior, quorate.aggregate(VOTES, Majority()).posterior)
    with pytest.raises(UsageError, match="shape"):
        quorate.aggregate(VOTES, lambda labels: np.ones(3))


def test_fit_takes_what_aggregate_reads() -> None:
    result = quorate.fit(DawidSkene(prior={"yes": 1, "no": 1}), VOTES)
    assert same(result, quorate.aggregate(VOTES, DawidSkene(prior="uniform")))
    assert answers(result).keys() == {f"t{i}" for i in range(7)}


def test_votes_read_before() -> None:
    read = quorate.read_votes(VOTES)
    assert same(quorate.aggregate(read), quorate.aggregate(VOTES))
    assert quorate.aggregate(read).read == read.report


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_rows_does_not_matter(method: str) -> None:
    """But for the order of the tasks, which is that of their first votes; also in crowds in which
    much depends on how ties fall and where a method begins."""
    chance = random.Random(1)
    for votes in (VOTES, _unsure(chance), _unsure(chance)):
        shuffled = chance.sample(votes, len(votes))
        first, second = (quorate.aggregate(rows, method) for rows in (votes, shuffled))
        order = find_order(first, second)
        np.testing.assert_allclose(first.posterior, second.posterior[order], rtol=1e-7, atol=1e-9)


def _unsure(chance: random.Random) -> list[tuple[str, str, str]]:
    return [
        (f"t{task}", f"w{worker}", chance.choice("aab" if task % 2 else "abb"))
        for task in range(30)
        for worker in chance.sample(range(7), 4)
    ]


def find_order(first: Result, second: Result) -> list[int]:
    tasks = second.labels["task"].to_list()
    return [tasks.index(task) for task in first.labels["task"]]


def test_every_table_has_the_callers_kind_and_column_names() -> None:
    votes = pd.DataFrame(VOTES, columns=["item", "annotator", "answer"])
    result = quorate.aggregate(votes, "dawid-skene")
    new = votes.rename(columns={"item": "url"})
    expected = {
        "labels": (result.labels, ["item", "answer", "confidence"]),
        "workers": (result.workers, ["annotator", "labels", "agreement"]),
        "posterior": (result.posterior_table, ["item", "no", "yes"]),
        "confusion": (result.confusion_table, ["annotator", "truth", "answer"]),
        "explained": (result.explain("t0").votes, ["annotator", "answer", "accuracy"]),
        "predicted": (result.predict(votes), ["item", "answer", "confidence"]),
        "elsewhere": (result.predict(new, task_column="url"), ["url", "answer", "confidence"]),
    }
    for name, (table, columns) in expected.items():
        assert isinstance(table, pd.DataFrame), name
        assert list(table.columns[:3]) == columns, name


def test_tables_of_arrow_and_pandas_agree() -> None:
    table = pa.table({"task": ["a", "a", "b"], "worker": [1, 2, 1], "label": ["x", "y", "y"]})
    first, second = quorate.aggregate(table), quorate.aggregate(table.to_pandas())
    assert same(first, second)
    assert first.labels["label"].to_pylist() == second.labels["label"].tolist()


@pytest.mark.parametrize("prior", [{"a": 1e308, "b": 1e308}, [1e308, 1e308], "a=1e308,b=1e308"])
def test_a_prior_that_adds_up_to_infinity_is_refused(prior: Any) -> None:
    votes = [("t", "ann", "a"), ("t", "bob", "b")]
    with pytest.raises(UsageError, match="prior needs a share"):
        quorate.aggregate(votes, quorate.DawidSkene(prior=prior))


def test_ordered_may_be_none_and_is_no_text() -> None:
    votes = [("t", "ann", "a"), ("t", "bob", "b")]
    assert quorate.aggregate(votes, "one-coin", ordered=None).method == "one-coin"
    with pytest.raises(UsageError, match="ordered is True, False, or a list"):
        quorate.aggregate(votes, "one-coin", ordered="ab")
