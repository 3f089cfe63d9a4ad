"""A simulated crowd works on a real server, which says who labels what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.service.serving import serving

from quorate.cli import main
from quorate.errors import UsageError
from quorate.service.client import Client
from quorate.service.playing import answers_of, draw, play, set_up
from quorate.service.service import Service


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    service = Service(str(tmp_path / "votes.db"))
    try:
        with serving(service) as address:
            yield address
    finally:
        service.close()


def test_every_worker_has_an_answer_to_every_task() -> None:
    crowd = draw(workers=6, n_tasks=40, n_classes=3, seed=1)
    answers = answers_of(crowd)
    assert answers.shape == (40, 6)
    said = crowd.votes.pivot("worker", index="task", values="label").drop("task")
    named = np.array(crowd.codebook.classes)[answers]
    assert (said.select(crowd.codebook.workers.to_list()).to_numpy() == named).all()


def test_a_crowd_votes_as_drawn_until_the_budget_is_spent(url: str) -> None:
    crowd = draw(workers=8, n_tasks=30, n_classes=2, seed=2)
    with Client(url) as client:
        set_up(client, "birds", crowd, budget=60, target_confidence=None)
    found = play(crowd, lambda: Client(url, "birds"), connections=3)
    assert found.votes == 60 and found.tasks == 30 and found.workers == 8
    assert found.reason == "The budget is spent."
    with Client(url, "birds") as client:
        votes = client.export("votes").decode().splitlines()
    drawn = {f"{task},{worker},{label}" for task, worker, label in crowd.votes.rows()}
    assert len(votes) == 61
    assert all(",".join(line.split(",")[:3]) in drawn for line in votes[1:])


def test_the_command_says_how_good_the_answers_became(url: str) -> None:
    asked = ["simulate", "--against", url, "--n-tasks", "20", "--n-workers", "6", "--low", "0.8"]
    run = CliRunner().invoke(main, [*asked, "--project", "mine", "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert found["project"] == "mine" and 0 <= found["wrong"] <= 0.3
    with Client(url, "mine") as client:
        assert client.summary()["votes"] == found["votes"]
    again = CliRunner().invoke(main, [*asked, "--project", "mine"])
    assert again.exit_code == 1 and "There is a project 'mine' already." in again.output


def test_a_quiet_command_plays_and_says_nothing(url: str) -> None:
    asked = ["simulate", "--against", url, "--n-tasks", "5", "--n-workers", "3", "--project", "q"]
    run = CliRunner().invoke(main, [*asked, "--quiet"])
    assert (run.exit_code, run.output) == (0, "")
    with Client(url, "q") as client:
        assert client.summary()["votes"] > 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--against", "http://127.0.0.1:1", "--several", "0.3"], "--several is not for --against"),
        (["--against", "http://127.0.0.1:1", "-o", "votes.csv"], "--against writes no files"),
        (["--against", "nonsense"], "nonsense is no address of a server"),
        (["--pace", "3"], "--project and --pace are for --against"),
    ],
)
def test_what_makes_no_sense_is_refused(options: list[str], sentence: str) -> None:
    run = CliRunner().invoke(main, ["simulate", *options])
    assert run.exit_code == 2 and sentence in run.output


def test_too_many_answers_to_draw_are_refused() -> None:
    with pytest.raises(UsageError, match="more than 20,000,000 answers"):
        draw(workers=5000, n_tasks=5000)
