"""What a project is asked over HTTP, on both databases."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from tests.service.serving import MovedClock, serving

import quorate
from quorate.service.client import Client, ServerError
from quorate.service.service import Service

CROWD = quorate.simulate(n_tasks=60, workers=12, n_classes=3, labels_per_task=5, seed=4)
VOTES = [tuple(map(str, row)) for row in CROWD.votes.select("task", "worker", "label").rows()]
CLASSES = sorted({label for _, _, label in VOTES})


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def client(address: str, clock: MovedClock) -> Iterator[Client]:
    service = Service(address, clock)
    with serving(service) as url, Client(url) as client:
        client.create("birds", classes=CLASSES, gold_rate=0)
        yield client
    service.close()


def refused(status: int, sentence: str, call: object, *args: object, **how: object) -> None:
    with pytest.raises(ServerError, match=sentence) as failure:
        call(*args, **how)  # type: ignore[operator]
    assert failure.value.status == status


def test_settled_answers_are_those_of_aggregate(client: Client) -> None:
    for start in range(0, len(VOTES), 25):
        client.add(VOTES[start : start + 25])
    client.settle()
    expected = quorate.aggregate(VOTES)
    rows = [(row["task"], row["label"], row["confidence"]) for row in client.labels()]
    assert sorted(rows) == sorted(expected.labels.select("task", "label", "confidence").rows())
    error = client.estimate()["expected_error"]
    assert error["error"] == pytest.approx(expected.expected_error.error)
    accuracy = {row["worker"]: row["accuracy"] for row in client.workers()}
    assert accuracy == pytest.approx(dict(expected.workers.select("worker", "accuracy").rows()))


def test_votes_come_back_as_they_were_sent(client: Client) -> None:
    client.add(VOTES)
    for format, read in (
        ("csv", pl.read_csv),
        ("parquet", pl.read_parquet),
        ("jsonl", pl.read_ndjson),
    ):
        table = read(io.BytesIO(client.export("votes", format)))
        rows = table.select(pl.col("task", "worker", "label").cast(pl.Utf8)).rows()
        assert rows == VOTES
    labels = pl.read_csv(io.BytesIO(client.export("labels")))
    assert len(labels) == len({task for task, _, _ in VOTES})


def test_what_is_sent_again_counts_once(client: Client) -> None:
    first = client.vote("t", "ann", CLASSES[0], key="k1")
    assert not first.repeated
    assert client.vote("t", "ann", CLASSES[0], key="k1") == first._replace(repeated=True)
    refused(409, "used for something else", client.vote, "u", "ann", CLASSES[0], key="k1")
    refused(409, "has voted on task 't' already", client.vote, "t", "ann", CLASSES[1])
    assert client.summary()["votes"] == 1


def test_a_vote_is_corrected_and_withdrawn(client: Client) -> None:
    client.add([("t", "ann", CLASSES[0]), ("t", "bob", CLASSES[1])])
    client.correct([("t", "ann", CLASSES[1])], key="c")
    assert client.correct([("t", "ann", CLASSES[1])], key="c").repeated
    assert client.task("t")["votes"] == [
        {"worker": "bob", "label": CLASSES[1]},
        {"worker": "ann", "label": CLASSES[1]},
    ]
    client.withdraw([("t", "bob")])
    assert client.summary()["votes"] == 1
    refused(404, "no vote on task", client.withdraw, [("t", "bob")])
    refused(404, "no vote on task", client.correct, [("t", "eve", CLASSES[0])])
    client.vote("t", "bob", CLASSES[2])
    assert client.summary()["votes"] == 2


def test_all_votes_of_a_request_or_none(client: Client) -> None:
    wrong = [("t", "ann", CLASSES[0]), ("u", "ann", "no such")]
    refused(422, "There is no label 'no such'", client.add, wrong)
    twice = [("t", "ann", CLASSES[0]), ("t", "ann", CLASSES[1])]
    refused(422, "votes twice", client.add, twice)
    assert client.summary()["votes"] == client.summary()["tasks"] == 0


def test_the_next_task_is_never_one_that_was_answered(client: Client) -> None:
    client.add_tasks([f"t{i}" for i in range(6)])
    client.add_workers(["ann", "bob"])
    seen = []
    while handed := client.next("ann"):
        seen.append(handed[0].task)
        assert client.next("ann")[0].task == handed[0].task  # until it is answered or released
        client.vote(handed[0].task, "ann", CLASSES[0])
    assert sorted(seen) == [f"t{i}" for i in range(6)]
    assert client.reason == "Nothing is left for this worker: the open tasks wait for others."
    assert client.next("bob")


def test_two_workers_are_not_sent_to_the_same_task(client: Client) -> None:
    client.add_tasks([f"t{i}" for i in range(4)])
    client.add_workers([f"w{i}" for i in range(4)])
    handed = [client.next(f"w{i}")[0].task for i in range(4)]
    assert len(set(handed)) == 4


def test_a_lease_ends_and_its_task_comes_back(client: Client, clock: MovedClock) -> None:
    client.change(most_votes=1)
    client.add_tasks(["only"])
    client.add_workers(["ann", "bob"])
    assert client.next("ann")[0].task == "only"
    assert client.next("bob") == []
    clock.wall -= 10_000  # a clock that jumps gives nothing away
    assert client.next("bob") == []
    clock.later += 601
    wait_until(lambda: bool(client.next("bob")))
    client.release("only", "bob")
    assert client.next("ann")[0].task == "only"


def wait_until(holds: object, seconds: float = 20) -> None:
    for _ in range(int(seconds / 0.05)):
        if holds():  # type: ignore[operator]
            return
        time.sleep(0.05)
    pytest.fail("it did not happen")


def test_nothing_is_left_when_the_target_is_met(client: Client) -> None:
    client.add_tasks(["t1", "t2"])
    client.add_workers(["ann"])
    client.change(most_votes=3)
    for worker in ("w1", "w2", "w3"):
        client.add([("t1", worker, CLASSES[0]), ("t2", worker, CLASSES[0])])
    assert client.next("ann") == []
    assert "or all the votes it may get" in str(client.reason)
    client.change(most_votes=None, budget=6)
    assert client.next("ann") == [] and client.reason == "The budget is spent."
    client.change(budget=None, target_confidence=None, target_error=0.9)
    assert client.next("ann") == [] and "expected error is down to 0.9" in str(client.reason)


def test_known_answers_are_mixed_in_at_a_rate(client: Client) -> None:
    client.add_tasks([{"task": f"g{i}", "gold": CLASSES[0]} for i in range(40)])
    client.add_tasks([f"t{i}" for i in range(100)])
    client.add_workers(["ann"])
    client.change(gold_rate=0.3, target_confidence=0.999)
    handed = []
    for _ in range(100):
        task = client.next("ann")[0].task
        handed.append(task)
        client.vote(task, "ann", CLASSES[0])
    assert 15 <= sum(task.startswith("g") for task in handed) <= 40
    assert client.task("g0")["label"] == CLASSES[0]


def test_a_paused_worker_gets_nothing(client: Client) -> None:
    client.add_tasks(["t"])
    client.add_workers([{"worker": "ann", "capacity": 0}, "bob"])
    client.change_worker("bob", paused=True)
    refused(403, "is paused", client.next, "bob")
    assert client.next("ann") == [] and "as many tasks as agreed" in str(client.reason)
    refused(404, "There is no worker 'eve'", client.next, "eve")


def test_priority_comes_first_and_closed_tasks_never(client: Client) -> None:
    client.add_tasks([{"task": f"t{i}", "priority": float(i == 3)} for i in range(5)])
    client.add_workers(["ann", "bob"])
    assert client.next("ann")[0].task == "t3"
    client.release("t3", "ann")
    client.change_task("t3", closed=True)
    assert client.next("ann")[0].task != "t3"


def test_a_file_is_imported(client: Client, tmp_path: Path) -> None:
    client.vote(*VOTES[0])
    CROWD.votes.write_parquet(tmp_path / "votes.parquet")
    taken = client.import_file(tmp_path / "votes.parquet")
    assert (taken["votes"], taken["skipped"]) == (len(VOTES) - 1, 1)
    (tmp_path / "long.csv").write_text(f"task,worker,label\n{'x' * 501},ann,0\n")
    refused(422, "cannot be taken", client.import_file, tmp_path / "long.csv")
    (tmp_path / "bad.csv").write_text("nonsense\n1\n")
    refused(422, r"^(?!.*tmp).*", client.import_file, tmp_path / "bad.csv")


def test_changes_are_told(client: Client) -> None:
    told: list[int] = []

    def listen() -> None:
        told.extend(change["votes"] for change in client.events(2))

    thread = threading.Thread(target=listen)
    thread.start()
    wait_until(lambda: told == [0])
    with Client(client.url, "birds") as other:
        other.vote("t", "ann", CLASSES[0])
    thread.join(20)
    assert told == [0, 1]


def test_explanation_posterior_and_diagnosis(client: Client) -> None:
    refused(422, "There are no votes yet", client.diagnosis)
    client.add(VOTES)
    task = VOTES[0][0]
    assert client.explain(task)["label"] == client.task(task)["label"]
    assert sum(client.posterior()[task].values()) == pytest.approx(1)
    assert "findings" in client.diagnosis()
    refused(404, "There is no task 'nowhere'", client.explain, "nowhere")


def test_settings_that_cannot_be(client: Client) -> None:
    refused(422, "gold_rate", client.change, gold_rate=2)
    refused(409, "There is a project 'birds' already", client.create, "birds")
    refused(422, "a class is named twice", client.create, "again", classes=["a", "a"])
    with Client(client.url, "none") as nowhere:
        refused(404, "There is no project 'none'", nowhere.summary)


def test_requests_at_the_same_time_share_transactions(client: Client) -> None:
    failures: list[BaseException] = []

    def send(worker: int) -> None:
        try:
            with Client(client.url, "birds") as own:
                for i in range(20):
                    own.vote(f"t{i}", f"w{worker}", CLASSES[worker % 3])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=send, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert client.summary()["votes"] == 160


def test_annotations_of_label_studio_come_and_go(client: Client) -> None:
    client.create("studio", classes=["cat", "dog"])

    def hear(action: str, label: str, id: int = 7) -> int:
        result = {"type": "choices", "from_name": "animal", "to_name": "image"}
        annotation = {
            "id": id,
            "completed_by": 3,
            "result": [{**result, "value": {"choices": [label]}}],
            "was_cancelled": False,
            "ground_truth": False,
            "updated_at": f"2026-01-0{len(label)}T10:00:00Z",
        }
        task = {"id": 12, "data": {"image": "https://example.org/1.jpg"}, "project": 1}
        event: dict[str, object] = {"action": action, "project": {"id": 1}}
        if action == "ANNOTATIONS_DELETED":
            event["annotations"] = [{"id": id}]
        else:
            event |= {"task": task, "annotation": annotation}
        votes: int = client.ask("POST", "/projects/studio/label-studio", event)["votes"]
        return votes

    assert hear("ANNOTATION_CREATED", "cat") == hear("ANNOTATION_CREATED", "cat") == 1
    assert client.task("12")["votes"] == [{"worker": "3", "label": "cat"}]
    assert hear("ANNOTATIONS_DELETED", "", id=8) == 0
    assert hear("TASKS_CREATED", "cat") == 0
    hear("ANNOTATION_UPDATED", "dog")
    assert client.task("12")["votes"] == [{"worker": "3", "label": "dog"}]
    assert client.summary()["votes"] == 1
    assert hear("ANNOTATIONS_DELETED", "") == 1
    assert client.summary()["votes"] == 0


def test_what_is_sent_again_after_a_restart_counts_once(address: str) -> None:
    """When nothing is remembered of the keys: the database knows them."""
    votes, more = VOTES[:5], VOTES[5:10]
    corrected = [(task, worker, CLASSES[0]) for task, worker, _ in votes]
    service = Service(address)
    with serving(service) as url, Client(url) as client:
        client.create("birds", classes=CLASSES)
        client.add(votes, key="add")
        client.correct(corrected, key="correct")
        client.add(more, key="gone")
        client.withdraw([(task, worker) for task, worker, _ in more], key="withdraw")
    service.close()
    again = Service(address)
    with serving(again) as url, Client(url, "birds") as client:
        assert client.add(votes, key="add").repeated
        assert client.correct(corrected, key="correct").repeated
        assert client.add(more, key="gone").repeated  # though nothing speaks against these votes
        assert client.withdraw(
            [(task, worker) for task, worker, _ in more], key="withdraw"
        ).repeated
        refused(409, "used for something else", client.add, VOTES[10:12], key="gone")
        assert not client.add(VOTES[10:12], key="new").repeated
        assert client.summary()["votes"] == 7
    again.close()
