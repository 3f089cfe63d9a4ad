"""A model of Quorate's, fitted for so many iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from quorate import kernels, models
from quorate.engines.threads import Threads
from quorate.errors import require_number
from quorate.fitting import Request, run
from quorate.kernels import Codes, Floats
from quorate.labels import Labels
from quorate.model import AnyModel, dense
from quorate.votes import MemoryBlocks
from quorate.votes.store import Progress


class Learned(NamedTuple):
    """What a model has learned: posterior and answers, the parameters under which these were found
    and those that follow from them, values for each task, and each iteration's objective by
    vote."""

    posterior: Floats
    codes: Codes
    params: Any
    estimate: Any
    per_task: Mapping[str, Floats]
    objective: list[float]


def learned(model: AnyModel, labels: Labels, n_iter: int, *, visible: bool = False) -> Learned:
    """What a model has learned after a maximum number of iterations; after none what it begins
    with."""
    require_number("n_iter", n_iter, at_least=0)
    if not n_iter:
        return _begun(model, labels)
    model = models.named(model, max_iter=n_iter)
    with _bar(visible) as progress:
        fit = run(model, MemoryBlocks(labels), Request(Threads(), progress))
    objective = [value / labels.n_labels for value in fit.objective]
    posterior, codes, per_task = fit.tasks.whole
    after = model.estimate(fit.stats, fit.params)
    return Learned(posterior, codes, fit.params, after, per_task, objective)


def of_all(tol: float, labels: Labels) -> float:
    """The tolerance of an objective, relatively, that is about `tol` of that of all votes."""
    require_number("tol", tol, at_least=0)
    return tol / labels.n_labels


def _begun(model: AnyModel, labels: Labels) -> Learned:
    """What a model begins with, and what its opening phase learns from that."""
    opening, _ = model.phases(labels[:0])
    start = model.start(labels[:0])
    local, stats = opening.sweep(labels, start, model.begin(labels))
    params = opening.estimate(dense(stats), start)
    posterior = model.posterior(labels, params, local)
    codes = kernels.choose(posterior, model.ties, model.seed, labels.task_keys)
    per_task = model.per_task(labels, params, local)
    return Learned(posterior, codes, params, params, per_task, [])


@contextmanager
def _bar(visible: bool) -> Iterator[Progress | None]:
    """A progress bar, if it is wanted."""
    if not visible:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True)) as bar:
        line = bar.add_task("")

        def progress(what: str, done: float, total: float | None, how: str = "") -> None:
            bar.update(line, description=what, completed=done, total=total)

        yield progress
