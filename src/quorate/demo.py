"""`quorate demo`: a crowd of experts, guessers and one who answers upside down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quorate import metrics
from quorate.fitting import fit
from quorate.kernels import Floats
from quorate.labels import Codebook
from quorate.models import make
from quorate.models.one_coin import one_coin_confusion
from quorate.simulation import simulate
from quorate.votes import Outputs

if TYPE_CHECKING:
    from rich.console import Console

CLASSES = ("bird", "cat", "dog")
LABELS_PER_TASK = 5
SHOWN = ("auto", "majority", "dawid-skene", "fast-dawid-skene", "hybrid", "one-coin", "spectral")


def run(n_tasks: int, seed: int, output: str | None, console: Console) -> None:
    import polars as pl
    from rich.table import Table

    names, confusion = _crowd()
    crowd = simulate(confusion, n_tasks, LABELS_PER_TASK, seed=seed)
    codebook = Codebook(
        pl.Series("task", [f"photo-{i + 1}" for i in range(n_tasks)]),
        pl.Series("worker", names),
        pl.Series("label", CLASSES),
    )
    console.print(
        f"{n_tasks:,} photos of birds, cats and dogs with {LABELS_PER_TASK} votes on each: from 5"
        " experts, 8 guessers, and one worker who takes birds for cats, cats for dogs and dogs for"
        " birds.\n"
    )
    errors = Table(box=None, pad_edge=False)
    for column in ("method", "wrong labels", "iterations"):
        errors.add_column(column, justify="left" if column == "method" else "right")
    for method in SHOWN:
        result = fit(make(method), crowd.labels, codebook=codebook)
        error = metrics.error(result.posterior, crowd.truth)
        errors.add_row(method, f"{error:.1%}", str(result.iterations))
    console.print(errors)

    result = fit(make("dawid-skene"), crowd.labels, codebook=codebook)
    workers = Table(title="\nThe workers, as dawid-skene sees them", title_justify="left", box=None)
    for column in ("worker", "labels", "accuracy", "95 % interval", "in truth"):
        workers.add_column(column, justify="left" if column == "worker" else "right")
    truth = confusion.trace(axis1=1, axis2=2) / len(CLASSES)
    for row, accuracy in zip(result.workers_frame.to_dicts(), truth, strict=True):
        workers.add_row(
            row["worker"],
            str(row["labels"]),
            f"{row['accuracy']:.2f}",
            f"{row['low']:.2f} to {row['high']:.2f}",
            f"{accuracy:.2f}",
        )
    console.print(workers)
    if output is not None:
        labels = crowd.labels
        task = np.repeat(np.arange(labels.n_tasks), np.diff(labels.indptr))
        votes = pl.DataFrame(
            [
                codebook.tasks.gather(task),
                codebook.workers.gather(labels.worker),
                codebook.classes.gather(labels.label),
            ]
        )
        with Outputs() as outputs:
            outputs.table(votes, output)
        console.print()
        console.print(f"The votes are in {output}: try `quorate aggregate {output}`.", markup=False)


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
