"""Runs experiments: cells on all cores, each result kept as soon as it is there."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quorate.engines.threads import cores
from quorate.errors import QuorateError
from reproductions.experiment import Cell, Experiment, Plan, Report
from reproductions.journal import Journal, fingerprint

# Called with the cost done, the cost of all, and the names of the cells under way.
Progress = Callable[[float, float, Sequence[str]], None]
TICK = 0.5


class InterruptedRunError(QuorateError):
    """The run stopped half way; what was found is kept."""

    exit_code = 130


@dataclass(frozen=True)
class Outcome:
    """An experiment's report, and the seconds that its cells took in all."""

    experiment: Experiment
    report: Report
    seconds: float


@dataclass(frozen=True)
class Piece:
    """A cell of an experiment, and what its result is kept under."""

    experiment: Experiment
    cell: Cell
    kept_as: str

    @property
    def name(self) -> str:
        return f"{self.experiment.name}: {self.cell.key}"


def run(
    experiments: Sequence[Experiment],
    plan: Plan,
    journal: Journal,
    *,
    data: Mapping[str, str],
    processes: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Outcome]:
    """Each experiment's outcome, as soon as its cells are done. `data` has the checksum of every
    data set that is used."""
    pieces = {e.name: pieces_of(e, plan, data) for e in experiments}
    everything = [piece for name in pieces for piece in pieces[name]]
    waiting = {e.name: e for e in experiments}
    for _ in _finished(everything, plan, journal, processes or cores(), progress):
        for name, experiment in list(waiting.items()):
            if all(piece.kept_as in journal for piece in pieces[name]):
                del waiting[name]
                yield _outcome(experiment, plan, pieces[name], journal)


def pieces_of(experiment: Experiment, plan: Plan, data: Mapping[str, str]) -> list[Piece]:
    """The pieces of work of an experiment."""
    used = {name: data[name] for name in experiment.data_sets if name in data}
    return [
        Piece(experiment, cell, fingerprint(experiment.name, cell, plan, used))
        for cell in experiment.cells(plan)
    ]


def _outcome(
    experiment: Experiment, plan: Plan, pieces: Sequence[Piece], journal: Journal
) -> Outcome:
    found = {piece.cell.key: journal[piece.kept_as] for piece in pieces}
    report = experiment.report(plan, {key: entry["result"] for key, entry in found.items()})
    return Outcome(experiment, report, sum(entry["seconds"] for entry in found.values()))


def _finished(
    pieces: Sequence[Piece],
    plan: Plan,
    journal: Journal,
    processes: int,
    progress: Progress | None,
) -> Iterator[None]:
    """Returns after every cell that is done (and once before the first, for those that were)."""
    total = sum(piece.cell.cost for piece in pieces)
    left = [piece for piece in pieces if piece.kept_as not in journal]
    left.sort(key=lambda piece: -piece.cell.cost)
    yield
    if not left:
        return
    with _pool(min(processes, len(left))) as pool:
        running = {pool.submit(work, piece.cell, plan): piece for piece in left}
        try:
            while running:
                done, _ = wait(running, timeout=TICK, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=_failed):  # first what is to be kept
                    journal.add(running.pop(future).kept_as, future.result())
                    yield
                if progress:
                    cost_left = sum(piece.cell.cost for piece in running.values())
                    progress(total - cost_left, total, _under_way(running))
        except (KeyboardInterrupt, BrokenProcessPool) as error:
            _stop(pool)
            what = "Interrupted" if isinstance(error, KeyboardInterrupt) else "A process was killed"
            n_done = sum(piece.kept_as in journal for piece in pieces)
            raise InterruptedRunError(
                f"{what} with {n_done} of {len(pieces)} pieces of work done: the same command goes"
                " on from there."
            ) from None
        except BaseException:
            _stop(pool)
            raise


def work(cell: Cell, plan: Plan) -> dict[str, Any]:
    """The result of a cell and the seconds it took, as a process of the pool returns it."""
    began = time.perf_counter()
    result = cell.function(plan, **cell.arguments)
    return {"result": result, "seconds": time.perf_counter() - began}


def _failed(future: Future[Any]) -> bool:
    return future.exception() is not None


def _under_way(running: Mapping[Future[Any], Piece]) -> list[str]:
    return [piece.name for future, piece in running.items() if future.running()]


@contextmanager
def _pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that start afresh, each with one thread: there is one for every core."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(processes, mp_context=context, initializer=_quiet) as pool:
            yield pool
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def _quiet() -> None:
    """An interrupt is the parent's to handle."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _stop(pool: ProcessPoolExecutor) -> None:
    """Stop all processes at once: whatever is half done is done again."""
    pool.shutdown(wait=False, cancel_futures=True)
    for process in multiprocessing.active_children():
        process.terminate()


def made(plan: Plan, data: Mapping[str, str]) -> dict[str, Any]:
    """The versions, seed, data and machine that results were made with."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for package in ("quorate", "numpy", "scipy", "polars", "scikit-learn", "crowd-kit"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "versions": versions,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": cores(),
        "seed": plan.seed,
        "quick": plan.quick,
        "data": dict(data),
    }


def _processor() -> str:
    import platform

    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
