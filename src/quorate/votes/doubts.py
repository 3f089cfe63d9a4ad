"""What makes the answers to votes doubtful, whatever the method."""

from __future__ import annotations

import polars as pl

from quorate.votes.faults import shown
from quorate.votes.reading import Votes

MANY_NUMBERS = 11  # as many as grades from 0 to 10
MANY_LABELS, VOTES_OF_EACH = 100, 20  # more labels, with fewer votes of each, are hardly classes


def doubts(votes: Votes, ordered: bool = False) -> list[str]:
    """A sentence for each doubt; many numbers are hardly classes, unless those are `ordered`.

    Examples:
        >>> from quorate.votes import read_votes
        >>> doubts(read_votes([("a", "ann", 1), ("b", "ann", 2)]))
        ['All votes are of one worker: how sure the answers are cannot be told.']
    """
    blocks, classes = votes.blocks, votes.codebook.classes
    found = []
    if len(classes) == 1:
        found.append(f"All votes say {shown(classes[0])}: there is nothing to decide.")
    elif blocks.shape.n_workers == 1:
        found.append("All votes are of one worker: how sure the answers are cannot be told.")
    elif blocks.n_labels <= blocks.n_tasks and blocks.shape.gold is None:
        found.append("No task has two votes: how sure the answers are cannot be told.")
    if len(classes) >= MANY_NUMBERS and not ordered and are_numbers(classes):
        found.append(
            f"The labels are {len(classes):,} different numbers, and are taken for classes: if they"
            " have an order, say ordered (--ordered)."
        )
    elif len(classes) > max(MANY_LABELS, blocks.n_labels / VOTES_OF_EACH):
        found.append(f"{len(classes):,} different labels: is this the label column?")
    return found


def are_numbers(names: pl.Series) -> bool:
    """Whether all names are numbers, as numbers or as text."""
    if names.dtype == pl.String:
        return not names.cast(pl.Float64, strict=False).null_count()
    return names.dtype.is_numeric()
