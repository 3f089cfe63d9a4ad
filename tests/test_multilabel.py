"""Several right answers: each option a question of its own, any method underneath."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from tests.checks import assert_close
from tests.naive.multilabel import questions_about

import quorate
from quorate import UsageError
from quorate.cli import main
from quorate.models import METHODS

OPTIONS = ["bird", "cat", "dog", "fish"]
CHOICES = [
    ("t1", "ann", "cat"),
    ("t1", "ann", "dog"),
    ("t1", "bob", "dog"),
    ("t1", "bob", "cat"),
    ("t1", "eve", "bird"),
    ("t2", "ann", "cat"),
    ("t2", "bob", "cat"),
    ("t2", "eve", "cat"),
    ("t3", "bob", "bird"),
    ("t3", "ann", "dog"),
]
JOINED = [
    ("t1", "ann", "cat|dog"),
    ("t1", "bob", "dog | cat"),
    ("t1", "eve", "bird"),
    ("t2", "ann", "cat|cat|"),
    ("t2", "bob", "cat"),
    ("t2", "eve", "cat"),
    ("t3", "bob", "bird"),
    ("t3", "ann", "dog"),
]


class Crowd:
    """Tasks with none to four right options; workers who are good at some options, guess at one,
    and never see another."""

    def __init__(self, n_tasks: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        n_workers, n_options = 15, len(OPTIONS)
        self.truth = random.random((n_tasks, n_options)) < [0.2, 0.4, 0.5, 0.3]
        self.hit = random.uniform(0.6, 0.95, (n_workers, n_options))
        self.false_alarm = random.uniform(0.02, 0.25, (n_workers, n_options))
        self.hit[:7, 0], self.false_alarm[:7, 0] = 0.5, 0.5  # half of them guess about birds
        self.rows: list[tuple[int, int, str | None]] = []
        for task in range(n_tasks):
            for worker in random.choice(n_workers, 6, replace=False).tolist():
                says = np.where(self.truth[task], self.hit[worker], self.false_alarm[worker])
                chosen = np.flatnonzero(random.random(n_options) < says)
                self.rows += [(task, worker, OPTIONS[o]) for o in chosen] or [(task, worker, None)]

    def wrong(self, result: quorate.Multilabel) -> float:
        at = result.results["cat"].codebook.tasks.to_numpy()
        return float((result.answers != self.truth[at]).mean())


@pytest.fixture(scope="module")
def crowd() -> Crowd:
    return Crowd(1500, seed=0)


@pytest.mark.parametrize("method", METHODS)
def test_each_option_is_a_problem_of_its_own(method: str) -> None:
    """What comes out is what the method makes of the questions, asked one by one."""
    together = quorate.aggregate(CHOICES, method, multilabel=True)
    assert together.classes == ["bird", "cat", "dog"]
    for i, option in enumerate(together.classes):
        alone = quorate.aggregate(questions_about(CHOICES, option), method)
        assert_close(together.posterior[:, i], alone.posterior[:, -1], atol=1e-12)
        assert together.results[option].workers_frame.equals(alone.workers_frame)
        assert together.results[option].classes == [False, True]


def test_rows_and_joined_are_the_same() -> None:
    rows = quorate.aggregate(CHOICES, "one-coin", multilabel=True)
    joined = quorate.aggregate(JOINED, "one-coin", multilabel=True, separator="|")
    assert rows.classes == joined.classes
    np.testing.assert_array_equal(rows.posterior, joined.posterior)


def test_labels_come_as_the_votes_came() -> None:
    rows = quorate.aggregate(CHOICES, "majority", multilabel=True).labels.rows()
    assert [row[:2] for row in rows] == [("t1", "cat"), ("t1", "dog"), ("t2", "cat"), ("t3", None)]
    assert [row[2] for row in rows] == pytest.approx([2 / 3, 2 / 3, 1, 0.25])
    joined = quorate.aggregate(JOINED, "majority", multilabel=True, separator="|").labels.rows()
    assert [row[:2] for row in joined] == [("t1", "cat|dog"), ("t2", "cat"), ("t3", "")]
    assert [row[2] for row in joined] == pytest.approx([(2 / 3) ** 3, 1, 0.25])


def test_tables_have_an_option_each() -> None:
    result = quorate.aggregate(CHOICES, "dawid-skene", multilabel=True, smoothing=0.1)
    quality = ["labels", "agreement", "accuracy", "low", "high"]
    assert result.workers.columns == ["option", "worker", *quality]
    assert result.workers["labels"].to_list() == [3, 3, 2] * 3
    assert result.posterior_table.columns == ["task", "bird", "cat", "dog"]
    assert len(result.confusion_table) == 3 * 3 * 2 * 2
    frame = pl.DataFrame(CHOICES, schema=["task", "worker", "label"], orient="row").to_pandas()
    assert type(quorate.aggregate(frame, multilabel=True).labels) is type(frame)


def test_a_row_without_a_label_is_of_a_worker_who_chose_nothing() -> None:
    nobody = quorate.aggregate([*CHOICES, ("t2", "joe", None)], "majority", multilabel=True)
    assert nobody.posterior[1].tolist() == [0, 0.75, 0]
    assert nobody.read.missing == 0
    joined = [*JOINED, ("t2", "joe", ""), ("t2", "jim", "|")]
    both = quorate.aggregate(joined, "majority", multilabel=True, separator="|")
    assert both.posterior[1].tolist() == [0, 0.6, 0]
    known = quorate.aggregate(CHOICES, multilabel=True, gold={"t2": [], "t1": ["cat"]})
    assert known.posterior[:2].tolist() == [[0, 1, 0], [0, 0, 0]]


def test_numbers_stay_numbers() -> None:
    rows = [(1, 7, 10), (1, 7, 20), (1, 8, 10), (2, 8, 20), (2, 7, 20)]
    result = quorate.aggregate(rows, "majority", multilabel=True)
    assert result.labels["label"].to_list() == [10, 20]
    assert result.labels["task"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("method", "options", "percent"),
    [
        ("majority", {}, 8.3),
        ("dawid-skene", {"smoothing": 0.1}, 3.8),
        ("fast-dawid-skene", {"smoothing": 0.1}, 3.9),
        ("hybrid", {"smoothing": 0.1}, 3.8),
    ],
)
def test_a_simulated_crowd_with_several_right_answers(
    crowd: Crowd, method: str, options: dict[str, Any], percent: float
) -> None:
    """The figures that docs/guides/votes.md prints."""
    result = quorate.aggregate(crowd.rows, method, multilabel=True, **options)
    assert result.converged
    assert 100 * crowd.wrong(result) == pytest.approx(percent, abs=0.05)


def test_a_worker_may_be_good_at_one_option_and_bad_at_another(crowd: Crowd) -> None:
    result = quorate.aggregate(crowd.rows, "dawid-skene", multilabel=True, smoothing=0.1)
    for i, option in enumerate(OPTIONS):
        one = result.results[option]
        order = one.codebook.workers.to_numpy()
        confusion = one.confusion
        assert confusion is not None
        n_tasks = 1500 * 6 / 15
        for truth, rate in ((1, crowd.hit[order, i]), (0, crowd.false_alarm[order, i])):
            met = n_tasks * (crowd.truth[:, i] == truth).mean()
            standard_error = np.sqrt(rate * (1 - rate) / met)
            assert (np.abs(confusion[:, truth, 1] - rate) <= 5 * standard_error).all()


def test_gold_is_the_whole_set_of_right_options() -> None:
    gold = {"t1": ["bird"], "t2": ["cat", "dog"]}
    rows = [(task, option) for task, known in gold.items() for option in known]
    joined = {task: "|".join(known) for task, known in gold.items()}
    for known, separator in ((gold, None), (rows, None), (joined, "|")):
        votes = CHOICES if separator is None else JOINED
        result = quorate.aggregate(votes, multilabel=True, separator=separator, gold=known)
        assert result.posterior[:2].tolist() == [[1, 0, 0], [0, 1, 1]]
    strange = quorate.aggregate(CHOICES, multilabel=True, gold={"t1": ["cow", "cat"], "t2": "cat"})
    assert strange.posterior[:2].tolist() == [[0, 1, 0], [0, 1, 0]]
    never = "1 options of the gold answers were never chosen, and are left out."
    assert strange.notes == (never,)


def test_features_are_for_every_option() -> None:
    features = [("t1", "fur"), ("t2", "fur"), ("t3", "wings"), ("t4", "fur")]
    model = quorate.NaiveBayes(feature_weight=1)
    result = quorate.aggregate(CHOICES, model, multilabel=True, features=features)
    assert result.posterior.shape == (4, 3)
    assert result.posterior[3, 1] > 0.5
    assert len(result.notes) == 1 and "1 tasks have features and no votes" in result.notes[0]


def test_what_makes_no_sense_is_said() -> None:
    with pytest.raises(UsageError, match="--multilabel"):
        quorate.aggregate(JOINED, separator="|")
    with pytest.raises(UsageError, match="separator is empty"):
        quorate.aggregate(JOINED, separator="", multilabel=True)
    with pytest.raises(UsageError, match="repeats"):
        quorate.aggregate(CHOICES, multilabel=True, repeats="last")
    with pytest.raises(quorate.DataError, match="no row with"):
        quorate.aggregate([("t", "w", "|")], multilabel=True, separator="|")


def test_the_command_line(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("rows.csv", CHOICES), ("joined.csv", JOINED)):
        pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(name)
    run = ["aggregate", "-m", "majority", "--multilabel", "-o", "out.csv", "--workers", "w.csv"]
    done = CliRunner().invoke(main, [*run, "rows.csv", "--json"])
    assert done.exit_code == 0, done.output
    assert Path("out.csv").read_text().splitlines()[1:3] == [
        "t1,cat,0.6666666666666666",
        "t1,dog,0.6666666666666666",
    ]
    assert pl.read_csv("w.csv").columns[0] == "option"
    summary = json.loads(done.stdout)
    assert summary["read"]["labels"] == len(CHOICES)
    assert summary["read"]["repeats_counted"] == 0
    assert summary["found"]["class_shares"] == pytest.approx(
        {"bird": 0, "cat": 2 / 3, "dog": 1 / 3}
    )
    assert summary["found"]["near_ties"] == 1
    done = CliRunner().invoke(main, [*run, "joined.csv", "--separator", "|"])
    assert done.exit_code == 0, done.output
    assert Path("out.csv").read_text().splitlines()[1].startswith("t1,cat|dog,")
    done = CliRunner().invoke(main, [*run, "rows.csv", "--save", "kept.quorate"])
    assert done.exit_code == 2 and "Each option has a result of its own" in done.output
