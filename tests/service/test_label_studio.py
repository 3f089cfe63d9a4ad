"""What Label Studio is told; a small server plays its API. `make label-studio` has the real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from quorate.service.failures import UnavailableError
from quorate.service.label_studio import LabelStudio, Mirror, Prediction, Pushing, wanted
from quorate.service.service import Service
from quorate.service.settings import Settings

CONFIG = {"kind": {"type": "Choices", "to_name": ["text"]}}


class Played:
    """What a Label Studio server has, and what it was asked."""

    def __init__(self) -> None:
        self.project: dict[str, Any] = {"parsed_label_config": CONFIG, "sampling": "Sequential"}
        self.tasks = [1, 2, 3]
        self.predictions: dict[int, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.authorizations: set[str] = set()

    def answer(self, method: str, path: str, body: Any) -> Any:
        self.asked.append(f"{method} {path.partition('?')[0]}")
        if path == "/api/token/refresh/":
            return {"access": "short-lived"}
        if path.startswith("/api/tasks/"):
            return {"tasks": [{"id": task} for task in self.tasks], "total": len(self.tasks)}
        if path.endswith("/import/predictions"):
            for row in body:
                number = len(self.predictions) + 1
                self.predictions[number] = {"id": number, **row}
            return {"created": len(body)}
        if path.startswith("/api/predictions/?"):
            return list(self.predictions.values())
        if path.startswith("/api/predictions/"):
            return self.predictions[int(path.split("/")[3])].update(body)
        if method == "PATCH":
            self.project.update(body)
        return self.project

    def told(self) -> dict[int, tuple[list[str], float]]:
        rows = self.predictions.values()
        labels = {r["task"]: [x["value"]["choices"][0] for x in r["result"]] for r in rows}
        return {r["task"]: (labels[r["task"]], r["score"]) for r in rows}


@contextmanager
def played() -> Iterator[tuple[Played, str]]:
    there = Played()

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            there.authorizations.add(self.headers.get("Authorization", ""))
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            content = json.dumps(there.answer(self.command, self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield there, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_predictions_are_made_once_and_then_changed() -> None:
    with played() as (there, url):
        mirror = Mirror(LabelStudio(url, "a-legacy-token"), 7)
        assert mirror.push({"1": Prediction("Ham", 0.8)}) == 3
        assert there.told() == {1: (["Ham"], 0.8), 2: ([], 0.0), 3: ([], 0.0)}
        assert mirror.push({"1": Prediction("Ham", 0.803)}) == 0
        assert mirror.push({"1": Prediction("Spam", 0.9), "2": Prediction("Ham", 1.0)}) == 2
        assert there.told() == {1: (["Spam"], 0.9), 2: (["Ham"], 1.0), 3: ([], 0.0)}
        assert (there.project["sampling"], there.project["model_version"]) == (
            "Uncertainty sampling",
            "quorate",
        )
        assert there.authorizations == {"Token a-legacy-token"}
        another = Mirror(LabelStudio(url, "a.personal.token"), 7)
        assert another.push({"1": Prediction("Spam", 0.9), "2": Prediction("Ham", 1.0)}) == 0
        assert "Bearer short-lived" in there.authorizations


def test_what_is_asked_for_has_a_low_score(tmp_path: Any) -> None:
    service = Service(str(tmp_path / "project.db"))
    try:
        service.create("mail", Settings(classes=("Ham", "Spam"), label_studio=7)).result()
        project = service.project("mail")
        service.add_tasks(project, [{"task": "1", "gold": "Ham"}, {"task": "2"}]).result()
        votes = [("3", worker, "Ham") for worker in "abc"] + [("4", "a", "Ham"), ("4", "b", "Spam")]
        service.vote(project, votes).result()
        service.add_tasks(project, [{"task": "5", "priority": 2}]).result()
        service.vote(project, [("5", "a", "Ham")]).result()
        found = wanted(project)
        assert found["1"] == Prediction("Ham", 1.0)
        assert found["2"] == Prediction(None, 0.0)
        assert found["3"].label == "Ham"
        assert found["5"].score < found["4"].score < found["3"].score
    finally:
        service.close()


def test_projects_are_told_on_a_timer(tmp_path: Any) -> None:
    service = Service(str(tmp_path / "project.db"))
    try:
        with played() as (there, url):
            service.create("mail", Settings(classes=("Ham", "Spam"), label_studio=7)).result()
            service.create("other", Settings()).result()
            service.vote(service.project("mail"), [("3", "a", "Spam")]).result()
            pushing = Pushing(service, LabelStudio(url, "token"), 0.02)
            try:
                for _ in range(500):
                    if len(there.predictions) == 3:
                        break
                    pushing._stop.wait(0.01)
            finally:
                pushing.close()
            assert there.told()[3][0] == ["Spam"]
    finally:
        service.close()


def test_a_server_that_is_gone_is_one_sentence() -> None:
    with pytest.raises(UnavailableError, match="Label Studio does not answer: "):
        Mirror(LabelStudio("http://127.0.0.1:1", "token"), 7).push({})


def test_no_address_comes_from_a_request() -> None:
    """Else who may change a project could have the server call machines that only it reaches."""
    with pytest.raises(ValueError, match="label_studio"):
        Settings.model_validate({"label_studio": "http://127.0.0.1:1"})
