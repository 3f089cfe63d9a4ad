"""Files of other tools, opened: the first records, to tell whose they are, and all of them, one
after the other, whatever they are kept in."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO, Literal, cast

import polars as pl

from quorate.errors import DataError
from quorate.votes.faults import FAULTS as POLARS_FAULTS
from quorate.votes.faults import GZIP, UTF16, ZSTD, reason, stderr_held

HEAD = 1 << 18  # bytes in which a file's first records are looked for
FIRST = 20  # records that are looked at
ROWS = 10_000  # of a table of pandas that are taken at a time
LARGEST_DOCUMENT = 1 << 30  # bytes of a document that has to be read as a whole
LONGEST_CELL = 1 << 25
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BZIP, XZ, ZIP, PARQUET = b"BZh", b"\xfd7zXZ\x00", b"PK\x03\x04", b"PAR1"
SEPARATORS = ",\t;|"
ZIP_ZSTD = 93  # a member's compression
LOCAL_HEADER = struct.Struct("<26x2H")  # before a member: the lengths of its name and its extra

Shape = Literal["array", "lines", "object", "table", "zip", "xml", "other"]
FAULTS = (
    *POLARS_FAULTS,
    ValueError,
    EOFError,
    OverflowError,
    RuntimeError,  # values nested too deep; an archive with a password, or a compression of its own
    csv.Error,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


def faults() -> tuple[type[BaseException], ...]:
    """What reading a file can raise, with what is raised by libraries that were needed for it."""
    libraries = (("ijson", "JSONError"), ("zstandard", "ZstdError"))
    loaded = ((sys.modules.get(module), name) for module, name in libraries)
    return (*FAULTS, *(getattr(module, name) for module, name in loaded if module is not None))


@dataclass(frozen=True)
class Look:
    """What the first bytes of a file tell: the shape that its records are in, the first of them
    (the last of which may be cut short), and the names of an archive's members. Of an archive the
    records are those of its first member that has some."""

    shape: Shape
    first: Sequence[Mapping[str, Any]] = ()
    members: Sequence[str] = ()

    @property
    def is_text(self) -> bool:
        """Whether the records are rows of a table whose cells are only text."""
        cells = [cell for row in self.first for cell in row.values() if cell is not None]
        return self.shape == "table" and all(isinstance(cell, str) for cell in cells)

    def has(self, *keys: str) -> bool:
        """Whether one of the first records has all these keys."""
        return any(all(key in record for key in keys) for record in self.first)


@dataclass(frozen=True)
class Opened:
    """A file, or a member of an archive, whose bytes `stream` gives from the start each time.

    `origin` is its name in sentences, and `name` the name of the file without its directory."""

    origin: str
    name: str
    stream: Callable[[], AbstractContextManager[BinaryIO]]
    path: str = ""  # within its archive

    def look(self) -> Look:
        """What the first bytes tell; nothing is said of a file that cannot be read."""
        try:
            return self._look()
        except faults():
            return Look("other")

    def _look(self) -> Look:
        with self.stream() as file:
            head = file.read(HEAD).removeprefix(BYTE_ORDER_MARK)
        start = head.lstrip()
        if start.startswith(b"["):
            return Look("array", _first_of_array(head))
        if start.startswith(b"{"):
            return _look_at_objects(start, len(head) < HEAD)
        if start.startswith(b"<"):
            return Look("xml", [{"head": head.decode("utf-8", "replace")}])
        if start.startswith(ZIP):
            members = list(self.members())
            found = (member.look().first for member in members[:FIRST])
            return Look("zip", next(filter(None, found), ()), [member.path for member in members])
        if start.startswith(PARQUET):
            with stderr_held(), self.stream() as file:
                return Look("table", [dict.fromkeys(pl.read_parquet_schema(file))])
        if start.startswith(UTF16) or b"\0" in head[:4096] or not start:
            return Look("other")
        return Look("table", _first_rows(head))

    def records(self) -> Iterator[dict[str, Any]]:
        """The records, one after the other: the elements of an array, the lines, the rows of a
        table, or the one object. Only one of them is in memory at a time."""
        with failing(self.origin):
            shape = self._look().shape
        read = {"array": _array, "lines": _lines, "table": _table, "object": _object}.get(shape)
        if read is None:
            raise DataError(f"{self.origin} has no records: it is {_called(shape)}.")
        with failing(self.origin), self.stream() as file:
            for number, record in enumerate(read(file), start=1):
                if not isinstance(record, dict):
                    kind = type(record).__name__
                    raise DataError(f"{self.origin}, record {number} is no object, but a {kind}.")
                yield record

    def content(self) -> bytes:
        """All bytes."""
        with failing(self.origin), self.stream() as file:
            return file.read()

    def document(self) -> Any:
        """The whole file as one JSON value."""
        with failing(self.origin), self.stream() as file:
            content = file.read(LARGEST_DOCUMENT + 1)
            if len(content) > LARGEST_DOCUMENT:
                size = LARGEST_DOCUMENT >> 30
                raise DataError(
                    f"{self.origin} is larger than {size} GB, and has to be read whole."
                )
            return json.loads(content)

    def within(self, *keys: str) -> Iterator[Any]:
        """The elements, one after the other, of the array that the file's one object has under
        these keys, each within the one before."""
        import ijson  # slow to import

        with failing(self.origin), self.stream() as file:
            yield from ijson.items(file, ".".join((*keys, "item")), use_float=True)

    def documents(self, start: str) -> Iterator[Any]:
        """The JSON values in the members of a zip archive whose names start so."""
        with failing(self.origin), self.stream() as file, zipfile.ZipFile(file) as archive:
            for info in archive.infolist():
                if info.filename.startswith(start) and not info.is_dir():
                    with _member(archive, info.filename) as member:
                        yield json.load(member)

    def members(self) -> Iterator[Opened]:
        """The files of a zip archive, but for directories and what systems put beside them."""
        with failing(self.origin), self.stream() as file, zipfile.ZipFile(file) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
        for name in names:
            if not PurePath(name).name.startswith(".") and "__MACOSX" not in name:
                origin, stream = f"{self.origin}, {name}", partial(self._member, name)
                yield Opened(origin, PurePath(name).name, stream, name)

    @contextmanager
    def _member(self, name: str) -> Iterator[BinaryIO]:
        with (
            self.stream() as file,
            zipfile.ZipFile(file) as archive,
            _member(archive, name) as member,
        ):
            yield member


def _member(archive: zipfile.ZipFile, name: str) -> BinaryIO:
    """A member of an archive, also in Zstandard, which Python opens from 3.14 on."""
    try:
        return cast("BinaryIO", archive.open(name))
    except NotImplementedError:
        info = archive.getinfo(name)
        if info.compress_type != ZIP_ZSTD:
            raise
    file = cast("BinaryIO", archive.fp)
    file.seek(info.header_offset)
    header = file.read(LOCAL_HEADER.size)
    file.seek(sum(LOCAL_HEADER.unpack(header)), io.SEEK_CUR)
    return _zstd(io.BytesIO(file.read(info.compress_size)))


@contextmanager
def failing(origin: str, but: tuple[type[BaseException], ...] = ()) -> Iterator[None]:
    """Context in which whatever cannot be read is one sentence, but for some faults."""
    try:
        yield
    except DataError:
        raise
    except faults() as error:
        if isinstance(error, but):
            raise
        said = reason(error)
        raise DataError(f"{origin} cannot be read ({said}): write or fetch it again.") from None


@dataclass(frozen=True)
class OpenedTable(Opened):
    """A table in memory, whose rows are the records."""

    frame: Any = None

    def look(self) -> Look:
        return Look("table", self.frame.head(FIRST).to_dicts())

    def records(self) -> Iterator[dict[str, Any]]:
        return iter(self.frame.iter_rows(named=True))


@dataclass(frozen=True)
class OpenedPandas(OpenedTable):
    """A table of pandas, whose index is a column too if it has a name."""

    def look(self) -> Look:
        return Look("table", list(_pandas_rows(self.frame.head(FIRST))))

    def records(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self.frame), ROWS):
            yield from _pandas_rows(self.frame.iloc[start : start + ROWS])


def _pandas_rows(frame: Any) -> Iterator[dict[str, Any]]:
    named = [name for name in frame.index.names if name is not None and name not in frame]
    frame = frame.reset_index(named)
    names = [str(name) for name in frame.columns]
    there = frame.astype(object).where(frame.notna(), None)
    return (dict(zip(names, row, strict=True)) for row in there.itertuples(index=False, name=None))


def opened_table(frame: Any, origin: str) -> OpenedTable:
    """A frame of polars or pandas as a file of records."""
    kind = OpenedTable if isinstance(frame, pl.DataFrame) else OpenedPandas
    return kind(origin, "", io.BytesIO, frame=frame)


def opened_bytes(content: bytes, origin: str) -> Opened:
    """Bytes in memory as a file."""
    return Opened(origin, "", lambda: _decompressed(_buffered(content)))


def _buffered(content: bytes) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(cast("Any", io.BytesIO(content))))


def opened(path: str) -> Opened:
    """A file on this machine, decompressed if it is compressed."""
    return Opened(path, PurePath(path).name, partial(_stream, path))


@contextmanager
def _stream(path: str) -> Iterator[BinaryIO]:
    with open(path, "rb") as file, _decompressed(file) as content:  # noqa: PTH123
        yield content


def _decompressed(file: BinaryIO) -> BinaryIO:
    """The bytes of a file, decompressed as its first bytes say."""
    start = file.read(len(XZ))
    file.seek(0)
    if start.startswith(GZIP):
        return cast("BinaryIO", gzip.open(file))
    if start.startswith(BZIP):
        return cast("BinaryIO", bz2.open(file))
    if start.startswith(XZ):
        return cast("BinaryIO", lzma.open(file))
    return _zstd(file) if start.startswith(ZSTD) else file


def _zstd(file: BinaryIO) -> BinaryIO:
    try:
        import zstandard
    except ImportError:
        raise DataError(
            "What is compressed with Zstandard needs zstandard: pip install 'quorate[zstd]'."
        ) from None
    return cast("BinaryIO", io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file)))


# Shapes


def _first_of_array(head: bytes) -> list[Mapping[str, Any]]:
    """The first elements of an array, of which the head may hold a part only."""
    value = _partial(head)
    return [v for v in value[:FIRST] if isinstance(v, dict)] if isinstance(value, list) else []


def _first_rows(head: bytes) -> list[Mapping[str, Any]]:
    """The first rows of a table, as far as they are as they should be."""
    rows: list[Mapping[str, Any]] = []
    with suppress(ValueError, csv.Error):  # which is said when all rows are read
        rows.extend(islice(_rows(io.StringIO(head.decode("utf-8", "ignore"))), FIRST))
    return rows


def _look_at_objects(head: bytes, is_all: bool) -> Look:
    """One object, or an object on each line."""
    line, _, rest = head.partition(b"\n")
    try:
        first = json.loads(line)
    except ValueError:
        return Look("object", [_partial(head)])
    if is_all and not rest.strip():
        return Look("object", [first])
    return Look("lines", [first, *_whole_lines(rest)])


def _whole_lines(text: bytes) -> Iterator[Mapping[str, Any]]:
    for line in text.split(b"\n")[: FIRST - 1]:
        try:
            record = json.loads(line)
        except ValueError:
            continue  # the last one may be cut short; others are named when they are read
        if isinstance(record, dict):
            yield record


def _partial(head: bytes) -> Any:
    """As much of a JSON value as its first bytes hold."""
    import ijson  # slow to import

    builder = ijson.ObjectBuilder()
    try:
        for event, value in ijson.basic_parse(io.BytesIO(head), use_float=True):
            builder.event(event, value)
    except ijson.JSONError:
        pass  # cut short
    return getattr(builder, "value", None) or {}


def _begins(file: Any, mark: bytes) -> bool:
    """Whether these are the next bytes of a file, which stays where it is: not all can go back."""
    ahead: bytes = file.peek(len(mark))
    return ahead.startswith(mark)


def _array(file: BinaryIO) -> Iterator[Any]:
    import ijson  # slow to import

    if _begins(file, BYTE_ORDER_MARK):
        file.read(len(BYTE_ORDER_MARK))
    yield from ijson.items(file, "item", use_float=True)


def _lines(file: BinaryIO) -> Iterator[Any]:
    for number, line in enumerate(file, start=1):
        text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        if text.strip():
            try:
                yield json.loads(text)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None


def _object(file: BinaryIO) -> Iterator[Any]:
    yield json.loads(file.read(LARGEST_DOCUMENT).removeprefix(BYTE_ORDER_MARK))


def _table(file: BinaryIO) -> Iterator[dict[str, Any]]:
    if _begins(file, PARQUET):
        names = _class_names(file)
        for batch in pl.scan_parquet(file).collect_batches():
            for row in batch.iter_rows(named=True):
                yield row | {column: _called_so(row[column], names[column]) for column in names}
        return
    with io.TextIOWrapper(file, "utf-8-sig", newline="") as text:
        yield from _rows(text)


def _class_names(file: BinaryIO) -> dict[str, Sequence[str]]:
    """Names of the classes in columns of a Hugging Face data set that hold codes of them."""
    about = pl.read_parquet_metadata(file).get("huggingface")
    file.seek(0, io.SEEK_END)  # past the buffer, for polars reads on where the file itself stands
    file.seek(0)
    features = json.loads(about)["info"]["features"] if about else {}
    kinds = ((name, kind) for name, kind in features.items() if isinstance(kind, dict))
    return {name: kind["names"] for name, kind in kinds if kind.get("_type") == "ClassLabel"}


def _called_so(code: Any, names: Sequence[str]) -> Any:
    return names[code] if isinstance(code, int) and 0 <= code < len(names) else None


def _rows(text: io.TextIOBase) -> Iterator[dict[str, Any]]:
    """The rows of a table with a header, and blank lines between them or not."""
    header = text.readline()
    separator = max(SEPARATORS, key=header.count)
    csv.field_size_limit(LONGEST_CELL)
    names = next(csv.reader([header], delimiter=separator), [])
    for row in csv.DictReader(cast("Any", text), names, delimiter=separator):
        if None in row:
            raise ValueError(f"a row has more fields than the header's {len(names)}")
        yield row


def _called(shape: Shape) -> str:
    return {"zip": "an archive", "xml": "XML"}.get(shape, "in no format that holds records")
