"""Joining a cluster: where nobody answers, what nodes lack, and what a killed driver leaves."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import quorate

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")

COMMAND = [sys.executable, "-m", "quorate", "aggregate", "-m", "majority", "-q"]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(quorate.__file__).parents[1])}
WITHOUT_QUORATE = "import sys; sys.modules['quorate'] = None"
WITHOUT_STORE = "import os; os.path.exists = lambda path: False"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [f"t{t},{w},{'yes' if t % 2 else 'no'}\n" for t in range(6) for w in "abc"]
    Path("votes.csv").write_text("task,worker,label\n" + "".join(rows))
    return tmp_path


def run(address: str) -> subprocess.CompletedProcess[str]:
    votes, store = Path("votes.csv").absolute(), Path("store").absolute()
    command = [*COMMAND, str(votes), "-o", "-", "--address", address, "--store", str(store)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=ENVIRONMENT, timeout=120
    )


@pytest.mark.parametrize("listens", ["nobody", "silence", "nowhere"])
def test_an_address_where_no_cluster_is(listens: str) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if listens == "silence":
            server.listen()
        if listens == "nowhere":
            address = "no-such-host.invalid:6379"
        began = time.monotonic()
        done = run(address)
    assert time.monotonic() - began < 20
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"quorate: There is no Ray cluster at {address} (")
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    yield cluster
    cluster.shutdown()


def test_one_core_is_enough(own_cluster: Any) -> None:
    done = run(own_cluster.address)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 7


@pytest.mark.parametrize(
    ("lack", "said"),
    [
        (WITHOUT_QUORATE, "1 of 2 nodes have no Quorate: install it there ("),
        (WITHOUT_STORE, "1 of 2 nodes do not reach the store "),
    ],
)
def test_a_node_that_lacks_something_is_named(
    own_cluster: Any, tmp_path: Path, lack: str, said: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(lack)
    node = own_cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(tmp_path)})
    try:
        done = run(own_cluster.address)
    finally:
        own_cluster.remove_node(node)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"quorate: {said}") and done.stderr.count("\n") == 1
    assert not list(Path("store").glob(".reached-*"))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_nothing_of_ray_is_left_of_a_driver_that_was_killed() -> None:
    code = (
        "from quorate.engines.ray import Ray\nfrom quorate.engines.cluster import descendants\n"
        "import os, time\nengine = Ray(n_cpus=1)\n"
        "print(*descendants(os.getpid()), flush=True)\ntime.sleep(100)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT) as driver:
        assert driver.stdout is not None
        started = [int(process) for process in driver.stdout.readline().split()]
        driver.send_signal(signal.SIGKILL)
    assert len(started) > 5
    until = time.monotonic() + 15
    while (left := [p for p in started if running(p)]) and time.monotonic() < until:
        time.sleep(0.2)
    assert not left


def running(process: int) -> bool:
    """Whether a process is there, and not only its remains."""
    try:
        state = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
