"""The same classes from Crowd-Kit and from `quorate.crowdkit`: one simulated crowd, one run.

Both have their defaults and are called one after the other, in this process, after a call on a few
votes; the best time of each counts. What takes longer than a minute is called once. The ratio is
of processor time, which is the steadier one on a busy machine.

    python benchmarks/switch.py                    # 5,000 votes, two labels
    python benchmarks/switch.py MACE KOS --tasks 5000
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, NamedTuple

import pandas as pd
from crowdkit import aggregation
from crowdkit.aggregation.classification import gold_majority_vote, wawa, zero_based_skill
from race import simulated_votes
from rich.console import Console
from rich.table import Table

from quorate import crowdkit

CLASSES = (
    "MajorityVote",
    "Wawa",
    "ZeroBasedSkill",
    "DawidSkene",
    "OneCoinDawidSkene",
    "KOS",
    "MMSR",
    "GLAD",
    "MACE",
)
PATIENCE = 60  # seconds after which nothing is called again


class Best(NamedTuple):
    """The shortest of some calls, by the clock and by the processor, and the labels."""

    seconds: float
    processor: float
    labels: pd.Series


def best_of(kind: Any, votes: pd.DataFrame, repeats: int) -> Best:
    kind().fit_predict(simulated_votes(100, 20, 2, 5))
    seconds: list[float] = []
    processor: list[float] = []
    while len(seconds) < repeats and sum(seconds) < PATIENCE:
        began, used = time.perf_counter(), time.process_time()
        labels = kind().fit_predict(votes)
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return Best(min(seconds), min(processor), labels)


def without_their_check() -> None:
    """Theirs ask scikit-learn whether they are fitted, which refuses them from 1.8 on."""
    for module in (gold_majority_vote, wawa, zero_based_skill):
        vars(module)["check_is_fitted"] = lambda *_, **__: None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("classes", nargs="*", default=CLASSES, metavar="CLASS")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    without_their_check()
    votes = simulated_votes(arguments.tasks, arguments.workers, 2, 5)
    table = Table(box=None)
    for column in ("", "quorate, s", "crowd-kit, s", "ratio", "same labels"):
        table.add_column(column, justify="right")
    for name in arguments.classes:
        ours = best_of(getattr(crowdkit, name), votes, arguments.repeats)
        theirs = best_of(getattr(aggregation, name), votes, arguments.repeats)
        ratio = theirs.processor / ours.processor
        same = (ours.labels == theirs.labels[ours.labels.index]).mean()
        seconds = (f"{ours.seconds:.4f}", f"{theirs.seconds:.3f}")
        table.add_row(name, *seconds, f"{ratio:.0f}", f"{same:.1%}")
    Console().print(f"{len(votes):,} votes, data frame in, labels out", table)


if __name__ == "__main__":
    main()
