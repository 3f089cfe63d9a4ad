"""Label Studio and `quorate serve` side by side, on real servers.

    make label-studio

People annotate in Label Studio, whose webhook tells Quorate of it; what is changed and deleted
there is changed and deleted here. Quorate tells Label Studio its answers on a timer, as predictions
by whose scores Label Studio then asks its people.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the root of the repository

from integrations.label_studio.end_to_end import CONFIG, OPTIONS, PEOPLE, check, result
from integrations.label_studio.server import Person, server
from quorate.service.client import Client

PROJECT = "messages"
EVENTS = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_DELETED")
HAM, SPAM = OPTIONS
# What each says of a message; of the last one nobody has said anything.
SAID = [(HAM, HAM, HAM), (SPAM, SPAM, SPAM), (HAM, HAM, SPAM), (SPAM, HAM, SPAM), ()]
SECONDS = 1.0  # between two pushes
PATIENCE = 180


@contextmanager
def quorate_serve(quorate: Sequence[str], label_studio: str, token: str) -> Iterator[str]:
    """The address of a server of Quorate that tells Label Studio its answers."""
    with tempfile.TemporaryDirectory() as place:
        options = ["--port", "0", "--label-studio", label_studio, "--push-seconds", str(SECONDS)]
        environment = {**os.environ, "LABEL_STUDIO_TOKEN": token, "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            [*quorate, "serve", f"{place}/project.db", *options],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+:\d+", process.stdout.readline())
            assert found is not None, "quorate serve did not start"
            yield found[0]
        finally:
            process.terminate()
            process.wait(60)


def becomes(is_so: Callable[[], bool]) -> bool:
    """Whether it is so, sooner or later."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def project_in(owner: Person) -> tuple[int, list[int]]:
    """Numbers of a new project and of its tasks."""
    made = owner.post("/api/projects/", {"title": "Messages", "label_config": CONFIG})
    texts = [{"text": f"Message {place}"} for place in range(len(SAID))]
    path = f"/api/projects/{made['id']}/import?return_task_ids=true"
    return int(made["id"]), owner.post(path, texts)["task_ids"]


def annotate(people: Sequence[Person], tasks: Sequence[int]) -> list[list[int]]:
    """Everybody says what they have to say; the numbers of the annotations, task by task."""
    return [
        [
            person.post(f"/api/tasks/{task}/annotations/", {"result": result(label)})["id"]
            for person, label in zip(people, said, strict=False)
        ]
        for task, said in zip(tasks, SAID, strict=True)
    ]


def told(owner: Person, project: int) -> dict[int, list[tuple[Any, float]]]:
    """The predictions that Label Studio has, task by task."""
    found: dict[int, list[tuple[Any, float]]] = {}
    for row in owner.get(f"/api/predictions/?project={project}"):
        label = row["result"][0]["value"]["choices"][0] if row["result"] else None
        found.setdefault(row["task"], []).append((label, row["score"]))
    return found


def go_through(people: Sequence[Person], client: Client, project: int, tasks: list[int]) -> None:
    """Annotate, change and delete; look at what each server knows of it."""
    owner = people[0]
    annotations = annotate(people, tasks)
    given = sum(map(len, SAID))
    check(becomes(lambda: client.summary()["votes"] == given), f"{given} annotations are votes")
    change = {"result": result(SPAM)}
    owner.patch(f"/api/annotations/{annotations[2][0]}/", change)
    check(
        becomes(lambda: client.task(str(tasks[2]))["label"] == SPAM),
        "an annotation that is changed changes its vote",
    )
    owner.delete(f"/api/annotations/{annotations[3][2]}/")
    check(
        becomes(lambda: client.summary()["votes"] == given - 1),
        "an annotation that is deleted takes its vote back",
    )

    def answers() -> dict[int, Any]:
        return {int(row["task"]): row["label"] for row in client.labels()}

    def shown() -> dict[int, Any]:
        rows = told(owner, project)
        return {task: some[0][0] for task, some in rows.items() if len(some) == 1}

    nothing: dict[int, Any] = {tasks[-1]: None}
    check(
        becomes(lambda: shown() == answers() | nothing),
        "every task has one prediction, which is the answer",
    )
    scores = {task: some[0][1] for task, some in told(owner, project).items()}
    check(min(scores, key=scores.__getitem__) == tasks[-1], "a task without votes comes first")
    new = Person(owner.address, "dee@example.com")
    asked = new.get(f"/api/projects/{project}/next")["id"]
    lowest = sorted(scores, key=scores.__getitem__)[: len(people) + 1]
    check(asked in lowest, "Label Studio asks a newcomer where the scores are lowest")


def run(command: str, quorate: Sequence[str]) -> None:
    """Start both, connect them, and go through it."""
    with server(command) as address:
        people = [Person(address, f"{name}@example.com") for name in PEOPLE]
        owner = people[0]
        token = owner.post("/api/token/", {})["token"]
        project, tasks = project_in(owner)
        with quorate_serve(quorate, address, token) as url, Client(url, PROJECT) as client:
            client.create(PROJECT, classes=OPTIONS, label_studio=project)
            hook = f"{url}/api/v1/projects/{PROJECT}/label-studio"
            about = {"url": hook, "project": project, "send_payload": True, "actions": EVENTS}
            owner.post("/api/webhooks/", {**about, "send_for_all_actions": False})
            go_through(people, client, project, tasks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("label_studio", help="the command that starts Label Studio")
    parser.add_argument("quorate", nargs="+", help="the command quorate")
    given = parser.parse_args()
    run(given.label_studio, given.quorate)


if __name__ == "__main__":
    main()
