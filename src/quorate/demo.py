"""`quorate demo`: a crowd of experts, guessers and one who answers upside down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from quorate import metrics
from quorate.aggregation import fit
from quorate.kernels import Floats
from quorate.models import make
from quorate.models.one_coin import one_coin_confusion
from quorate.simulation import simulate
from quorate.votes import Votes

if TYPE_CHECKING:
    from rich.console import Console

CLASSES = ("bird", "cat", "dog")
VOTES_PER_TASK = 5
SHOWN = ("auto", "majority", "dawid-skene", "fast-dawid-skene", "hybrid", "one-coin", "spectral")
JUDGE = "dawid-skene"  # the method whose workers are shown


def simulated(n_tasks: int = 1000, seed: int = 0) -> dict[str, Any]:
    """The `votes` of a crowd, and what methods have `found` in them."""
    names, confusion = _crowd()
    crowd = replace(
        simulate(confusion, n_tasks, VOTES_PER_TASK, seed=seed),
        task_names=pl.Series("task", [f"photo-{i + 1}" for i in range(n_tasks)]),
        worker_names=pl.Series("worker", names),
    )
    classes = pl.Series("label", CLASSES)
    votes = Votes.of(crowd.labels, replace(crowd.codebook, classes=classes))
    results = {method: fit(make(method), votes) for method in SHOWN}
    methods = [
        {
            "method": method,
            "error": metrics.error(result.posterior, crowd.truth),
            "iterations": result.iterations,
        }
        for method, result in results.items()
    ]
    truth = confusion.trace(axis1=1, axis2=2) / len(CLASSES)
    workers = [
        row | {"in_truth": float(accuracy)}
        for row, accuracy in zip(results[JUDGE].workers_frame.to_dicts(), truth, strict=True)
    ]
    found = {"tasks": n_tasks, "methods": methods, "workers": workers, "judge": JUDGE}
    return {"votes": crowd.votes.with_columns(classes.gather(crowd.labels.label)), "found": found}


def show(found: Mapping[str, Any], console: Console) -> None:
    """Print the crowd, the methods' errors, and the workers as one method sees them."""
    from quorate.report.screen import Column, table

    console.print(
        f"{found['tasks']:,} photos of birds, cats and dogs with {VOTES_PER_TASK} votes on each:"
        " from 5 experts, 8 guessers, and one worker who takes birds for cats, cats for dogs and"
        " dogs for birds.\n"
    )
    methods = [
        {
            "method": row["method"],
            "wrong labels": f"{row['error']:.1%}",
            "iterations": str(row["iterations"]),
        }
        for row in found["methods"]
    ]
    columns = [Column("method", "name"), Column("wrong labels"), Column("iterations")]
    console.print(table(columns, methods, console.width))
    workers = [
        {
            "worker": row["worker"],
            "labels": str(row["labels"]),
            "accuracy": f"{row['accuracy']:.2f}",
            "95 % interval": f"{row['low']:.2f} to {row['high']:.2f}",
            "in truth": f"{row['in_truth']:.2f}",
        }
        for row in found["workers"]
    ]
    columns = [Column("worker", "name"), *map(Column, list(workers[0])[1:])]
    title = f"The workers, as {found['judge']} sees them"
    console.print()
    console.print(table(columns, workers, console.width, title=title))


def _crowd() -> tuple[list[str], Floats]:
    """Experts are right nine times in ten, guessers know nothing, the inverted one moves each
    class on to the next."""
    k = len(CLASSES)
    expert, guesser = one_coin_confusion(np.array([0.9, 1 / k]), k)
    inverted = np.roll(expert, 1, axis=1)
    names = [
        *(f"expert-{i + 1}" for i in range(5)),
        *(f"guesser-{i + 1}" for i in range(8)),
        "inverted",
    ]
    return names, np.stack([expert] * 5 + [guesser] * 8 + [inverted])
