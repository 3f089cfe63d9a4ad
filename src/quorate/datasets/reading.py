"""Data sets on disk: their directory, their state and their tables."""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from quorate.datasets.catalogue import CATALOGUE, DataSet
from quorate.errors import DataError, UsageError
from quorate.votes import read_table

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "labels": ("task", "worker", "label"),
    "gold": ("task", "label"),
    "features": ("task", "feature"),
}
WORDS = {"labels": "votes", "gold": "known answers", "features": "features"}


@dataclass(frozen=True)
class State:
    """State of a data set on disk: here, absent or damaged.

    Attributes:
        status: `"here"`, `"absent"` or `"damaged"`.
        reason: One sentence, unless it is here.
        note: What is lacking though it is here, such as features that were not rebuilt.
    """

    status: str
    reason: str = ""
    note: str = ""


def known(name: str) -> DataSet:
    """The data set of this name."""
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=1)
        advice = f"did you mean {near[0]}" if near else f"there are {', '.join(CATALOGUE)}"
        raise UsageError(f"There is no data set {name!r}: {advice}.")
    return CATALOGUE[name]


def data_directory(given: str | Path | None = None) -> Path:
    """Directory of the data sets: as given, in QUORATE_DATA, in `shared/data` beside a checkout of
    Quorate when there is one, else in the user's own data directory. It need not exist."""
    chosen = given or os.environ.get("QUORATE_DATA")
    if chosen:
        return Path(chosen)
    checkout = Path(__file__).resolve().parents[3]
    shared = checkout.parent / "shared" / "data"
    if (checkout / "pyproject.toml").is_file() and shared.is_dir():
        return shared
    return _user_data_directory() / "quorate" / "data"


def _user_data_directory() -> Path:
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support"
        return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    except RuntimeError:
        raise UsageError("You have no home directory: say where data is with --data.") from None


def votes(name: str, directory: str | Path | None = None) -> pl.DataFrame:
    """Votes of a data set: task, worker and label as text, in the file's order."""
    return _table(known(name), "labels", data_directory(directory))


def gold(name: str, directory: str | Path | None = None) -> pl.DataFrame:
    """Gold answers of a data set: task and label as text, in the file's order."""
    return _table(known(name), "gold", data_directory(directory))


def features(name: str, directory: str | Path | None = None) -> pl.DataFrame:
    """Binary features of a data set: task and feature as text, in the file's order."""
    return _table(known(name), "features", data_directory(directory))


def checksum(table: pl.DataFrame) -> str:
    """SHA-256 of a table's header and rows as CSV in UTF-8, every field in quotes, a line feed
    after each row.

    The rows count in their order, because results may depend on it (who comes first gets the first
    number); how the file spells them, such as its line ends, does not count.

    Examples:
        >>> checksum(pl.DataFrame({"task": ["t1"], "label": ["cat"]}))[:12]
        '96f225a382c5'
    """
    text = table.write_csv(quote_style="always", line_terminator="\n")
    return hashlib.sha256(text.encode()).hexdigest()


def state(name: str, directory: str | Path | None = None) -> State:
    """State of a data set on disk, by its counts and the checksums of its tables."""
    data_set, place = known(name), data_directory(directory)
    lacking = [kind for kind in data_set.checksums if not _is_file(_path(place, name, kind))]
    if len(lacking) == len(data_set.checksums):
        return State("absent", _absence(data_set, place))
    kinds = [kind for kind in data_set.checksums if kind not in lacking]
    faults = [f"{kind}.csv is missing" for kind in lacking if kind not in data_set.derived]
    try:
        faults += differences(data_set, {kind: _table(data_set, kind, place) for kind in kinds})
    except DataError as error:
        faults.append(str(error).rstrip("."))
    if faults:
        found = "; ".join(faults)
        advice = f"`quorate data get {name}` replaces it"
        return State("damaged", f"{name} in {place} is damaged ({found}): {advice}.")
    return State("here", note="without its features" if lacking else "")


def listing(directory: str | Path | None = None) -> dict[str, Any]:
    """Every known data set and its state, as a dictionary for JSON or a report."""
    place = data_directory(directory)
    entries = [{**vars(one), **vars(state(name, place))} for name, one in CATALOGUE.items()]
    for entry in entries:
        del entry["convert"]  # a function
    return {"directory": str(place), "datasets": entries}


def differences(data_set: DataSet, tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Differences of these tables from the catalogue, in number or else in content."""
    found = [
        f"{number:,} {what} instead of {expected:,}"
        for what, number, expected in _counts(data_set, tables)
        if number != expected
    ]
    return found or [
        f"the {WORDS[kind]} are as many as they should be but not the same"
        for kind, table in tables.items()
        if checksum(table) != data_set.checksums[kind]
    ]


def _counts(
    data_set: DataSet, tables: Mapping[str, pl.DataFrame]
) -> Iterator[tuple[str, int, int]]:
    """Yield what is counted, its number in the tables, and its number in the catalogue."""
    if "labels" in tables:
        yield "labels", tables["labels"].height, data_set.labels
        yield "workers", tables["labels"]["worker"].n_unique(), data_set.workers
    if "gold" in tables:
        yield "known answers", tables["gold"].height, data_set.gold
    answers = tables.get("labels", tables.get("gold"))
    if answers is not None:
        yield "tasks", answers["task"].n_unique(), data_set.tasks
        yield "classes", answers["label"].n_unique(), data_set.classes
    if "features" in tables:
        yield "features", tables["features"]["feature"].n_unique(), data_set.n_features


def _table(data_set: DataSet, kind: str, place: Path) -> pl.DataFrame:
    if kind not in data_set.checksums:
        has = " and ".join(WORDS[other] for other in data_set.checksums)
        raise DataError(f"{data_set.name} has no {WORDS[kind]}, only {has}.")
    path = _path(place, data_set.name, kind)
    if not _is_file(path):
        others = any(_is_file(_path(place, data_set.name, other)) for other in data_set.checksums)
        raise DataError(f"There is no file {path}." if others else _absence(data_set, place))
    return read_table(path, COLUMNS[kind], missing=()).frame


def _absence(data_set: DataSet, place: Path) -> str:
    name = data_set.name
    return f"{name} is not in {place}: `quorate data get {name}` fetches it from {data_set.source}."


def _path(place: Path, name: str, kind: str) -> Path:
    return place / name / f"{kind}.csv"


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a directory that may not be entered
        return False
