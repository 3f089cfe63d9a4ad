"""Chromium, in which pages are looked at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


@contextmanager
def browser() -> Iterator[Any]:
    """A browser without a window; a test that needs one is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=place, args=list(FLAGS))
        yield launched
        launched.close()
