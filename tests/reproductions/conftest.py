"""One quick run of every experiment for all tests, whichever process they run in."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from reproductions import command, running
from reproductions.experiment import Experiment, Plan, Report
from reproductions.journal import Journal

Once = Callable[[str, Callable[[], Any]], Any]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Compute something JSON can hold once, also where several processes share the tests."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def kept(name: str, make: Callable[[], Any]) -> Any:
        path = shared / f"{name}.json"
        with _alone(shared / f"{name}.lock"):
            if not path.exists():
                text = json.dumps(make())
                path.write_text(text)
        return json.loads(path.read_text())

    return kept


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class QuickRun:
    """A quick run of every experiment on the published data: where its results are, what it
    printed, and what each piece of work found."""

    data: Path
    out: Path
    printed: str
    cells: Mapping[str, Mapping[str, Any]]

    def plan(self, *here: str) -> Plan:
        """A plan as that of the run, with those data sets only."""
        return Plan(self.data, frozenset(here), quick=True)

    def found(self, experiment: Experiment, plan: Plan, part: Any = None) -> dict[str, Any]:
        """What the pieces of work of such a plan found."""
        wanted = (part or experiment).cells(plan)
        return {cell.key: self.cells[experiment.name][cell.key] for cell in wanted}

    def report(self, experiment: Experiment, *here: str) -> Report:
        """The report where only those data sets are."""
        plan = self.plan(*here)
        return experiment.report(plan, self.found(experiment, plan))


@pytest.fixture(scope="session")
def quick(data: Path, tmp_path_factory: pytest.TempPathFactory, once: Once) -> QuickRun:
    """Every experiment, quickly, on the published data."""
    out = tmp_path_factory.mktemp("quick")
    made = once("quick-run", lambda: _quick_run(data, out))
    return QuickRun(data, Path(made["out"]), made["printed"], made["cells"])


def _quick_run(data: Path, out: Path) -> dict[str, Any]:
    cells: dict[str, Any] = {}

    def recorded(
        experiments: Sequence[Experiment],
        plan: Plan,
        journal: Journal,
        *,
        data: Mapping[str, str],
        **options: Any,
    ) -> Iterator[running.Outcome]:
        yield from running.run(experiments, plan, journal, data=data, **options)
        for each in experiments:
            pieces = running.pieces_of(each, plan, data)
            cells[each.name] = {p.cell.key: journal[p.kept_as]["result"] for p in pieces}

    arguments = ["all", "--quick", "--out", out, "--data", data, "--page", out / "page.md"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "run", recorded)
        done = CliRunner().invoke(command.main, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return {"out": str(out), "printed": done.output, "cells": cells}
