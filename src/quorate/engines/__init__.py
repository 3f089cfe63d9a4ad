"""Engines sweep blocks and add: threads in memory, threads over files, a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from quorate.errors import UsageError, require_choice

if TYPE_CHECKING:
    from quorate.engines.engine import Engine
    from quorate.votes.store import Progress

ENGINES = ("threads", "disk", "ray")


class Scale(TypedDict, total=False):
    """Options for the engine, and for votes larger than memory. `engine` is ``"threads"`` in
    memory, ``"disk"``, threads over blocks in files, ``"ray"``, the processes of a cluster, or an
    `Engine`; `memory` limits each process, `store` is the directory of the blocks, `address` that
    of the cluster; `resume` continues an interrupted fit."""

    threads: int | None
    engine: Literal["threads", "disk", "ray"] | Engine | None
    memory: str | float | None
    store: str | Path | None
    address: str | None
    resume: bool


@contextmanager
def engine_for(progress: Progress | None = None, **scale: Unpack[Scale]) -> Iterator[Engine]:
    """Context of the engine that is asked for; closed at the end unless the caller made it."""
    given = scale.get("engine")
    if given is not None and not isinstance(given, str):
        yield given
        return
    engine = _make_engine(given or _implied_engine(scale), progress, scale)
    try:
        yield engine
    finally:
        engine.close()


def _implied_engine(scale: Scale) -> str:
    """Name of the engine that the other options imply."""
    if scale.get("address") is not None:
        return "ray"
    if scale.get("resume") and scale.get("store") is None:
        raise UsageError("To resume, name the store (--store) of the interrupted fit.")
    in_memory = scale.get("memory") is None and scale.get("store") is None
    return "threads" if in_memory else "disk"


def _make_engine(name: str, progress: Progress | None, scale: Scale) -> Engine:
    require_choice("engine", name, ENGINES)
    threads, memory, store = scale.get("threads"), scale.get("memory"), scale.get("store")
    if name == "threads":
        from quorate.engines.threads import Threads

        return Threads(threads)
    if name == "disk":
        from quorate.engines.disk import Disk

        return Disk(threads, memory, store, progress)
    from quorate.engines.ray import Ray  # slow to import, and an extra

    return Ray(scale.get("address"), threads, memory, store, progress)
