"""A real cluster that loses a process, a node and its driver, each killed in an iteration."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "cluster.py"


@pytest.fixture
def processes_to_lose() -> None:
    """Processes of a cluster of its own, which take long to start."""
    pytest.importorskip("ray")


@pytest.mark.usefixtures("processes_to_lose")
def test_whatever_is_lost_the_labels_are_those_of_threads(tmp_path: Path) -> None:
    output = tmp_path / "cluster.json"
    small = ["--rows", "60000", "--workers", "300", "--one-cluster"]
    command = [sys.executable, str(SCRIPT), *small, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = {run["run"]: run for run in json.loads(output.read_text())["runs"]}
    disturbed = [
        "undisturbed",
        "actor killed",
        "node killed",
        "driver killed, resumed",
    ]
    for name in disturbed:
        assert runs[name]["same_labels"], runs[name]
        assert runs[name]["same_to_the_bit"], runs[name]
    assert "ray::Owner" in runs["actor killed"]["lost"]
    assert "1 of the actors" in runs["node killed"]["lost"]
    assert "resumed from iteration" in runs["driver killed, resumed"]["lost"]
