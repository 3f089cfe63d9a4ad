"""`quorate data`: the known public data sets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.group import say
from quorate.cli.output import Job, Printing, emit, shown_by
from quorate.cli.progress import bar

if TYPE_CHECKING:
    from quorate.votes.store import Progress

DIRECTORY = click.option(
    "--data",
    "directory",
    metavar="DIR",
    type=click.Path(),
    help="Where data sets are; the directory QUORATE_DATA names, or the user's own, unless given.",
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")


@click.group(invoke_without_command=True)
@DIRECTORY
@options.PRINTING
@click.pass_context
def data(context: click.Context, /, directory: str | None, **given: Any) -> None:
    """List, check and fetch public data sets."""
    context.obj = directory
    if context.invoked_subcommand is not None:
        return
    printing = Printing.of(given)
    found: dict[str, Any] = {}

    def run(progress: Progress | None) -> Any:
        from quorate.datasets import listing

        found.update(listing(directory))
        return found

    emit(Job(run, dict, shown_by("quorate.report.datasets:show_data_sets")), printing)
    if any(each["status"] == "damaged" for each in found["datasets"]):
        context.exit(1)


@data.command()
@click.argument("names", nargs=-1, required=True)
@DIRECTORY
@click.option("--mirror", metavar="URL", help="Take https://HOST/PATH from URL/HOST/PATH.")
@QUIET
@click.pass_context
def get(
    context: click.Context,
    /,
    names: tuple[str, ...],
    directory: str | None,
    mirror: str | None,
    quiet: bool,
) -> None:
    """Fetch data sets (NAMES, or all) from where they were published, and check them."""
    from quorate.datasets import get as run

    failed = False
    with bar(quiet) as progress:
        bytes_come = None if progress is None else partial(_bytes_come, progress)
        for fetched in run(names, directory or context.obj, mirror=mirror, progress=bytes_come):
            fault = fetched.outcome == "failed"
            failed |= fault
            if fault or not quiet:
                say(f"{'quorate: ' if fault else ''}{fetched.sentence}", err=fault)
    if failed:
        context.exit(1)


def _bytes_come(progress: Progress, done: int, total: int, file: str) -> None:
    progress(file, done, total or None, f"{done / 1e6:,.1f} MB")
