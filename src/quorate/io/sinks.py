"""Tables into files by suffix, all of them or none."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import polars as pl

from quorate.errors import DataError, UsageError
from quorate.io.sources import COMPRESSED, format_of

WRITERS: dict[str, Callable[[pl.DataFrame, BinaryIO], object]] = {
    "csv": lambda frame, file: frame.write_csv(file),
    "tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
    "jsonl": lambda frame, file: frame.write_ndjson(file),
    "parquet": lambda frame, file: frame.write_parquet(file),
}


class Outputs:
    """Files written beside their places and moved there together at the end; a failure leaves
    nothing behind.

    >>> with Outputs() as outputs:
    ...     outputs.table(pl.DataFrame({"task": [1], "label": ["cat"]}), "-")
    task,label
    1,cat
    """

    def __init__(self) -> None:
        self._staged: list[tuple[Path, Path]] = []
        self._printed: list[pl.DataFrame] = []

    def __enter__(self) -> Outputs:
        return self

    def table(self, frame: pl.DataFrame, path: str) -> None:
        """Stage a table; ``"-"`` is standard output, as CSV."""
        if path == "-":
            self._printed.append(frame)
        else:
            write = WRITERS[output_format(path)]
            self.file(path, lambda file: write(frame, file))

    def file(self, path: str, write: Callable[[BinaryIO], object]) -> None:
        """Stage a file that `write` fills."""
        place = Path(path)
        beside = place.with_name(f".{place.name}.{os.getpid()}.part")
        self._staged.append((beside, place))
        try:
            with beside.open("wb") as file:
                write(file)
        except OSError as error:
            raise DataError(f"{path} cannot be written: {error.strerror}.") from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for beside, place in self._staged:
            if kind is None:
                beside.replace(place)
            else:
                beside.unlink(missing_ok=True)
        if kind is None:
            for frame in self._printed:
                sys.stdout.write(frame.write_csv())


def output_format(path: str) -> str:
    """The format to write a file in; known before any work is done."""
    if path.lower().endswith(COMPRESSED):
        raise UsageError(f"Quorate does not write compressed text: name {path} without its suffix.")
    return format_of(path)
