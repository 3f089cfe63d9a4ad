"""Dawid-Skene's cost per label and iteration, as tables grow out of the cache, and on threads.

python benchmarks/kernels.py                  # 10 million labels
python benchmarks/kernels.py --labels 1000000 -o kernels.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from quorate import DawidSkene, Labels, buffers
from quorate.engines.threads import Threads, cores
from quorate.votes import MemoryBlocks

CROWDS = ((1_000, 4), (10_000, 4), (100_000, 4), (100_000, 10))
PER_TASK, ITERATIONS = 5, 17


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--labels", type=int, default=10_000_000)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    results: list[dict[str, Any]] = []
    for n_workers, n_classes in CROWDS:
        labels = random_labels(arguments.labels, n_workers, n_classes)
        one, every = seconds_of_iterations(labels)
        results.append(
            {
                "workers": n_workers,
                "classes": n_classes,
                "ns_one_thread": one / labels.n_labels * 1e9,
                "ns_all_cores": every / labels.n_labels * 1e9,
                "times_faster": one / every,
            }
        )
    table = Table(title=f"{arguments.labels:,} labels, ns per label and iteration")
    for column in ("workers", "classes", "one thread", f"{cores()} threads", "times faster"):
        table.add_column(column, justify="right")
    for r in results:
        speeds = (f"{r[key]:.1f}" for key in ("ns_one_thread", "ns_all_cores"))
        faster = f"{r['times_faster']:.2f}"
        table.add_row(f"{r['workers']:,}", str(r["classes"]), *speeds, faster)
    Console().print(table)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
