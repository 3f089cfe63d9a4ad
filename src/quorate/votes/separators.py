"""What stands between the fields of a text file, where it is not what its name says."""

from __future__ import annotations

import csv

from quorate.errors import DataError
from quorate.votes.faults import GZIP, ZSTD
from quorate.votes.readers.opening import SEPARATORS, Opened, faults

USUAL = {"csv": ",", "tsv": "\t"}
LINES = 20  # that have to agree


def separator_of(format: str, head: bytes, file: Opened) -> str:
    """The format's own separator, unless the header has none and another parts the first lines
    alike.

    Examples:
        >>> from quorate.votes.readers.opening import opened_bytes
        >>> content = b"task;worker;label\\n1;ann;yes\\n"
        >>> separator_of("csv", content, opened_bytes(content, ""))
        ';'
    """
    usual = USUAL[format]
    start = start_of(head, file)
    header, _, _ = start.partition(b"\n")
    if not start or usual.encode() in header:
        return usual
    lines = start.decode("utf-8", "replace").splitlines()
    whole = lines if len(start) < len(head) or len(lines) == 1 else lines[:-1]
    best = max(SEPARATORS, key=lines[0].count)
    return best if best in lines[0] and _parts_alike(whole[:LINES], best) else usual


def start_of(head: bytes, file: Opened) -> bytes:
    """The first bytes, decompressed; none of a file that cannot be."""
    if not head.startswith((GZIP, ZSTD)):
        return head
    try:
        with file.stream() as stream:
            return stream.read(len(head))
    except DataError:
        return b""
    except faults():
        return b""


def _parts_alike(lines: list[str], separator: str) -> bool:
    try:
        return len({len(row) for row in csv.reader(lines, delimiter=separator) if row}) == 1
    except csv.Error:
        return False
