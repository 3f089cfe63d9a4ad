"""Where the time goes from a file of votes to a file of labels, stage by stage, in one process.

    python benchmarks/stages.py votes.csv labels.csv majority
    python benchmarks/stages.py votes.csv labels.csv dawid-skene --max-iter 20 --tol 0 --workers

Stages are the calls of a few functions, which are timed from outside: what is between them is under
"the rest". Prints one line of JSON, seconds by the clock and of processor time for each stage;
`files.py --goals` shows it as a table.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

import psutil

STARTED = psutil.Process().create_time()

import quorate  # noqa: E402  (the time that this takes is a stage)
from quorate import aggregation  # noqa: E402
from quorate.labels import Labels  # noqa: E402
from quorate.summary import summarise  # noqa: E402
from quorate.votes import Outputs, reading  # noqa: E402

START, REST = "start and imports", "the rest"
seconds: dict[str, tuple[float, float]] = {}


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def count(stage: str, began: tuple[float, float]) -> None:
    """Add what has passed, by the clock and of processor time, to a stage."""
    clock, cpu = seconds.get(stage, (0.0, 0.0))
    ended = now()
    seconds[stage] = clock + ended[0] - began[0], cpu + ended[1] - began[1]


def timed(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose calls count for the stage."""

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        began = now()
        try:
            return function(*given, **named)
        finally:
            count(stage, began)

    return call


def watch() -> None:
    """Time the calls of the stages."""
    watched = (
        ("read", reading, "table_of"),
        ("code names", reading, "_codes_of_columns"),
        ("put in task order", Labels, "from_codes"),
        ("count repeats", Labels, "repeats"),
        ("look for correlated workers", aggregation, "_discounted"),
        ("fit", aggregation, "run"),
    )
    for stage, owner, name in watched:
        setattr(owner, name, timed(stage, getattr(owner, name)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("votes")
    parser.add_argument("labels")
    parser.add_argument("method", nargs="?", default="auto")
    parser.add_argument("--max-iter", type=int)
    parser.add_argument("--tol", type=float)
    parser.add_argument("--workers", action="store_true", help="the intervals of all workers too")
    arguments = parser.parse_args()
    seconds[START] = time.time() - STARTED, time.process_time()
    watch()
    chosen = {"max_iter": arguments.max_iter, "tol": arguments.tol}
    options: Any = {name: value for name, value in chosen.items() if value is not None}
    began = now()
    result = quorate.aggregate(arguments.votes, arguments.method, **options)
    timed("summary", summarise)(result)
    if arguments.workers:
        timed("intervals of workers", lambda: result.workers)()
    timed("write", write)(result, arguments.labels)
    known = [sum(spent) for spent in zip(*list(seconds.values())[1:], strict=True)]
    count(REST, (began[0] + known[0], began[1] + known[1]))
    print(json.dumps(seconds))


def write(result: quorate.Result, path: str) -> None:
    with Outputs() as outputs:
        outputs.table(result.labels, path)


if __name__ == "__main__":
    main()
