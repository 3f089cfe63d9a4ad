"""What Label Studio is told on a timer: the answers as predictions, whose scores are priorities.

A score is the confidence in an answer; where no further votes are asked for it is 1, and a task
without votes has 0. So Label Studio's *uncertainty sampling*, which goes by the lowest score, asks
its people where a vote is worth something. Predictions that are there are changed, not repeated.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from quorate.errors import DataError, QuorateError
from quorate.service import views
from quorate.service.failures import UnavailableError

if TYPE_CHECKING:
    from quorate.service.project import Project
    from quorate.service.service import Service

log = logging.getLogger("quorate.serve")
MODEL = "quorate"  # the version of the model of these predictions
SAMPLING = "Uncertainty sampling"  # by the lowest score first, as Label Studio calls it
PAGE = 1000  # tasks that are asked for at once
TIMEOUT = 60.0
SAME = 0.005  # by which a score may be off before it is told again


@dataclass
class LabelStudio:
    """A Label Studio server, as somebody who has a token there: a personal access token, or one of
    the kind before (*legacy*)."""

    url: str
    token: str

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What its API answers."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Authorization": self._authorization()}
        return self._send(Request(f"{self.url}{path}", content, headers, method=method))

    def _authorization(self) -> str:
        if self.token.count(".") != 2:
            return f"Token {self.token}"
        body = json.dumps({"refresh": self.token}).encode()
        headers = {"Content-Type": "application/json"}
        given = self._send(Request(f"{self.url}/api/token/refresh/", body, headers))
        return f"Bearer {given['access']}"

    def _send(self, request: Request) -> Any:
        try:
            with urlopen(request, timeout=TIMEOUT) as answer:
                content = answer.read()
        except HTTPError as error:
            said = " ".join(error.read(500).decode(errors="replace").split())
            raise UnavailableError(f"Label Studio answered {error.code}: {said[:200]}") from None
        except OSError as error:
            raise UnavailableError(f"Label Studio does not answer: {error}.") from None
        return json.loads(content) if content else None


class Prediction(NamedTuple):
    """An answer and its score; without votes there is no answer."""

    label: str | None
    score: float

    def is_near(self, other: Prediction) -> bool:
        """Whether it need not be told again."""
        return self.label == other.label and abs(self.score - other.score) <= SAME


class Mirror:
    """The predictions of one project in Label Studio."""

    def __init__(self, server: LabelStudio, number: int) -> None:
        self.server, self.number = server, number
        self._control: tuple[str, str] | None = None
        self._there: dict[int, tuple[int, Prediction]] = {}  # by task: its prediction's number

    def push(self, wanted: Mapping[str, Prediction]) -> int:
        """Tell what is new, or not what it was; how many that is."""
        if self._control is None:
            self._control = self._find_control()
            self._there = self._predictions()
        tasks = {task: wanted.get(str(task), Prediction(None, 0.0)) for task in self._tasks()}
        new = {task: told for task, told in tasks.items() if task not in self._there}
        if new:
            rows = [{"task": task, **self._body(told)} for task, told in new.items()]
            self.server.ask("POST", f"/api/projects/{self.number}/import/predictions", rows)
            self._there = self._predictions()
            by_score = {"sampling": SAMPLING, "model_version": MODEL}
            self.server.ask("PATCH", f"/api/projects/{self.number}/", by_score)
        others = [t for t in tasks.keys() - new.keys() if not tasks[t].is_near(self._there[t][1])]
        for task in others:
            number, _ = self._there[task]
            body = {"task": task, **self._body(tasks[task])}
            self.server.ask("PATCH", f"/api/predictions/{number}/", body)
            self._there[task] = (number, tasks[task])
        return len(new) + len(others)

    def _find_control(self) -> tuple[str, str]:
        """The tag of choices, and what it is about."""
        tags = self.server.ask("GET", f"/api/projects/{self.number}/")["parsed_label_config"]
        choices = [name for name, tag in tags.items() if tag["type"].lower() == "choices"]
        if len(choices) != 1:
            raise DataError(
                f"Label Studio's project {self.number} has {len(choices)} tags of choices:"
                " predictions are for a project that has one."
            )
        return choices[0], tags[choices[0]]["to_name"][0]

    def _body(self, told: Prediction) -> dict[str, Any]:
        assert self._control is not None
        name, about = self._control
        value = {"choices": [told.label]}
        region = {"from_name": name, "to_name": about, "type": "choices", "value": value}
        result = [] if told.label is None else [region]
        return {"result": result, "score": told.score, "model_version": MODEL}

    def _tasks(self) -> Iterator[int]:
        page = 1
        while True:
            asked = f"/api/tasks/?project={self.number}&page={page}&page_size={PAGE}"
            found = self.server.ask("GET", f"{asked}&fields=task_only")
            rows = found["tasks"]
            yield from (row["id"] for row in rows)
            if page * PAGE >= found["total"] or not rows:
                return
            page += 1

    def _predictions(self) -> dict[int, tuple[int, Prediction]]:
        rows = self.server.ask("GET", f"/api/predictions/?project={self.number}")
        return {
            row["task"]: (row["id"], Prediction(_label_in(row["result"]), row["score"] or 0.0))
            for row in rows
            if row["model_version"] == MODEL
        }


def _label_in(result: Any) -> str | None:
    return str(result[0]["value"]["choices"][0]) if result else None


def wanted(project: Project) -> dict[str, Prediction]:
    """What is to be told of each task."""
    return {
        task: Prediction(label, round(score, 4))
        for task, (label, score) in views.priorities(project).items()
    }


class Pushing:
    """A thread that tells Label Studio how projects stand, every so many seconds."""

    def __init__(self, service: Service, server: LabelStudio, seconds: float) -> None:
        self._service, self._server, self._seconds = service, server, seconds
        self._mirrors: dict[tuple[str, int], Mirror] = {}
        self._told: dict[str, int] = {}  # the version of a project that was told
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="quorate-push", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Tell no more."""
        self._stop.set()
        self._thread.join(TIMEOUT)

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            for project in list(self._service.projects.values()):
                try:
                    self._push(project)
                except QuorateError as error:
                    log.warning("%s: %s", project.name, error)
                except Exception:
                    log.exception("%s could not be told to Label Studio", project.name)

    def _push(self, project: Project) -> None:
        number, version = project.settings.label_studio, project.version
        if number is None or not self._service.leads or self._told.get(project.name) == version:
            return
        place = (project.name, number)
        mirror = self._mirrors.setdefault(place, Mirror(self._server, number))
        try:
            mirror.push(wanted(project))
        except BaseException:
            del self._mirrors[place]  # what is there is asked for again
            raise
        self._told[project.name] = version
