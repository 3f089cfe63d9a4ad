"""Columns of answers in tables that do not say which of their columns are fields of the task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def varying_columns(
    rows: Iterable[Mapping[str, Any]], task: str, columns: Sequence[str]
) -> set[str]:
    """The columns that differ between rows of the same task, as fields of a task cannot.

    Examples:
        >>> rows = [{"id": 1, "text": "hi", "said": "yes"}, {"id": 1, "text": "hi", "said": "no"}]
        >>> varying_columns(rows, "id", ["text", "said"])
        {'said'}
    """
    seen: dict[tuple[str, Any], int] = {}
    found: set[str] = set()
    for row in rows:
        for column in columns:
            if column not in found:
                cell = hash(row.get(column))
                if seen.setdefault((column, row[task]), cell) != cell:
                    found.add(column)
    return found
