"""`quorate bench`: which data sets are there, run, write, show."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quorate.bench import EXPERIMENTS, experiment_named, results
from quorate.bench.experiment import Experiment, Plan
from quorate.bench.journal import Journal
from quorate.bench.page import page
from quorate.bench.running import Progress, made, run
from quorate.datasets import CATALOGUE, data_directory, state
from quorate.errors import UsageError


def chosen(names: Sequence[str]) -> list[Experiment]:
    """The experiments of those names; `all` stands for every one."""
    wanted = list(EXPERIMENTS) if "all" in names else list(dict.fromkeys(names))
    return [experiment_named(name) for name in wanted]


def bench(
    experiments: Sequence[Experiment],
    out: Path,
    *,
    data: str | None = None,
    quick: bool = False,
    seed: int = 0,
    processes: int | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
    found: Callable[[Mapping[str, Any]], None] | None = None,
) -> None:
    """Run experiments and write what they found into `out`; `found` is told of each result."""
    require_a_place(out)
    directory = data_directory(data)
    used = sorted({name for experiment in experiments for name in experiment.data_sets})
    states = {name: state(name, directory) for name in used}
    here = {name: _checksum(name) for name, s in states.items() if s.status == "here"}
    plan = Plan(directory, frozenset(here), quick, seed)
    journal = Journal(out, fresh)
    for outcome in run(
        experiments, plan, journal, data=here, processes=processes, progress=progress
    ):
        sets = outcome.experiment.data_sets
        absent = [states[name].reason for name in sets if name not in here]
        checksums = {name: here[name] for name in sets if name in here}
        result = results.as_dict(outcome, made(plan, checksums), absent)
        results.write(result, out)
        if found:
            found(result)
    journal.close()


def _checksum(name: str) -> str:
    """Of a data set that is here, and so what the catalogue says."""
    return " ".join(checksum[:16] for checksum in CATALOGUE[name].checksums.values())


def require_a_place(out: Path) -> None:
    """Before any work: `out` is or can become a directory that can be written in."""
    nearest = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise UsageError(f"{nearest} is a file: name a directory for the results.")
    if not os.access(nearest, os.W_OK):
        raise UsageError(f"{nearest} cannot be written in: name another directory for the results.")


def write_page(out: Path, path: str) -> None:
    """The page of all results in `out`."""
    from quorate.io import Outputs

    where = Path(os.path.relpath(out, Path(path).parent)).as_posix()
    text = page(results.read(out), where)
    with Outputs() as outputs:
        outputs.file(path, lambda file: file.write(text.encode()))
