"""Enter categories into doccano by its models, and export them by its own export task.

python -m tests.votes.readers.exports.doccano.make
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
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
    vote,
    write_entered,
)

HERE = Path(__file__).parent
UNLABELLED = ("cyd", 5)  # which cyd does not label
CONFIRMED = 6  # tasks, from the first, that everybody confirms


def start(place: str) -> None:
    """Make doccano's database in this place."""
    backend = Path(find_spec("backend").origin).parent
    sys.path.append(str(backend))
    os.environ |= {
        "DATABASE_URL": f"sqlite:///{place}/db.sqlite3",
        "MEDIA_ROOT": f"{place}/media",
        "STANDALONE": "True",
        "DJANGO_SETTINGS_MODULE": "config.settings.production",
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("create_roles")


def people() -> dict[str, Any]:
    """The accounts of everybody."""
    from django.contrib.auth.models import User

    return {name: User.objects.create_user(name, f"{name}@example.com") for name in PEOPLE}


def project(users: dict[str, Any], kind: str, options: Sequence[str], **more: Any) -> Any:
    """A project that everybody is a member of, with these labels."""
    from label_types.models import CategoryType
    from projects.models import ImageClassificationProject, Member, TextClassificationProject
    from roles.models import Role

    made_by = {
        "DocumentClassification": TextClassificationProject,
        "ImageClassification": ImageClassificationProject,
    }[kind]
    made = made_by.objects.create(name=kind, project_type=kind, created_by=users["ann"], **more)
    role = Role.objects.get(name="annotator")
    for user in users.values():
        Member.objects.create(project=made, user=user, role=role)
    for option in options:
        CategoryType.objects.create(project=made, text=option)
    return made


def label(made: Any, users: dict[str, Any], labels: dict[str, Sequence[Any]]) -> list[int]:
    """Enter everybody's labels; the numbers of the examples."""
    from examples.models import Comment, Example, ExampleState
    from label_types.models import CategoryType
    from labels.models import Category

    options = {option.text: option for option in CategoryType.objects.filter(project=made)}
    numbers = []
    for place, text in enumerate(TEXTS):
        name = f"{place}.jpg"
        example = Example.objects.create(
            project=made, text=text, upload_name=name, meta={"source": "guide"}
        )
        numbers.append(example.pk)
        for who, user in users.items():
            for said in labels[who][place]:
                Category.objects.create(example=example, label=options[said], user=user)
            if place < CONFIRMED:
                ExampleState.objects.create(example=example, confirmed_by=user)
    Comment.objects.create(example_id=numbers[0], user=users["ann"], text="Easy.")
    return numbers


def export(made: Any, kind: str, file: str, confirmed_only: bool = False) -> None:
    """Keep what doccano's export writes."""
    from data_export.celery_tasks import export_dataset

    shutil.move(export_dataset(made.pk, kind, confirmed_only), HERE / file)


def votes(
    numbers: Sequence[int], labels: dict[str, Sequence[Any]], upto: int, single: bool
) -> dict[str, Any]:
    """What was entered about the first tasks; an empty list is a task that is not labelled."""
    said = [(who, i, labels[who][i]) for who in PEOPLE for i in range(upto)]
    given = [vote("", numbers[i], who, s[0] if single else list(s)) for who, i, s in said if s]
    without = sum(not s for _, _, s in said)
    return entered(given, dropped={"unlabelled": without} if without else {})


def by_hand() -> dict[str, Any]:
    """Files as older versions wrote them: a user in each line, or all annotations of a text."""
    lines = [
        {"doc_id": 1 + i, "text": text, "labels": [SENTIMENT[who][i]], "username": who}
        for who in PEOPLE
        for i, text in enumerate(TEXTS)
    ]
    (HERE / "old.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    texts = [
        {
            "id": 1 + i,
            "text": text,
            "annotations": [
                {"label": 1 + TOPICS.index(topic), "user": 1 + PEOPLE.index(who), "manual": True}
                for who in PEOPLE
                for topic in ABOUT[who][i]
            ],
            "meta": {},
        }
        for i, text in enumerate(TEXTS)
    ]
    (HERE / "users.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in texts))
    named = [vote("", line["doc_id"], line["username"], line["labels"][0]) for line in lines]
    numbered = [
        vote("", 1 + i, 1 + PEOPLE.index(who), [1 + TOPICS.index(topic) for topic in about])
        for who in PEOPLE
        for i, about in enumerate(ABOUT[who])
        if about
    ]
    return {"old.jsonl": entered(named), "users.jsonl": entered(numbered)}


def main() -> None:
    """Make the projects, label, export, and write down what was entered."""
    one = {
        who: [(s,) if (who, i) != UNLABELLED else () for i, s in enumerate(SENTIMENT[who])]
        for who in PEOPLE
    }
    files = {}
    with tempfile.TemporaryDirectory() as place:
        start(place)
        users = people()
        single = project(users, "DocumentClassification", OPTIONS, single_class_classification=True)
        numbers = label(single, users, one)
        for kind, file in (("JSONL", "jsonl.zip"), ("JSON", "json.zip"), ("CSV", "csv.zip")):
            export(single, kind, file)
            files[file] = votes(numbers, one, len(TEXTS), single=True)
        export(single, "JSONL", "confirmed.zip", confirmed_only=True)
        files["confirmed.zip"] = votes(numbers, one, CONFIRMED, single=True)
        images = project(users, "ImageClassification", TOPICS)
        numbers = label(images, users, ABOUT)
        export(images, "JSONL", "images.zip")
        files["images.zip"] = votes(numbers, ABOUT, len(TEXTS), single=False)
        together = project(users, "DocumentClassification", TOPICS, collaborative_annotation=True)
        label(together, users, {"ann": ABOUT["ann"], "bob": [()] * 8, "cyd": [()] * 8})
        export(together, "JSONL", "together.zip")
    write_entered(HERE, files | by_hand())


if __name__ == "__main__":
    main()
