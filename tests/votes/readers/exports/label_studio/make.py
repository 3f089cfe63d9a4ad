"""Enter votes into a Label Studio server by its API, and export them in its formats.

python -m tests.votes.readers.exports.label_studio.make path/to/bin/label-studio
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.votes.readers.exports.crowd import (
    ABOUT,
    OPTIONS,
    PEOPLE,
    SENTIMENT,
    TEXTS,
    TOPICS,
    entered,
    known,
    vote,
    write_entered,
)

from integrations.label_studio.server import Person, server

HERE = Path(__file__).parent
CONFIG = f"""<View>
<Text name="text" value="$text"/>
<Choices name="sentiment" toName="text" choice="single">
{"".join(f'<Choice value="{option}"/>' for option in OPTIONS)}
</Choices>
<Choices name="topics" toName="text" choice="multiple">
{"".join(f'<Choice value="{option}"/>' for option in TOPICS)}
</Choices>
<Rating name="stars" toName="text" maxRating="5"/>
</View>"""
STARS = {"Positive": 5, "Neutral": 3, "Negative": 1}
MODELS = {"small-model": ("Positive", "Neutral") * 4, "large-model": SENTIMENT["ann"]}
CANCELLED, REFERENCE = 5, (0, 1)  # places of the tasks that cyd skips, and that dee knows
Votes = list[dict[str, Any]]


def result(name: str, kind: str, value: Any) -> dict[str, Any]:
    """One answer in an annotation."""
    return {"from_name": name, "to_name": "text", "type": kind, "value": {kind: value}}


def answers(sentiment: str, topics: Sequence[str]) -> list[dict[str, Any]]:
    """The answers to all three questions, but for topics if none is chosen."""
    found = [result("sentiment", "choices", [sentiment])]
    if topics:
        found.append(result("topics", "choices", list(topics)))
    return [*found, result("stars", "rating", STARS[sentiment])]


def votes_of(task: int, worker: Any, sentiment: str, topics: Sequence[str]) -> Votes:
    """The same answers as votes."""
    about = [vote("topics", task, worker, list(topics))] if topics else []
    rated = vote("stars", task, worker, STARS[sentiment])
    return [vote("sentiment", task, worker, sentiment), *about, rated]


def annotate(people: Mapping[str, Person], ids: Mapping[str, int], tasks: Sequence[int]) -> Votes:
    """Everybody annotates everything but what cyd skips; bob changes his mind about the last."""
    votes: Votes = []
    for place, task in enumerate(tasks):
        for name in PEOPLE:
            said = answers(SENTIMENT[name][place], ABOUT[name][place])
            skips = name == "cyd" and place == CANCELLED
            body = {"result": said, "was_cancelled": skips, "lead_time": 2.5 + place}
            people[name].post(f"/api/tasks/{task}/annotations/", body)
            if not skips:
                votes += votes_of(task, ids[name], SENTIMENT[name][place], ABOUT[name][place])
    again = answers("Neutral", ["Price"])
    people["bob"].post(f"/api/tasks/{tasks[-1]}/annotations/", {"result": again, "lead_time": 1})
    draft = {"result": answers("Neutral", []), "lead_time": 1}
    people["ann"].post(f"/api/tasks/{tasks[0]}/drafts", draft)
    return [*votes, *votes_of(tasks[-1], ids["bob"], "Neutral", ["Price"])]


def predict(person: Person, tasks: Sequence[int]) -> Votes:
    """Two models' predictions of the sentiment."""
    votes = []
    for model, labels in MODELS.items():
        for task, label in zip(tasks, labels, strict=True):
            said = [result("sentiment", "choices", [label])]
            body = {"task": task, "model_version": model, "score": 0.75, "result": said}
            person.post("/api/predictions/", body)
            votes.append(vote("sentiment", task, model, label))
    return votes


def refer(person: Person, worker: int, tasks: Sequence[int]) -> tuple[Votes, Votes]:
    """Known answers to two tasks: as such, and as the votes that they are in formats that do not
    tell them apart."""
    gold, votes = [], []
    for place in REFERENCE:
        label, topics = SENTIMENT["ann"][place], ABOUT["ann"][place]
        body = {"result": answers(label, topics), "ground_truth": True, "lead_time": 9}
        person.post(f"/api/tasks/{tasks[place]}/annotations/", body)
        said = votes_of(tasks[place], worker, label, topics)
        votes += said
        gold += [known(v["question"], v["task"], v["label"]) for v in said]
    return gold, votes


def export(person: Person, project: int) -> None:
    """Write the project's exports as they come: what the page's button gives in each format, and a
    snapshot with predictions and people in full."""
    path = f"/api/projects/{project}/export?exportType="
    for kind, file in (("JSON", "export.json"), ("JSON_MIN", "min.json"), ("CSV", "export.csv")):
        (HERE / file).write_bytes(person.content(f"{path}{kind}"))
    in_full = {"predictions": {"only_id": False}, "annotations__completed_by": {"only_id": False}}
    snapshots = f"/api/projects/{project}/exports/"
    made = person.post(snapshots, {"title": "Everything", "serialization_options": in_full})
    while person.get(f"{snapshots}{made['id']}")["status"] in ("created", "in_progress"):
        time.sleep(1)
    content = person.content(f"{snapshots}{made['id']}/download?exportType=JSON")
    (HERE / "snapshot.json").write_bytes(content)


def main(command: str) -> None:
    """Start the server, enter votes, export them, and write down what was entered."""
    with server(command) as address:
        people = {n: Person(address, f"{n}@example.com") for n in ("dee", *PEOPLE)}
        ids = {n: person.get("/api/current-user/whoami")["id"] for n, person in people.items()}
        owner = people["dee"]
        body = {"title": "Reviews", "label_config": CONFIG}
        project = owner.post("/api/projects/", body)["id"]
        path = f"/api/projects/{project}/import?return_task_ids=true"
        tasks = owner.post(path, [{"text": text} for text in TEXTS])["task_ids"]
        votes = annotate(people, ids, tasks)
        predicted = predict(owner, tasks)
        gold, reference = refer(owner, ids["dee"], tasks)
        export(owner, project)
    emails = {ids[name]: f"{name}@example.com" for name in ids}
    by_email = [v | {"worker": emails[v["worker"]]} for v in votes]
    only_ids = {"predictions without their answers": len(predicted)}
    dropped = {"cancelled": 1, "drafts": 1}
    files = {
        "export.json": entered(votes, gold, dropped | only_ids),
        "snapshot.json": entered([*by_email, *predicted], gold, dropped),
        "min.json": entered([*votes, *reference]),
        "export.csv": entered([*votes, *reference]),
    }
    write_entered(HERE, files)


if __name__ == "__main__":
    main(sys.argv[1])
