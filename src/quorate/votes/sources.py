"""Read the needed columns of any kind of table as a polars frame."""

from __future__ import annotations

import gzip
import io
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.selectors import by_name

from quorate.errors import DataError, UsageError, require_choice
from quorate.votes.columns import column_of, columns_named
from quorate.votes.databases import Query, is_database
from quorate.votes.faults import (
    FAULTS,
    GZIP,
    check_lines,
    check_start,
    explain,
    listed,
    named,
    reason,
    shown,
    stderr_held,
)
from quorate.votes.packed import UNSCANNED, excel_frame, format_in, json_lines, unpacked
from quorate.votes.readers.opening import Opened, opened, opened_bytes, opened_table
from quorate.votes.separators import USUAL, separator_of, start_of

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".json": "json",
    ".xlsx": "excel",
}
UNTOLD = ("", ".txt")  # suffixes that leave the format to what is in the file
OF_TOOLS = (".json", ".xml", ".zip")  # exports of other tools, in a directory without tables
COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip")
REMOTE = ("s3", "gs", "gcs", "az", "abfs", "abfss", "hf", "http", "https")
MISSING = ("", "NaN", "nan")
WHOLE = ("json", "excel")  # formats of which polars reads no part by itself
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LARGEST_EXACT = 2**53  # above which not every whole number is a float
START = 4096  # bytes of a file that are checked before it is read


@dataclass(frozen=True)
class Kind:
    """The caller's kind of table and column names, by role, in which tables are given back."""

    library: str = "polars"
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)

    def give(self, frame: pl.DataFrame | pl.LazyFrame) -> Any:
        """The table in the caller's kind; a lazy one stays lazy."""
        if isinstance(frame, pl.LazyFrame):
            return frame.rename(self._names(frame.collect_schema().names()))
        if self.library == "pandas":
            return self._to_pandas(frame).rename(columns=self._names(frame.columns))
        frame = frame.rename(self._names(frame.columns))
        return frame.to_arrow() if self.library == "arrow" else frame

    def _names(self, present: Sequence[str]) -> dict[str, str]:
        """The caller's names of columns, without one that is another column's already."""
        mine = {role: name for role, name in self.columns.items() if role in present}
        taken = [name for name in present if name not in mine]
        return {role: name for role, name in mine.items() if name not in taken}

    def _to_pandas(self, frame: pl.DataFrame) -> Any:
        import pandas as pd

        columns = {column.name: _to_pandas(column) for column in frame}
        for name in columns.keys() & self.dtypes.keys():
            categories = getattr(self.dtypes[name], "categories", None)
            if categories is None or columns[name].isin(categories).all():
                columns[name] = columns[name].astype(self.dtypes[name])
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Table:
    """The requested columns, named by their roles; where they came from, whether their cells were
    only text, the caller's kind of table, and what is to be said of how it was read."""

    frame: pl.DataFrame
    origin: str
    text: bool
    kind: Kind
    notes: tuple[str, ...] = ()


def _same(query: pl.LazyFrame) -> pl.LazyFrame:
    return query


@dataclass(frozen=True)
class File:
    """A file as a query: `select` takes columns, `any_row` says whether reading can start at any
    row, `ask` runs a query with failures as one sentence, and `path` is its place on this machine.
    `long` makes votes of its rows where one holds several, `per_row` of them at most.
    """

    select: Callable[[list[str]], pl.LazyFrame]
    any_row: bool
    ask: Callable[[Callable[[], Any]], Any]
    path: Path | None
    long: Callable[[pl.LazyFrame], pl.LazyFrame] = _same
    per_row: int = 1


@dataclass(frozen=True)
class SourceTable:
    """An opened table: its column names, and functions that take some of its columns, as a frame
    or, of files, as queries.

    `roles` are the columns whose roles are known without looking at names, `whole` says that all of
    the table had to be read to open it, and `index` are the names of rows beside the columns.
    `silent` counts rows without a vote, of a table whose rows hold several."""

    names: Sequence[str]
    take: Callable[[list[str]], pl.DataFrame]
    origin: str
    text: bool = False
    library: str = "polars"
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    files: Sequence[File] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    whole: bool = False
    index: Callable[[], pl.Series] | None = None
    index_name: str | None = None
    silent: Callable[[], int] | None = None


def read_table(
    source: Any,
    roles: Sequence[str],
    *,
    columns: Mapping[str, str | None] | None = None,
    format: str | None = None,
    missing: Sequence[str] = MISSING,
    strict: bool = True,
    by_place: bool = False,
) -> Table:
    """Read the source's columns for these roles, renamed to the roles.

    `columns` maps a role to the name its column has in the source, or may have if not `strict`.
    Without it the role's own name is looked for, then a synonym if exactly one column fits; with
    `by_place` columns that no name tells apart are taken in order, where there are no others.
    """
    if format is not None:
        require_choice("format", format, tuple(dict.fromkeys(FORMATS.values())))
    opened = open_source(source, roles, format, missing)
    return table_of(opened, columns_for(opened, roles, columns or {}, strict, by_place))


def table_of(opened: SourceTable, chosen: Mapping[str, str]) -> Table:
    """The columns that were chosen for roles, of an opened table."""
    taken = opened.take(list(chosen.values()))
    frame = pl.DataFrame([taken[name].alias(role) for role, name in chosen.items()])
    for role, dtype in frame.schema.items():
        require_plain(opened.origin, dtype, chosen[role])
    dtypes = {role: opened.dtypes[name] for role, name in chosen.items() if name in opened.dtypes}
    kind = Kind(opened.library, dtypes, columns_named(chosen))
    return Table(frame, opened.origin, opened.text, kind, opened.notes)


def column_names(source: Any, format: str | None = None) -> Sequence[str]:
    """Names of all columns of a table; none of what can be read only once, or is no table."""
    if isinstance(source, Iterator) or (isinstance(source, str) and source == "-"):
        return ()
    try:
        return open_source(source, (), format, MISSING).names
    except (DataError, UsageError):
        return ()


def columns_for(
    source: SourceTable,
    roles: Sequence[str],
    columns: Mapping[str, str | None],
    strict: bool = True,
    by_place: bool = False,
) -> dict[str, str]:
    """Name of the column for each role."""
    if source.roles:
        return {role: source.roles[role] for role in roles}
    find = partial(
        column_of, columns=columns, names=source.names, origin=source.origin, strict=strict
    )
    found: dict[str, str] = {}
    for role in roles if by_place else ():
        with suppress(DataError):
            found[role] = find(role)
    others = [name for name in source.names if name not in (*found.values(), source.index_name)]
    lost = [role for role in roles if role not in found]
    if by_place and len(lost) == len(others):
        found |= dict(zip(lost, others, strict=True))
    return {role: found[role] if role in found else find(role) for role in roles}


def other_columns(
    source: Any,
    roles: Sequence[str],
    *,
    columns: Mapping[str, str | None] | None = None,
    missing: Sequence[str] = MISSING,
) -> list[str]:
    """Names of the columns other than the one for the first role."""
    opened = open_source(source, roles, None, missing)
    chosen = column_of(roles[0], columns or {}, opened.names, opened.origin, strict=False)
    return [name for name in opened.names if name not in (chosen, opened.index_name)]


def require_plain(origin: str, dtype: pl.DataType, column: str) -> None:
    words = (pl.String, pl.Boolean, pl.Categorical, pl.Enum, pl.Date, pl.Datetime, pl.Null)
    if not dtype.is_numeric() and dtype not in words:
        raise DataError(
            f"{origin} has {named(dtype)} in its column {shown(column)}: Quorate takes numbers,"
            " text, truth values and dates."
        )


def open_source(
    source: Any, roles: Sequence[str], format: str | None, missing: Sequence[str]
) -> SourceTable:
    missing = [missing] if isinstance(missing, str) else missing
    if isinstance(source, Piped):
        return _open_piped(source, format, missing)
    if isinstance(source, (str, Path)):
        return _open_file(str(source), format, missing)
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, Path)):
        return _open_list(source, format, missing)
    if isinstance(source, pl.DataFrame):
        return _open_lazy(source.lazy(), "The polars table")
    if isinstance(source, pl.LazyFrame):
        return _open_lazy(source, "The polars query")
    if is_pandas(source):
        return _open_pandas(source, roles)
    if type(source).__module__.split(".")[0] == "datasets":
        from quorate.votes.huggingface import dataset_frame

        return _open_lazy(dataset_frame(source).lazy(), "The dataset")
    if hasattr(source, "__arrow_c_stream__"):
        frame = pl.DataFrame(source)
        return SourceTable(frame.columns, frame.select, "The Arrow table", library="arrow")
    if isinstance(source, Mapping):
        source = source.items()
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        return _open_rows(source, roles)
    raise UsageError(f"Quorate cannot read a table from an object of type {type(source).__name__}.")


# Files


def _open_piped(piped: Piped, format: str | None, missing: Sequence[str]) -> SourceTable:
    content, origin = piped.content, "Standard input"
    format = format or format_in(content)
    if format in WHOLE or content.startswith(UNSCANNED):
        return _open_packed(opened_bytes(content, origin), format, missing)
    return _open_content(content, origin, format, missing)


def _open_file(path: str, format: str | None, missing: Sequence[str]) -> SourceTable:
    if is_database(path):
        return _open_database(path, format)
    if "://" in path:
        return _open_remote(path, format, missing)
    if path == "-":
        return open_source(read_once(path), (), format, missing)
    files = files_of(path)
    if files is not None:
        return _open_several(path, files, format, missing)
    origin = path if path.isprintable() else repr(path)
    format = format or format_of(path)
    if format is None and not _tells_itself(path):
        raise UsageError(
            f"The name {origin} does not say its format: use {', '.join(FORMATS)} (also with"
            f" {', '.join(COMPRESSED[:-1])} or {COMPRESSED[-1]} behind), or say it with format"
            " (--format)."
        )
    data, head = _peek(Path(path), origin, format)
    file = opened_bytes(data, origin) if isinstance(data, bytes) else opened(path)
    file = replace(file, origin=origin)
    if head.startswith(UNSCANNED):
        return _open_packed(file, format, missing)
    format = format or format_in(start_of(head, file))
    if format == "json" and file.look().shape == "lines":
        format = "jsonl"
    if format in WHOLE:
        return _open_packed(file, format, missing)
    return _open_content(data, origin, format, missing, head)


def _open_database(url: str, format: str | None) -> SourceTable:
    if format is not None:
        raise UsageError("format (--format) is of files: leave it out for a database.")
    query = Query.of(url)
    return SourceTable(query.names, query.take, query.address.origin)


def _open_packed(file: Opened, format: str | None, missing: Sequence[str]) -> SourceTable:
    """Open a file of which polars reads no part by itself."""
    found, content, format = unpacked(file, format)
    format = format or format_of(found.name) or format_in(content)
    if format == "excel":
        frame, notes = excel_frame(content, file.origin)
        table = replace(_open_lazy(frame.lazy(), file.origin), notes=notes)
    elif format == "json" and found.look().shape != "lines":
        table = _open_content(json_lines(content, file.origin), file.origin, "jsonl", missing)
    else:
        format = "jsonl" if format == "json" else format
        table = _open_content(content, file.origin, format, missing)
    return replace(table, files=(), whole=True)


def _tells_itself(path: str) -> bool:
    """Whether what a file holds may tell its format, its name saying nothing of it."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = suffixes and suffixes[-1] in COMPRESSED
    return (suffixes[-1:] or [""])[0] in (*UNTOLD, ".zip") or (
        bool(packed) and (suffixes[-2:-1] or [""])[0] in UNTOLD
    )


def _open_content(
    data: str | bytes,
    origin: str,
    format: str | None,
    missing: Sequence[str],
    head: bytes | None = None,
) -> SourceTable:
    """Open the file at a path, or bytes, as a table; `head` are its first bytes."""
    if head is None:
        assert isinstance(data, bytes)
        head = data[:START]
    format = format or format_in(head)
    fault = check_start(origin, format, head) or check_lines(origin, format, data, head)
    if fault:
        raise DataError(fault)

    separator = ""
    if format in USUAL:
        content = opened_bytes(data, origin) if isinstance(data, bytes) else opened(data)
        separator = separator_of(format, head, content)

    def fail(error: BaseException) -> DataError:
        return DataError(explain(origin, format, data, error, separator))

    source = io.BytesIO(data) if isinstance(data, bytes) else data
    lazy = _scan(source, format, missing, wild=False, separator=separator)
    guard = stderr_held if format == "parquet" else nullcontext
    path = Path(data) if isinstance(data, str) else None
    table = _open_lazy(lazy, origin, format, fail, guard, path)
    return _exact(table) if format == "jsonl" else table


def _scan(
    source: Any, format: str, missing: Sequence[str], wild: bool, separator: str = ""
) -> pl.LazyFrame:
    if format == "parquet":
        return pl.scan_parquet(source, glob=wild, hive_partitioning=False)
    if format == "jsonl":
        return pl.scan_ndjson(source, infer_schema_length=None)
    return pl.scan_csv(
        source,
        separator=separator or USUAL[format],
        infer_schema=False,
        null_values=list(missing),
        glob=wild,
    )


def files_of(path: str) -> list[Path] | None:
    """Files of a directory (and of those below it) or of a name with wildcards; None for a single
    file."""
    if not path:
        raise DataError("The name of a file to read is empty.")
    place = Path(path)
    if _asked(place.is_dir, path):
        files = [file for file in place.rglob("*") if file.is_file() and _is_shown(file, place)]
        tables = [file for file in files if format_of(file.name) is not None]
        inputs = tables or [file for file in files if file.suffix.lower() in OF_TOOLS]
        if not inputs:
            raise DataError(f"{path} has no file in it that ends in {', '.join(FORMATS)}.")
        return sorted(inputs)
    if any(c in path for c in "*?[") and not _asked(place.exists, path):
        files = [Path(file) for file in glob(path, recursive=True) if Path(file).is_file()]  # noqa: PTH207
        if not files:
            raise DataError(f"There is no file {path}.")
        return sorted(files)
    return None


def _asked(question: Callable[[], bool], path: str) -> bool:
    """The answer to a question about a path, refused for a name that is too long or in a directory
    that may not be entered."""
    try:
        return question()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read: {why}.") from None


def _open_list(paths: Sequence[Any], format: str | None, missing: Sequence[str]) -> SourceTable:
    """Open several paths, each a file, a directory or a name with wildcards, as one table."""
    if not all(isinstance(path, (str, Path)) for path in paths):
        raise DataError(f"A list of files names paths only, not {shown(paths[-1])}.")
    if any(is_database(path) for path in paths):
        if len(paths) == 1:
            return _open_file(paths[0], format, missing)
        raise UsageError("A database is one input: name it alone.")
    files = [str(file) for path in paths for file in files_of(str(path)) or [path]]
    if len(files) == 1:
        return _open_file(files[0], format, missing)
    if "-" in files:
        raise UsageError("Standard input is one input: name it alone.")
    origin = f"{files[0]} and {len(files) - 1} more"
    return _open_several(origin, files, format, missing)


def _is_shown(file: Path, place: Path) -> bool:
    """Whether a file is not what programs put beside their output, such as _SUCCESS."""
    return not any(part.startswith((".", "_")) for part in file.relative_to(place).parts)


def _open_several(
    path: str, files: Sequence[str | Path], format: str | None, missing: Sequence[str]
) -> SourceTable:
    """Open files with the same columns as one table."""
    parts = [_open_file(str(file), format, missing) for file in files]
    first = parts[0]
    for part in parts[1:]:
        if set(part.names) != set(first.names):
            raise DataError(
                f"{part.origin} has the columns {listed(part.names)}, {first.origin} has"
                f" {listed(first.names)}: only files with the same columns are one table."
            )
        if part.text != first.text:
            raise DataError(f"{part.origin} and {first.origin} are in different formats.")

    def take(wanted: list[str]) -> pl.DataFrame:
        return pl.concat([part.take(wanted) for part in parts], how="vertical_relaxed")

    inside = [file for part in parts for file in part.files]
    whole = any(part.whole for part in parts)
    notes = tuple(note for part in parts for note in part.notes)
    return SourceTable(first.names, take, path, first.text, files=inside, whole=whole, notes=notes)


def _open_remote(path: str, format: str | None, missing: Sequence[str]) -> SourceTable:
    """Open a remote object, or several by wildcards, with the support of polars: credentials and
    addresses are where it takes them from, such as AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL."""
    scheme = path.partition("://")[0]
    if scheme not in REMOTE:
        known = ", ".join(f"{name}://" for name in REMOTE)
        raise UsageError(f"{path} cannot be read: {known} can.")
    name = path.partition("?")[0]
    format = format or format_of(name)
    if format is None:
        raise UsageError(f"The name {path} does not say its format: say it with format (--format).")
    if format in WHOLE or name.lower().endswith((".bz2", ".xz", ".zip")):
        raise UsageError(f"{path} has to be read as a whole: fetch it, and name the file.")

    def fail(error: BaseException) -> DataError:
        if "not found" in str(error).lower():
            return DataError(f"There is nothing at {path}.")
        return DataError(f"{path} cannot be read ({reason(error)}).")

    lazy = _scan(path, format, missing, wild=True)
    # Warnings, such as of a region that has to be looked up, are nothing the user can act on.
    return _open_lazy(lazy, path, format, fail, partial(warnings.catch_warnings, action="ignore"))


def _open_lazy(
    lazy: pl.LazyFrame,
    origin: str,
    format: str | None = None,
    fail: Callable[[BaseException], DataError] | None = None,
    guard: Callable[[], AbstractContextManager[object]] = nullcontext,
    path: Path | None = None,
) -> SourceTable:
    text = format in ("csv", "tsv")

    def ask(question: Callable[[], Any]) -> Any:
        try:
            with guard():
                return question()
        except FAULTS as error:
            if fail is not None:
                raise fail(error) from None
            raise DataError(f"{origin} cannot be read ({reason(error)}).") from None

    def select(wanted: list[str]) -> pl.LazyFrame:
        query: list[pl.Expr] = [by_name(*dict.fromkeys(wanted))]
        rest = [name for name in names if name not in wanted]
        if text and rest:  # polars counts the fields of a line only if it is asked for all
            query.append(by_name(*rest).is_null())
        return lazy.select(query)

    def take(wanted: list[str]) -> pl.DataFrame:
        taken: pl.DataFrame = ask(select(wanted).collect)
        return taken

    names = ask(lazy.collect_schema).names()
    file = File(select, format == "parquet", ask, path)
    return SourceTable(names, take, origin, text, files=(file,))


def _exact(source: SourceTable) -> SourceTable:
    """The table of JSON lines, refused where a column has fractions and whole numbers so large that
    two of them may have become one: beside a fraction they are read as floats."""
    (file,) = source.files

    @cache
    def check(wanted: tuple[str, ...]) -> None:
        query = file.select(list(wanted))
        floats = [
            name for name, dtype in file.ask(query.collect_schema).items() if dtype.is_float()
        ]
        large = query.select(pl.col(floats).abs().max() >= LARGEST_EXACT)
        if not floats:
            return
        for name, is_large in file.ask(large.collect).row(0, named=True).items():
            if is_large:
                raise DataError(
                    f"{source.origin} has fractions and whole numbers of more than 15 digits in its"
                    f" column {shown(name)}, which cannot be told apart then: write them as text."
                )

    def select(wanted: list[str]) -> pl.LazyFrame:
        check(tuple(wanted))
        return file.select(wanted)

    def take(wanted: list[str]) -> pl.DataFrame:
        check(tuple(wanted))
        return source.take(wanted)

    return replace(source, take=take, files=(replace(file, select=select),))


@dataclass(frozen=True)
class Piped:
    """What came from standard input, which can be read only once."""

    content: bytes


def read_once(source: Any) -> Any:
    """The source, or what is on standard input if that is the source."""
    if not isinstance(source, str) or source != "-":
        return source
    content = sys.stdin.buffer.read()
    try:
        content = gzip.decompress(content) if content.startswith(GZIP) else content
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError("Standard input is not a whole gzip file: send it again.") from None
    return Piped(content.removeprefix(BYTE_ORDER_MARK))


def opened_files(source: Any) -> list[Opened]:
    """The source's files on this machine, or the table, as one that another tool may have written;
    none of what cannot be one."""
    if isinstance(source, Piped):
        return [opened_bytes(source.content, "Standard input")]
    if isinstance(source, pl.DataFrame):
        return [opened_table(source, "The polars table")]
    if is_pandas(source):
        return [opened_table(source, "The pandas table")] if source.ndim == 2 else []
    paths = source if isinstance(source, (list, tuple)) else [source]
    if not paths or not all(isinstance(path, (str, Path)) for path in paths):
        return []
    if any("://" in str(path) or not str(path) for path in paths):
        return []
    files = [str(file) for path in paths for file in files_of(str(path)) or [path]]
    if any(Path(file).exists() and not Path(file).is_file() for file in files):
        return []  # pipes, which can be read only once
    return [opened(file) for file in files]


def _peek(path: Path, origin: str, format: str | None) -> tuple[str | bytes, bytes]:
    """The path and the file's first bytes; all bytes instead of the path where polars cannot read
    it: a pipe, a byte-order mark before JSON, a name with wildcards in it."""
    try:
        with path.open("rb") as file:
            head = file.read(START) if path.is_file() else b""
            marked = head.startswith(BYTE_ORDER_MARK) or any(c in str(path) for c in "*?[")
            if path.is_file() and path.name.isprintable() and not (format == "jsonl" and marked):
                return str(path), head
            content = (head + file.read()).removeprefix(BYTE_ORDER_MARK)
            return content, content[:START]
    except FileNotFoundError:
        raise DataError(f"There is no file {origin}.") from None
    except OSError as error:
        raise DataError(f"{origin} cannot be read: {error.strerror}.") from None


def format_of(path: str) -> str | None:
    """Format that a file's suffix names."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
        if suffixes[-1:] == [".parquet"] and not path.lower().endswith(".zip"):
            raise UsageError(f"Parquet is compressed in itself: decompress {path} first.")
    return FORMATS.get(suffixes[-1]) if suffixes else None


# Tables in memory


def _open_rows(rows: Iterable[Any], roles: Sequence[str]) -> SourceTable:
    columns: list[list[Any]] = [[] for _ in roles]
    for number, row in enumerate(rows):
        is_row = isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, (str, bytes))
        if not is_row or len(row) != len(roles):
            raise DataError(
                f"Row {number} is {shown(row)}, where ({', '.join(roles)}) was expected."
            )
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    frame = pl.DataFrame([series(n, v) for n, v in zip(roles, columns, strict=True)])
    return SourceTable(roles, frame.select, "The list of rows")


def is_pandas(source: Any) -> bool:
    """Whether a source is a table or a column of pandas, which need not be installed."""
    return type(source).__module__.split(".")[0] == "pandas"


def _open_pandas(frame: Any, roles: Sequence[str]) -> SourceTable:
    if frame.ndim == 1:  # a series, such as answers indexed by task
        frame = frame.rename(roles[-1]).rename_axis(roles[0]).reset_index()
    named_levels = [name for name in frame.index.names if name is not None]
    index_name, rows = None, frame.index
    if named_levels and not {*map(str, named_levels)} & {*map(str, frame.columns)}:
        index_name = str(named_levels[0]) if len(named_levels) == 1 else None
        frame = frame.reset_index(level=named_levels)
    names = [str(name) for name in frame.columns]

    def take(wanted: list[str]) -> pl.DataFrame:
        return pl.DataFrame({n: _pandas_series(n, frame.iloc[:, names.index(n)]) for n in wanted})

    dtypes = dict(zip(names, frame.dtypes, strict=True))

    def index() -> pl.Series:
        return _pandas_series("task", rows.to_series())

    return SourceTable(
        names,
        take,
        "The pandas table",
        library="pandas",
        dtypes=dtypes,
        index=index if rows.nlevels == 1 else None,
        index_name=index_name,
    )


def _pandas_series(name: str, column: Any) -> pl.Series:
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return pl.Series(name, column.to_numpy())
    if column.dtype != object:
        try:
            return pl.Series(name, pl.from_pandas(column))
        except (ImportError, NotImplementedError, TypeError, ValueError):
            pass  # pandas without pyarrow, or a type of its own
    return series(name, column.tolist())


def series(name: str, values: list[Any]) -> pl.Series:
    """Column of one type, with None for missing values; an error names mixed types."""
    values = [_cell(value) for value in values]
    types = {type(value).__name__ for value in values if value is not None}
    try:
        if "bool" in types and len(types) > 1:  # which polars would take for 0 and 1
            raise TypeError
        return pl.Series(name, values, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        if len(types) < 2:
            raise DataError(f"Column {name!r} cannot be read ({reason(error)}).") from None
        mixed = " and ".join(sorted(types))
        raise DataError(f"Column {name!r} mixes {mixed}: make its values one type.") from None


def _cell(value: Any) -> Any:
    if isinstance(value, (np.number, np.bool_, np.str_)):
        value = value.item()
    is_nan = isinstance(value, float) and value != value
    return None if is_nan or type(value).__name__ in ("NAType", "NaTType") else value


def _to_pandas(column: pl.Series) -> Any:
    import pandas as pd

    try:
        return column.to_pandas()
    except (ImportError, ValueError):  # pandas without pyarrow; integers of 128 bits
        return pd.Series(column.to_list())
