"""What was done, in a file that only ever grows: a record is there whole or not at all.

A record is the length and the CRC-32 of what follows, both little-endian in four bytes, and JSON.
It is written by one call before anything changes in memory, so what a call has returned is in the
file, however the process ends. A record that was cut short is the last one, and is dropped.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quorate.errors import DataError

HEAD = struct.Struct("<II")


class Log:
    """The records of one directory's `votes.log`, which one process at a time may write."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self.path = path
        self.sync = sync
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            _lock(self._file, path)
        except BaseException:
            os.close(self._file)
            raise
        self.end = 0
        self.dropped = 0  # bytes of a record that was cut short

    @property
    def size(self) -> int:
        return os.fstat(self._file).st_size

    def records(self, start: int = 0) -> Iterator[Any]:
        """From a place on where a record begins; what is cut short at the end is cut off."""
        size = self.size
        self.end = start
        with self.path.open("rb") as file:
            file.seek(start)
            while self.end < size:
                head = file.read(HEAD.size)
                length, check = HEAD.unpack(head) if len(head) == HEAD.size else (size, 0)
                content = file.read(length)
                after = self.end + HEAD.size + length
                if after > size or (after == size and zlib.crc32(content) != check):
                    self.dropped = size - self.end
                    os.ftruncate(self._file, self.end)
                    return
                if zlib.crc32(content) != check:
                    raise DataError(
                        f"{self.path} is damaged at byte {self.end:,}: restore it from a copy."
                    )
                yield json.loads(content.decode(errors="surrogatepass"))
                self.end = after

    def append(self, record: Any) -> None:
        try:
            text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        except TypeError:
            raise DataError("Only names that are numbers or text can be kept.") from None
        content = text.encode(errors="surrogatepass")
        whole = HEAD.pack(len(content), zlib.crc32(content)) + content
        try:
            written = os.write(self._file, whole)
            if written < len(whole):
                raise OSError("the disk is full")
            if self.sync:
                os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self.end)
            why = error.strerror or error
            raise DataError(f"{self.path} cannot be written, so nothing changed: {why}.") from None
        self.end += len(whole)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)  # which also unlocks
            self._file = -1


def _lock(file: int, path: Path) -> None:
    """Refuse a second writer; the lock goes with its process, however that ends."""
    refused = DataError(f"{path.parent} is open already: only one Online can write to it.")
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            raise refused from None
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise refused from None
