"""Votes that keep coming, in a directory: this version against another, in alternation.

git worktree add /tmp/other COMMIT
python benchmarks/online_against.py /tmp/other/src

Each version is a process of its own; they take turns every few hundred votes, and what is compared
is processor time, so that a machine with other work slows both alike.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

HERE = Path(__file__).parent.parent
PER_TASK, SINGLES, AT_A_TIME, TABLES, TABLE = 5, 20_000, 500, 5, 100_000


def serve(votes: str, n_tasks: int, directory: str, method: str) -> None:
    """Add votes as asked on standard input, and print the seconds of processor time it took."""
    from quorate import Online

    frame = pl.read_parquet(votes)
    online = Online.open(directory, method)
    online.add(frame.head(n_tasks * PER_TASK))
    singles = frame.slice(n_tasks * PER_TASK, SINGLES).rows()
    tables = list(frame.tail(TABLES * TABLE).iter_slices(TABLE))
    for line in sys.stdin:
        number = int(line)
        began = time.process_time()
        if number < TABLES:
            online.add(tables[number])
        else:
            start = (number - TABLES) * AT_A_TIME
            for vote in singles[start : start + AT_A_TIME]:
                online.add(vote)
        print(time.process_time() - began, flush=True)


def child(source: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--serve", *arguments]
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": source}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)


def ask(process: subprocess.Popen[str], number: int) -> float:
    assert process.stdin is not None and process.stdout is not None
    print(number, file=process.stdin, flush=True)
    return float(process.stdout.readline())


def compare(other: str, n_tasks: int, method: str) -> None:
    from online import votes_on

    with tempfile.TemporaryDirectory() as place:
        votes = f"{place}/votes.parquet"
        votes_on(n_tasks + (SINGLES + TABLES * TABLE) // PER_TASK, seed=1).write_parquet(votes)
        sources = {"other": other, "this": str(HERE / "src")}
        sides = {
            name: child(source, votes, str(n_tasks), f"{place}/{name}", method)
            for name, source in sources.items()
        }
        last = TABLES + SINGLES // AT_A_TIME
        for what, numbers, n_votes in (
            ("one by one", range(TABLES, last), SINGLES),
            ("in tables", range(TABLES), TABLES * TABLE),
        ):
            taken = dict.fromkeys(sides, 0.0)
            for number in numbers:
                for name, process in sorted(sides.items(), reverse=bool(number % 2)):
                    taken[name] += ask(process, number)
            speed = {name: f"{n_votes / seconds:,.0f}" for name, seconds in taken.items()}
            ratio = taken["other"] / taken["this"]
            print(f"{n_tasks:,} tasks of history, {what}: {speed} votes/s, ratio {ratio:.2f}")
        for process in sides.values():
            process.communicate()


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        votes, n_tasks, directory, method = sys.argv[2:]
        serve(votes, int(n_tasks), directory, method)
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", help="the other version's src directory")
    parser.add_argument("--history", default="10000,100000")
    parser.add_argument("-m", "--method", default="fast-dawid-skene")
    arguments = parser.parse_args()
    for size in arguments.history.split(","):
        compare(arguments.other, int(size), arguments.method)


if __name__ == "__main__":
    main()
