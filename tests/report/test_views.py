"""What a report shows, counted again in plain loops."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import quorate
from quorate.errors import UsageError
from quorate.report.views import ReportOptions, report_of
from quorate.report.views.bias import bias_of
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


def test_a_review_tells_what_a_person_needs(tmp_path: Any) -> None:
    rows = [(t, w, label, f"text {t}") for t in range(4) for w, label in (("u", "a"), ("v", "b"))]
    rows += [(t, "w", "a", f"text {t}") for t in range(3)]
    votes = pl.DataFrame(rows, schema=["task", "worker", "label", "text"], orient="row")
    queue = review(quorate.aggregate(votes, "majority", keep=["text"]), n=2)
    first = queue.as_dict()["tasks"][0]
    assert first["task"] == 3 and first["item"] == {"text": "text 3"}
    assert [each["probability"] for each in first["posterior"]] == [0.5, 0.5]
    assert first["why"] == "no label has most votes"
    assert "an expert" in first["settled_by"]
    queue.frame.write_csv(tmp_path / "review.csv")
    header = (tmp_path / "review.csv").read_text().splitlines()[0].split(",")
    assert header[:3] == ["task", "label", "text"] and "posterior" in header


def test_what_cannot_be_reported_is_said(tmp_path: Any, result: quorate.Result) -> None:
    result.save(tmp_path / "saved.quorate")
    with pytest.raises(UsageError, match="does not have its votes"):
        report_of(quorate.load(tmp_path / "saved.quorate"))
    several = quorate.aggregate(CROWD.votes, "majority", multilabel=True)
    with pytest.raises(UsageError, match="one right answer"):
        report_of(several)


def timed(rows: list[tuple[Any, ...]]) -> quorate.Result:
    columns = ["task", "worker", "label", "time", "seconds"]
    return quorate.aggregate(pl.DataFrame(rows, schema=columns, orient="row"))


def test_times_are_by_day_and_by_worker() -> None:
    days = ["2026-01-01", "2026-01-02"]
    rows = [
        (f"t{t}", f"w{w}", "ab"[t % 2], f"{days[t % 2]}T10:00:00", float(1 + 9 * w))
        for t in range(10)
        for w in range(3)
    ]
    report = report_of(timed(rows))
    time, speed = report["time"], report["speed"]
    assert [(row["day"], row["votes"]) for row in time["days"]["rows"]] == [(d, 15) for d in days]
    assert time["calendar"]["days"] == days
    assert all(votes == [5, 5] for votes in time["calendar"]["votes"])
    assert {row["worker"]: row["seconds"] for row in speed["rows"]} == {
        f"w{w}": 1 + 9 * w for w in range(3)
    }
    assert speed["too_fast"] == ["w0"]
    assert sum(part["votes"] for part in speed["parts"]) == 30


def test_one_who_gets_worse_and_tires_is_found() -> None:
    start = datetime(2026, 5, 1, 8)
    rows = []
    for t in range(200):
        when = start + timedelta(days=t // 100, minutes=t % 100)
        for w in range(5):
            wrong = w == 4 and (t >= 100 or t % 100 >= 50)  # late in a session, and on day two
            label = "ab"[(t + wrong) % 2]
            rows.append((t, f"w{w}", label, when, 5.0))
    time = report_of(timed(rows))["time"]
    assert time["drifting"] == ["w4"]
    row = next(row for row in time["workers"]["rows"] if row["worker"] == "w4")
    assert (row["early"], row["late"], row["flag"]) == (0.5, 0.0, "changed")
    places = [(row["from"], row["to"], row["votes"]) for row in time["fatigue"]]
    assert places == [(1, 10, 100), (11, 25, 150), (26, 50, 250), (51, 100, 500)]
    assert time["fatigue"][0]["agreement"] > time["fatigue"][-1]["agreement"]


def test_models_are_held_against_humans() -> None:
    votes = [(t, f"h{w}", "ab"[t % 2]) for t in range(12) for w in range(3)]
    votes += [(t, "good", "ab"[t % 2]) for t in range(12)]
    votes += [(t, "bad", "ab"[(t + (t < 6)) % 2]) for t in range(12)]
    kinds = {"good": "llm", "bad": "llm", **{f"h{w}": "human" for w in range(3)}}
    view = report_of(quorate.aggregate(votes, worker_kinds=kinds))["kinds"]
    assert {row["kind"]: row["workers"] for row in view["rows"]} == {"human": 3, "llm": 2}
    against = {row["worker"]: row["with_humans"] for row in view["against_humans"]["rows"]}
    assert against == {"good": 1.0, "bad": 0.5}


def test_answers_that_are_given_again_are_compared() -> None:
    votes = [(t, w, "ab"[t % 2]) for t in range(10) for w in ("x", "y", "judge#1")]
    votes += [(t, "judge#2", "ab"[(t + (t < 5)) % 2]) for t in range(10)]
    votes += [(t, "x", "ab"[(t + 1) % 2]) for t in range(4)]
    view = report_of(quorate.aggregate(votes))["repeats"]
    found = {row["worker"]: (row["tasks"], row["alike"]) for row in view["rows"]}
    assert found == {"x": (4, 0.0), "judge": (10, 0.5)}
    plain = [(t, w, "ab"[t % 2]) for t in range(10) for w in "xyz"]
    assert report_of(quorate.aggregate(plain))["repeats"] is None


def test_judges_who_share_their_tasks_are_a_panel() -> None:
    random = np.random.default_rng(1)
    truth = random.integers(2, size=80)
    said = {name: np.where(random.random(80) < 0.8, truth, 1 - truth) for name in "xyz"}
    said["copy"] = said["x"]
    votes = [(t, name, "ab"[label[t]]) for name, label in said.items() for t in range(80)]
    gold = {t: "ab"[truth[t]] for t in range(40)}
    view = report_of(quorate.aggregate(votes, gold=gold))["panel"]
    assert view["against"] == "known answers" and view["judges"] == view["of"] == 4
    assert view["low"] <= view["effective"] < 3.5 and view["positions"] is None
    alike = {row["worker"]: (row["other_worker"], row["correlation"]) for row in view["rows"]}
    assert alike["copy"] == ("x", pytest.approx(1.0))
    assert "are worth" in view["say"][0]
    apart = [(t, f"w{(t + k) % 60}", "ab"[t % 2]) for t in range(60) for k in range(3)]
    assert report_of(quorate.aggregate(apart))["panel"] is None


def test_position_bias_of_judges_is_in_the_report() -> None:
    votes = [(t, f"{name}#{o}", "ab"[t % 2]) for t in range(40) for name in "xy" for o in "ab"]
    votes += [(t, f"first#{o}", "ab"[o == "b"]) for t in range(40) for o in "ab"]
    view = report_of(quorate.aggregate(votes))["panel"]
    rows = {row["worker"]: row for row in view["positions"]["rows"]}
    assert rows["first"]["bias"] == 0.5 and rows["x"]["changed"] == 0.0
    assert view["judges"] == 3 and "comes first 50.0% too often" in view["say"][1]


def test_bias_is_said_in_words() -> None:
    names = ["cat", "dog", "bird"]
    matrix = np.array([[10.0, 8.0, 0.0], [0.0, 10.0, 0.0], [0.0, 6.0, 0.0]])
    words = bias_of(matrix, names)["words"]
    assert words == [
        "Says dog 2.4 times as often as it should: 24 times, where 10 were to be expected.",
        "Never says bird, which was right 6 times.",
        "Takes bird for dog in 100% of the cases.",
        "Takes cat for dog in 44% of the cases.",
    ]
    assert bias_of(np.eye(3) * 10, names)["words"] == ["No bias stands out."]


def test_known_answers_are_found_again_and_plans_spare_spammers() -> None:
    crowd = quorate.simulate(12, 200, 5, n_classes=3, spammers=0.3, seed=8)
    report = report_of(quorate.aggregate(crowd.votes, gold=dict(crowd.gold.rows()[:60])))
    again = report["gold"]["found_again"]
    assert again["tasks"] == 60 and sum(part["tasks"] for part in again["parts"]) == 60
    stop = set(report["next"]["stop_asking"]["workers"])
    spammers = [r["worker"] for r in report["workers"]["rows"] if r["flag"] == "spammer"]
    assert stop == set(spammers) and stop
    assert not stop & {row["worker"] for row in report["next"]["rows"]}


def test_a_page_of_a_worker_has_the_matrix_of_the_confusion_table(result: quorate.Result) -> None:
    page = report_of(result)["workers"]["pages"][0]
    table = result.confusion_table.filter(pl.col("worker") == page["worker"])
    shares = np.array(page["confusion"]["shares"])
    np.testing.assert_allclose(shares.ravel(), table["probability"].to_numpy(), atol=1e-4)
    np.testing.assert_allclose(
        np.array(page["confusion"]["high"]).ravel(), table["high"].to_numpy(), atol=1e-4
    )
