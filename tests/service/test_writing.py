"""What is written together, and what is settled while votes are taken back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from quorate.service import views
from quorate.service.handing import hand_out
from quorate.service.payloads import LONGEST, Payloads
from quorate.service.service import Service
from quorate.service.settings import Settings
from quorate.service.store import tables
from quorate.service.writer import Job

VOTES = [(f"t{i % 20}", f"w{i // 20}", "ab"[(i * i) % 7 > 3]) for i in range(60)]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    service = Service(str(tmp_path / "project.db"))
    service.create("birds", Settings(classes=("a", "b"), settle_seconds=86_400)).result()
    yield service
    service.close()


def test_votes_of_many_requests_are_counted_together(service: Service) -> None:
    project, others = service.project("birds"), threading.Event()
    waiting = service.writer.submit(Job(lambda group: others.wait(10)))
    some = [service.vote(project, VOTES[i : i + 10]) for i in range(0, 30, 10)]
    known = service.know(project, [("t0", "a")])
    more = [service.vote(project, VOTES[i : i + 10]) for i in range(30, 60, 10)]
    others.set()
    assert [future.result().vote for future in (*some, *more)] == [1, 11, 21, 31, 41, 51]
    assert waiting.result() and known.result() == 1
    batches = select(tables.batches.c.id, tables.batches.c.size)
    with service.store.reading() as connection:
        assert [tuple(row) for row in connection.execute(batches)] == [(1, 30), (31, 30)]
    believed = views.posterior_frame(project).rows()
    project.online.begin_again()
    project.recover()
    assert views.posterior_frame(project).rows() == believed


def test_votes_that_keep_being_corrected_do_not_put_settling_off(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = service.project("birds")
    service.vote(project, VOTES).result()
    settling, corrected = project.online.settling, []

    def disturbed() -> Any:
        found = settling()
        if len(corrected) < 2:
            corrected.append(VOTES[len(corrected)])
            task, worker, label = corrected[-1]
            other = "b" if label == "a" else "a"
            service.vote(project, [(task, worker, other)], correct=True).result()
        return found

    monkeypatch.setattr(project.online, "settling", disturbed)
    service.settle(project)
    assert len(corrected) == 2 and project.ledger.settled is not None


def test_a_payload_that_is_changed_is_handed_out_as_it_is_now(service: Service) -> None:
    project = service.project("birds")
    service.add_tasks(project, [{"task": "t", "payload": "old"}, {"task": "u"}]).result()
    assert project.payloads.of([0], [0, 1]) == ['"old"']
    assert project.payloads.at_hand([0, 1]) == ['"old"', None]
    service.change_task(project, "t", {"payload": "new"}).result()
    assert project.payloads.at_hand([0]) is None
    assert project.payloads.of([0], []) == ['"new"']


def test_what_workers_will_be_shown_is_read_before_they_ask(service: Service) -> None:
    project = service.project("birds")
    tasks = [{"task": f"t{i}", "payload": i} for i in range(300)]
    service.add_tasks(project, tasks).result()
    handed = asyncio.run(hand_out(project, _worker(service), 1))
    assert handed.tasks[0].payload == handed.tasks[0].task[1:]
    project.look_further()
    assert project.payloads.at_hand(range(300)) == [str(i) for i in range(300)]


def test_a_payload_that_is_too_long_to_be_kept_is_handed_out(service: Service) -> None:
    project, long = service.project("birds"), "x" * LONGEST
    service.add_tasks(project, [{"task": "t", "payload": long}, {"task": "u"}]).result()
    asked = []

    def read(tasks: Any, *longest: int) -> Any:
        asked.append((list(tasks), *longest))
        return project.kept.payloads(tasks, *longest)

    payloads = Payloads(read)
    assert payloads.of([0], [1]) == [f'"{long}"']
    assert asked == [([0, 1], LONGEST), ([0],)]
    assert payloads.at_hand([1]) == [None]
    payloads.read_ahead([0, 1])  # what is known to be long is not read again in vain
    assert len(asked) == 2
    payloads.forget([0])
    payloads.read_ahead([0, 1])
    assert asked[2:] == [([0], LONGEST)]


def _worker(service: Service) -> str:
    service.add_workers(service.project("birds"), [{"worker": "ann"}]).result()
    return "ann"
