"""What the server takes: votes one by one and in batches, and how long the next task takes.

    python -m benchmarks.serve                        # on SQLite and PostgreSQL
    python -m benchmarks.serve --start 1000000        # how long a start takes
    python -m benchmarks.serve --soak 30              # memory over so many minutes of moderate work

The server is a process of its own, the client another, on the same machine. Beside seconds by the
clock there are those of the processor, which do not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import psutil

from chaos.postgres import postgresql
from chaos.serve.process import server
from quorate.service.client import Client

CLASSES = ("no", "yes")
ASKING = 500  # workers who ask for tasks
FILLED = 100_000, 60_000  # votes in batches, and one by one: more than is kept of the last ones
Run = tuple[int, list[float]]  # requests, and how long each took


def request(method: str, path: str, body: Any = None) -> bytes:
    """A request as it goes over the wire."""
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n"
    return (head + "Content-Type: application/json\r\n\r\n").encode() + content


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: bytes
) -> tuple[int, bytes]:
    """The status and the content of an answer."""
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head, re.I)
    body = await reader.readexactly(int(found[1])) if found else b""
    return int(head[9:12]), body


async def load(
    url: str, connections: int, seconds: float, make: Callable[[int], bytes], status: int
) -> Run:
    """Send requests over connections for a while: how many were answered, and how long each
    took."""
    host, port = url.removeprefix("http://").split(":")
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        while time.perf_counter() < end:
            sent = make(number)
            begun = time.perf_counter()
            answered, body = await exchange(reader, writer, sent)
            took.append(time.perf_counter() - begun)
            assert answered == status, (answered, body)
        writer.close()

    await asyncio.gather(*(one(i) for i in range(connections)))
    return len(took), took


async def load_next(url: str, connections: int, seconds: float, workers: int) -> Run:
    """Workers who ask for a task and vote on it, in turn: how long it took to be given one."""
    host, port = url.removeprefix("http://").split(":")
    took: list[float] = []
    end = time.perf_counter() + seconds
    draw, turn = random.Random("next"), count()

    async def one(number: int) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        while time.perf_counter() < end:
            worker = f"asks{next(turn) % workers}"
            sent = request("GET", f"/api/v1/projects/load/next?worker={worker}")
            begun = time.perf_counter()
            answered, body = await exchange(reader, writer, sent)
            took.append(time.perf_counter() - begun)
            (task,) = json.loads(body)["tasks"]
            vote = {"task": task["task"], "worker": worker, "label": draw.choice(CLASSES)}
            sent = request("POST", "/api/v1/projects/load/votes", {"votes": [vote]})
            voted, body = await exchange(reader, writer, sent)
            assert (answered, voted) == (200, 201), body
        writer.close()

    await asyncio.gather(*(one(i) for i in range(connections)))
    return len(took), took


def percentile(took: list[float], share: float) -> float:
    """In milliseconds."""
    return sorted(took)[min(int(share * len(took)), len(took) - 1)] * 1000


def measure(
    name: str, run: Run, seconds: float, each: int, processor: float, own: float
) -> dict[str, Any]:
    """A row of the table."""
    n, took = run
    row = {
        "what": name,
        "requests": n,
        "per second": round(n * each / seconds),
        "p50 ms": round(percentile(took, 0.5), 1),
        "p99 ms": round(percentile(took, 0.99), 1),
        "server µs each": round(processor / max(n * each, 1) * 1e6),
        "client µs each": round(own / max(n * each, 1) * 1e6),
        "per second of two cores": round(2 * n * each / max(processor + own, 1e-9)),
    }
    print(
        "  ".join(
            f"{key} {value:,}" if key != "what" else f"{value:24}" for key, value in row.items()
        ),
        flush=True,
    )
    return row


def votes_of(batch: int, tasks: int, tag: str) -> Callable[[int], bytes]:
    """Requests with votes that no other request has."""
    counts: dict[int, int] = {}
    draw = random.Random(tag)

    def make(connection: int) -> bytes:
        start = counts.get(connection, 0)
        counts[connection] = start + batch
        votes = [
            {
                "task": f"t{(start + i) % tasks}",
                "worker": f"{tag}{connection}-{(start + i) // tasks}",
                "label": draw.choice(CLASSES),
            }
            for i in range(batch)
        ]
        key = f"{tag}-{connection}-{start}"
        return request("POST", "/api/v1/projects/load/votes", {"votes": votes, "key": key})

    return make


def whole_load(database: str, seconds: float, tasks: int) -> list[dict[str, Any]]:
    """All of it, on one database."""
    rows = []
    with server(database) as (url, process, started):
        print(f"start: {started}", flush=True)
        with Client(url) as client:
            client.create("load", classes=CLASSES, target_confidence=0.9999, settle_seconds=86400)
            client.add_tasks(f"t{i}" for i in range(tasks))
            client.add_workers(f"asks{i}" for i in range(ASKING))
        single, batches = votes_of(1, tasks, "a"), votes_of(100, tasks, "b")
        cases: list[tuple[str, int, Callable[[], Coroutine[Any, Any, Run]]]] = [
            ("votes one by one", 1, lambda: load(url, 50, seconds, single, 201)),
            ("votes in batches of 100", 100, lambda: load(url, 8, seconds, batches, 201)),
            ("next, then a vote on it", 1, lambda: load_next(url, 4, seconds, ASKING)),
        ]
        for name, each, run in cases:
            with Client(url, "load", timeout=600) as client:
                client.settle()  # what came before is fitted now, not meanwhile
            before, own = _seconds(process), time.process_time()
            found = asyncio.run(run())
            used = _seconds(process) - before
            spent = time.process_time() - own
            rows.append(measure(name, found, seconds, each, used, spent))
        print(f"memory: {process.memory_info().rss / 1e6:,.0f} MB", flush=True)
    return rows


def start(database: str, votes: int, tasks: int) -> None:
    """How long a server takes to listen: with an empty project, with many votes, and killed."""
    with server(database) as (url, _, _), Client(url) as client:
        client.create("load", classes=CLASSES, settle_seconds=86400)
    with server(database) as (url, process, started), Client(url, "load", timeout=600) as client:
        print(f"start with an empty project: {started}", flush=True)
        draw, at_once = random.Random(0), 10_000
        for first in range(0, votes, at_once):
            some = range(first, min(first + at_once, votes))
            client.add([(f"t{i % tasks}", f"w{i // tasks}", draw.choice(CLASSES)) for i in some])
    with server(database) as (url, process, started):
        print(f"start with {votes:,} votes: {started}", flush=True)
        process.kill()
    with server(database) as (_, _, started):
        print(f"start with {votes:,} votes, after it was killed: {started}", flush=True)


def fill(url: str, connections: int, votes: int, each: int, make: Callable[[int], bytes]) -> None:
    """Send at least so many votes, however fast they are taken."""
    while votes > 0:
        n, _ = asyncio.run(load(url, connections, 2.0, make, 201))
        votes -= n * each


def soak(database: str, minutes: float, tasks: int) -> None:
    """Moderate work for a while: votes, corrections, answers, settlings; memory each minute.

    What is kept of the last votes and requests is filled before."""
    draw = random.Random(0)
    with server(database) as (url, process, _), Client(url) as client:
        client.create("load", classes=CLASSES, target_confidence=0.9999, settle_seconds=10)
        client.add_tasks(f"t{i}" for i in range(tasks))
        client.add_workers(f"asks{i}" for i in range(ASKING))
        in_batches, one_by_one = FILLED
        fill(url, 8, in_batches, 100, votes_of(100, tasks, "b"))
        fill(url, 50, one_by_one, 1, votes_of(1, tasks, "a"))
        begun, votes, minute = time.monotonic(), 0, 0
        for beat in count(1):
            for _ in range(10):
                worker = f"asks{draw.randrange(ASKING)}"
                for task in client.next(worker):
                    client.vote(task.task, worker, draw.choice(CLASSES))
                    votes += 1
            client.correct([(task.task, worker, draw.choice(CLASSES))])
            client.labels()
            if time.monotonic() - begun >= 60 * minute:
                size = process.memory_info().rss / 1e6
                print(f"minute {minute:2}  votes {votes:,}  memory {size:,.0f} MB", flush=True)
                minute += 1
            if minute > minutes:
                return
            time.sleep(max(0.0, begun + beat - time.monotonic()))


def _seconds(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:2]))


def main() -> None:
    """Run it on both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--start", type=int, metavar="VOTES")
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    given = parser.parse_args()
    for kind in given.databases.split(","):
        with ExitStack() as stack:
            if kind == "postgresql":
                database = stack.enter_context(postgresql())
            else:
                place = stack.enter_context(tempfile.TemporaryDirectory())
                database = str(Path(place) / "load.db")
            if given.start:
                start(database, given.start, given.tasks)
                continue
            if given.soak:
                soak(database, given.soak, given.tasks)
                continue
            print(f"{kind}: {given.tasks:,} tasks, {given.seconds:g} seconds each", flush=True)
            whole_load(database, given.seconds, given.tasks)


if __name__ == "__main__":
    main()
