"""What each page shows, as a dictionary: of it the page is made, and its `.json` twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from quorate.service import views
from quorate.service.handing import stopped
from quorate.service.project import Project

SHOWN = 50  # rows of a list


def overview(project: Project) -> dict[str, Any]:
    """How the project stands."""
    return {"summary": views.summary(project), "workers": _busiest(project, 8), **_classes(project)}


def _busiest(project: Project, n: int) -> list[dict[str, Any]]:
    frame = views.workers_frame(project).sort("votes", descending=True, maintain_order=True)
    return [_shown(row) for row in frame.head(n).to_dicts()]


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A worker under the name that pages show."""
    return {**row, "shown": row["alias"] or row["worker"]}


def workers(project: Project) -> dict[str, Any]:
    """All workers, those with most votes first."""
    return {"summary": views.summary(project), "workers": _busiest(project, 1_000)}


def worker(project: Project, name: str) -> dict[str, Any]:
    """One worker: what they say where others' answer is another."""
    found = _shown(views.worker_view(project, name))
    with project.lock:
        ledger = project.ledger
        code = ledger.names["worker"].get(name)
        classes = list(ledger.names["label"].names)
        table = np.zeros((len(classes), len(classes)), dtype=np.int64)
        last: list[dict[str, Any]] = []
        if code is not None:
            ballots = ledger.state.ballots
            places = np.flatnonzero(ballots.worker.values == code)
            _, best, _ = project.online.answers()
            tasks, said = ballots.task.values[places], ballots.label.values[places]
            np.add.at(table, (best[tasks], said), 1)
            names = ledger.names["task"].names
            for task, label in zip(tasks[-SHOWN:][::-1], said[-SHOWN:][::-1], strict=True):
                answer = classes[best[task]]
                last.append({"task": names[task], "label": classes[label], "answer": answer})
    return {
        "summary": views.summary(project),
        "worker": found,
        "classes": classes,
        "confusion": table.tolist(),
        "last": last,
    }


def disputed(project: Project) -> dict[str, Any]:
    """The tasks whose answers are least sure."""
    with project.lock:
        kept = project.names("task").kept
        ids = project.ranking.least_sure(project.ledger, SHOWN)
        names = [kept[id] for id in ids]
    tasks = [views.task_view(project, name) for name in names]
    return {"summary": views.summary(project), "tasks": tasks}


def classes(project: Project) -> dict[str, Any]:
    """The share of each class."""
    return {"summary": views.summary(project), **_classes(project)}


def _classes(project: Project) -> dict[str, Any]:
    labels = views.labels_frame(project)["label"].value_counts(sort=True).rows()
    n = sum(count for _, count in labels)
    return {"classes": [{"label": c, "tasks": k, "share": k / n} for c, k in labels]}


def next_tasks(project: Project) -> dict[str, Any]:
    """The tasks that an average worker would get."""
    with project.lock:
        kept = project.names("task").kept
        ids = project.ranking.best_for(project.ledger, None, [], SHOWN)
        rows = [
            {"task": kept[id], "confidence": project.ranking.confidence(project.ledger, id)}
            for id in ids
        ]
    return {"summary": views.summary(project), "tasks": rows}


def budget(project: Project) -> dict[str, Any]:
    """What the votes have cost, and whom it went to."""
    rows = views.workers_frame(project).to_dicts()
    with project.lock:
        costs = [project.cost_of(id) for id in range(len(rows))]
        reason = stopped(project)
    spent = [
        {**_shown(row), "spent": row["votes"] * cost}
        for row, cost in zip(rows, costs, strict=True)
        if row["votes"]
    ]
    spent.sort(key=lambda row: -row["spent"])
    return {"summary": views.summary(project), "workers": spent[:SHOWN], "stopped": reason}


def settings(project: Project) -> dict[str, Any]:
    """How the project is run."""
    return {"summary": views.summary(project), "settings": project.settings.model_dump()}


PAGES: dict[str, Callable[[Project], dict[str, Any]]] = {
    "overview": overview,
    "workers": workers,
    "disputed": disputed,
    "classes": classes,
    "next": next_tasks,
    "budget": budget,
    "settings": settings,
}
