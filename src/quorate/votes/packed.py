"""Files that have to be read as a whole before they are tables: archives, JSON arrays, Excel."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl

from quorate.errors import DataError, UsageError
from quorate.votes.faults import GZIP, ZSTD, listed, reason
from quorate.votes.readers.opening import BZIP, PARQUET, XZ, ZIP, Opened

UNSCANNED = (BZIP, XZ, ZIP)  # first bytes of what polars does not read by itself
WORKBOOK = "xl/workbook.xml"


def unpacked(file: Opened, format: str | None) -> tuple[Opened, bytes, str | None]:
    """The file, or the one table in an archive, with its bytes and its format where that shows."""
    content = file.content()
    if not content.startswith(ZIP):
        return file, content, format
    members = list(file.members())
    if any(member.origin.endswith(WORKBOOK) for member in members):
        return file, content, "excel"
    if len(members) != 1:
        names = listed(member.name for member in members)
        raise DataError(
            f"{file.origin} holds {len(members)} files{': ' if members else ''}{names}; an archive"
            " of one table can be read: unpack it, and name those to read."
        )
    return members[0], members[0].content(), format


def format_in(content: bytes) -> str:
    """The format of a table, by its first bytes."""
    if content.startswith(PARQUET):
        return "parquet"
    start = content[:1000].lstrip()
    if start.startswith((b"{", b"[")):
        return "jsonl" if start.startswith(b"{") else "json"
    is_tsv = b"\t" in content.split(b"\n", 1)[0] and not content.startswith((ZSTD, GZIP))
    return "tsv" if is_tsv else "csv"


def json_lines(content: bytes, origin: str) -> bytes:
    """An array of objects as JSON lines."""
    try:
        value = json.loads(content, parse_constant=lambda _: None)
        lines = "\n".join(map(json.dumps, _records(value, origin))).encode()
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{origin} is not valid JSON ({reason(error)}): write it again.") from None
    if not lines:
        raise DataError(f"{origin} is empty.")
    return lines


def _records(value: Any, origin: str) -> list[Any]:
    if isinstance(value, list) and all(isinstance(record, dict) for record in value):
        return value
    raise DataError(
        f"{origin} is no table, which in JSON is an array of flat objects, each with a task, a"
        " worker and a label, and no export of another tool that is known: name its format"
        " (--format), or write it so."
    )


def excel_frame(content: bytes, origin: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The first sheet of a workbook, and a note on the others."""
    try:
        import fastexcel
    except ImportError:
        raise UsageError(
            f"{origin} is an Excel file, which needs fastexcel: pip install 'quorate[excel]'."
        ) from None
    try:
        sheets = fastexcel.read_excel(content).sheet_names
        frame = pl.read_excel(io.BytesIO(content), infer_schema_length=None)
    except pl.exceptions.NoDataError:
        raise DataError(f"{origin} is empty.") from None
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError, OSError) as error:
        raise DataError(f"{origin} cannot be read as Excel ({reason(error)}).") from None
    others = listed(sheets[1:])
    note = f"{origin}: the sheet {sheets[0]} is read, and not {others}."
    return frame, (note,) if others else ()
