"""A cluster that loses a process, a node and its driver: are the labels the same?

    python benchmarks/cluster.py                    # 10 million votes
    python benchmarks/cluster.py --rows 3000000 -o cluster.json

Each run is `quorate aggregate --engine ray` on a real cluster of processes on this machine, with
Dawid-Skene for as many iterations as it takes; what is killed is killed with SIGKILL while an
iteration is under way. The measure is the answer of threads in memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
from rich.console import Console
from rich.table import Table

from quorate.simulation import simulate

PER_TASK, WORKERS, CLASSES = 5, 10_000, 4
ITERATIONS = ("-m", "dawid-skene", "--tol", "0", "--max-iter", "25")
KILL_AFTER = 4  # iterations
PATIENCE = 600  # seconds


def make_votes(rows: int, path: Path) -> None:
    crowd = simulate(WORKERS, rows // PER_TASK, PER_TASK, n_classes=CLASSES, seed=1)
    task = np.repeat(np.arange(rows // PER_TASK), PER_TASK)
    frame = pl.DataFrame({"task": task, "worker": crowd.labels.worker, "label": crowd.labels.label})
    names = (pl.format(f"{name}-{{}}", name).alias(name) for name in frame.columns)
    frame.sample(fraction=1, shuffle=True, seed=1).select(names).write_parquet(path)


def run(votes: Path, output: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "quorate", "aggregate", str(votes), "-o", str(output)]
    return subprocess.Popen(
        [*command, *ITERATIONS, "--json", *options],
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


def wait_for_iterations(n: int, store: Path, process: subprocess.Popen[str]) -> None:
    """Until the loop's place has been kept so often, and the next iteration is on its way."""
    seen: set[int] = set()
    began = time.time_ns()

    def enough() -> bool:
        for checkpoint in store.glob("unfinished-*/checkpoint.state"):
            try:
                kept = checkpoint.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            if kept > began:
                seen.add(kept)
        return len(seen) >= n

    wait_for(enough, process)
    time.sleep(0.02)


def actors(under: psutil.Process | None = None) -> list[psutil.Process]:
    """The processes that own parts of the blocks."""
    everyone = psutil.process_iter() if under is None else under.children(recursive=True)
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


def undisturbed(votes: Path, output: Path, store: Path) -> str:
    finish(run(votes, output, "--engine", "ray", "--store", str(store)))
    return "nothing"


def actor_killed(votes: Path, output: Path, store: Path) -> str:
    process = run(votes, output, "--engine", "ray", "--store", str(store))
    wait_for_iterations(KILL_AFTER, store, process)
    victim = wait_for(lambda: actors(psutil.Process(process.pid)), process)[0]
    lost = " ".join(_title(victim))
    victim.kill()
    finish(process)
    return f"the process {lost}"


def node_killed(votes: Path, output: Path, store: Path) -> str:
    """The second of two nodes: the process that runs it, and all that run under it."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        second = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        raylet = psutil.Process(second.all_processes["raylet"][0].process.pid)
        process = run(votes, output, "--address", cluster.address, "--store", str(store))
        wait_for_iterations(KILL_AFTER, store, process)
        owners = actors(raylet)
        if not owners:
            raise RuntimeError("the second node has no part in it")
        for victim in [raylet, *raylet.children(recursive=True)]:
            victim.kill()
        finish(process)
    finally:
        cluster.shutdown()
    return f"a node with {len(owners)} of the actors"


def driver_killed(votes: Path, output: Path, store: Path) -> str:
    process = run(votes, output, "--engine", "ray", "--store", str(store))
    wait_for_iterations(KILL_AFTER, store, process)
    process.kill()
    process.wait()
    if output.exists():
        raise RuntimeError("a driver that was killed has left an output")
    notes = finish(run(votes, output, "--engine", "ray", "--store", str(store), "--resume"))
    return f"the driver ({' '.join(notes)})"


SCENARIOS = {
    "undisturbed": undisturbed,
    "actor killed": actor_killed,
    "node killed": node_killed,
    "driver killed, resumed": driver_killed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        votes, store = place / "votes.parquet", place / "store"
        make_votes(arguments.rows, votes)
        began = time.perf_counter()
        finish(run(votes, place / "threads.parquet"))
        measure = pl.read_parquet(place / "threads.parquet")
        results: list[dict[str, Any]] = [
            {"run": "threads", "seconds": time.perf_counter() - began, "tasks": len(measure)}
        ]
        for name, scenario in SCENARIOS.items():
            output = place / f"{name.replace(' ', '-')}.parquet"
            began = time.perf_counter()
            lost = scenario(votes, output, store)
            seconds = time.perf_counter() - began
            found = pl.read_parquet(output)
            results.append(
                {
                    "run": name,
                    "lost": lost,
                    "seconds": seconds,
                    "same_labels": found["label"].equals(measure["label"]),
                    "same_to_the_bit": found.equals(measure),
                }
            )
    show(results, arguments.rows)
    if arguments.output:
        arguments.output.write_text(json.dumps({"rows": arguments.rows, "runs": results}, indent=1))


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
