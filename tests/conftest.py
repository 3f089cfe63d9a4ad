"""What all tests share: where the published data sets are, and how properties are tried."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from shutil import disk_usage
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.effort import times

from quorate.engines.threads import cores

pytest.register_assert_rewrite("tests.checks")

settings.register_profile(
    "quorate",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=times(15, 300),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quorate")

# What takes long, by the fixtures that say so. Tests of a group share what takes long to start; a
# cluster of its own cannot be joined while this process is part of another.
LONG = (("own_cluster", "cluster"), ("processes_to_lose",), ("a_minute",), ("quick", "postgres"))


# Where files are kept in memory, and how much room tests want there, in bytes.
IN_MEMORY, ROOM = Path("/dev/shm"), 8 * 2**30


def pytest_configure() -> None:
    """Tests write thousands of small files and wait for each to be on the disk: they get files in
    memory where there is room, unless TMPDIR says otherwise. A cluster's processes, which Ray makes
    give way to all others, get their turn beside other tests."""
    os.environ.setdefault("RAY_worker_niceness", "0")
    if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and disk_usage(IN_MEMORY).free > ROOM:
        os.environ["TMPDIR"] = str(IN_MEMORY)
        tempfile.tempdir = None  # to be looked for again


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Two more than there are cores, if nothing else is said: what takes long mostly waits for
    processes of its own."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else cores() + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each group of what takes long begins another worker's share, so that workers end together."""
    groups = [[item for name in names for item in needing(name, items)] for names in LONG]
    long = {item for group in groups for item in group}
    others = iter([item for item in items if item not in long])
    n_shares = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    ordered: list[pytest.Item] = []
    for share in range(n_shares):
        size = (len(items) + share) // n_shares
        first = [item for group in groups[share::n_shares] for item in group]
        ordered += [*first, *islice(others, max(0, size - len(first)))]
    items[:] = [*ordered, *others]


def needing(fixture: str, items: list[pytest.Item]) -> list[pytest.Item]:
    return [item for item in items if fixture in getattr(item, "fixturenames", ())]


@pytest.fixture
def a_minute() -> None:
    """A minute of time, which is better spent while others work than after them."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """A Ray cluster of two processes, for every test that this process runs on one."""
    pytest.importorskip("ray")
    from quorate import Ray

    engine = Ray(n_cpus=2)
    try:
        yield engine
    finally:
        engine.close()


@pytest.fixture(scope="session")
def data() -> Path:
    """The directory of the published data sets."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    directory = Path(os.environ.get("QUORATE_DATA", default))
    if not directory.is_dir():
        pytest.skip(f"no published data sets in {directory}: set QUORATE_DATA to where they are")
    return directory
