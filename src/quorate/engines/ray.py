"""Blocks swept by the processes of a Ray cluster: for votes larger than a machine.

Each actor owns some parts of the blocks and loads them itself from the store, which every node has
to reach. An iteration sends the parameters out, to each actor only the rows of its own workers, and
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
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from quorate.card import card
from quorate.engines.disk import temporary
from quorate.engines.engine import Fold, Sweep
from quorate.engines.states import StoredStates
from quorate.engines.threads import AHEAD, cores
from quorate.engines.wire import Workers, only, sum_of, whole
from quorate.errors import DataError, UsageError
from quorate.labels import Labels
from quorate.model import Tree, add, branches, run_length
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
CPU_PER_ACTOR = 0.01  # small, so that the actors of a lost node find room on the others
MOST_WORKERS_CUT = 0.5  # share of workers beyond which an actor gets all parameters


class Part:
    """Consecutive blocks, in the memory of the process that owns them."""

    def __init__(self, blocks: StoredBlocks, run: int, states: Path) -> None:
        self.run = run
        self.blocks = [blocks[i] for i in range(len(blocks))]
        self.states = StoredStates(states, blocks.starts)
        self.at: tuple[int, list[Any]] | None = None  # the states, and after how many sweeps
        self.present = np.zeros(blocks.n_workers, dtype=bool)
        for block in self.blocks:
            self.present[block.worker] = True

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        self._keep_states(0, [begin(block) for block in self.blocks])

    def sweep(self, sweep: Sweep, params: Any, sweeps: int, keep: bool) -> Any:
        """Sum of the statistics; the same each time it is asked for after this number of sweeps."""
        if self.at is None or self.at[0] != sweeps:
            self.states.sweeps = sweeps
            self.at = sweeps, [self.states[i] for i in range(len(self.blocks))]
        tree, total, states = Tree(), None, []
        for i, (block, state) in enumerate(zip(self.blocks, self.at[1], strict=True), start=1):
            after, stats = sweep(block, params, state)
            states.append(after)
            total = add(total, stats)
            if i % self.run == 0 or i == len(self.blocks):
                tree.add(total)
                total = None
        if keep:
            self._keep_states(sweeps, states)
        return tree.result()

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


# Consecutive parts of one owner, whose sum is a branch of the tree in which parts are added.
Branch = Sequence[PartSpec]


class Owner:
    """Actor that owns parts of the blocks in a store, each loaded when it is first asked for, and
    again after a restart. What it adds up of its own does not travel."""

    def __init__(self) -> None:
        self._program = ""
        self._parts: dict[int, Part] = {}

    def workers(self, branches: Sequence[Branch]) -> Workers:
        """Of all its parts."""
        return self._workers(chain.from_iterable(branches))

    def begin(self, branches: Sequence[Branch], begin: Callable[[Labels], Any]) -> None:
        for task in chain.from_iterable(branches):
            self._part(task).begin(begin)

    def sweep(
        self, branches: Sequence[Branch], sweep: Sweep, params: Any, sweeps: int, keep: bool
    ) -> Any:
        """The sum of each branch, with the rows of its own workers."""
        params, sums = whole(params), []
        for branch in branches:
            tree = Tree()
            for task in branch:
                tree.add(self._part(task).sweep(sweep, params, sweeps, keep))
            n_workers = branch[0].blocks.n_workers
            sums.append(only(tree.result(), self._workers(branch), n_workers))
        return sums if len(sums) > 1 else sums[0]

    def sum_of(self, one: Any, other: Any) -> Any:
        return sum_of(one, other)

    def call(self, function: Callable[[Any], Any], item: Any) -> Any:
        return function(item)

    def _workers(self, tasks: Iterable[PartSpec]) -> Workers:
        present = np.logical_or.reduce([self._part(task).present for task in tasks])
        found: Workers = np.flatnonzero(present)
        return found

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
        free, busy = self.owners * AHEAD, dict[Any, Any]()
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


class Share(NamedTuple):
    """What one actor owns: its parts, by the branches of the tree of all parts that they make."""

    owner: Any
    branches: Sequence[Branch]

    def ask(self, what: str, *arguments: Any, n: int = 1) -> Any:
        """Call a method of the owner, and return a reference to each of its `n` results."""
        method = getattr(self.owner, what).options(num_returns=n)
        return method.remote(self.branches, *arguments)


class RayFold:
    """Parts of the blocks, shared among owners, and the workers of each share."""

    def __init__(self, cluster: Ray, blocks: StoredBlocks, states: Path) -> None:
        self.blocks = blocks
        self.sweeps = 0
        self._n_workers = blocks.n_workers
        owners = cluster.owners
        program, run = uuid4().hex, run_length(len(blocks), blocks.shape)
        parts = _parts(blocks, run, PARTS_PER_ACTOR * len(owners))
        specs = [PartSpec(program, part, run, states) for part in parts]
        ends = [i * len(specs) // len(owners) for i in range(len(owners) + 1)]
        self._shares = [
            Share(owner, [specs[of.start : of.stop] for of in branches(first, last, len(specs))])
            for owner, first, last in zip(owners, ends, ends[1:], strict=False)
            if first < last
        ]
        asked = [share.ask("workers") for share in self._shares]
        self._workers: list[Workers] = [_result_of(workers) for workers in asked]

    def resume_after(self, sweeps: int) -> None:
        self.sweeps = sweeps

    def begin(self, begin: Callable[[Labels], Any]) -> None:
        shared = ray.put(begin)
        for done in [share.ask("begin", shared) for share in self._shares]:
            _result_of(done)
        self.sweeps += 1

    def sweep(self, sweep: Sweep, params: Any, *, keep: bool = True) -> Any:
        for attempt in range(ATTEMPTS):
            try:
                total = _result_of(self._sum(sweep, params, keep))
                break
            except ray.exceptions.RayError:  # what a process took with it
                if attempt == ATTEMPTS - 1:
                    raise DataError("The cluster lost too much to go on: resume later.") from None
        self.sweeps += keep
        return whole(deepcopy(total))  # what Ray gives cannot be written to

    def _sum(self, sweep: Sweep, params: Any, keep: bool) -> Any:
        """Reference to the sum of all branches: neighbours are added where the first of them is,
        and their sums likewise."""
        shared, everything = ray.put(sweep), ray.put(params)
        tree = Tree(_add_where_one_is)
        for share, workers in zip(self._shares, self._workers, strict=True):
            own = self._params(workers, params, everything)
            n = len(share.branches)
            sums = share.ask("sweep", shared, own, self.sweeps, keep, n=n)
            for branch, total in zip(share.branches, [sums] if n == 1 else sums, strict=True):
                tree.add((share.owner, total), len(branch))
        return tree.result()[1]

    def _params(self, workers: Workers, params: Any, everything: Any) -> Any:
        if len(workers) > MOST_WORKERS_CUT * self._n_workers:
            return everything
        return only(params, workers, self._n_workers)


def _add_where_one_is(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """Of two owners and references to their sums the first, and a reference to the sum of both."""
    owner, total = one
    return owner, owner.sum_of.remote(total, other[1])


def _parts(blocks: StoredBlocks, run: int, n: int) -> list[StoredBlocks]:
    """At least about `n` parts of 1, 2, 4, ... runs of blocks each, so that the sum of a part is a
    branch of the tree in which statistics are added."""
    size = run
    while len(blocks) > 2 * size * n:
        size *= 2
    return [blocks[at : at + size] for at in range(0, len(blocks), size)]
