"""A server that is killed under load: what it acknowledged is there, once, and it goes on.

Workers vote over HTTP, one by one and in batches, ask for tasks, correct and withdraw votes, while
the server is killed at any moment, again and again. After each start every vote that was
acknowledged is there, none twice, and none that was not sent; requests that were not answered are
sent again under their keys. In the end all votes are fitted, and the labels and confidences are
those of `aggregate` of the votes, to the last bit.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import quorate
from chaos.attack import Attack, Outcomes, require
from chaos.children import Child, called
from chaos.postgres import postgresql
from quorate.errors import QuorateError
from quorate.service.client import Client, ServerError

CLASSES = ("cat", "dog", "owl")
ROUNDS, WORKERS, TASKS = 8, 5, 40
Vote = tuple[str, str, str]


class Load:
    """What workers have sent, and what was acknowledged of it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.there: dict[tuple[str, str], str] = {}  # the vote of a worker on a task that counts
        self.open: dict[str, tuple[str, list[Vote]]] = {}  # requests without an answer, by key
        self.failures: list[str] = []

    def play(self, url: str, worker: int, round: int, stop: threading.Event) -> None:
        """One worker, until the server is gone."""
        chance = random.Random(f"{self.seed} {worker} {round}")
        with Client(url, "chaos", timeout=10) as client:
            for n in range(10_000):
                if stop.is_set():
                    return
                key = f"{worker}-{round}-{n}"
                kind, votes = self._choose(client, f"w{worker}", chance, stop)
                if not votes:
                    continue
                self.open[key] = (kind, votes)
                try:
                    send(client, kind, votes, key)
                except ServerError as error:
                    if error.status not in (0, 503):
                        self.failures.append(f"{kind} {votes} gave {error.status}: {error}")
                    return
                self.acknowledge(key)

    def _choose(
        self, client: Client, worker: str, chance: random.Random, stop: threading.Event
    ) -> tuple[str, list[Vote]]:
        """What a worker does next."""
        mine = [pair for pair in list(self.there) if pair[1] == worker]
        draw = chance.random()
        if draw < 0.1 and mine:
            return "withdraw", [(*chance.choice(mine), "")]
        if draw < 0.2 and mine:
            return "correct", [(*chance.choice(mine), chance.choice(CLASSES))]
        if draw < 0.5:
            with suppress(ServerError):
                handed = client.next(worker)
                tasks = [task.task for task in handed]
                return "add", [(task, worker, chance.choice(CLASSES)) for task in tasks]
            return "add", []
        fresh = [f"t{i}" for i in range(TASKS) if (f"t{i}", worker) not in self.there]
        some = chance.sample(fresh, min(chance.randint(1, 4), len(fresh)))
        return "add", [(task, worker, chance.choice(CLASSES)) for task in some]

    def acknowledge(self, key: str) -> None:
        """The server has answered a request."""
        kind, votes = self.open.pop(key)
        for task, worker, label in votes:
            if kind == "withdraw":
                self.there.pop((task, worker), None)
            else:
                self.there[task, worker] = label


def send(client: Client, kind: str, votes: list[Vote], key: str) -> None:
    """A request, once: whether it arrived is for the caller to find out."""
    if kind == "withdraw":
        client.withdraw([vote[:2] for vote in votes], key=key, again=False)
    else:
        do = client.correct if kind == "correct" else client.add
        do(votes, key=key, again=False)


def trial(seed: int, database: str, rounds: int = ROUNDS) -> Outcomes:
    """Kill a server of a database again and again."""
    chance, load = random.Random(seed), Load(seed)
    for round in range(rounds):
        child, url = started(database)
        try:
            with Client(url, "chaos", timeout=20) as client:
                if not round:
                    client.create("chaos", classes=CLASSES, gold_rate=0.1, settle_seconds=1)
                    client.add_tasks([{"task": f"t{i}"} for i in range(TASKS)])
                    client.add_workers([f"w{i}" for i in range(WORKERS)])
                check(client, load)
            yield None
            under_load(load, url, round, child, chance.random() ** 2 * 1.5)
        finally:
            child.kill()
            child.wait()
        require(not load.failures, "; ".join(load.failures[:3]))
    child, url = started(database)
    try:
        with Client(url, "chaos", timeout=60) as client:
            check(client, load)
            same_as_aggregate(client)
        yield None
    finally:
        child.kill()
        child.wait()


def under_load(load: Load, url: str, round: int, child: Child, seconds: float) -> None:
    """Let everybody vote, and kill the server while they do."""
    stop = threading.Event()
    threads = [
        threading.Thread(target=load.play, args=(url, worker, round, stop))
        for worker in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    child.kill()
    child.wait()
    stop.set()
    for thread in threads:
        thread.join()


def check(client: Client, load: Load) -> None:
    """What was acknowledged is there; what was not is sent again."""
    for key, (kind, votes) in list(load.open.items()):
        try:
            send(client, kind, votes, key)
        except ServerError as error:
            require(error.status in (404, 409), f"{kind} again gave {error.status}: {error}")
            load.open.pop(key)
        else:
            load.acknowledge(key)
    rows = votes_of(client)
    pairs = [(task, worker) for task, worker, _ in rows]
    require(len(set(pairs)) == len(pairs), "a vote is there twice")
    found = {(task, worker): label for task, worker, label in rows}
    lost = {pair: label for pair, label in load.there.items() if found.get(pair) != label}
    require(not lost, f"acknowledged votes are lost: {list(lost.items())[:3]}")
    more = found.keys() - load.there.keys()
    require(not more, f"there are votes that nobody sent: {list(more)[:3]}")
    for worker in range(WORKERS):
        client.next(f"w{worker}")  # leases do not stand in the way


def same_as_aggregate(client: Client) -> None:
    """Settled, the labels are those of `aggregate`."""
    client.settle()
    rows = votes_of(client)
    if not rows:
        return
    found = [[row["task"], row["label"], row["confidence"]] for row in client.labels()]
    expected = called(partial(_aggregated, rows))
    require(sorted(found) == sorted(expected), "the labels are not those of aggregate")


def _aggregated(rows: list[Vote]) -> list[list[object]]:
    table = quorate.aggregate(rows).labels.select("task", "label", "confidence")
    return [list(row) for row in table.rows()]


def votes_of(client: Client) -> list[Vote]:
    """The votes that the server has."""
    rows = map(json.loads, client.export("votes", "jsonl").splitlines())
    return [(row["task"], row["worker"], row["label"]) for row in rows]


def started(database: str) -> tuple[Child, str]:
    """A server in a process of its own, once it listens."""
    child = Child(partial(_serve, database))
    port = child.next()
    require(port is not None, "the server did not start")
    return child, f"http://127.0.0.1:{port}"


def _serve(database: str, say: Callable[[int], None]) -> None:
    from quorate.service.running import Place, serve

    for patience in range(100):  # PostgreSQL may not know yet that the one before is gone
        try:
            serve(database, Place(port=0), started=lambda service, place: say(place.port))
            return
        except QuorateError:
            if patience == 99:
                raise
            time.sleep(0.1)


def on_sqlite(seed: int, place: Path) -> Outcomes:
    """On a file."""
    yield from trial(seed, str(place / "project.db"))


def twice(seed: int, place: Path) -> Outcomes:
    """Twice on a file: what fits into a minute beside everything else."""
    yield from trial(seed, str(place / "project.db"), rounds=2)


def on_postgresql(seed: int, place: Path) -> Outcomes:
    """On a server, which is started for it and lives on."""
    with postgresql(fsync=False) as database:
        yield from trial(seed, database)


SQLITE = Attack(
    "serve-kills-sqlite",
    "SIGKILL of a server under load, SQLite",
    on_sqlite,
    200,
    long=True,
    patience=900,
)
POSTGRESQL = Attack(
    "serve-kills-postgresql",
    "SIGKILL of a server under load, PostgreSQL",
    on_postgresql,
    200,
    long=True,
    patience=900,
)
QUICK = Attack("serve-kills", "SIGKILL of a server under load, twice", twice, 40)
