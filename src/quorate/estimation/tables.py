"""What is given beside votes and answers: values of classes, groups of tasks, and how tasks with
known answers were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quorate.errors import DataError, UsageError
from quorate.kernels import Floats
from quorate.votes import Reading, Votes, find, shown
from quorate.votes.items import kept_names
from quorate.votes.naming import retyped
from quorate.votes.reading import columns_of, complete_rows, missing_words
from quorate.votes.sources import column_names, read_table


@dataclass(frozen=True, eq=False)
class Given:
    """Tables of task and group, and of task and weight or probability; and the columns of the votes
    that have them instead, whose names are kept."""

    by: pl.DataFrame | None = None
    by_column: str | None = None
    pair_column: str | None = None
    weight: pl.DataFrame | None = None
    probability: pl.DataFrame | None = None

    def kept(self, reading: Reading) -> Reading:
        """The option of reading votes that keeps the columns of tasks that are needed."""
        mine = [name for name in (self.by_column, self.pair_column) if name]
        names = list(dict.fromkeys([*kept_names(reading), *mine]))
        return {"keep": names} if names else {}

    def weights_of(self, votes: Votes, known: NDArray[np.bool_]) -> Floats | None:
        """The weight of each known task."""
        return _numbers_of(self.weight, votes, known, "weight")

    def probabilities_of(self, votes: Votes, known: NDArray[np.bool_]) -> Floats | None:
        """The probability with which each known task was drawn."""
        found = _numbers_of(self.probability, votes, known, "probability")
        if found is not None and (found > 1).any():
            raise DataError(f"A probability is at most 1, not {found.max():g}.")
        return found


def read_given(votes: Any, gold: Any, by: Any, how: Mapping[str, Any]) -> Given:
    """What is given, each as a table or as the name of a column."""
    reading: Any = {name: how[name] for name in Reading.__annotations__ if name in how}
    own = list(column_names(votes, how.get("format")))
    table, column = _table_or_column(by, "group", own, reading)
    weight = _weights(how.get("sampling"), votes, own, reading)
    planned = None
    if weight is None and gold is not None and not isinstance(gold, Mapping):
        names = column_names(gold) if not (isinstance(gold, str) and gold in own) else ()
        if "probability" in names:
            planned = _read(gold, "probability", reading)
    return Given(table, column, how.get("pair"), weight, planned)


def _table_or_column(
    given: Any, role: str, own: list[str], reading: Reading
) -> tuple[pl.DataFrame | None, str | None]:
    if given is None:
        return None, None
    if isinstance(given, str) and given in own:
        return None, given
    if isinstance(given, str) and not Path(given).exists():
        raise DataError(
            f"There is no column {shown(given)} among those of the votes, and no such file: there"
            f" are {', '.join(map(shown, own)) or 'none'}."
        )
    return _read(given, role, reading), None


def _weights(given: Any, votes: Any, own: list[str], reading: Reading) -> pl.DataFrame | None:
    """A table of task and weight."""
    if isinstance(given, str) and given in own:
        return _read(votes, given, reading).unique("task", maintain_order=True)
    table, _ = _table_or_column(given, "weight", own, reading)
    return table


def _read(source: Any, role: str, reading: Reading) -> pl.DataFrame:
    """A table of task and one further column, which is called `value`."""
    if isinstance(source, Mapping):
        source = list(source.items())
    missing = missing_words(reading)
    columns = {"task": columns_of(reading)["task"]}
    table = read_table(
        source, ("task", role), columns=columns, missing=missing, strict=False, by_place=True
    )
    frame = complete_rows(table, missing)
    if table.text:
        frame = pl.DataFrame([retyped(column) for column in frame])
    return frame.rename({role: "value"})


def _numbers_of(
    table: pl.DataFrame | None, votes: Votes, known: NDArray[np.bool_], what: str
) -> Floats | None:
    """The number of each known task, which is above 0."""
    if table is None:
        return None
    tasks = votes.codebook.tasks.filter(pl.Series(known))
    row = find(tasks, table["task"])
    values = table["value"].cast(pl.Float64, strict=False).gather(row)
    bad = values.is_null() | ~(values > 0)
    if bad.any():
        task = tasks.filter(bad)[0]
        raise DataError(f"The known task {shown(task)} has no {what} above 0.")
    return values.to_numpy()


def groups_of(
    votes: Votes, given: Given, pair: str | None
) -> tuple[list[str] | None, NDArray[np.intp], NDArray[np.intp] | None]:
    """Names of the groups, the group of each task (-1 for none), and the item of each task."""
    nobody = np.full(len(votes.codebook.tasks), -1)
    names, group = None, nobody
    if given.by is not None:
        values = given.by["value"].gather(find(votes.codebook.tasks, given.by["task"]))
        names, group = _coded(values)
    elif given.by_column is not None:
        names, group = _coded(_kept(votes, given.by_column))
    return names, group, None if pair is None else _coded(_kept(votes, pair))[1]


def _kept(votes: Votes, column: str) -> pl.Series:
    items = votes.items
    if items is None:
        raise UsageError(f"These votes have no column {shown(column)}.")
    table = items.lazy().collect()
    return table[column].gather(find(votes.codebook.tasks, table["task"]))


def _coded(values: pl.Series) -> tuple[list[str], NDArray[np.intp]]:
    text = values.cast(pl.String)
    names = text.drop_nulls().unique().sort()
    code = find(text, names).fill_null(-1).to_numpy().astype(np.intp)
    return names.to_list(), code


def values_of(given: Any, classes: pl.Series) -> Floats:
    """The number of each class: by a mapping, or the class itself."""
    if given is True:
        numbers = classes.cast(pl.Float64, strict=False)
        if numbers.null_count():
            name = classes.filter(numbers.is_null())[0]
            raise DataError(f"{shown(name)} is no number: say what each class is worth (value).")
        return numbers.to_numpy()
    if not isinstance(given, Mapping):
        raise UsageError("value maps classes to numbers, or is True for labels that are numbers.")
    worth = {str(name): number for name, number in given.items()}
    lost = [name for name in classes if str(name) not in worth]
    if lost:
        raise UsageError(f"value has no number for {shown(lost[0])}.")
    try:
        return np.array([float(worth[str(name)]) for name in classes])
    except (TypeError, ValueError):
        raise UsageError("value maps classes to numbers.") from None
