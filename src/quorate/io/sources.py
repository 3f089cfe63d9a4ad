"""Anything a user has a table in, as a polars frame with the columns that are needed."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from quorate.errors import DataError, UsageError

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
COMPRESSED = (".gz", ".zst")
MISSING = ("", "NaN", "nan")

# Other words for a column, used only when exactly one column of a table fits.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "task": ("item", "question", "example", "instance", "document", "unit"),
    "worker": ("annotator", "rater", "judge", "performer", "coder", "expert", "participant"),
    "label": ("answer", "response", "vote", "class", "rating", "annotation"),
}


@dataclass(frozen=True)
class Kind:
    """The kind of table the caller has, so that tables go back in the same kind."""

    library: str = "polars"
    dtypes: Mapping[str, Any] = field(default_factory=dict)

    def give(self, frame: pl.DataFrame) -> Any:
        if self.library == "arrow":
            return frame.to_arrow()
        if self.library != "pandas":
            return frame
        import pandas as pd

        columns = {column.name: _to_pandas(column) for column in frame}
        for name in columns.keys() & self.dtypes.keys():
            columns[name] = columns[name].astype(self.dtypes[name])
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Table:
    """The columns that were asked for, under their roles' names; where they came from, whether
    their cells were only text, and the caller's kind of table."""

    frame: pl.DataFrame
    origin: str
    text: bool
    kind: Kind


@dataclass(frozen=True)
class _Source:
    """A table's column names, and how to take some of its columns."""

    names: Sequence[str]
    take: Callable[[list[str]], pl.DataFrame]
    origin: str
    text: bool = False
    library: str = "polars"
    dtypes: Mapping[str, Any] = field(default_factory=dict)


def read_table(
    source: Any,
    roles: Sequence[str],
    *,
    columns: Mapping[str, str | None] | None = None,
    format: str | None = None,
    missing: Sequence[str] = MISSING,
) -> Table:
    """The source's columns for these roles, renamed to the roles.

    `columns` maps a role to the name its column has in the source. Without it the role's own name
    is looked for, then a synonym if exactly one column fits.
    """
    opened = _open(source, roles, format, missing)
    chosen = {role: _find(role, (columns or {}).get(role), opened) for role in roles}
    frame = opened.take(list(chosen.values()))
    dtypes = {role: opened.dtypes[name] for role, name in chosen.items() if name in opened.dtypes}
    return Table(
        frame.select(pl.col(name).alias(role) for role, name in chosen.items()),
        opened.origin,
        opened.text,
        Kind(opened.library, dtypes),
    )


def _find(role: str, name: str | None, source: _Source) -> str:
    present = _list(source.names)
    if name is not None:
        if name in source.names:
            return name
        raise DataError(f"{source.origin} has no column {name!r}: its columns are {present}.")
    if role in source.names:
        return role
    words = (role, *SYNONYMS.get(role, ()))
    fitting = [n for n in source.names if _plain(n) in words]
    if len(fitting) == 1:
        return fitting[0]
    fault = f"no column {role!r}"
    if fitting:
        fault = f"more than one column that could be the {role}, {_list(fitting)}"
    raise DataError(
        f"{source.origin} has {fault}: its columns are {present};"
        f" say which it is with {role}_column (--{role}-column)."
    )


def _plain(name: str) -> str:
    return name.strip().lower().removesuffix("id").rstrip("_ ")


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return shown + ", ..." if len(names) > 8 else shown


def _open(source: Any, roles: Sequence[str], format: str | None, missing: Sequence[str]) -> _Source:
    if isinstance(source, (str, Path)):
        return _open_file(str(source), format, missing)
    if isinstance(source, pl.DataFrame):
        return _open_lazy(source.lazy(), "The polars table")
    if isinstance(source, pl.LazyFrame):
        return _open_lazy(source, "The polars query")
    if type(source).__module__.split(".")[0] == "pandas":
        return _open_pandas(source, roles)
    if hasattr(source, "__arrow_c_stream__"):
        frame = pl.DataFrame(source)
        return _Source(frame.columns, frame.select, "The Arrow table", library="arrow")
    if isinstance(source, Mapping):
        source = source.items()
    if isinstance(source, Iterable):
        return _open_rows(source, roles)
    raise UsageError(f"Quorate cannot read a table from a {type(source).__name__}.")


# Files


def _open_file(path: str, format: str | None, missing: Sequence[str]) -> _Source:
    data: str | io.BytesIO = path
    if path == "-":
        origin = "Standard input"
        content = sys.stdin.buffer.read()
        if not content.strip():
            raise DataError("Standard input is empty.")
        data, format = io.BytesIO(content), format or _sniff(content)
    else:
        origin = path
        _check_file(Path(path))
        format = format or format_of(path)
    if format == "parquet":
        return _open_lazy(pl.scan_parquet(data), origin)
    if format == "jsonl":
        return _open_lazy(pl.scan_ndjson(data, infer_schema_length=None), origin)
    lazy = pl.scan_csv(
        data,
        separator="\t" if format == "tsv" else ",",
        infer_schema=False,
        null_values=list(missing),
    )
    return _open_lazy(lazy, origin, text=True)


def _open_lazy(lazy: pl.LazyFrame, origin: str, text: bool = False) -> _Source:
    def take(names: list[str]) -> pl.DataFrame:
        try:
            return lazy.select(names).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(_explain(origin, error)) from None

    try:
        names = lazy.collect_schema().names()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(_explain(origin, error)) from None
    return _Source(names, take, origin, text)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise DataError(f"{path} is a directory: name a file.")
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise DataError(f"{path} is empty.")
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None


def format_of(path: str) -> str:
    """The format that a file's suffix names."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if suffixes and suffixes[-1] in FORMATS:
        return FORMATS[suffixes[-1]]
    raise UsageError(
        f"The name {path} does not say its format: use {', '.join(FORMATS)}"
        f" (to read also {', '.join(COMPRESSED)}), or say it with format (--format)."
    )


def _sniff(content: bytes) -> str:
    if content.startswith(b"PAR1"):
        return "parquet"
    if content.lstrip().startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in content.split(b"\n", 1)[0] else "csv"


def _explain(origin: str, error: Exception) -> str:
    """One sentence for what a reader found wrong, with the line where that can be found."""
    path = Path(origin)
    if path.suffix.lower() == ".parquet":
        return f"{origin} is not a whole Parquet file: write or fetch it again."
    if path.suffix.lower() in (".csv", ".tsv") and path.is_file():
        fault = _first_bad_line(path, "\t" if path.suffix.lower() == ".tsv" else ",")
        if fault:
            return fault
    reason = " ".join(str(error).split("\n\n")[0].split())[:200].rstrip(".")
    return f"{origin} cannot be read: {reason}."


def _first_bad_line(path: Path, separator: str) -> str | None:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode()
            except UnicodeDecodeError:
                return f"{path}, line {number} is not valid UTF-8: save the file as UTF-8."
    with path.open(newline="", encoding="utf-8") as lines:
        reader = csv.reader(lines, delimiter=separator)
        width = len(next(reader, []))
        for row in reader:
            if len(row) > width:
                return (
                    f"{path}, line {reader.line_num} has {len(row)} fields where the header"
                    f" has {width}: quote fields that contain the separator."
                )
    return None


# Tables in memory


def _open_rows(rows: Iterable[Any], roles: Sequence[str]) -> _Source:
    columns: list[list[Any]] = [[] for _ in roles]
    for number, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != len(roles):
            raise DataError(f"Row {number} is {row!r}, where ({', '.join(roles)}) was expected.")
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    frame = pl.DataFrame([_series(n, v) for n, v in zip(roles, columns, strict=True)])
    return _Source(roles, frame.select, "The list of rows")


def _open_pandas(frame: Any, roles: Sequence[str]) -> _Source:
    if frame.ndim == 1:  # a series, such as answers indexed by task
        frame = frame.rename(roles[-1]).rename_axis(roles[0]).reset_index()
    names = [str(name) for name in frame.columns]

    def take(wanted: list[str]) -> pl.DataFrame:
        return pl.DataFrame(
            [_pandas_series(n, frame.iloc[:, names.index(n)]) for n in dict.fromkeys(wanted)]
        )

    dtypes = dict(zip(names, frame.dtypes, strict=True))
    return _Source(names, take, "The pandas table", library="pandas", dtypes=dtypes)


def _pandas_series(name: str, column: Any) -> pl.Series:
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return pl.Series(name, column.to_numpy())
    if column.dtype != object:
        try:
            return pl.Series(name, pl.from_pandas(column))
        except ImportError:  # pandas without pyarrow
            pass
    return _series(name, column.tolist())


def _series(name: str, values: list[Any]) -> pl.Series:
    """A column of one type, with None for what is missing, or an error that names the types."""
    values = [None if _is_missing(value) else value for value in values]
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        types = sorted({type(v).__name__ for v in values if v is not None})
        raise DataError(
            f"Column {name!r} mixes {' and '.join(types)}: make its values one type."
        ) from None


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value  # NaN


def _to_pandas(column: pl.Series) -> Any:
    import pandas as pd

    try:
        return column.to_pandas()
    except ImportError:  # pandas without pyarrow
        return pd.Series(column.to_list())
