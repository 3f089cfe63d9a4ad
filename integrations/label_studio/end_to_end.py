"""From a Label Studio project to answers, and back as predictions, on a real server.

    make label-studio

Three people sign up and annotate a project over Label Studio's API; its export goes through
`quorate aggregate` as it is; the answers are written back as predictions, and are there.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the root of the repository

from integrations.label_studio.server import Person, server

MODEL = "quorate"  # with which the version of the model of Quorate's predictions starts
PEOPLE = ("ann", "bob", "cyd")
OPTIONS = ("Ham", "Spam")
TRUTH = ("Ham", "Spam", "Ham", "Ham", "Spam", "Spam", "Ham", "Spam", "Ham", "Spam", "Ham", "Spam")
WRONG = {"ann": (3,), "bob": (7,), "cyd": (1, 10)}  # places where somebody errs, nobody else
SKIPPED = ("cyd", 4)
CONFIG = """<View><Text name="text" value="$text"/>
<Choices name="kind" toName="text"><Choice value="Ham"/><Choice value="Spam"/></Choices></View>"""


def said(name: str, place: int) -> str:
    """What somebody says of a message."""
    right = TRUTH[place]
    return next(o for o in OPTIONS if o != right) if place in WRONG[name] else right


def result(label: str) -> list[dict[str, Any]]:
    """A choice, as Label Studio has it in annotations and predictions."""
    value = {"choices": [label]}
    return [{"from_name": "kind", "to_name": "text", "type": "choices", "value": value}]


def annotated_project(people: dict[str, Person]) -> tuple[int, list[int]]:
    """Numbers of a project and of its tasks, which everybody has annotated."""
    owner = people[PEOPLE[0]]
    project = int(owner.post("/api/projects/", {"title": "Messages", "label_config": CONFIG})["id"])
    texts = [{"text": f"Message {place}"} for place in range(len(TRUTH))]
    path = f"/api/projects/{project}/import?return_task_ids=true"
    tasks: list[int] = owner.post(path, texts)["task_ids"]
    for place, task in enumerate(tasks):
        for name, person in people.items():
            skips = (name, place) == SKIPPED
            body = {"result": result(said(name, place)), "was_cancelled": skips, "lead_time": 2.5}
            person.post(f"/api/tasks/{task}/annotations/", body)
    return project, tasks


def quorate_on(quorate: Sequence[str], export: Path, *options: str) -> str:
    """What `quorate aggregate` prints about an export."""
    call = [*quorate, "aggregate", str(export), *options]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(call)}: {done.stdout}{done.stderr}")
    return done.stdout


def labels_in(quorate: Sequence[str], export: Path) -> dict[int, str]:
    """The label of each task, as the command line finds them in an export."""
    labels = export.with_name("labels.csv")
    tell(quorate_on(quorate, export, "-o", str(labels)))
    with labels.open(newline="") as file:
        return {int(row["task"]): row["label"] for row in csv.DictReader(file)}


def predictions(quorate: Sequence[str], export: Path) -> list[dict[str, Any]]:
    """The answers as predictions to import."""
    file = export.with_name("predictions.json")
    quorate_on(quorate, export, "--as", "label-studio-predictions", "-o", str(file))
    found: list[dict[str, Any]] = json.loads(file.read_text())
    return found


def predicted(task: dict[str, Any]) -> list[str]:
    """What Quorate's predictions say of a task."""
    return [
        prediction["result"][0]["value"]["choices"][0]
        for prediction in task["predictions"]
        if prediction["model_version"].startswith(MODEL)
    ]


def snapshot(person: Person, project: int) -> bytes:
    """An export with predictions in full."""
    path = f"/api/projects/{project}/exports/"
    in_full = {"predictions": {"only_id": False}}
    made = person.post(path, {"title": "All", "serialization_options": in_full})
    while person.get(f"{path}{made['id']}")["status"] in ("created", "in_progress"):
        time.sleep(1)
    return person.content(f"{path}{made['id']}/download?exportType=JSON")


def check(is_so: bool, what: str) -> None:
    """Say what holds, or end with what does not."""
    if not is_so:
        raise SystemExit(f"Not so: {what}.")
    tell(f"ok: {what}")


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def run(command: str, quorate: Sequence[str]) -> None:
    """Go all the way, and check every step."""
    with server(command) as address, tempfile.TemporaryDirectory() as place:
        people = {name: Person(address, f"{name}@example.com") for name in PEOPLE}
        project, tasks = annotated_project(people)
        owner, export = people[PEOPLE[0]], Path(place) / "export.json"
        export.write_bytes(owner.content(f"/api/projects/{project}/export?exportType=JSON"))
        truth = dict(zip(tasks, TRUTH, strict=True))
        check(labels_in(quorate, export) == truth, f"{len(truth)} answers are those of most people")
        owner.post(f"/api/projects/{project}/import/predictions", predictions(quorate, export))
        export.write_bytes(snapshot(owner, project))
        written = {task["id"]: predicted(task) for task in json.loads(export.read_bytes())}
        expected = {task: [label] for task, label in truth.items()}
        check(written == expected, "the answers are in Label Studio, as predictions")
        said = quorate_on(quorate, export)
        dropped = f"{len(tasks)} predictions of Quorate"
        check(dropped in said, "Quorate does not take its own predictions for votes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("label_studio", help="the command that starts Label Studio")
    parser.add_argument("quorate", nargs="+", help="the command quorate")
    given = parser.parse_args()
    run(given.label_studio, given.quorate)


if __name__ == "__main__":
    main()
