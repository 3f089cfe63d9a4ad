"""Files of other tools, opened: the same records whatever they are kept in, or one sentence."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.effort import times

from quorate.errors import DataError
from quorate.votes.readers.opening import Look, Opened, opened_bytes, opened_table

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=2, max_size=5)
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "marked": lambda content: b"\xef\xbb\xbf" + content,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
WRITTEN: dict[str, Callable[[list[Any]], bytes]] = {
    "array": lambda records: json.dumps(records).encode(),
    "indented": lambda records: json.dumps(records, indent=2, ensure_ascii=False).encode(),
    "lines": lambda records: b"\n".join(json.dumps(record).encode() for record in records),
    "spaced": lambda records: b"\n\n".join(json.dumps(r).encode() + b"  " for r in records) + b"\n",
}


def file(content: bytes) -> Opened:
    return opened_bytes(content, "export")


@settings(max_examples=times(50, 100))
@given(
    written=st.sampled_from(sorted(WRITTEN)),
    packed=st.sampled_from(sorted(PACKED)),
    records=RECORDS,
)
@example(written="array", packed="marked", records=[{"a": 1}])
@example(written="lines", packed="zstd", records=[{"a": 1}, {}])
@example(written="array", packed="zstd", records=[{"a": 1}])
def test_records_are_the_same_whatever_they_are_in(
    written: str, packed: str, records: list[Any]
) -> None:
    if written in ("lines", "spaced") and not records[0]:
        records = [{"a": 1}, *records]
    content = PACKED[packed](WRITTEN[written](records))
    assert list(file(content).records()) == records
    assert list(file(content).look().first) == records


@given(record=st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
def test_one_object_is_one_record_and_the_whole_document(record: dict[str, Any]) -> None:
    for content in (json.dumps(record).encode(), json.dumps(record, indent=1).encode()):
        assert file(content).look().shape == "object"
        assert list(file(content).records()) == [record]
        assert file(content).document() == record


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)


@given(
    separator=st.sampled_from(",\t;"),
    rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=5),
)
def test_rows_of_a_table_are_records_with_any_cells(separator: str, rows: list[list[str]]) -> None:
    rows = [row for row in rows if any(row)]
    text = io.StringIO(newline="")
    quoted = csv.QUOTE_ALL
    csv.writer(text, delimiter=separator, quoting=quoted).writerows([["a", "b", "c"], *rows])
    expected = [dict(zip("abc", row, strict=True)) for row in rows]
    content = text.getvalue().encode()
    assert list(file(content).records()) == expected
    assert list(file(content).look().first) == expected


@given(records=st.lists(st.fixed_dictionaries({"a": st.integers(0, 9), "b": NAMES}), min_size=1))
def test_parquet_and_tables_in_memory_have_the_same_records(records: list[Any]) -> None:
    frame = pl.DataFrame(records)
    made = io.BytesIO()
    frame.write_parquet(made)
    assert list(file(made.getvalue()).records()) == records
    assert list(opened_table(frame, "table").records()) == records
    assert set(file(made.getvalue()).look().first[0]) == {"a", "b"}


@given(records=RECORDS)
def test_files_of_an_archive_are_files_but_for_what_systems_put_beside_them(
    records: list[Any],
) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("folder/ann.json", json.dumps(records))
        archive.writestr("folder/.DS_Store", "x")
        archive.writestr("__MACOSX/ann.json", "x")
        archive.mkdir("empty")
    archive_file = file(made.getvalue())
    assert archive_file.look().shape == "zip"
    (member,) = archive_file.members()
    assert (member.name, member.origin) == ("ann.json", "export, folder/ann.json")
    assert list(member.records()) == records


def refusal(read: Callable[[], Any]) -> str:
    """Why it cannot be read; a sentence that names the file if it can."""
    try:
        read()
    except DataError as error:
        return str(error)
    return "export is read"


def a_moment(read: Callable[[], Any]) -> None:
    sentence = refusal(read)
    assert sentence.startswith("export")
    assert "\n" not in sentence


STARTS = st.sampled_from([b"", b"[", b"{", b"[{", b'{"a":', b"<", b"PK\x03\x04", b"PAR1", b"a,b\n"])
PACKS = st.sampled_from([b"", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"])


@given(pack=PACKS, start=STARTS, rest=st.binary(max_size=60))
@example(pack=b"", start=b"[", rest=b"[" * 3_000)
@example(pack=b"", start=b'{"a":', rest=b'{"a":' * 3_000)
@example(pack=b"", start=b"", rest=b'{"a":1}\n{"a":2')
@example(pack=b"", start=b"", rest=b'[{"a":1},2]')
@example(pack=b"", start=b"a,b\n", rest=b"1,2,3\n")
def test_any_bytes_are_looked_at_and_read_or_refused(
    pack: bytes, start: bytes, rest: bytes
) -> None:
    content = file(pack + start + rest)
    assert isinstance(content.look(), Look)
    a_moment(lambda: list(content.records()))
    a_moment(content.document)
    a_moment(lambda: [list(member.records()) for member in content.members()])


@given(cut=st.integers(0, 400), flips=st.lists(st.tuples(st.integers(0, 399), st.integers(0, 7))))
def test_a_damaged_archive_is_refused(cut: int, flips: list[tuple[int, int]]) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", '{"a":1}\n' * 50)
        archive.writestr("b.csv", "a,b\n1,2\n")
    damaged = bytearray(made.getvalue()[: 400 - cut or None])
    for place, bit in flips:
        damaged[place % len(damaged)] ^= 1 << bit
    content = file(bytes(damaged))
    assert isinstance(content.look(), Look)
    a_moment(lambda: [list(member.records()) for member in content.members()])


def test_an_archive_with_a_password_is_refused() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.jsonl", '{"a":1}')
    content = bytearray(made.getvalue())
    for start, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", content, content.index(start) + at, 1)
    (member,) = file(bytes(content)).members()
    with pytest.raises(DataError, match=r"cannot be read .*password"):
        list(member.records())


def test_a_record_that_is_no_object_is_named_by_its_number() -> None:
    with pytest.raises(DataError, match="record 2 is no object, but a int"):
        list(file(b'[{"a":1},2]').records())
    with pytest.raises(DataError, match="line 2"):
        list(file(b'{"a":1}\n{"a":').records())
    with pytest.raises(DataError, match="more fields than the header's 2"):
        list(file(b"a,b\n1,2,3\n").records())
