"""`python -m reproductions`: which data sets are there, run, write, show."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from quorate.datasets import CATALOGUE, State, data_directory, state
from quorate.errors import QuorateError, UsageError
from quorate.votes import Outputs, check_place
from reproductions import EXPERIMENTS, experiment_named, results, terminal
from reproductions.experiment import Experiment, Plan
from reproductions.journal import Journal
from reproductions.page import page as page_of
from reproductions.running import Progress, made, run


@dataclass(frozen=True)
class Request:
    """What to run, on which data sets, how thoroughly, and where the results go."""

    experiments: Sequence[Experiment]
    out: Path
    data: str | None = None
    quick: bool = False
    seed: int = 0
    processes: int | None = None
    fresh: bool = False


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("experiments", nargs=-1, metavar="[EXPERIMENT]...")
@click.option("--list", "list_them", is_flag=True, help="Name the experiments.")
@click.option(
    "--out", default="results", show_default=True, metavar="DIR", help="Where the results go."
)
@click.option("--data", metavar="DIR", help="Where the data sets are: see `quorate data`.")
@click.option("--quick", is_flag=True, help="Fewer trials: everything in two minutes.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Other draws."
)
@click.option(
    "--processes", type=click.IntRange(min=1), help="Number of processes. [default: all cores]"
)
@click.option("--fresh", is_flag=True, help="Forget what an interrupted run has found.")
@click.option("--page", metavar="FILE.md", help="Write a page of all results in --out.")
@click.option("--render", is_flag=True, help="Run nothing: draw the figures in --out again.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as lines of JSON.")
def main(
    experiments: tuple[str, ...],
    list_them: bool,
    out: str,
    page: str | None,
    render: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Reproduce the papers' tables and figures beside the published ones.

    EXPERIMENT is one that --list names, or all. A run that was interrupted goes on where it
    stopped when the same command is given again.
    """
    with _one_sentence_a_failure():
        if list_them:
            terminal.show_list(chosen(["all"]))
            return
        request = Request(chosen(experiments), Path(out), **options)
        if not request.experiments and page is None and not render:
            raise UsageError("Name an experiment of `python -m reproductions --list`, or all.")
        if request.experiments and render:
            raise UsageError("--render runs nothing: name no experiment with it.")
        if request.experiments:
            make_place(request.out)
        if page is not None:
            check_place(page)
        if request.experiments:
            _reproduce_and_show(request, as_json)
        if render:
            for result in results.read(request.out):
                results.draw(result, request.out)
        if page is not None:
            write_page(request.out, page)
        if not as_json:
            click.echo(f"Tables and figures: {out}" + (f"; the page: {page}" if page else ""))


@contextmanager
def _one_sentence_a_failure() -> Iterator[None]:
    try:
        yield
    except QuorateError as error:
        click.echo(f"reproductions: {error}", err=True)
        click.get_current_context().exit(error.exit_code)


def chosen(names: Sequence[str]) -> list[Experiment]:
    """The experiments of those names; `all` stands for every one."""
    wanted = list(EXPERIMENTS) if "all" in names else list(dict.fromkeys(names))
    return [experiment_named(name) for name in wanted]


def _reproduce_and_show(request: Request, as_json: bool) -> None:
    def show(result: Mapping[str, Any]) -> None:
        if as_json:
            click.echo(json.dumps(result))
        else:
            terminal.show_experiment(result)

    with terminal.progress_bar() as progress:
        reproduce(request, found=show, left_out=terminal.show_left_out, progress=progress)


def reproduce(
    request: Request,
    *,
    found: Callable[[Mapping[str, Any]], None],
    left_out: Callable[[Mapping[str, State], Path], None],
    progress: Progress | None = None,
) -> None:
    """Run experiments and write their results. `left_out` is told before any work which data sets
    cannot be used, `found` of each result as it comes."""
    directory = data_directory(request.data)
    used = sorted({name for experiment in request.experiments for name in experiment.data_sets})
    states = {name: state(name, directory) for name in used}
    lacking = {name: each for name, each in states.items() if each.status != "here"}
    if lacking:
        left_out(lacking, directory)
    here = {name: _checksum(name) for name in used if name not in lacking}
    plan = Plan(directory, frozenset(here), request.quick, request.seed)
    journal = Journal(request.out, request.fresh)
    processes = request.processes
    for outcome in run(
        request.experiments, plan, journal, data=here, processes=processes, progress=progress
    ):
        sets = outcome.experiment.data_sets
        absent = [lacking[name].reason for name in sets if name in lacking]
        checksums = {name: here[name] for name in sets if name in here}
        result = results.as_dict(outcome, made(plan, checksums), absent)
        results.write(result, request.out)
        found(result)
    journal.close()


def _checksum(name: str) -> str:
    """The catalogue's checksums, which those of a data set that is here equal."""
    return " ".join(checksum[:16] for checksum in CATALOGUE[name].checksums.values())


def make_place(out: Path) -> None:
    """Make a directory for the results, before any work; refuse one that cannot be written in."""
    nearest = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise UsageError(f"{nearest} is a file: name a directory for the results.")
    if not os.access(nearest, os.W_OK):
        raise UsageError(f"{nearest} cannot be written in: name another directory for the results.")
    out.mkdir(parents=True, exist_ok=True)


def write_page(out: Path, path: str) -> None:
    """Write the page of all results in `out`."""
    where = Path(os.path.relpath(out, Path(path).parent)).as_posix()
    text = page_of(results.read(out), where)
    with Outputs() as outputs:
        outputs.file(path, lambda file: file.write(text.encode()))
