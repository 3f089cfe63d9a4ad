"""What a report shows, counted again in plain loops."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import quorate
from quorate.errors import UsageError
from quorate.report.views import ReportOptions, report_of
from quorate.report.views.review import review
from quorate.report.views.survey import survey

CROWD = quorate.simulate(12, 60, 5, n_classes=3, spammers=0.2, seed=3)
VOTES = CROWD.votes.rows()


@pytest.fixture(scope="module")
def result() -> quorate.Result:
    return quorate.aggregate(CROWD.votes)


@pytest.fixture(scope="module")
def report(result: quorate.Result) -> dict[str, Any]:
    return report_of(result)


def answers(result: quorate.Result) -> dict[Any, tuple[Any, float]]:
    return {task: (label, sure) for task, label, sure in result.labels.rows()}


def said_of() -> dict[Any, list[tuple[Any, Any]]]:
    said: dict[Any, list[tuple[Any, Any]]] = {}
    for task, worker, label in VOTES:
        said.setdefault(task, []).append((worker, label))
    return said


def test_disputed_tasks_are_the_least_certain(
    report: dict[str, Any], result: quorate.Result
) -> None:
    rows = report["disputed"]["rows"]
    certain = sorted(sure for _, sure in answers(result).values())
    assert [row["confidence"] for row in rows] == pytest.approx(certain[: len(rows)])
    for row in rows:
        votes = sorted((vote["worker"], vote["label"]) for vote in row["said"])
        assert votes == sorted(said_of()[row["task"]])


def test_overruled_majorities_are_counted_as_in_a_loop(
    report: dict[str, Any], result: quorate.Result
) -> None:
    overruled, tied = set(), 0
    for task, said in said_of().items():
        counts = Counter(label for _, label in said).most_common()
        if len(counts) > 1 and counts[0][1] == counts[1][1]:
            tied += 1
        elif counts[0][0] != answers(result)[task][0]:
            overruled.add(task)
    view = report["overruled"]
    assert view["of"] == len(overruled)
    assert {row["task"] for row in view["rows"]} <= overruled
    assert view["without_majority"] == tied


def test_matrices_and_meetings_are_counted_as_in_a_loop(result: quorate.Result) -> None:
    workers = result.codebook.workers.to_list()
    counts = survey(result, np.arange(len(workers), dtype=np.int32))
    posterior = dict(zip(result.codebook.tasks, result.posterior, strict=True))
    classes = result.classes
    expected = np.zeros_like(counts.matrices)
    shared, agreed = np.zeros_like(counts.shared), np.zeros_like(counts.agreed)
    for task, said in said_of().items():
        for worker, label in said:
            place = workers.index(worker), slice(None), classes.index(label)
            expected[place] += posterior[task]
        for one, label in said:
            for other, again in said:
                shared[workers.index(one), workers.index(other)] += 1
                agreed[workers.index(one), workers.index(other)] += label == again
    np.testing.assert_allclose(counts.matrices, expected)
    np.testing.assert_allclose(counts.confusion, expected.sum(axis=0))
    np.testing.assert_array_equal(counts.shared, shared)
    np.testing.assert_array_equal(counts.agreed, agreed)


def test_a_worker_stands_alone_where_all_others_say_the_answer(result: quorate.Result) -> None:
    workers = result.codebook.workers.to_list()
    counts = survey(result, np.arange(len(workers), dtype=np.int32))
    for worker, rows in zip(workers, counts.against_all, strict=True):
        alone = set()
        for task, said in said_of().items():
            differing = [who for who, label in said if label != answers(result)[task][0]]
            if differing == [worker] and len(said) > 2:
                alone.add(task)
        assert {row.task for row in rows} <= alone
        assert len(rows) == min(10, len(alone))


def test_on_disk_the_same_is_counted(tmp_path: Any, report: dict[str, Any]) -> None:
    CROWD.votes.write_csv(tmp_path / "votes.csv")
    on_disk = report_of(quorate.aggregate(tmp_path / "votes.csv", engine="disk"))
    for view in ("overruled", "classes", "workers"):
        assert _numbers(on_disk[view]) == pytest.approx(_numbers(report[view]), abs=1e-9)


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [n for each in value.values() for n in _numbers(each)]
    if isinstance(value, list):
        return [n for each in value for n in _numbers(each)]
    return [float(value)] if isinstance(value, (int, float)) else []


def test_known_answers_that_most_votes_contradict_are_suspect() -> None:
    votes = [("t", w, "a") for w in "uvw"] + [("s", w, "b") for w in "uvw"]
    view = report_of(quorate.aggregate(votes, gold={"t": "b", "s": "b"}))["gold"]
    assert view["known"] == 2 and view["votes_right"] == 0.5
    assert [row["task"] for row in view["rows"]] == ["t"]


def test_the_dictionary_is_json(report: dict[str, Any]) -> None:
    again = json.loads(json.dumps(report, default=str))
    assert again["headline"] == report["headline"] and len(again["headline"]) >= 3


def test_pseudonyms_hide_every_name() -> None:
    votes = [
        (f"t{t}", f"secret-{w}", "ab"[(t + (w == 3)) % 2]) for t in range(40) for w in range(5)
    ]
    hidden = report_of(quorate.aggregate(votes), ReportOptions(pseudonyms=True))
    text = json.dumps(hidden, default=str)
    assert "secret-" not in text
    assert len({row["worker"] for row in hidden["workers"]["rows"]}) == 5


def test_a_review_comes_back_as_gold(tmp_path: Any, result: quorate.Result) -> None:
    queue = review(result, n=7)
    assert len(queue.frame) == 7
    truth = dict(CROWD.gold.rows())
    filled = queue.frame.with_columns(
        label=queue.frame["task"].replace_strict(truth, return_dtype=CROWD.gold["label"].dtype)
    )
    filled.write_csv(tmp_path / "review.csv")
    again = quorate.aggregate(CROWD.votes, gold=tmp_path / "review.csv")
    given = answers(again)
    assert all(given[task] == (truth[task], 1.0) for task in queue.frame["task"])


def test_what_cannot_be_reported_is_said(tmp_path: Any, result: quorate.Result) -> None:
    result.save(tmp_path / "saved.quorate")
    with pytest.raises(UsageError, match="does not have its votes"):
        report_of(quorate.load(tmp_path / "saved.quorate"))
    several = quorate.aggregate(CROWD.votes, "majority", multilabel=True)
    with pytest.raises(UsageError, match="one right answer"):
        report_of(several)


def test_times_are_by_day_and_by_worker() -> None:
    days = ["2026-01-01", "2026-01-02"]
    votes = pl.DataFrame(
        [
            (f"t{t}", f"w{w}", "ab"[t % 2], float(1 + 9 * w), f"{days[t % 2]}T10:00:00")
            for t in range(10)
            for w in range(3)
        ],
        schema=["task", "worker", "label", "seconds", "time"],
        orient="row",
    )
    times = report_of(quorate.aggregate(votes))["times"]
    assert [(row["day"], row["votes"]) for row in times["days"]] == [(day, 15) for day in days]
    assert {row["worker"]: row["seconds"] for row in times["speed"]["rows"]} == {
        f"w{w}": 1 + 9 * w for w in range(3)
    }
    assert times["speed"]["too_fast"] == ["w0"]
