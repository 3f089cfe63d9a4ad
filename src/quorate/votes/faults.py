"""One sentence for what is wrong with a file that could not be read, with the line where known.

Only a file that failed is searched here."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import re
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from quorate.errors import masked

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
# What polars raises. A panic is not even an Exception.
FAULTS = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)

LONGEST_SHOWN = 60
LONG_LINE, PIECE = 1 << 25, 1 << 13
JSON_TYPES = {
    str: "text",
    bool: "a truth value",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


@contextmanager
def stderr_held() -> Iterator[None]:
    """Context that holds stderr back, and passes it on unless what is tried fails.

    A damaged Parquet file can make polars panic, and Rust prints that on the process's stderr
    before Python sees it; Ray prints there what it tries. Only on the main thread, since other
    threads may be writing there."""
    if threading.current_thread() is not threading.main_thread() or sys.stderr is None:
        yield
        return
    with tempfile.TemporaryFile() as held:
        stderr = os.dup(2)
        os.dup2(held.fileno(), 2)
        failed = True
        try:
            yield
            failed = False
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            if not failed:
                held.seek(0)
                os.write(2, held.read())


def check_start(origin: str, format: str, head: bytes) -> str | None:
    """Fault that a file's first bytes already show; None if there is none."""
    if not head.strip():
        return f"{origin} is empty."
    if format == "parquet" or head.startswith((GZIP, ZSTD)):
        return None
    if head.startswith(b"PAR1"):
        return f"{origin} is a Parquet file: say so with its name or with format (--format)."
    if head.startswith(UTF16):
        return f"{origin} is in UTF-16: save it as UTF-8."
    if b"\0" in head:
        return f"{origin} is not text: export it as CSV, TSV, JSON lines or Parquet."
    return _repeated_key(origin, head) if format == "jsonl" else None


def _repeated_key(origin: str, head: bytes) -> str | None:
    """Key that one of the first lines has twice. Later ones are not looked at, and the first of a
    key counts: what writes a key twice does so on every line."""

    def require_once(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        twice.extend(key for key in dict.fromkeys(keys) if keys.count(key) > 1)

    twice: list[str] = []
    for number, line in enumerate(head.split(b"\n"), start=1):
        try:
            json.loads(line, object_pairs_hook=require_once)
        except (ValueError, RecursionError):
            continue  # cut off here, or what is said when it is read
        if twice:
            return f"{origin}, line {number} has {shown(twice[0])} twice: write each key once."
    return None


def check_lines(origin: str, format: str, data: str | bytes, head: bytes) -> str | None:
    """Fault of text with a line of more than `LONG_LINE` bytes, which its reader might not have the
    memory for; None if there is none. One that is twice as long leaves a window of that size
    without an end of line; of every window only what comes before the first one is read."""
    if format == "parquet" or head.startswith((GZIP, ZSTD)):
        return None
    with _open(data) as file:
        size = file.seek(0, io.SEEK_END)
        for start in range(0, size - LONG_LINE + 1, LONG_LINE):
            file.seek(start)
            if not any(b"\n" in file.read(PIECE) for _ in range(LONG_LINE // PIECE)):
                return (
                    f"{origin} has no end of line in {LONG_LINE >> 20} MB, from byte {start:,} on:"
                    " write one vote on each line."
                )
    return None


def explain(
    origin: str, format: str, data: str | bytes, error: BaseException, separator: str = ","
) -> str:
    """One sentence for the fault of a file that a reader refused; `separator` is that of text."""
    if format == "parquet":
        return f"{origin} is not a whole Parquet file: write or fetch it again."
    if isinstance(error, pl.exceptions.NoDataError):
        return f"{origin} is empty."
    try:
        with _lines(data) as lines:
            fault = _json_fault(lines) if format == "jsonl" else _csv_fault(lines, separator)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return f"{origin} is not a whole gzip file: write or fetch it again."
    if fault:
        return f"{origin}, {fault}"
    advice = ": decompress it to see where" if _starts_as(data, ZSTD) else ""
    return f"{origin} cannot be read ({reason(error)}){advice}."


def reason(error: BaseException) -> str:
    """First paragraph of a longer message, on one line."""
    text = masked(" ".join(str(error).split("\n\n")[0].split()))[:200].rstrip(".")
    return "".join(c if c.isprintable() else "?" for c in text)


def shown(value: Any) -> str:
    """Representation of a value in a sentence: on one line, and not too long."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def named(name: Any) -> str:
    """A name as it is, unless it would break the line or is too long."""
    text = str(name)
    return text if text.isprintable() and len(text) <= LONGEST_SHOWN else shown(text)


def listed(names: Iterable[Any], most: int = 8) -> str:
    """First few names, separated by commas."""
    few = [named(name) for name in islice(names, most + 1)]
    return ", ".join([*few[:most], "..."] if len(few) > most else few)


def _lines(data: str | bytes) -> BinaryIO:
    """Lines of the data; none of a zstd file, which Python cannot open."""
    if _starts_as(data, ZSTD):
        return io.BytesIO()
    if _starts_as(data, GZIP):
        return cast("BinaryIO", gzip.open(io.BytesIO(data) if isinstance(data, bytes) else data))
    return _open(data)


def _starts_as(data: str | bytes, start: bytes) -> bool:
    with _open(data) as file:
        return file.read(len(start)) == start


def _open(data: str | bytes) -> BinaryIO:
    return io.BytesIO(data) if isinstance(data, bytes) else Path(data).open("rb")


def _csv_fault(lines: Iterable[bytes], separator: str) -> str | None:
    """Fault of the first line that is not UTF-8, has too many fields, or a quote out of place."""
    field = rf'(?:"(?:[^"]|"")*"|[^"{separator}\n]*)'
    record = re.compile(rf"{field}(?:{re.escape(separator)}{field})*\r?\n?")
    width = began = quotes = 0
    pending: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            return f"line {number} is not valid UTF-8: save the file as UTF-8."
        if not pending:
            began = number
        pending.append(text)
        quotes += text.count('"')
        if quotes % 2:  # inside quotes, where a line may end
            continue
        whole = "".join(pending)
        pending.clear()
        if not record.fullmatch(whole):
            return (
                f"line {began} has a quote out of place: put the whole field in quotes, and"
                " double those inside."
            )
        fields = 1 + re.sub(r'"[^"]*"', "", whole).count(separator)
        width = width or (fields if whole.strip() else 0)
        if fields > width > 0:
            return (
                f"line {number} has {fields} fields where the header has {width}: quote fields"
                " that contain the separator."
            )
    if pending:
        return f"line {began} opens a quote that is never closed: close it, or double it."
    return None


def _json_fault(lines: Iterable[bytes]) -> str | None:
    """Fault of the first line that is not a JSON object, or else of the first that mixes types."""
    types: dict[str, tuple[str, int]] = {}
    mixed = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode())
        except UnicodeDecodeError:
            return f"line {number} is not valid UTF-8: save the file as UTF-8."
        except (ValueError, RecursionError):
            return f"line {number} is not valid JSON: write one object on each line."
        if not isinstance(value, dict):
            return f"line {number} is {_kind(value)}: write one object on each line."
        mixed = mixed or _type_clash(value, number, types)
    return mixed


def _type_clash(
    value: dict[str, Any], number: int, types: dict[str, tuple[str, int]]
) -> str | None:
    """Clash of a line's types with those of earlier lines, which are kept in `types`."""
    for name, cell in value.items():
        if isinstance(cell, float) and not math.isfinite(cell):
            return f"line {number} has {cell} in {shown(name)}, which is not JSON: write null."
        if cell is None:
            continue
        kind, where = types.setdefault(name, (_kind(cell), number))
        if kind != _kind(cell):
            return (
                f"line {number} has {_kind(cell)} in {shown(name)} where line {where} has {kind}:"
                " make its values one type."
            )
    return None


def _kind(value: Any) -> str:
    return JSON_TYPES.get(type(value), "a number")
