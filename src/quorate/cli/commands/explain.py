"""`quorate explain`: why tasks have their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from quorate.cli import options
from quorate.cli.commands.aggregate import unheard
from quorate.cli.output import Job, Printing, emit, shown_by

if TYPE_CHECKING:
    from quorate.votes.store import Progress


@click.command()
@options.VOTES
@click.option(
    "--task",
    "tasks",
    metavar="NAME",
    multiple=True,
    required=True,
    help="Task to explain; may be repeated.",
)
@click.option(
    "--confidence",
    type=float,
    **options.told("quorate.result:Result.explain", "confidence"),
    help="Confidence for which further votes are counted.",
)
@options.METHOD
@options.ANSWERS
@options.SCALE
@options.READING
@options.KEEP
@options.PRINTING
def explain(votes: Any, tasks: tuple[str, ...], **given: Any) -> None:
    """Say why tasks have their labels.

    What each vote adds to the label, and what would change it.
    """
    printing = Printing.of(given)
    model = options.model_of(given.pop("method"), given.pop("settings"))
    confidence = options.given({"confidence": given.pop("confidence")})
    how = options.given(options.ordered(given))

    def run(progress: Progress | None) -> dict[str, Any]:
        from quorate.aggregation import aggregate

        with unheard(how):
            result = aggregate(votes, model, progress=progress, **how)
        found = [result.explain(task, **confidence).as_dict() for task in tasks]
        return {"method": result.method, "tasks": found}

    emit(Job(run, dict, shown_by("quorate.report.explanation:show_explanations")), printing)
