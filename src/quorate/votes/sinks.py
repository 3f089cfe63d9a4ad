"""Write tables to files, in the format of their suffix; all files or none."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import polars as pl

from quorate.errors import DataError, UsageError
from quorate.votes.faults import FAULTS, reason
from quorate.votes.sources import COMPRESSED, FORMATS, format_of

Frame = pl.DataFrame | pl.LazyFrame  # a lazy one is streamed to the file
WRITERS: dict[str, Callable[[pl.LazyFrame, BinaryIO], object]] = {
    "csv": lambda query, file: query.sink_csv(file),
    "tsv": lambda query, file: query.sink_csv(file, separator="\t"),
    "jsonl": lambda query, file: query.sink_ndjson(file),
    "parquet": lambda query, file: query.sink_parquet(file),
}


def write_table(frame: Frame, path: Path) -> None:
    """Write a table in the format of the suffix, whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    with unfinished.open("wb") as file:
        WRITERS[FORMATS[path.suffix]](frame.lazy(), file)
    unfinished.replace(path)


class Outputs:
    """Files written beside their places and moved there together at the end; a failure leaves
    nothing behind.

    Examples:
        >>> with Outputs() as outputs:
        ...     outputs.table(pl.DataFrame({"task": [1], "label": ["cat"]}), "-")
        task,label
        1,cat
    """

    def __init__(self) -> None:
        self._staged: list[tuple[Path, Path]] = []
        self._printed: list[Frame] = []

    def __enter__(self) -> Outputs:
        return self

    def table(self, frame: Frame, path: str) -> None:
        """Stage a table; ``"-"`` is standard output, as CSV."""
        if path != "-":
            write = WRITERS[output_format(path)]
            self.file(path, lambda file: write(frame.lazy(), file))
        elif self._printed:
            raise UsageError("Only one table can go to standard output.")
        else:
            self._printed.append(frame)

    def file(self, path: str, write: Callable[[BinaryIO], object]) -> None:
        """Stage a file that `write` fills."""
        place = check_place(path)
        if place in (other for _, other in self._staged):
            raise UsageError(f"Two outputs go to {path}: give each its own name.")
        unfinished = place.with_name(f".{place.name}.{os.getpid()}.part")
        self._staged.append((unfinished, place))
        try:
            with unfinished.open("wb") as file:
                write(file)
        except FAULTS as error:
            raise _write_error(path, error) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._place()
        finally:
            for unfinished, _ in self._staged:
                unfinished.unlink(missing_ok=True)

    def _place(self) -> None:
        for unfinished, place in self._staged:
            try:
                unfinished.replace(place)
            except OSError as error:
                raise _write_error(str(place), error) from None
        for frame in self._printed:
            parts = [frame] if isinstance(frame, pl.DataFrame) else frame.collect_batches()
            for i, part in enumerate(parts):
                _print(part.write_csv(include_header=i == 0))


def _write_error(path: str, error: BaseException) -> DataError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else reason(error)
    return DataError(f"{path} cannot be written: {why}.")


def _print(text: str) -> None:
    """Print text in UTF-8 like any other output, whatever the terminal's encoding."""
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    else:
        sys.stdout.write(text)


def check_place(path: str) -> Path:
    """The path of an output, refused before any work is done if it cannot be written."""
    place = Path(path)
    if place.is_dir():
        raise UsageError(f"{path} is a directory: name a file to write.")
    if not place.parent.is_dir():
        raise UsageError(f"There is no directory {place.parent} to write {place.name} in.")
    return place


def output_format(path: str) -> str:
    """Format to write a file in, refused before any work is done if it is unknown."""
    check_place(path)
    if path.lower().endswith(COMPRESSED):
        raise UsageError(f"Quorate does not write compressed text: name {path} without its suffix.")
    format = format_of(path)
    if format is None:
        raise UsageError(f"The name {path} does not say its format: use {', '.join(FORMATS)}.")
    return format
