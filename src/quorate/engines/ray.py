"""Blocks swept by the processes of a Ray cluster: for votes larger than a machine.

Each actor owns some parts of the blocks and loads them itself from the store, which every node has
to reach. An iteration sends the parameters out, to each part only the rows of its own workers, and
adds the statistics as a tree that never passes through the driver: the order is that of the other
engines, and so are the bits. A sweep can be repeated, since it reads the states of the last one
and writes its own elsewhere: an actor, a node or a driver may be lost at any moment.
"""

from __future__ import annotations

import os
import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from quorate.card import card
from quorate.engines.disk import temporary
from quorate.engines.engine import Fold, Sweep
from quorate.engines.states import StoredStates
from quorate.engines.threads import cores
from quorate.engines.wire import Workers, only, sum_of, whole
from quorate.errors import DataError, UsageError
from quorate.labels import Labels
from quorate.model import Tree, add, run_length
from quorate.votes.blocks import Blocks
from quorate.votes.faults import stderr_held
from quorate.votes.store import (
    Progress,
    Storage,
    StoredBlocks,
    available_memory,
    in_bytes,
    spill,
)

os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "10")  # seconds that Ray tries to join

try:
    import ray

    from quorate.engines.cluster import (
        descendants,
        require_answer,
        require_ready_nodes,
        start_reaper,
    )
except ImportError:
    raise UsageError("The engine ray needs Ray: pip install 'quorate[ray]'.") from None

ATTEMPTS = 20  # at a sweep, when more is lost than Ray itself can restore
PARTS_PER_ACTOR = 4
AHEAD = 2  # items that a process has to do, with the one that it is at
CPU_PER_ACTOR = 0.01  # small, so that the actors of a lost node find room on the others
MOST_WORKERS_CUT = 0.5  # share of workers beyond which a part gets all parameters


class Part:
    """Consecutive blocks, in the memory of the process that owns them."""

    def __init__(self, blocks: StoredBlocks, run: int, states: Path) -> None:
        self.run = run
        self.blocks = [blocks[i] for i in range(len(blocks))]
        self.states = StoredStates(states, blocks.starts)
        self.at: tuple[int, list[Any]] | None = None  # the states, and after how many sweeps
        present = np.zeros(blocks.n_workers, dtype=bool)
        for block in self.blocks:
            present[block.worker] = True
        self.workers: Workers = np.flatnonzero(present)
        self.n_workers = blocks.n_workers

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        self._keep_states(0, [begin(block) for block in self.blocks])

    def sweep(self, sweep: Sweep, params: Any, sweeps: int, keep: bool) -> Any:
        """Sum of the statistics; the same each time it is asked for after this number of sweeps."""
        if self.at is None or self.at[0] != sweeps:
            self.states.sweeps = sweeps
            self.at = sweeps, [self.states[i] for i in range(len(self.blocks))]
        tree, total, states, params = Tree(), None, [], whole(params)
        for i, (block, state) in enumerate(zip(self.blocks, self.at[1], strict=True), start=1):
            after, stats = sweep(block, params, state)
            states.append(after)
            total = add(total, stats)
            if i % self.run == 0 or i == len(self.blocks):
                tree.add(total)
                total = None
        if keep:
            self._keep_states(sweeps, states)
        return only(tree.result(), self.workers, self.n_workers)

    def _keep_states(self, sweeps: int, states: list[Any]) -> None:
        self.states.sweeps = sweeps
        for i, state in enumerate(states):
            self.states[i] = state
        self.at = sweeps + 1, states


class PartSpec(NamedTuple):
    """Specification of a part: the program that asks for it, its blocks, the length of their runs,
    and the directory of their states."""

    program: str
    blocks: StoredBlocks
    run: int
    states: Path


class Owner:
    """Actor that owns parts of the blocks in a store, each loaded when it is first asked for, and
    again after a restart."""

    def __init__(self) -> None:
        self._program = ""
        self._parts: dict[int, Part] = {}

    def workers(self, task: PartSpec) -> Workers:
        return self._part(task).workers

    def begin(self, task: PartSpec, begin: Callable[[Labels], Any]) -> None:
        self._part(task).begin(begin)

    def sweep(self, task: PartSpec, sweep: Sweep, params: Any, sweeps: int, keep: bool) -> Any:
        return self._part(task).sweep(sweep, params, sweeps, keep)

    def sum_of(self, one: Any, other: Any) -> Any:
        return sum_of(one, other)

    def call(self, function: Callable[[Any], Any], item: Any) -> Any:
        return function(item)

    def _part(self, task: PartSpec) -> Part:
        """The part, loaded if need be; parts of an earlier program are dropped."""
        if task.program != self._program:
            self._program, self._parts = task.program, {}
        start = task.blocks.starts[0]
        if start not in self._parts:
            self._parts[start] = Part(task.blocks, task.run, task.states)
        return self._parts[start]


class Ray:
    """Engine on the processes of a Ray cluster: a running one, by `address`, or one on this
    machine's cores. The `store` is a directory that every node reaches; without one votes are
    spilled to a temporary directory, which is for a cluster on this machine only. `memory` limits
    each process.
    """

    n_threads = 1
    shares_memory = False
    _reaper: subprocess.Popen[bytes] | None = None

    def __init__(
        self,
        address: str | None = None,
        n_cpus: int | None = None,
        memory: str | float | None = None,
        store: str | Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        if address is not None and store is None:
            raise UsageError(
                "A cluster needs a store (--store): a directory that every node reaches."
            )
        self._store, self._progress = store, progress
        self._joined = not ray.is_initialized()
        if self._joined:
            if address is not None:
                require_answer(address)
            others = descendants(os.getpid())
            _join(address, n_cpus)
            self._reaper = start_reaper(others) if address is None else None
        if address is not None:
            require_ready_nodes(str(store))
        self.n_cpus = int(ray.cluster_resources().get("CPU", 1))
        owner = ray.remote(
            num_cpus=CPU_PER_ACTOR,
            max_restarts=-1,
            max_task_retries=-1,
            scheduling_strategy="SPREAD",
        )(Owner)
        self.owners = [owner.remote() for _ in range(self.n_cpus)]
        share = available_memory() / 2 / self.n_cpus
        self.memory = share if memory is None else in_bytes(memory)

    def __repr__(self) -> str:
        return f"Ray({self.n_cpus} processes, each with {self.memory / 1e9:.1f} GB)"

    def _repr_html_(self) -> str:
        kept = "a temporary directory" if self._store is None else str(self._store)
        memory = f"{self.memory / 1e9:.1f} GB each"
        facts = {"processes": f"{self.n_cpus:,}", "memory limit": memory, "store": kept}
        return card("Engine: Ray", facts)

    @property
    def storage(self) -> Storage:
        return Storage(
            self.memory, self._store, self.each, self.n_cpus, halted=None, progress=self._progress
        )

    def over(self, blocks: Blocks, states: Path | None = None) -> Fold:
        if isinstance(blocks, StoredBlocks):
            return RayFold(self, blocks, temporary(self) if states is None else states)
        root = temporary(self)
        return RayFold(self, spill(blocks, root), root / "states")

    def close(self) -> None:
        """End the actors, and the cluster if it was started for them."""
        for owner in self.owners:
            ray.kill(owner)
        if self._joined:
            ray.shutdown()
        if self._reaper is not None:
            self._reaper.kill()
            self._reaper.communicate()

    def each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Map a function over items, in order, each by whichever process is free: those that own
        parts, since to start others takes longer than most of what they would do."""
        shared = ray.put(function)
        free, busy = self.owners * AHEAD, {}
        waiting: deque[Any] = deque()
        for item in items:
            if not free:
                done, _ = ray.wait(list(busy), fetch_local=False)
                free += [busy.pop(reference) for reference in done]
            owner = free.pop(0)
            waiting.append(owner.call.remote(shared, item))
            busy[waiting[-1]] = owner
            if len(waiting) > AHEAD * self.n_cpus:
                yield _result_of(waiting.popleft())
        while waiting:
            yield _result_of(waiting.popleft())


def _join(address: str | None, n_cpus: int | None) -> None:
    try:
        if address is not None:
            with stderr_held():
                ray.init(address=address, log_to_driver=False, logging_level="error")
            return
        ray.init(
            "local",  # not one that somebody else has on this machine
            num_cpus=n_cpus or cores(),
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        why = str(error).strip().splitlines()[0].rstrip(".")
        where = "" if address is None else f" at {address}"
        raise DataError(f"There is no Ray cluster{where} ({why}).") from None


def _result_of(reference: Any) -> Any:
    """Result of a reference; a failure there is raised here."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause or error) from None


class RayFold:
    """Parts of the blocks, their owners, and the workers of each."""

    def __init__(self, cluster: Ray, blocks: StoredBlocks, states: Path) -> None:
        self.blocks = blocks
        self.sweeps = 0
        self._n_workers = blocks.n_workers
        owners = cluster.owners
        program, run = uuid4().hex, run_length(len(blocks), blocks.shape)
        parts = _parts(blocks, run, PARTS_PER_ACTOR * len(owners))
        self._parts = [PartSpec(program, part, run, states) for part in parts]
        n_parts = len(parts)
        self._owners = [owners[i * len(owners) // n_parts] for i in range(n_parts)]
        self._workers: list[Workers] = [
            _result_of(workers) for workers in self._ask("workers", [()] * n_parts)
        ]

    def resume_after(self, sweeps: int) -> None:
        self.sweeps = sweeps

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        shared = ray.put(begin)
        for done in self._ask("begin", [(shared,)] * len(self._parts)):
            _result_of(done)
        self.sweeps += 1

    def sweep(self, sweep: Sweep, params: Any, *, keep: bool = True) -> Any:
        for attempt in range(ATTEMPTS):
            try:
                total = _result_of(self._tree(sweep, params, keep))
                break
            except ray.exceptions.RayError:  # what a process took with it
                if attempt == ATTEMPTS - 1:
                    raise DataError("The cluster lost too much to go on: resume later.") from None
        self.sweeps += keep
        return whole(deepcopy(total))  # what Ray gives cannot be written to

    def _tree(self, sweep: Sweep, params: Any, keep: bool) -> Any:
        """Reference to the sum: neighbours are added where they are, and their sums likewise."""
        shared, everything = ray.put(sweep), ray.put(params)
        sums = self._ask(
            "sweep",
            [
                (shared, self._params(workers, params, everything), self.sweeps, keep)
                for workers in self._workers
            ],
        )
        owners = self._owners
        while len(sums) > 1:
            pairs = zip(owners[::2], sums[::2], sums[1::2], strict=False)
            odd = sums[-1:] if len(sums) % 2 else []
            sums = [owner.sum_of.remote(one, other) for owner, one, other in pairs] + odd
            owners = owners[::2]
        return sums[0]

    def _ask(self, what: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of each part's owner, and return references to the results."""
        return [
            getattr(owner, what).remote(part, *more)
            for owner, part, more in zip(self._owners, self._parts, arguments, strict=True)
        ]

    def _params(self, workers: Workers, params: Any, everything: Any) -> Any:
        if len(workers) > MOST_WORKERS_CUT * self._n_workers:
            return everything
        return only(params, workers, self._n_workers)


def _parts(blocks: StoredBlocks, run: int, n: int) -> list[StoredBlocks]:
    """At least about `n` parts of 1, 2, 4, ... runs of blocks each, so that the sum of a part is a
    branch of the tree in which statistics are added."""
    size = run
    while len(blocks) > 2 * size * n:
        size *= 2
    return [blocks[at : at + size] for at in range(0, len(blocks), size)]
