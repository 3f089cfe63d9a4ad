"""Write tables to files, in the format of their suffix; all files or none."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO
from uuid import uuid4

import polars as pl

from quorate.errors import DataError, UsageError, printable
from quorate.votes.databases import Address, Tables, is_database, output_table
from quorate.votes.faults import FAULTS, reason
from quorate.votes.sources import COMPRESSED, FORMATS, files_of, format_of

Frame = pl.DataFrame | pl.LazyFrame  # a lazy one is streamed to the file
WRITERS: dict[str, Callable[[pl.LazyFrame, BinaryIO], object]] = {
    "csv": lambda query, file: query.sink_csv(file),
    "tsv": lambda query, file: query.sink_csv(file, separator="\t"),
    "jsonl": lambda query, file: query.sink_ndjson(file),
    "parquet": lambda query, file: query.sink_parquet(file),
}


class Outputs:
    """Files written beside their places and moved there together at the end; a failure leaves
    nothing behind.

    What is read as it comes (standard output, pipes, devices) goes out first, by `send`, and files
    are moved only once all of it has: what was read cannot be taken back, but a file that has not
    appeared need not be. So when standard output is full or closed there is no file either.

    Examples:
        >>> with Outputs() as outputs:
        ...     outputs.table(pl.DataFrame({"task": [1], "label": ["cat"]}), "-")
        task,label
        1,cat
    """

    def __init__(self) -> None:
        self._staged: dict[Path, Path] = {}
        self._streams: list[tuple[Path, Path]] = []
        self._printed: list[Frame] = []
        self._tables = Tables()
        self._token = uuid4().hex

    def __enter__(self) -> Outputs:
        return self

    def table(self, frame: Frame, path: str) -> None:
        """Stage a table; ``"-"`` is standard output, as CSV. In a database it is written at once,
        and committed at the end."""
        if is_database(path):
            self._tables.write(frame, path)
        elif path != "-":
            write = WRITERS[output_format(path)]
            self.file(path, lambda file: write(frame.lazy(), file))
        elif self._printed:
            raise UsageError("Only one table can go to standard output.")
        else:
            self._printed.append(frame)

    def file(self, path: str, write: Callable[[BinaryIO], object]) -> None:
        """Stage a file that `write` fills."""
        place = check_place(path)
        try:
            if _is_stream(place):
                unfinished = Path(tempfile.mkdtemp(prefix="quorate-")) / "unfinished"
                self._streams.append((unfinished, place))
            else:
                unfinished = place.with_name(f".{self._token}-{len(self._staged)}.part")
                if place in self._staged:
                    raise UsageError(f"Two outputs go to {path}: give each its own name.")
                self._staged[place] = unfinished
            with unfinished.open("xb") as file:
                write(file)
        except FAULTS as error:
            raise _write_error(path, error) from None

    def send(self) -> None:
        """Write what goes to standard output, pipes and devices."""
        for frame in self._printed:
            parts = [frame] if isinstance(frame, pl.DataFrame) else frame.collect_batches()
            for i, part in enumerate(parts):
                _print(part.write_csv(include_header=i == 0))
        self._printed = []
        while self._streams:
            unfinished, place = self._streams[0]
            try:
                with unfinished.open("rb") as file, place.open("wb") as stream:
                    shutil.copyfileobj(file, stream)
            except BrokenPipeError:
                raise
            except OSError as error:
                raise _write_error(str(place), error) from None
            self._forget_stream()

    def _forget_stream(self) -> None:
        unfinished, _ = self._streams.pop(0)
        shutil.rmtree(unfinished.parent, ignore_errors=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.send()
                _replace_all(self._staged, self._tables.commit)
        finally:
            self._tables.close()
            while self._streams:
                self._forget_stream()
            for unfinished in self._staged.values():
                unfinished.unlink(missing_ok=True)


def _replace_all(staged: Mapping[Path, Path], commit: Callable[[], None]) -> None:
    """Move files to their places, and commit what is in databases; where one cannot be, the places
    are as they were before."""
    before = {place: unfinished.with_suffix(".before") for place, unfinished in staged.items()}
    placed: list[Path] = []
    try:
        for place, unfinished in staged.items():
            if place.exists():
                with suppress(OSError):  # a file system without links
                    os.link(place, before[place])
            unfinished.replace(place)
            placed.append(place)
        commit()
    except BaseException as error:
        for done in placed:
            if before[done].exists():
                before[done].replace(done)
            else:
                done.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _write_error(str(place), error) from None
        raise
    finally:
        for kept in before.values():
            kept.unlink(missing_ok=True)


def _write_error(path: str, error: BaseException) -> DataError:
    why = error.strerror if isinstance(error, OSError) and error.strerror else reason(error)
    return DataError(f"{path} cannot be written: {why}.")


def _print(text: str) -> None:
    """Print text in UTF-8 like any other output, whatever the terminal's encoding; to a terminal
    without what it would obey."""
    if sys.stdout.isatty():
        text = printable(text)
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    else:
        sys.stdout.write(text)


def _is_stream(place: Path) -> bool:
    """Whether what is there is a pipe or a device, which is written to and not replaced."""
    return place.exists() and not place.is_file() and not place.is_dir()


def check_place(path: str) -> Path:
    """The path of an output, with links followed, refused before any work is done if it cannot be
    written."""
    if is_database(path):
        raise UsageError(f"{path} is a database, which takes tables only: name a file to write.")
    given = Path(path)
    try:
        place = given if _is_stream(given) else given.resolve()
        is_directory, in_directory = place.is_dir(), place.parent.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a zero in the name
        raise _write_error(path, error) from None
    if not path:
        raise UsageError("The name of an output is empty: name a file to write.")
    if is_directory:
        raise UsageError(f"{path} is a directory: name a file to write.")
    if not in_directory:
        raise UsageError(f"There is no directory {given.parent} to write {given.name} in.")
    return place


def output_format(path: str) -> str:
    """Format to write a file in, refused before any work is done if it is unknown, or if a
    database does not take it."""
    if is_database(path):
        return output_table(path).kind
    check_place(path)
    if path.lower().endswith(COMPRESSED):
        raise UsageError(f"Quorate does not write compressed text: name {path} without its suffix.")
    format = format_of(path)
    if format not in WRITERS:
        known = ", ".join(suffix for suffix, written in FORMATS.items() if written in WRITERS)
        raise UsageError(f"The name {path} does not say its format: use {known}.")
    return format


def require_apart(outputs: Sequence[str], inputs: Sequence[str]) -> None:
    """Refuse an output that is one of the inputs or another output, whatever name it goes by."""
    read = {key for path in inputs for file in _files(path) for key in _keys(file, sys.stdin)}
    taken: set[object] = set()
    for path in outputs:
        if path == "-" and list(outputs).count("-") > 1:
            raise UsageError("Only one table can go to standard output.")
        keys = _keys(path, sys.stdout)
        if keys & read:
            raise UsageError(f"{_called(path)} is an input too: name another file to write.")
        if keys & taken:
            raise UsageError(f"Two outputs go to {_called(path)}: give each its own name.")
        taken |= keys


def _called(path: str) -> str:
    return "Standard output" if path == "-" else path


def _files(path: str) -> Sequence[str | Path]:
    """The files that an input is made of, as far as they are on this machine."""
    if is_database(path):
        return [path]
    if "://" in path:
        return []
    return ([path] if path == "-" else files_of(path)) or [path]


def _keys(path: str | Path, standard: Any) -> set[object]:
    """What tells a file from others: its place with links followed, and its number, which hard
    links and other spellings share; of a database, its tables. Pipes and devices may be read and
    written at once."""
    if is_database(path):
        address = Address.of(str(path))
        return {(address.key, address.table)}
    try:
        found = os.fstat(standard.fileno()) if path == "-" else os.stat(path)  # noqa: PTH116
    except (OSError, ValueError, AttributeError):  # not there yet, or no file at all
        return set() if path == "-" else {os.path.realpath(path)}
    if not stat.S_ISREG(found.st_mode):
        return set()
    number = (found.st_dev, found.st_ino)
    return {number} if path == "-" else {number, os.path.realpath(path)}
