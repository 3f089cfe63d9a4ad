"""What all tests share: where the published data sets are, and how properties are tried."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from quorate.engines.threads import cores

pytest.register_assert_rewrite("tests.checks")

settings.register_profile(
    "quorate",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("quorate"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quorate"))

# A cluster of its own cannot be joined while this process is part of another.
LONG = ("own_cluster", "cluster", "processes_to_lose", "a_minute", "quick", "postgres")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Two more than there are cores, if nothing else is said: what takes long mostly waits for
    processes of its own."""
    return None if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ else cores() + 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that workers end together; and side by side, so that one
    worker has all the tests that share what takes long to start."""

    def place(item: pytest.Item) -> int:
        needs = getattr(item, "fixturenames", ())
        return next((i for i, name in enumerate(LONG) if name in needs), len(LONG))

    items.sort(key=place)


@pytest.fixture
def a_minute() -> None:
    """A minute of time, in which others can work."""


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
