"""Whether a Ray cluster answers, its nodes have what they need, and nothing of it is left over."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any
from uuid import uuid4

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from quorate.errors import DataError

PATIENCE = 8.0  # seconds for a connection, and for what is said first
NODE_PATIENCE = 60.0  # seconds for a node to start a process and look
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)  # as gRPC begins
SETTINGS = 4  # the kind of frame that answers it

# Of processes that are named with the time of their start, ends those that are left when nothing
# can be read any more, because whoever started this one has ended.
REAPER = """
import os, pathlib, signal, sys, time
sys.stdin.read()
time.sleep(1)
for process in sys.argv[1:]:
    pid, _, began = process.partition(":")
    try:
        about = pathlib.Path("/proc", pid, "stat").read_text()
        if about.rpartition(")")[2].split()[19] == began:
            os.kill(int(pid), signal.SIGKILL)
    except OSError:
        pass
"""


def require_answer(address: str) -> None:
    """Refuse an address where nothing listens that speaks as a cluster does: Ray itself would try
    for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():  # a word such as auto, which Ray knows
        return
    try:
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            connection.sendall(GREETING)
            speaks = os.environ.get("RAY_USE_TLS", "0") != "0"
            speaks = speaks or connection.recv(9)[3:4] == bytes([SETTINGS])
    except (OSError, OverflowError) as error:
        why = "no answer" if isinstance(error, TimeoutError) else getattr(error, "strerror", error)
        raise DataError(f"There is no Ray cluster at {address} ({why}).") from None
    if not speaks:
        raise DataError(f"There is no Ray cluster at {address} (something else listens there).")


def require_ready_nodes(store: str) -> None:
    """Refuse a cluster with a node that has no Quorate, or does not reach the store."""
    mark = Path(store).absolute() / f".reached-{uuid4().hex}"
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError:  # the store itself says what is wrong with its place
        return
    try:
        looked = _on_every_node(_look(), str(mark))
    finally:
        mark.unlink()
    faults = {
        "do not answer": [node for node, found in looked.items() if found is None],
        "have no Quorate: install it there": [n for n, f in looked.items() if f and not f[0]],
        f"do not reach the store {store}: name a directory that every node reaches": [
            n for n, f in looked.items() if f and not f[1]
        ],
    }
    for fault, nodes in faults.items():
        if nodes:
            raise DataError(f"{len(nodes)} of {len(looked)} nodes {fault} ({', '.join(nodes)}).")


def _look() -> Callable[[str], tuple[bool, bool]]:
    """A function that is sent as it is, since nodes may not have this module."""

    def look(mark: str) -> tuple[bool, bool]:
        import importlib.util
        import os

        return importlib.util.find_spec("quorate") is not None, os.path.exists(mark)  # noqa: PTH110

    return look


def _on_every_node(function: Callable[[str], Any], argument: str) -> dict[str, Any]:
    """What a function returns on each node; None where it does not."""
    task = ray.remote(num_cpus=0, max_retries=0)(function)
    asked = {}
    for node in ray.nodes():
        if node["Alive"]:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            name = f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"
            asked[name] = task.options(scheduling_strategy=there).remote(argument)
    done, _ = ray.wait(list(asked.values()), num_returns=len(asked), timeout=NODE_PATIENCE)
    return {name: _result(of) if of in done else None for name, of in asked.items()}


def _result(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError:
        return None


def start_reaper(others: Collection[int]) -> subprocess.Popen[bytes] | None:
    """A process that outlives this one if it is killed, and ends what is then left of the cluster
    on this machine: agents of Ray that would wait a minute for those that are gone. Of the
    processes that this one has started, `others` are not the cluster's."""
    processes = [process for process in descendants(os.getpid()) if process not in others]
    named = [f"{process}:{_began(process)}" for process in processes if _is_of_ray(process)]
    if not named:
        return None
    return subprocess.Popen(
        [sys.executable, "-c", REAPER, *named],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def descendants(process: int) -> list[int]:
    """The processes that a process has started, and those that they have; none where the system
    does not tell."""
    found = []
    for children in Path("/proc", str(process), "task").glob("*/children"):
        for child in children.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def _is_of_ray(process: int) -> bool:
    try:
        return b"ray" in Path("/proc", str(process), "cmdline").read_bytes()
    except OSError:
        return False


def _began(process: int) -> str:
    try:
        return Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
