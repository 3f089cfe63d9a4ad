"""`quorate.Client`: the server's API, typed, with nothing but Python's own library."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from quorate.card import card
from quorate.errors import QuorateError, UsageError

PATIENCE = 60.0  # seconds for an answer
TRIES = 4  # of what can be repeated without harm
AGAIN = (429, 502, 503, 504)  # statuses after which it is tried again


class ServerError(QuorateError):
    """What the server answered instead: its sentence, and the status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Taken(NamedTuple):
    """Votes that are kept for good: how many, the number of the first, and whether they were
    before."""

    votes: int
    first: int
    repeated: bool


class HandedOut(NamedTuple):
    """A task to label."""

    task: str
    payload: Any
    seconds: float


class Client:
    """A project on a server.

    Votes are sent under a key, so that what is sent again after a connection broke (which happens
    by itself, unless `again` is False) counts once.

    `url` is that of the server, `project` the project's name, and `token` what `quorate serve
    token` printed. A client is for one thread at a time.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8765",
        project: str | None = None,
        *,
        token: str | None = None,
        timeout: float = PATIENCE,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"{url} is no address of a server: http://HOST:PORT.")
        self.url, self.project = url.rstrip("/"), project
        self._host, self._port, self._secure = parts.hostname, parts.port, parts.scheme == "https"
        self._before = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None

    def __repr__(self) -> str:
        return f"Client({self.url!r}, {self.project!r})"

    def _repr_html_(self) -> str:
        return card("Client", {"server": self.url, "project": self.project or "none yet"})

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # Projects.

    def projects(self) -> list[dict[str, Any]]:
        """The projects on the server, and how they stand."""
        found: list[dict[str, Any]] = self.ask("GET", "/projects")
        return found

    def create(self, project: str, **settings: Any) -> dict[str, Any]:
        """Make a project, which is then this client's."""
        made: dict[str, Any] = self.ask(
            "POST", "/projects", {"name": project, "settings": settings}
        )
        self.project = project
        return made

    def summary(self) -> dict[str, Any]:
        """How the project stands, and its settings."""
        found: dict[str, Any] = self._of_project("GET", "")
        return found

    def change(self, **settings: Any) -> dict[str, Any]:
        """Change settings."""
        found: dict[str, Any] = self._of_project("PATCH", "", settings)
        return found

    # Tasks and workers.

    def add_tasks(self, tasks: Iterable[str | Mapping[str, Any]]) -> int:
        """Add tasks: names, or mappings of task, payload, features, priority and gold."""
        rows = [{"task": task} if isinstance(task, str) else dict(task) for task in tasks]
        added = 0
        for start in range(0, len(rows), 10_000):
            part = {"tasks": rows[start : start + 10_000]}
            added += self._of_project("POST", "/tasks", part)["added"]
        return added

    def task(self, task: str) -> dict[str, Any]:
        """A task: votes, answer, probabilities, payload."""
        found: dict[str, Any] = self._of_project("GET", f"/tasks/{quote(task, safe='')}")
        return found

    def change_task(self, task: str, **about: Any) -> dict[str, Any]:
        """Change a task's priority, payload or gold, or close it."""
        path = f"/tasks/{quote(task, safe='')}"
        found: dict[str, Any] = self._of_project("PATCH", path, about)
        return found

    def add_workers(self, workers: Iterable[str | Mapping[str, Any]]) -> int:
        """Add workers: names, or mappings of worker, kind, cost, capacity, paused and alias."""
        rows = [{"worker": w} if isinstance(w, str) else dict(w) for w in workers]
        added: int = self._of_project("POST", "/workers", {"workers": rows})["added"]
        return added

    def change_worker(self, worker: str, **about: Any) -> dict[str, Any]:
        """Pause a worker, or say something else of them."""
        path = f"/workers/{quote(worker, safe='')}"
        found: dict[str, Any] = self._of_project("PATCH", path, about)
        return found

    def workers(self) -> list[dict[str, Any]]:
        """The workers, and how good their votes are."""
        return list(self._pages("/workers", "workers"))

    # Votes.

    def next(self, worker: str, n: int = 1) -> list[HandedOut]:
        """The next tasks for a worker; none when there is nothing left (see `reason`)."""
        found = self._of_project("GET", "/next?" + urlencode({"worker": worker, "n": n}))
        self.reason: str | None = found["reason"]
        return [HandedOut(**task) for task in found["tasks"]]

    def vote(self, task: str, worker: str, label: str, *, key: str | None = None) -> Taken:
        """Take one vote."""
        return self.add([(task, worker, label)], key=key)

    def add(
        self, votes: Sequence[Sequence[str]], *, key: str | None = None, again: bool = True
    ) -> Taken:
        """Take votes, rows of task, worker and label, that are counted together."""
        return self._votes("/votes", _rows(votes, ("task", "worker", "label")), key, again)

    def correct(
        self, votes: Sequence[Sequence[str]], *, key: str | None = None, again: bool = True
    ) -> Taken:
        """Take votes in place of those that these workers gave on these tasks."""
        return self._votes("/votes/correct", _rows(votes, ("task", "worker", "label")), key, again)

    def withdraw(
        self, votes: Sequence[Sequence[str]], *, key: str | None = None, again: bool = True
    ) -> Taken:
        """Take votes back: rows of task and worker."""
        return self._votes("/votes/withdraw", _rows(votes, ("task", "worker")), key, again)

    def release(self, task: str, worker: str) -> None:
        """Give a task back without a vote."""
        self._of_project("POST", "/release", {"votes": [{"task": task, "worker": worker}]})

    def _votes(self, path: str, rows: list[dict[str, str]], key: str | None, again: bool) -> Taken:
        body = {"votes": rows, "key": key or uuid.uuid4().hex}
        return Taken(**self._of_project("POST", path, body, again=again))

    # Answers.

    def settle(self) -> None:
        """Fit all votes now: the answers are then those of `quorate.aggregate`."""
        self._of_project("POST", "/settle", again=True)

    def labels(self) -> list[dict[str, Any]]:
        """The answers, as of now."""
        return list(self._pages("/labels", "labels"))

    def posterior(self) -> dict[str, dict[str, float]]:
        """The probability of each class of each task."""
        return {row["task"]: row["posterior"] for row in self._pages("/posterior", "tasks")}

    def estimate(self) -> dict[str, Any]:
        """The expected error and the share of each class."""
        found: dict[str, Any] = self._of_project("GET", "/estimate")
        return found

    def diagnosis(self) -> dict[str, Any]:
        """What is wrong with the crowd."""
        found: dict[str, Any] = self._of_project("GET", "/diagnosis")
        return found

    def explain(self, task: str) -> dict[str, Any]:
        """Why a task has its answer."""
        path = f"/tasks/{quote(task, safe='')}/explanation"
        found: dict[str, Any] = self._of_project("GET", path)
        return found

    def export(self, what: str, format: str = "csv") -> bytes:
        """Votes, labels, posterior or workers as a file: csv, jsonl or parquet."""
        path = self._path(f"/export/{what}?" + urlencode({"format": format}))
        return self._send("GET", path, None, {}, again=True)

    def import_file(self, path: str | Path) -> dict[str, Any]:
        """Take the votes of a file that `quorate.aggregate` reads."""
        content, suffix = Path(path).read_bytes(), "".join(Path(path).suffixes[-2:]).lower()
        where = self._path("/import?" + urlencode({"suffix": suffix or ".csv"}))
        kind = {"Content-Type": "application/octet-stream"}
        found: dict[str, Any] = json.loads(self._send("POST", where, content, kind, again=False))
        return found

    def events(self, last: int = 0) -> Iterator[dict[str, Any]]:
        """How the project stands, whenever that changes; after so many the stream ends."""
        path = self._before + "/api/v1" + self._path(f"/events?last={last}")
        connection = self._connect()
        try:
            connection.request("GET", path, headers=self._headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise _failure(answer.status, answer.read())
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()

    # HTTP.

    def _pages(self, path: str, what: str) -> Iterator[dict[str, Any]]:
        offset: int | None = 0
        while offset is not None:
            page = self._of_project(
                "GET", f"{path}?" + urlencode({"offset": offset, "limit": 10_000})
            )
            yield from page[what]
            offset = page["next"]

    def _path(self, path: str) -> str:
        if self.project is None:
            raise UsageError("Name a project: Client(url, project), or create one.")
        return f"/projects/{quote(self.project, safe='')}{path}"

    def _of_project(self, method: str, path: str, body: Any = None, *, again: bool = False) -> Any:
        return self.ask(method, self._path(path), body, again=again)

    def ask(self, method: str, path: str, body: Any = None, *, again: bool = False) -> Any:
        """The answer of any route under /api/v1."""
        content, headers = None, {}
        if body is not None:
            content, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
        return json.loads(self._send(method, path, content, headers, again or method == "GET"))

    def _connect(self) -> http.client.HTTPConnection:
        if self._secure:
            context = ssl.create_default_context()
            where = (self._host, self._port)
            return http.client.HTTPSConnection(*where, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)

    def _send(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], again: bool
    ) -> bytes:
        """The content of an answer; what can be repeated is, when a connection breaks."""
        path = self._before + "/api/v1" + path
        for tried in range(1, TRIES + 1):
            last = tried == TRIES or not again
            try:
                if self._connection is None:
                    self._connection = self._connect()
                self._connection.request(method, path, content, {**self._headers, **headers})
                answer = self._connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if last:
                    raise ServerError(f"{self.url} does not answer: {error}.", 0) from None
            else:
                if answer.status < 400:
                    return body
                if last or answer.status not in AGAIN:
                    raise _failure(answer.status, body)
                time.sleep(float(answer.headers.get("Retry-After", 0) or 0))
            time.sleep(0.1 * 2**tried)
        raise AssertionError("unreachable")


def _rows(votes: Sequence[Sequence[str]], columns: Sequence[str]) -> list[dict[str, str]]:
    return [dict(zip(columns, vote, strict=True)) for vote in votes]


def _failure(status: int, body: bytes) -> ServerError:
    try:
        sentence = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        sentence = f"The server answered with {status}."
    return ServerError(sentence, status)
