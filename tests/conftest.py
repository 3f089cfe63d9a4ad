"""What all tests share: where the published data sets are, and how properties are tried."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.checks")

settings.register_profile(
    "quorate",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quorate")


@pytest.fixture(scope="session")
def data() -> Path:
    """The directory of the published data sets."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    directory = Path(os.environ.get("QUORATE_DATA", default))
    if not directory.is_dir():
        pytest.skip(f"no published data sets in {directory}: set QUORATE_DATA to where they are")
    return directory
