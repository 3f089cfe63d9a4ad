"""A cluster that loses a process, a node and its driver: are the labels the same?

    python benchmarks/cluster.py                    # 10 million votes
    python benchmarks/cluster.py --rows 3000000 -o cluster.json
    python benchmarks/cluster.py --rows 200000 --workers 1000 --one-cluster     # in a minute
    python benchmarks/cluster.py --rows 200000000 --workers 200000 --pieces --only "node killed"

Each run is `quorate aggregate --engine ray` on a real cluster of processes on this machine, with
Dawid-Skene for as many iterations as it takes; what is killed is killed with SIGKILL while an
iteration is under way. The measure is the answer of threads in memory. Each run starts a cluster of
its own, but with --one-cluster only the driver that is killed does, and the one that resumes. With
--pieces votes are numbers in many Parquet files, as `billion.py` makes them, and the measure is the
answer of threads by way of a store on disk: for more votes than memory has room for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
from billion import Crowd, make_pieces
from rich.console import Console
from rich.table import Table

from quorate.simulation import simulate

PER_TASK, CLASSES = 5, 4
LOCAL = ("--engine", "ray")
ITERATIONS = ("-m", "dawid-skene", "--tol", "0", "--max-iter", "25")
ON_DISK = ("--memory", "4GB")
PATIENCE = 600  # seconds


@dataclass(frozen=True)
class Nodes:
    """A cluster of two nodes: its address, and the process that runs the second."""

    address: str
    second: psutil.Process


@contextmanager
def two_nodes() -> Iterator[Nodes]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        second = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        raylet = psutil.Process(second.all_processes["raylet"][0].process.pid)
        yield Nodes(cluster.address, raylet)
    finally:
        cluster.shutdown()


@dataclass(frozen=True)
class Files:
    """The votes, the store of their blocks, where the answers go, and after how many iterations
    something is killed."""

    votes: Sequence[Path]
    store: Path
    output: Path
    kill_after: int


def make_votes(rows: int, workers: int, path: Path) -> None:
    """Names in text, in one file."""
    crowd = simulate(workers, rows // PER_TASK, PER_TASK, n_classes=CLASSES, seed=1)
    task = np.repeat(np.arange(rows // PER_TASK), PER_TASK)
    frame = pl.DataFrame({"task": task, "worker": crowd.labels.worker, "label": crowd.labels.label})
    names = (pl.format(f"{name}-{{}}", name).alias(name) for name in frame.columns)
    frame.sample(fraction=1, shuffle=True, seed=1).select(names).write_parquet(path)


def run(files: Files, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "quorate", "aggregate", *map(str, files.votes)]
    if options:
        options = (*options, "--store", str(files.store))
    return subprocess.Popen(
        [*command, "-o", str(files.output), *ITERATIONS, "--json", *options],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(what: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """What it gives once it gives something; the process must not end before."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        if process.poll() is not None:
            _, errors = process.communicate()
            raise RuntimeError(f"the run ended with {process.returncode}: {errors}")
        time.sleep(0.01)
    raise TimeoutError


def wait_for_iterations(files: Files, process: subprocess.Popen[str]) -> None:
    """Until the loop's place has been kept so often, and the next iteration is on its way."""
    seen: set[int] = set()
    began = time.time_ns()

    def enough() -> bool:
        for checkpoint in files.store.glob("unfinished-*/checkpoint.state"):
            try:
                kept = checkpoint.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            if kept > began:
                seen.add(kept)
        return len(seen) >= files.kill_after

    wait_for(enough, process)
    time.sleep(0.02)


def actors(under: psutil.Process) -> list[psutil.Process]:
    """The processes that own parts of the blocks."""
    everyone = under.children(recursive=True)
    return [p for p in everyone if p.is_running() and "ray::Owner" in " ".join(_title(p))]


def _title(process: psutil.Process) -> Sequence[str]:
    try:
        title: Sequence[str] = process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess, psutil.AccessDenied):
        return ()
    return title


def finish(process: subprocess.Popen[str]) -> list[str]:
    """What the run had to say beside its result."""
    summary, errors = process.communicate(timeout=PATIENCE)
    if process.returncode:
        raise RuntimeError(f"the run ended with {process.returncode}: {errors}")
    notes: list[str] = json.loads(summary)["notes"]
    return notes


def undisturbed(files: Files, nodes: Nodes | None) -> str:
    finish(run(files, *_where(nodes)))
    return "nothing"


def actor_killed(files: Files, nodes: Nodes | None) -> str:
    process = run(files, *_where(nodes))
    wait_for_iterations(files, process)
    victim = wait_for(lambda: actors(psutil.Process()), process)[0]
    lost = " ".join(_title(victim))
    victim.kill()
    finish(process)
    return f"the process {lost}"


def node_killed(files: Files, nodes: Nodes | None) -> str:
    """The second of two nodes: the process that runs it, and all that run under it."""
    if nodes is None:
        with two_nodes() as own:
            return node_killed(files, own)
    process = run(files, *_where(nodes))
    wait_for_iterations(files, process)
    owners = actors(nodes.second)
    if not owners:
        raise RuntimeError("the second node has no part in it")
    for victim in [nodes.second, *nodes.second.children(recursive=True)]:
        victim.kill()
    finish(process)
    return f"a node with {len(owners)} of the actors"


def driver_killed(files: Files, nodes: Nodes | None) -> str:
    """The cluster that it started ends with it, and the one that resumes starts another."""
    process = run(files, *LOCAL)
    wait_for_iterations(files, process)
    process.kill()
    process.wait()
    if files.output.exists():
        raise RuntimeError("a driver that was killed has left an output")
    notes = finish(run(files, *LOCAL, "--resume"))
    return f"the driver ({' '.join(notes)})"


def _where(nodes: Nodes | None) -> tuple[str, ...]:
    return LOCAL if nodes is None else ("--address", nodes.address)


SCENARIOS = {
    "undisturbed": undisturbed,
    "actor killed": actor_killed,
    "node killed": node_killed,
    "driver killed, resumed": driver_killed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--pieces", action="store_true")
    parser.add_argument("--only", choices=SCENARIOS)
    parser.add_argument("--kill-after", type=int, default=4, metavar="ITERATIONS")
    parser.add_argument("--one-cluster", action="store_true")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    scenarios = [arguments.only] if arguments.only else list(SCENARIOS)
    with tempfile.TemporaryDirectory() as directory, ExitStack() as stack:
        place = Path(directory)
        if arguments.pieces:
            make_pieces(Crowd(arguments.rows, arguments.workers), place / "votes")
        else:
            make_votes(arguments.rows, arguments.workers, place / "votes.parquet")
        nodes = stack.enter_context(two_nodes()) if arguments.one_cluster else None
        votes = sorted(place.glob("**/votes*.parquet"))
        files = Files(votes, place / "store", place / "labels.parquet", arguments.kill_after)
        measured = ON_DISK if arguments.pieces else ()
        results = list(compared(files, nodes, scenarios, measured))
    show(results, arguments.rows)
    if arguments.output:
        arguments.output.write_text(json.dumps({"rows": arguments.rows, "runs": results}, indent=1))


def compared(
    files: Files, nodes: Nodes | None, scenarios: Sequence[str], measured: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Each run's seconds, and whether its answers are those of threads, which come first."""
    began = time.perf_counter()
    finish(run(replace(files, store=files.store.with_name("of-threads")), *measured))
    measure = pl.read_parquet(files.output)
    seconds = time.perf_counter() - began
    yield {"run": " ".join(["threads", *measured]), "seconds": seconds, "tasks": len(measure)}
    for name in scenarios:
        files.output.unlink()
        began = time.perf_counter()
        lost = SCENARIOS[name](files, nodes)
        seconds = time.perf_counter() - began
        found = pl.read_parquet(files.output)
        yield {
            "run": name,
            "lost": lost,
            "seconds": seconds,
            "same_labels": found["label"].equals(measure["label"]),
            "same_to_the_bit": found.equals(measure),
        }


def show(results: list[dict[str, Any]], rows: int) -> None:
    table = Table(title=f"{rows:,} votes, 25 iterations")
    for column in ("run", "lost", "seconds", "same labels", "same bits"):
        table.add_column(column)
    for result in results:
        same = [str(result.get(key, "")) for key in ("same_labels", "same_to_the_bit")]
        table.add_row(result["run"], result.get("lost", ""), f"{result['seconds']:.1f}", *same)
    Console().print(table)


if __name__ == "__main__":
    main()
