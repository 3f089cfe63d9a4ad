"""Dawid-Skene's cost per label and iteration, as tables grow out of the cache, and on threads.

    python benchmarks/kernels.py                  # 10 million labels
    python benchmarks/kernels.py --labels 1000000 -o kernels.json

Beside it stands what the memory alone would take: a sweep of a block reads the workers' table once
and adds to it once, which is three times its bytes, at the speed of a plain copy on all cores. A
table that fits in a cache takes nothing of that. Where numba is installed, both ways are shown: the
loops that it compiles, and SciPy's; what compiling takes is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from quorate import DawidSkene, Labels, buffers, compiled
from quorate.engines.threads import Threads, cores
from quorate.votes import MemoryBlocks

CROWDS = ((1_000, 4), (10_000, 4), (100_000, 4), (100_000, 10))
PER_TASK, ITERATIONS = 5, 17
CACHE = 32e6  # bytes that the cores share
WAYS = ("SciPy", "compiled") if find_spec("numba") else ("SciPy",)
GOALS = {(1_000, 4): 5.0, (100_000, 10): 30.0}  # ns on all cores


def random_labels(n_labels: int, n_workers: int, n_classes: int) -> Labels:
    random = np.random.default_rng(0)
    task = np.repeat(np.arange(n_labels // PER_TASK, dtype=np.int32), PER_TASK)
    truth = random.integers(n_classes, size=n_labels // PER_TASK)
    guess = random.integers(n_classes, size=n_labels)
    label = np.where(random.random(n_labels) < 0.7, truth[task], guess)
    worker = random.integers(n_workers, size=n_labels)
    return Labels.from_codes(task, worker, label, n_workers=n_workers, n_classes=n_classes)


class Climb:
    """Dawid-Skene on so many threads, an iteration at a time; the first counts the vote."""

    def __init__(self, labels: Labels, n_threads: int) -> None:
        blocks = MemoryBlocks(labels)
        model = DawidSkene(smoothing=0.01)
        self.fold = Threads(n_threads).over(blocks)
        self.fold.begin(model.begin)
        self.params: Any = None
        self.phases = model.phases(blocks.shape)

    def seconds_of_an_iteration(self) -> float:
        """The first is that of the opening phase."""
        phase = self.phases[0] if self.params is None else self.phases[-1]
        began = time.perf_counter()
        stats = self.fold.sweep(phase.sweep, self.params)
        self.params = phase.estimate(stats, self.params)
        return time.perf_counter() - began


def seconds_of_iterations(labels: Labels) -> tuple[float, float]:
    """On one thread and on all cores, in turns, so that whatever else the machine does meets both:
    the medians, without the first two, which also make what the others use again."""
    climbs = Climb(labels, 1), Climb(labels, cores())
    with buffers.reuse():
        seconds = [[climb.seconds_of_an_iteration() for climb in climbs] for _ in range(ITERATIONS)]
    one, every = np.median(seconds[2:], axis=0)
    return float(one), float(every)


def bytes_copied_a_second(n_threads: int, size: int = 1 << 27, times: int = 5) -> float:
    """Bytes read and written by plain copies of arrays too large for a cache, on threads."""
    pairs = [(np.ones(size // 8), np.empty(size // 8)) for _ in range(n_threads)]
    seconds = []
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(times):
            began = time.perf_counter()
            list(pool.map(lambda pair: np.copyto(pair[1], pair[0]), pairs))
            seconds.append(time.perf_counter() - began)
    return 2 * size * n_threads / min(seconds)


def ns_of_memory(labels: Labels, copied: float) -> float:
    """Nanoseconds per label that moving the workers' table takes at the speed of a copy."""
    table = labels.n_workers * labels.n_classes**2 * 8
    moved = 0 if table < CACHE else 3 * table * len(MemoryBlocks(labels))
    return moved / copied / labels.n_labels * 1e9


def measured(labels: Labels, way: str, copied: float) -> dict[str, Any]:
    one, every = seconds_of_iterations(labels)
    return {
        "workers": labels.n_workers,
        "classes": labels.n_classes,
        "loops": way,
        "ns_one_thread": one / labels.n_labels * 1e9,
        "ns_all_cores": every / labels.n_labels * 1e9,
        "times_faster": one / every,
        "ns_of_memory": ns_of_memory(labels, copied),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    copied = bytes_copied_a_second(cores())
    for n_workers, n_classes in CROWDS:
        labels = random_labels(arguments.labels, n_workers, n_classes)
        for way in WAYS:
            os.environ[compiled.VARIABLE] = str(WAYS.index(way))
            results.append(measured(labels, way, copied))
    table = Table(title=f"{arguments.labels:,} labels, ns per label and iteration")
    threads = f"{cores()} threads"
    columns = "workers", "classes", "loops", "one thread", threads, "times faster", "memory", "goal"
    for column in columns:
        table.add_column(column, justify="right")
    for r in results:
        speeds = (f"{r[key]:.1f}" for key in ("ns_one_thread", "ns_all_cores"))
        faster = f"{r['times_faster']:.2f}"
        goal = GOALS.get((r["workers"], r["classes"]))
        ends = faster, f"{r['ns_of_memory']:.1f}", "" if goal is None else f"{goal:g}"
        table.add_row(f"{r['workers']:,}", str(r["classes"]), r["loops"], *speeds, *ends)
    Console().print(table)
    Console().print(f"A plain copy on {threads} reads and writes {copied / 1e9:.1f} GB a second.")
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
