"""Votes in several files, in directories, and in stores elsewhere."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import quorate
from quorate import DataError, UsageError
from quorate.votes import read_votes

VOTES = pl.DataFrame(
    {"task": ["a", "a", "b", "b", "c"], "worker": list("xyxyx"), "label": list("11010")}
)


def in_parts(place: Path, suffix: str, parts: int = 2) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for i in range(parts):
        part = VOTES.slice(i * 3, 3)
        path = place / f"part-{i}{suffix}"
        part.write_parquet(path) if suffix == ".parquet" else part.write_csv(path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_directory_is_one_table(suffix: str, tmp_path: Path) -> None:
    in_parts(tmp_path / "votes" / "deeper", suffix)
    (tmp_path / "votes" / "_SUCCESS").write_text("")
    (tmp_path / "votes" / ".part-9.csv").write_text("no votes")
    (tmp_path / "votes" / "notes.txt").write_text("no votes")
    read = read_votes(tmp_path / "votes")
    assert read.labels.n_labels == 5 and read.codebook.tasks.to_list() == ["a", "b", "c"]
    whole = read_votes(VOTES)
    assert (read.labels.indptr == whole.labels.indptr).all()
    result = quorate.aggregate(str(tmp_path / "votes"), method="majority")
    assert len(result.labels) == 3


def test_wildcards(tmp_path: Path) -> None:
    in_parts(tmp_path, ".csv")
    assert read_votes(str(tmp_path / "part-*.csv")).labels.n_labels == 5
    assert read_votes(str(tmp_path / "part-[0].csv")).labels.n_labels == 3
    with pytest.raises(DataError, match="There is no file"):
        read_votes(str(tmp_path / "none-*.csv"))


def test_a_file_with_wildcards_in_its_name_is_that_file(tmp_path: Path) -> None:
    VOTES.write_csv(tmp_path / "part-[0].csv")
    VOTES.head(1).write_csv(tmp_path / "part-0.csv")
    assert read_votes(str(tmp_path / "part-[0].csv")).labels.n_labels == 5


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    in_parts(tmp_path, ".csv")
    (tmp_path / "part-2.csv").write_text("task,worker\na,x\n")
    with pytest.raises(DataError, match=r"part-2\.csv has the columns"):
        read_votes(tmp_path)
    (tmp_path / "part-2.csv").unlink()
    VOTES.write_parquet(tmp_path / "part-2.parquet")
    with pytest.raises(DataError, match="in different formats"):
        read_votes(tmp_path)


def test_which_file_is_damaged_is_said(tmp_path: Path) -> None:
    in_parts(tmp_path, ".csv", parts=1)
    (tmp_path / "part-1.csv").write_bytes(b"task,worker,label\na,\xff\xfe,1\n")
    with pytest.raises(DataError, match=r"part-1\.csv, line 2"):
        read_votes(tmp_path)


def test_a_directory_without_votes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no file in it that ends in"):
        read_votes(tmp_path)


# A real S3 server, on this machine.


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    keys = {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ENDPOINT_URL": url,
    }
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=url, region_name="us-east-1")
    client.create_bucket(Bucket="votes")
    yield client
    server.stop()


def put(client: Any, key: str, frame: pl.DataFrame) -> None:
    content = io.BytesIO()
    frame.write_parquet(content) if key.endswith("parquet") else frame.write_csv(content)
    client.put_object(Bucket="votes", Key=key, Body=content.getvalue())


@pytest.mark.filterwarnings("ignore")
def test_objects_of_a_store(store: Any) -> None:
    put(store, "one.csv", VOTES)
    put(store, "parts/0.parquet", VOTES.head(3))
    put(store, "parts/1.parquet", VOTES.tail(2))
    for path in ("s3://votes/one.csv", "s3://votes/parts/*.parquet", "s3://votes/parts/0.parquet"):
        read = read_votes(path)
        assert read.labels.n_labels == (3 if path.endswith("0.parquet") else 5)
        assert read.codebook.tasks[0] == "a"
    with pytest.raises(DataError, match=r"There is nothing at s3://votes/none\.csv"):
        read_votes("s3://votes/none.csv")
    put(store, "other.csv", VOTES.select("task"))
    with pytest.raises(DataError, match=r"s3://votes/other\.csv has no column"):
        read_votes("s3://votes/other.csv")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", ["one.csv", "parts/0.parquet"])
def test_an_object_that_has_changed_is_noticed_by_the_store_of_its_votes(
    store: Any, key: str, tmp_path: Path
) -> None:
    """Though it is as long as it was."""
    kept, address = tmp_path / "kept", f"s3://votes/{key}"
    put(store, key, VOTES)
    first = quorate.aggregate(address, "majority", store=kept).labels.collect()
    put(store, key, VOTES)
    again = quorate.aggregate(address, "majority", store=kept).labels.collect()
    assert again.equals(first)
    put(store, key, VOTES.with_columns(task=pl.col("task").reverse()))
    with pytest.raises(UsageError, match="or these as they were"):
        quorate.aggregate(address, "majority", store=kept)


class Ranges(BaseHTTPRequestHandler):
    """Serves one file, in parts if it is asked so, as web servers do."""

    content = b""

    def do_HEAD(self) -> None:
        self._answer(b"", 200, len(self.content))

    def do_GET(self) -> None:
        if self.path != "/votes.csv":
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        if asked is None:
            self._answer(self.content, 200, len(self.content))
            return
        first, last = asked.removeprefix("bytes=").split("-")
        part = self.content[int(first) : int(last) + 1 if last else None]
        self._answer(part, 206, len(part), f"bytes {first}-{int(first) + len(part) - 1}")

    def _answer(self, content: bytes, code: int, length: int, span: str | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        if span is not None:
            self.send_header("Content-Range", f"{span}/{len(self.content)}")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def test_an_address_of_the_web() -> None:
    Ranges.content = VOTES.write_csv().encode()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        assert read_votes(f"{address}/votes.csv").labels.n_labels == 5
    finally:
        server.shutdown()
        server.server_close()


def test_places_that_cannot_be_read() -> None:
    with pytest.raises(UsageError, match=r"ftp://example/votes\.csv cannot be read: s3://"):
        read_votes("ftp://example/votes.csv")
    with pytest.raises(UsageError, match="does not say its format"):
        read_votes("s3://votes/votes")


@pytest.mark.parametrize("path", ["", [""]])
def test_an_empty_name_is_not_the_current_directory(path: Any) -> None:
    with pytest.raises(DataError, match="name of a file to read is empty"):
        read_votes(path)


def test_a_name_that_is_too_long_is_one_sentence() -> None:
    with pytest.raises(DataError, match="File name too long"):
        read_votes("x" * 300)


BIG = '{"task": 9007199254740993, "worker": 1, "label": "x", "at": 1.5}\n'
OTHER = '{"task": 9007199254740992, "worker": 2, "label": "y", "at": 1e300}\n'
FRACTION = '{"task": 1.5, "worker": 2, "label": "y", "at": 2.5}\n'


@pytest.mark.parametrize("engine", ["threads", "disk"])
def test_large_whole_numbers_beside_fractions_are_refused(tmp_path: Path, engine: Any) -> None:
    path = tmp_path / "v.jsonl"
    path.write_text(BIG + OTHER + FRACTION)
    with pytest.raises(DataError, match=r"v\.jsonl has fractions .* column 'task'"):
        quorate.aggregate(path, "majority", engine=engine)
    path.write_text(BIG + OTHER)
    labels = quorate.aggregate(path, "majority", engine=engine).labels.lazy().collect()
    assert sorted(labels["task"]) == [9007199254740992, 9007199254740993]
